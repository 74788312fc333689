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

DEFINE_PER_CPU(u32, probekit_running);

/* Targets that are attached between two looks for a signal. */
#define ATTACH_CHUNK	2048U

/* All calls in flight, as far as one can tell while they come and go. */
static int count_active(const struct probekit_probe *probe)
{
	int active = atomic_read(&probe->active);
	int cpu;

	for_each_possible_cpu(cpu)
		active += per_cpu_ptr(probe->counters, cpu)->active;
	return active;
}

/*
 * Tasks that died inside a probed function have been counted as entered and
 * will not be counted as left. When the limit seems reached, compare with what
 * the pool says and write the difference off.
 */
static noinline void write_off_dead(struct probekit_probe *probe)
{
	int drift;

	if (atomic_cmpxchg(&probe->reconciling, 0, 1))
		return;
	drift = count_active(probe) - (int)probekit_fprobe_active(&probe->fp);
	if (drift > 0 &&
	    atomic_sub_return(drift, &probe->active) < (int)probe->maxactive)
		WRITE_ONCE(probe->full, 0);
	atomic_set(&probe->reconciling, 0);
}
NOKPROBE_SYMBOL(write_off_dead);

/* Moves what this CPU counted on its own to the total. */
static noinline void hand_over_active(struct probekit_probe *probe)
{
	s32 active = this_cpu_xchg(probe->counters->active, 0);
	u32 full = atomic_add_return(active, &probe->active) >= (int)probe->maxactive;

	/* Every hit reads this line, so write it only where it changes. */
	if (full != READ_ONCE(probe->full))
		WRITE_ONCE(probe->full, full);
}
NOKPROBE_SYMBOL(hand_over_active);

/*
 * This CPU has never counted as many calls on its own, or as many as it may.
 * The first makes the peak right for small numbers, and is soon over.
 */
static noinline void notice_active(struct probekit_probe *probe)
{
	s32 here = this_cpu_read(probe->counters->active);
	int peak = atomic_read(&probe->peak_active);
	int active = count_active(probe);

	while (active > peak && !atomic_try_cmpxchg(&probe->peak_active, &peak, active))
		;
	if (here >= probe->batch)
		hand_over_active(probe);
	else
		this_cpu_write(probe->counters->notice, here + 1);
}
NOKPROBE_SYMBOL(notice_active);

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

/* For a place that ftrace calls us for and that nobody named: there is none. */
static const struct probekit_slot unknown_slot = { .target = U32_MAX };

/* Another target has the place that the hash of this one points at. */
static noinline const struct probekit_slot *find_slot_slowly(const struct probekit_probe *probe,
							     unsigned long ip)
{
	u32 i = probekit_hash(ip) >> probe->shift;

	while (probe->table[i].ip != ip) {
		if (!probe->table[i].ip)
			return &unknown_slot;
		i = (i + 1) & (~0U >> probe->shift);
	}
	return &probe->table[i];
}
NOKPROBE_SYMBOL(find_slot_slowly);

/*
 * The three functions below are the price of a hit. No canary: there is no
 * array on their stack that anything could overrun.
 */

/* Without an exit handler: no storage, nothing in flight. */
static int __no_stack_protector
fprobe_entry_only(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
		  struct pt_regs *regs, void *data)
{
	struct probekit_probe *probe = container_of(fp, struct probekit_probe, fp);
	const struct probekit_slot *slot = probekit_first_slot(probe, ip);
	struct probekit_call call __uninitialized;
	u32 outer;

	this_cpu_inc(probe->counters->entries);
	if (unlikely(!probekit_guard_enter(&outer))) {
		this_cpu_inc(probe->counters->missed_recursion);
		return 0;
	}
	if (unlikely(slot->ip != ip))
		slot = find_slot_slowly(probe, ip);
	probekit_call_init(&call, slot, ret_ip, regs);
	probekit_run(&rcu_dereference_raw(probe->handlers)->entry, &call);
	probekit_guard_leave(outer);
	return 0;
}
NOKPROBE_SYMBOL(fprobe_entry_only);

