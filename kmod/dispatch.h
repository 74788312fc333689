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

#include "engine.h"

/* A call as its handler sees it, and what the engine's kfuncs know besides. */
struct probekit_hit {
	struct probekit_call call;
	void *data;		/* entry data of the call, or NULL */
	u32 data_size;
};

/*
 * Process, softirq, hardirq and NMI may nest on a CPU, and each may run one
 * handler at a time. A handler notes the preempt count that it runs with;
 * contexts are compared only when another handler is already running, so the
 * usual hit pays for neither.
 */
#define PROBEKIT_CONTEXTS	4

struct probekit_guard {
	u32 depth;
	u32 preempt[PROBEKIT_CONTEXTS];
};

DECLARE_PER_CPU(struct probekit_guard, probekit_guard);

static __always_inline unsigned int probekit_context_of(u32 preempt)
{
	return !!(preempt & NMI_MASK) +
	       !!(preempt & (NMI_MASK | HARDIRQ_MASK)) +
	       !!(preempt & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET));
}

static __always_inline bool probekit_guard_recursion(u32 depth)
{
	unsigned int context = probekit_context_of(preempt_count());
	u32 i;

	if (depth >= PROBEKIT_CONTEXTS)
		return true;
	for (i = 0; i < depth; i++)
		if (probekit_context_of(this_cpu_read(probekit_guard.preempt[i])) == context)
			return true;
	return false;
}

/* Returns the depth to hand to probekit_guard_leave(), or -1 on recursion. */
static __always_inline int probekit_guard_enter(void)
{
	u32 depth = this_cpu_read(probekit_guard.depth);

	if (unlikely(depth) && probekit_guard_recursion(depth))
		return -1;
	/* An interrupt between these lines leaves depth as it found it. */
	this_cpu_write(probekit_guard.preempt[depth], preempt_count());
	barrier();
	this_cpu_write(probekit_guard.depth, depth + 1);
	barrier();
	return depth;
}

static __always_inline void probekit_guard_leave(int depth)
{
	barrier();
	this_cpu_write(probekit_guard.depth, depth);
}

/*
 * Calls the program itself instead of the trampoline that struct_ops made for
 * it: a third of the cost. Preemption is off, which is the RCU read side;
 * lockdep wants to be told.
 */
static __always_inline u32 probekit_run(const struct bpf_prog *prog, struct probekit_call *call)
{
	u64 args[] = { (unsigned long)call };
	u32 ret;

	if (IS_ENABLED(CONFIG_PROVE_RCU))
		rcu_read_lock();
	ret = bpf_prog_run(prog, args);
	if (IS_ENABLED(CONFIG_PROVE_RCU))
		rcu_read_unlock();
	return ret;
}

static __always_inline int probekit_run_entry(const struct probekit_handlers *handlers,
					      struct probekit_call *call)
{
	if (likely(handlers->entry))
		return probekit_run(handlers->entry, call);
	if (handlers->ops->entry_handler)
		return handlers->ops->entry_handler(call);
	return 0;
}

static __always_inline void probekit_run_exit(const struct probekit_handlers *handlers,
					      struct probekit_call *call)
{
	if (likely(handlers->exit))
		probekit_run(handlers->exit, call);
	else
		handlers->ops->exit_handler(call);
}

static __always_inline u64 probekit_hash(unsigned long ip)
{
	return (u64)ip * 0x9e3779b97f4a7c15ULL;
}

/* Constant time: at most half of the slots are taken. */
static __always_inline struct probekit_slot *
probekit_find_slot(const struct probekit_probe *probe, unsigned long ip)
{
	u64 i = probekit_hash(ip) >> probe->shift;
	struct probekit_slot *slot = &probe->table[i];

	while (unlikely(slot->ip != ip)) {
		if (!slot->ip)
			return NULL;
		i = (i + 1) & (~0ULL >> probe->shift);
		slot = &probe->table[i];
	}
	return slot;
}

#endif /* PROBEKIT_DISPATCH_H */
