// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changing the outcome of functions: only where the module was told to allow
 * it, and whoever asks might load a module of his own instead.
 */
#include <linux/capability.h>
#include <linux/linkage.h>
#include <linux/module.h>
#include <linux/objtool.h>
#include <linux/security.h>

#include "engine.h"

bool probekit_change_outcome;
module_param_named(change_outcome, probekit_change_outcome, bool, 0444);
MODULE_PARM_DESC(change_outcome, "handlers may change what functions return (default: N)");

/**
 * probekit_may_change_outcome() - may the current task do so
 *
 * Return: zero, -EOPNOTSUPP where the module does not allow it, or -EPERM.
 */
int probekit_may_change_outcome(void)
{
	if (!probekit_change_outcome)
		return -EOPNOTSUPP;
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	/* As for writing to the memory of the kernel: any lockdown forbids it. */
	return security_locked_down(LOCKDOWN_DBG_WRITE_KERNEL);
}

/*
 * Where a function that is skipped goes on, with the stack as its caller left
 * it. In assembly, so that nothing touches the return value.
 */
asm(".pushsection .text\n"
	".globl probekit_return_at_once\n"
	".type probekit_return_at_once, @function\n"
	"probekit_return_at_once:\n"
	ANNOTATE_NOENDBR
	"	" ASM_RET
	".size probekit_return_at_once, .-probekit_return_at_once\n"
	".popsection\n");