static __always_inline int enter(struct probekit_probe *probe, unsigned long ip,
				 unsigned long ret_ip, struct pt_regs *regs,
				 struct probekit_frame *frame)
{
	const struct probekit_slot *slot = probekit_first_slot(probe, ip);
	struct probekit_counters __percpu *counters = probe->counters;
	int ret = 1;
	u32 outer;

	this_cpu_inc(counters->entries);
	if (unlikely(!probekit_guard_enter(&outer))) {
		this_cpu_inc(counters->missed_recursion);
		return ret;
	}
	if (unlikely(slot->ip != ip))
		slot = find_slot_slowly(probe, ip);
	probekit_call_init(&frame->call, slot, ret_ip, regs);
	frame->handlers = rcu_dereference_raw(probe->handlers);
	ret = probekit_run(&frame->handlers->entry, &frame->call);
	if (likely(!ret)) {
		this_cpu_inc(counters->active);
		if (unlikely(this_cpu_read(counters->active) >= this_cpu_read(counters->notice)))
			notice_active(probe);
	} else {
		this_cpu_inc(counters->cancelled);
	}
	probekit_guard_leave(outer);
	return ret;
}

/*
 * As many calls as may be in flight seem to be. Looking closer costs a read per
 * CPU, so not for each one.
 */
static noinline int enter_when_full(struct probekit_probe *probe, unsigned long ip,
				    unsigned long ret_ip, struct pt_regs *regs,
				    struct probekit_frame *frame)
{
	if (this_cpu_read(probe->counters->missed_storage) % 64 == 0)
		write_off_dead(probe);
	if (!READ_ONCE(probe->full))
		return enter(probe, ip, ret_ip, regs, frame);
	this_cpu_inc(probe->counters->entries);
	this_cpu_inc(probe->counters->missed_storage);
	return 1;
}
NOKPROBE_SYMBOL(enter_when_full);

static int __no_stack_protector
fprobe_entry(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
	     struct pt_regs *regs, void *data)
{
	struct probekit_probe *probe = container_of(fp, struct probekit_probe, fp);

	if (unlikely(READ_ONCE(probe->full)))
		return enter_when_full(probe, ip, ret_ip, regs, data);
	return enter(probe, ip, ret_ip, regs, data);
}
NOKPROBE_SYMBOL(fprobe_entry);

static void __no_stack_protector
fprobe_exit(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
	    struct pt_regs *regs, void *data)
{
	struct probekit_probe *probe = container_of(fp, struct probekit_probe, fp);
	struct probekit_counters __percpu *counters = probe->counters;
	struct probekit_frame *frame = data;
	struct probekit_handlers *handlers;
	u32 outer;

	this_cpu_dec(counters->active);
	if (unlikely(this_cpu_read(counters->active) <= probe->minus_batch))
		hand_over_active(probe);

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
NOKPROBE_SYMBOL(fprobe_exit);

/*
 * Attaches in chunks: a pattern of * takes long, and whoever waits for it may
 * press Ctrl-C or want to see progress. Adding to the filter of the live
 * fprobe keeps it one registration with one pool.
 */
static int attach_chunks(struct probekit_probe *probe)
{
	struct probekit_target_set *set = probe->targets;
	u32 done = min(ATTACH_CHUNK, set->accepted), chunk;
	int err;

	err = register_fprobe_ips(&probe->fp, set->ips, done);
	if (err)
		return err;
	while (!err && done < set->accepted) {
		WRITE_ONCE(set->attached, done);
		cond_resched();
		if (signal_pending(current)) {
			err = -EINTR;
			break;
		}
		chunk = min(ATTACH_CHUNK, set->accepted - done);
		err = ftrace_set_filter_ips(&probe->fp.ops, set->ips + done, chunk, 0, 0);
		done += chunk;
	}
	WRITE_ONCE(set->attached, done);
	if (err)
		probekit_fprobe_disarm(probe);
	return err;
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
	return attach_chunks(probe);
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
	/* Or the fprobe counts as missed what calls it while it is dismantled. */
	disable_fprobe(&probe->fp);
	unregister_fprobe(&probe->fp);
	/* Exit handlers run under RCU alone, apart from ftrace. */
	synchronize_rcu();
}
