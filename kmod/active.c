// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls in flight. Each CPU counts those that enter and leave on it, and hands
 * the difference on in batches, so no cache line is shared on a usual hit.
 * Built without ftrace: it runs on a hit.
 */
#include <linux/kprobes.h>

#include "dispatch.h"

DEFINE_PER_CPU(u32, probekit_running);

/* All of them, as far as one can tell while they come and go. */
static int count_active(const struct probekit_probe *probe)
{
	int active = atomic_read(&probe->active);
	int cpu;

	for_each_possible_cpu(cpu)
		active += per_cpu_ptr(probe->counters, cpu)->active;
	return active;
}

/**
 * probekit_active_hand_over() - move what this CPU counted to the total
 * @probe: the probe
 */
void probekit_active_hand_over(struct probekit_probe *probe)
{
	s32 active = this_cpu_xchg(probe->counters->active, 0);
	u32 full = atomic_add_return(active, &probe->active) >= (int)probe->maxactive;

	/* Every hit reads this line, so write it only where it changes. */
	if (full != READ_ONCE(probe->full))
		WRITE_ONCE(probe->full, full);
}
NOKPROBE_SYMBOL(probekit_active_hand_over);

/**
 * probekit_active_notice() - this CPU counts more calls than ever, or a batch
 * @probe: the probe
 *
 * The first makes the peak right for small numbers, and is soon over.
 */
void probekit_active_notice(struct probekit_probe *probe)
{
	s32 here = this_cpu_read(probe->counters->active);
	int peak = atomic_read(&probe->peak_active);
	int active = count_active(probe);

	while (active > peak && !atomic_try_cmpxchg(&probe->peak_active, &peak, active))
		;
	if (here >= probe->batch)
		probekit_active_hand_over(probe);
	else
		this_cpu_write(probe->counters->notice, here + 1);
}
NOKPROBE_SYMBOL(probekit_active_notice);

/**
 * probekit_active_write_off() - forget calls that will never return
 * @probe: the probe, whose limit seems reached
 * @active: how many calls really hold storage
 *
 * Tasks that died inside a probed function have been counted as entered and
 * will not be counted as left.
 */
void probekit_active_write_off(struct probekit_probe *probe, u32 active)
{
	int drift;

	if (atomic_cmpxchg(&probe->reconciling, 0, 1))
		return;
	drift = count_active(probe) - (int)active;
	if (drift > 0 &&
	    atomic_sub_return(drift, &probe->active) < (int)probe->maxactive)
		WRITE_ONCE(probe->full, 0);
	atomic_set(&probe->reconciling, 0);
}
NOKPROBE_SYMBOL(probekit_active_write_off);

/*
 * Run times of programs are wanted, or lockdep wants to be told that we are in
 * an RCU read side, which having preemption off is.
 */
u32 probekit_run_slowly(const struct probekit_handler *handler, u64 *args)
{
	u32 ret;

	rcu_read_lock();
	if (handler->prog)
		ret = bpf_prog_run(handler->prog, args);
	else
		ret = handler->run(args, handler->insns);
	rcu_read_unlock();
	return ret;
}
NOKPROBE_SYMBOL(probekit_run_slowly);
