/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a hit to its handler: the recursion guard and the call into BPF.
 * Everything here runs on a hit, so it is inline and calls nothing that can
 * be probed.
 */
#ifndef PROBEKIT_DISPATCH_H
#define PROBEKIT_DISPATCH_H

#include <linux/filter.h>
#include <linux/preempt.h>

#include "compat.h"
#include "engine.h"

/*
 * Process, softirq, hardirq and NMI may nest on a CPU, and each may run one
 * handler at a time. While a handler runs, this is the preempt count that it
 * runs with (not zero: preemption is off); contexts are compared only when
 * another one is running already, so the usual hit pays for neither.
 */
DECLARE_PER_CPU(u32, probekit_running);

static __always_inline unsigned int probekit_context_of(u32 preempt)
{
	return !!(preempt & NMI_MASK) +
	       !!(preempt & (NMI_MASK | HARDIRQ_MASK)) +
	       !!(preempt & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET));
}

/*
 * Return: may a handler run here; if so, probekit_guard_leave() must follow
 * with the same @outer. An interrupt anywhere in here leaves the variable as it
 * found it.
 */
static __always_inline bool probekit_guard_enter(u32 *outer)
{
	u32 preempt = probekit_preempt_count();

	*outer = this_cpu_read(probekit_running);
	/* Contexts only nest upwards, so the latest is the highest. */
	if (unlikely(*outer) && probekit_context_of(preempt) <= probekit_context_of(*outer))
		return false;
	this_cpu_write(probekit_running, preempt);
	barrier();
	return true;
}

static __always_inline void probekit_guard_leave(u32 outer)
{
	barrier();
	this_cpu_write(probekit_running, outer);
}

u32 probekit_run_slowly(const struct probekit_handler *handler, u64 *args);

/*
 * Calls the program itself instead of the trampoline that struct_ops made for
 * it: a third of the cost. What bpf_prog_run() does besides, when somebody asks
 * for run times, is out of the way.
 */
static __always_inline u32 probekit_run(const struct probekit_handler *handler,
					struct probekit_call *call)
{
	u64 args[] = { (unsigned long)call };

	if (IS_ENABLED(CONFIG_PROVE_RCU) || static_branch_unlikely(&bpf_stats_enabled_key))
		return probekit_run_slowly(handler, args);
	return handler->run(args, handler->insns);
}

/* Kernel text is less than 4 GiB: the low half of an address tells it apart. */
static __always_inline u32 probekit_hash(unsigned long ip)
{
	return (u32)ip * 0x9e3779b1U;
}

/* The first place to look for a target: right at most times, see fill_table(). */
static __always_inline const struct probekit_slot *
probekit_first_slot(const struct probekit_probe *probe, unsigned long ip)
{
	return &probe->table[probekit_hash(ip) >> probe->shift];
}

static __always_inline void probekit_call_init(struct probekit_call *call,
					       const struct probekit_slot *slot,
					       unsigned long ret_ip, struct pt_regs *regs)
{
	call->entry_ip = slot->address;
	call->ret_ip = likely(ret_ip != probekit_return_trampoline) ? ret_ip :
		       probekit_true_return(ret_ip);
	call->regs = regs;
	call->cookie = slot->cookie;
	call->target = slot->target;
	call->entry_data_size = slot->entry_data_size;
}

#endif /* PROBEKIT_DISPATCH_H */
