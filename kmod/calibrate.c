// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the engine needs to know of the running kernel and can only find out
 * by trying: where hooked functions return to.
 */
#include <linux/slab.h>

#include "compat.h"
#include "engine.h"

unsigned long probekit_return_trampoline __ro_after_init;

/*
 * A place that nothing calls, for an fprobe that is to be hit nowhere: to
 * ftrace an empty filter means everywhere.
 */
unsigned long probekit_parking __ro_after_init;

static noinline int calibration_target(void)
{
	/* Not to be folded into its caller, nor taken for a constant. */
	barrier();
	return 0;
}

static notrace void learn_trampoline(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
				     struct pt_regs *regs, void *data)
{
	probekit_return_trampoline = probekit_trampoline_of(regs);
}

/**
 * probekit_calibrate() - probe a function of our own, once
 *
 * A kernel where that fails cannot be probed at all, which whoever attaches is
 * told; until then the module does no harm.
 */
void __init probekit_calibrate(void)
{
	struct fprobe *fp = kzalloc(sizeof(*fp), GFP_KERNEL);
	unsigned long ip = (unsigned long)calibration_target;

	if (!fp)
		return;
	/* objtool must not see a pointer into the middle of a function. */
	OPTIMIZER_HIDE_VAR(ip);
	ip = probekit_ftrace_location(ip);
	probekit_parking = ip;
	fp->exit_handler = learn_trampoline;
	fp->nr_maxactive = num_possible_cpus();
	if (!register_fprobe_ips(fp, &ip, 1)) {
		calibration_target();
		unregister_fprobe(fp);
	}
	kfree(fp);
}
