// SPDX-License-Identifier: GPL-2.0-only
/*
 * fprobe backend: entry and exit of functions, thousands at once.
 *
 * The storage of a call is the fprobe's: a frame of ours, then the entry data
 * of the handlers. The fprobe never runs out of it: the engine limits the
 * calls in flight itself, below the size of the pool, so that it can tell a
 * call missed for storage from one missed for recursion. Each CPU counts the
 * calls that enter and leave on it, and hands the difference on in batches, so
 * no cache line is shared on a hit.
 */
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/sched/signal.h>

#include "compat.h"
#include "dispatch.h"

DEFINE_PER_CPU(struct probekit_guard, probekit_guard);

/* Targets that are attached between two looks for a signal. */
#define ATTACH_CHUNK	2048U

/*
 * Tasks that died inside a probed function have been counted as entered and
 * will not be counted as left. When the limit seems reached, compare with what
 * the pool says and write the difference off.
 */
static noinline void write_off_dead(struct probekit_probe *probe)
{
	int counted = atomic_read(&probe->active);
	int cpu, drift;

	if (atomic_cmpxchg(&probe->reconciling, 0, 1))
		return;
	for_each_possible_cpu(cpu)
		counted += per_cpu_ptr(probe->counters, cpu)->active;
	drift = counted - (int)probekit_fprobe_active(&probe->fp);
	if (drift > 0 &&
	    atomic_sub_return(drift, &probe->active) < (int)probe->maxactive)
		WRITE_ONCE(probe->full, 0);
	atomic_set(&probe->reconciling, 0);
}
NOKPROBE_SYMBOL(write_off_dead);

/* Moves what this CPU counted on its own to the total. */
static noinline void hand_over_active(struct probekit_probe *probe, s32 active)
{
	int total = atomic_add_return(active, &probe->active);
	int peak = atomic_read(&probe->peak_active);

	this_cpu_sub(probe->counters->active, active);
	while (total > peak && !atomic_try_cmpxchg(&probe->peak_active, &peak, total))
		;
	if ((total >= (int)probe->maxactive) != READ_ONCE(probe->full))
		WRITE_ONCE(probe->full, total >= (int)probe->maxactive);
}
NOKPROBE_SYMBOL(hand_over_active);

static noinline int refuse_for_storage(struct probekit_probe *probe)
{
	/* Looking at the pool costs a read per CPU, so not on each refusal. */
	if (!(this_cpu_inc_return(probe->counters->missed_storage) & 63) ||
	    num_possible_cpus() <= 4)
		write_off_dead(probe);
	return 1;
}
NOKPROBE_SYMBOL(refuse_for_storage);

/* Without an exit handler: no storage, nothing in flight. */
static int fprobe_entry_only(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
			     struct pt_regs *regs, void *data)
{
	struct probekit_probe *probe = container_of(fp, struct probekit_probe, fp);
	struct probekit_slot *slot;
	struct probekit_hit hit;
	int depth;

	this_cpu_inc(probe->counters->entries);
	depth = probekit_guard_enter();
	if (unlikely(depth < 0)) {
		this_cpu_inc(probe->counters->missed_recursion);
		return 0;
	}
	slot = probekit_find_slot(probe, ip);
	if (likely(slot)) {
		hit.call.entry_ip = slot->address;
		hit.call.ret_ip = ret_ip;
		hit.call.regs = regs;
		hit.call.cookie = slot->cookie;
		hit.call.target = slot->target;
		hit.call.reserved = 0;
		hit.data = NULL;
		hit.data_size = 0;
		probekit_run_entry(rcu_dereference_raw(probe->handlers), &hit.call);
	}
	probekit_guard_leave(depth);
	return 0;
}
NOKPROBE_SYMBOL(fprobe_entry_only);

static int fprobe_entry(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
			struct pt_regs *regs, void *data)
{
	struct probekit_probe *probe = container_of(fp, struct probekit_probe, fp);
	struct probekit_frame *frame = data;
	struct probekit_handlers *handlers;
	struct probekit_slot *slot;
	struct probekit_hit hit;
	int depth, ret = 1;
	s32 active;

