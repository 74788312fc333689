/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a hit to its handler: the recursion guard, the accounts and the call
 * into BPF, the same for every backend. Everything here runs on a hit, so it is
 * inline and calls nothing that can be probed.
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

/* A hit without an exit: no storage, nothing in flight. Return: the handler's. */
static __always_inline int probekit_hit(struct probekit_probe *probe,
					const struct probekit_slot *slot,
					unsigned long ret_ip, struct pt_regs *regs)
{
	struct probekit_frame frame __uninitialized;
	u32 outer;
	int ret;

	this_cpu_inc(probe->counters->entries);
	if (unlikely(!probekit_guard_enter(&outer))) {
		this_cpu_inc(probe->counters->missed_recursion);
		return 1;
	}
	probekit_call_init(&frame.call, slot, ret_ip, regs);
	frame.handlers = rcu_dereference_raw(probe->handlers);
	ret = probekit_run(&frame.handlers->entry, &frame.call);
	probekit_guard_leave(outer);
	return ret;
}

/* The entry of a call. Return: zero if its exit is wanted. */
static __always_inline int probekit_enter(struct probekit_probe *probe,
					  const struct probekit_slot *slot,
					  unsigned long ret_ip, struct pt_regs *regs,
					  struct probekit_frame *frame)
{
	struct probekit_counters __percpu *counters = probe->counters;
	int ret = 1;
	u32 outer;

	this_cpu_inc(counters->entries);
	if (unlikely(!probekit_guard_enter(&outer))) {
		this_cpu_inc(counters->missed_recursion);
		return ret;
	}
	probekit_call_init(&frame->call, slot, ret_ip, regs);
	frame->handlers = rcu_dereference_raw(probe->handlers);
	frame->preempt = probekit_preempt_count();
	ret = probekit_run(&frame->handlers->entry, &frame->call);
	if (likely(!ret)) {
		this_cpu_inc(counters->active);
		if (unlikely(this_cpu_read(counters->active) >= this_cpu_read(counters->notice)))
			probekit_active_notice(probe);
	} else {
		this_cpu_inc(counters->cancelled);
	}
	probekit_guard_leave(outer);
	return ret;
}

/* The exit of a call whose entry was seen. */
static __always_inline void probekit_leave(struct probekit_probe *probe,
					   struct probekit_frame *frame,
					   unsigned long ret_ip, struct pt_regs *regs)
{
	struct probekit_counters __percpu *counters = probe->counters;
	struct probekit_handlers *handlers;
	u32 outer;

	this_cpu_dec(counters->active);
	if (unlikely(this_cpu_read(counters->active) <= probe->minus_batch))
		probekit_active_hand_over(probe);

	if (unlikely(!probekit_guard_enter(&outer))) {
		this_cpu_inc(counters->missed_exit);
		return;
	}
	handlers = rcu_dereference_raw(probe->handlers);
	if (likely(handlers == frame->handlers)) {
		frame->call.ret_ip = ret_ip;
		frame->call.regs = regs;
		probekit_run(&handlers->exit, &frame->call);
		this_cpu_inc(counters->exits);
	} else {
		this_cpu_inc(counters->missed_swapped);
	}
	probekit_guard_leave(outer);
}

#endif /* PROBEKIT_DISPATCH_H */
