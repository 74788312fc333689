/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only place that knows how kernels and architectures differ.
 */
#ifndef PROBEKIT_COMPAT_H
#define PROBEKIT_COMPAT_H

#include <linux/fprobe.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <asm/ibt.h>
#include <asm/nops.h>
#include <asm/text-patching.h>

/*
 * The ftrace location of the function at @address, or @address itself if that
 * is one. With IBT a function begins with endbr64, live or sealed, and the
 * ftrace location follows. Return zero if there is no kernel text.
 */
static inline unsigned long probekit_ftrace_location(unsigned long address)
{
	u32 insn;

	if (copy_from_kernel_nofault(&insn, (void *)address, sizeof(insn)))
		return 0;
	return is_endbr(insn) ? address + ENDBR_INSN_SIZE : address;
}

/*
 * The trampoline that an exit handler was reached through. It leaves its own
 * address above the registers until the handlers have run, for the unwinder.
 */
static inline unsigned long probekit_trampoline_of(const struct pt_regs *regs)
{
	return *(const unsigned long *)(regs + 1);
}

/*
 * Where a function returns to that was jumped to from the end of a hooked one:
 * what stands on the stack is the trampoline @ret_ip.
 */
static inline unsigned long probekit_true_return(unsigned long ret_ip)
{
	struct llist_node *node;

	for (node = current->rethooks.first; node; node = node->next) {
		struct rethook_node *hook = container_of(node, struct rethook_node, llist);

		if (hook->ret_addr != ret_ip)
			return hook->ret_addr;
	}
	return ret_ip;
}

/*
 * Where a function returns to whose first instruction is about to run. @regs
 * may come from an int3 there, or from ftrace.
 */
static inline unsigned long probekit_return_address(struct pt_regs *regs)
{
	return *(unsigned long *)regs->sp;
}

/*
 * The preempt count and what else the kernel keeps in the same word: never
 * zero while preemption is off, and a load cheaper than preempt_count().
 */
#define probekit_preempt_count()	this_cpu_read(pcpu_hot.preempt_count)

/* The first byte of what an optimised kprobe puts in place of its instruction. */
static inline bool probekit_is_jump(u8 opcode)
{
	return opcode == JMP32_INSN_OPCODE;
}

/* Does an instruction look like the one that ftrace patches? */
enum probekit_location_state {
	PROBEKIT_LOCATION_NONE,
	PROBEKIT_LOCATION_IDLE,		/* nobody traces it */
	PROBEKIT_LOCATION_TRACED,	/* a call or a breakpoint: perhaps */
};

static inline enum probekit_location_state probekit_location_state(unsigned long ip)
{
	static const u8 idle[] = { BYTES_NOP5 };
	u8 insn[sizeof(idle)];

	if (copy_from_kernel_nofault(insn, (void *)ip, sizeof(insn)))
		return PROBEKIT_LOCATION_NONE;
	if (!memcmp(insn, idle, sizeof(idle)))
		return PROBEKIT_LOCATION_IDLE;
	if (insn[0] == CALL_INSN_OPCODE || insn[0] == INT3_INSN_OPCODE)
		return PROBEKIT_LOCATION_TRACED;
	return PROBEKIT_LOCATION_NONE;
}

/* What an fprobe keeps for a hooked call, behind what is its own: two words. */
static inline void *probekit_fprobe_data(struct rethook_node *node)
{
	return (unsigned long *)(node + 1) + 2;
}

/* From the innermost hooked call of the current task outwards. */
#define probekit_for_each_hooked(node)						\
	for (struct llist_node *__at = current->rethooks.first;			\
	     __at && (node = llist_entry(__at, struct rethook_node, llist));	\
	     __at = __at->next)

/*
 * How many calls hold storage of @fp now. Tasks that die inside a probed
 * function give their storage back without a word to us; this sees it.
 */
static inline u32 probekit_fprobe_active(struct fprobe *fp)
{
	struct objpool_head *pool = &fp->rethook->pool;
	u32 idle = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		struct objpool_slot *slot = pool->cpu_slots[cpu];

		if (slot)
			idle += READ_ONCE(slot->last) - READ_ONCE(slot->head);
	}
	return idle < pool->nr_objs ? pool->nr_objs - idle : 0;
}

#endif /* PROBEKIT_COMPAT_H */