	this_cpu_inc(probe->counters->entries);
	depth = probekit_guard_enter();
	if (unlikely(depth < 0)) {
		this_cpu_inc(probe->counters->missed_recursion);
		return 1;
	}
	if (unlikely(READ_ONCE(probe->full))) {
		ret = refuse_for_storage(probe);
		goto leave;
	}
	slot = probekit_find_slot(probe, ip);
	if (likely(slot)) {
		handlers = rcu_dereference_raw(probe->handlers);
		frame->slot = slot - probe->table;
		frame->generation = handlers->generation;
		hit.call.entry_ip = slot->address;
		hit.call.ret_ip = ret_ip;
		hit.call.regs = regs;
		hit.call.cookie = slot->cookie;
		hit.call.target = slot->target;
		hit.call.reserved = 0;
		hit.data = frame->data;
		hit.data_size = probe->entry_data_size;
		ret = probekit_run_entry(handlers, &hit.call);
	}
	if (likely(!ret)) {
		active = this_cpu_inc_return(probe->counters->active);
		if (unlikely(active >= probe->batch))
			hand_over_active(probe, active);
	} else {
		this_cpu_inc(probe->counters->cancelled);
	}
leave:
	probekit_guard_leave(depth);
	return ret;
}
NOKPROBE_SYMBOL(fprobe_entry);

static void fprobe_exit(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
			struct pt_regs *regs, void *data)
{
	struct probekit_probe *probe = container_of(fp, struct probekit_probe, fp);
	struct probekit_frame *frame = data;
	struct probekit_handlers *handlers;
	struct probekit_slot *slot;
	struct probekit_hit hit;
	s32 active;
	int depth;

	active = this_cpu_dec_return(probe->counters->active);
	if (unlikely(active <= -probe->batch))
		hand_over_active(probe, active);

	depth = probekit_guard_enter();
	if (unlikely(depth < 0)) {
		this_cpu_inc(probe->counters->missed_exit);
		return;
	}
	handlers = rcu_dereference_raw(probe->handlers);
	if (unlikely(handlers->generation != frame->generation)) {
		this_cpu_inc(probe->counters->missed_swapped);
		goto leave;
	}
	slot = &probe->table[frame->slot];
	hit.call.entry_ip = slot->address;
	hit.call.ret_ip = ret_ip;
	hit.call.regs = regs;
	hit.call.cookie = slot->cookie;
	hit.call.target = slot->target;
	hit.call.reserved = 0;
	hit.data = frame->data;
	hit.data_size = probe->entry_data_size;
	probekit_run_exit(handlers, &hit.call);
	this_cpu_inc(probe->counters->exits);
leave:
	probekit_guard_leave(depth);
}
NOKPROBE_SYMBOL(fprobe_exit);

/*
 * Attaches in chunks: a pattern of * takes long, and whoever waits for it may
 * press Ctrl-C or want to see progress. Adding to the filter of the live
 * fprobe keeps it one registration with one pool.
 */
static int attach_chunks(struct probekit_probe *probe)
{
	struct probekit_target_set *set = probe->targets;
	u32 done = 0, chunk;
	int err;

	while (done < set->accepted) {
		if (signal_pending(current))
			return -EINTR;
		chunk = min(ATTACH_CHUNK, set->accepted - done);
		if (!done)
			err = register_fprobe_ips(&probe->fp, set->ips, chunk);
		else
			err = ftrace_set_filter_ips(&probe->fp.ops, set->ips + done, chunk, 0, 0);
		if (err)
			return err;
		done += chunk;
		WRITE_ONCE(set->attached, done);
		cond_resched();
	}
	return 0;
}

/**
 * probekit_fprobe_arm() - attach a probe to every target of its set
 * @probe: the probe, complete but for this
 * @exit_handler: its handlers want the exit of calls
 *
 * Return: zero; -EINTR when a signal came first; -errno of the kernel. The
 * probe is not attached anywhere unless the result is zero.
 */
int probekit_fprobe_arm(struct probekit_probe *probe, bool exit_handler)
{
	struct fprobe *fp = &probe->fp;
	int err;

	fp->entry_handler = fprobe_entry_only;
	if (exit_handler) {
		fp->entry_handler = fprobe_entry;
		fp->exit_handler = fprobe_exit;
		fp->entry_data_size = sizeof(struct probekit_frame) + probe->entry_data_size;
		/*
		 * Above the limit: what CPUs count on their own, and what
		 * nested hits hold until the engine has refused them.
		 */
		fp->nr_maxactive = probe->maxactive +
				   num_possible_cpus() * (2 * probe->batch + 8);
	}
	err = attach_chunks(probe);
	/* Says -EINVAL, harmlessly, where not even the first chunk is attached. */
	if (err)
		probekit_fprobe_disarm(probe);
	return err;
}

/**
 * probekit_fprobe_disarm() - detach a probe
 * @probe: the probe
 *
 * When this returns no handler of @probe runs or will run. Calls in flight
 * lose their exit; their storage is freed when they return.
 */
void probekit_fprobe_disarm(struct probekit_probe *probe)
{
	unregister_fprobe(&probe->fp);
	/* Exit handlers run under RCU alone, apart from ftrace. */
	synchronize_rcu();
}
