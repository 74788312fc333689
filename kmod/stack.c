// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stacks as a call sees them: from its registers on, so that no frame of the
 * engine or of what called it is there. Built without ftrace: it runs on a hit.
 */
#include <linux/kprobes.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <asm/unwind.h>

#include "engine.h"

/**
 * probekit_kernel_stack() - return addresses, innermost first
 * @call: the call
 * @ips: where to; the first is the target itself
 * @room: how many fit, at least one
 *
 * The unwinder knows where functions really return to whose return addresses
 * have been replaced by trampolines.
 *
 * Return: how many there are.
 */
u32 probekit_kernel_stack(const struct probekit_call *call, u64 *ips, u32 room)
{
	struct unwind_state state;
	u32 n = 0;

	ips[n++] = call->entry_ip;
	/* After the return the registers are the caller's, whom the unwinder leaves out. */
	if (n < room && instruction_pointer(call->regs) == call->ret_ip)
		ips[n++] = call->ret_ip;
	unwind_start(&state, current, call->regs, NULL);
	for (; n < room && !unwind_done(&state); unwind_next_frame(&state)) {
		unsigned long ip = unwind_get_return_address(&state);

		if (!ip)
			break;
		ips[n++] = ip;
	}
	return n;
}
NOKPROBE_SYMBOL(probekit_kernel_stack);

/**
 * probekit_user_stack() - the user's, by its frame pointers
 * @ips: where to; the first is where the task left user space
 * @room: how many fit, at least one
 *
 * What is not in memory ends it: nothing here may fault.
 *
 * Return: how many there are, none for a task without user space.
 */
u32 probekit_user_stack(u64 *ips, u32 room)
{
	struct pt_regs *regs = task_pt_regs(current);
	struct { unsigned long next, ip; } frame;
	unsigned long at = regs->bp;
	u32 n = 0;

	if (!current->mm || !user_64bit_mode(regs))
		return 0;
	ips[n++] = regs->ip;
	while (n < room && at &&
	       !copy_from_user_nofault(&frame, (const void __user *)at, sizeof(frame))) {
		if (!frame.ip)
			break;
		ips[n++] = frame.ip;
		/* Stacks grow downwards; anything else is garbage. */
		if (frame.next <= at)
			break;
		at = frame.next;
	}
	return n;
}
NOKPROBE_SYMBOL(probekit_user_stack);
