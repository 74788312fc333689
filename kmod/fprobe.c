// SPDX-License-Identifier: GPL-2.0-only
/*
 * fprobe backend: entry and exit of functions, thousands at once.
 *
 * The storage of a call is the fprobe's: a frame of ours, then the entry data
 * of the handlers. The fprobe never runs out of it: the engine limits the
 * calls in flight itself, below the size of the pool, so that it can tell a
 * call missed for storage from one missed for recursion.
 */
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "compat.h"
#include "dispatch.h"

/* Targets that are attached between two looks for a signal. */
#define ATTACH_CHUNK	2048U

/* Calls in flight that are allowed where the user does not say: a few MB. */
#define DEFAULT_ACTIVE		16384U
#define DEFAULT_ACTIVE_MIN	1024U
#define DEFAULT_STORAGE		(8U << 20)

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

static __always_inline const struct probekit_slot *find_slot(const struct probekit_probe *probe,
							     unsigned long ip)
{
	const struct probekit_slot *slot = probekit_first_slot(probe, ip);

	return likely(slot->ip == ip) ? slot : find_slot_slowly(probe, ip);
}

/*
 * The functions below are the price of a hit. No canary: there is no array on
 * their stack that anything could overrun.
 */
static int __no_stack_protector
fprobe_entry_only(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
		  struct pt_regs *regs, void *data)
{
	struct probekit_probe *probe = container_of(fp, struct probekit_probe, fp);

	probekit_hit(probe, find_slot(probe, ip), ret_ip, regs);
	return 0;
}
NOKPROBE_SYMBOL(fprobe_entry_only);

/*
 * As many calls as may be in flight seem to be. Looking closer costs a read per
 * CPU, so not for each one.
 */
static noinline int enter_when_full(struct probekit_probe *probe, unsigned long ip,
				    unsigned long ret_ip, struct pt_regs *regs,
				    struct probekit_frame *frame)
{
	if (this_cpu_read(probe->counters->missed_storage) % 64 == 0)
		probekit_active_write_off(probe, probekit_fprobe_active(&probe->fp));
	if (!READ_ONCE(probe->full))
		return probekit_enter(probe, find_slot(probe, ip), ret_ip, regs, frame);
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
	return probekit_enter(probe, find_slot(probe, ip), ret_ip, regs, data);
}
NOKPROBE_SYMBOL(fprobe_entry);

static void __no_stack_protector
fprobe_exit(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
	    struct pt_regs *regs, void *data)
{
	probekit_leave(container_of(fp, struct probekit_probe, fp), data, ret_ip, regs);
}
NOKPROBE_SYMBOL(fprobe_exit);

static struct probekit_frame *fprobe_frame_of(const struct probekit_probe *probe,
					      struct rethook_node *node)
{
	return node->rethook == probe->fp.rethook ? probekit_fprobe_data(node) : NULL;
}
NOKPROBE_SYMBOL(fprobe_frame_of);

/*
 * Asks ftrace about a range of addresses: all of them, or any bad one, is all
 * that it says, so a bad range is halved until the bad ones are found. The
 * ops is only asked with, and never registered.
 */
static int check_range(struct ftrace_ops *ops, unsigned long *ips, u32 *verdicts,
		       u32 begin, u32 end)
{
	u32 middle = begin + (end - begin) / 2;
	int err;

	if (begin == end)
		return 0;
	if (fatal_signal_pending(current))
		return -EINTR;
	cond_resched();
	err = ftrace_set_filter_ips(ops, ips + begin, end - begin, 0, 1);
	if (err != -EINVAL)
		return err;
	if (end - begin == 1) {
		verdicts[begin] = PROBEKIT_TARGET_NOT_TRACEABLE;
		return 0;
	}
	err = check_range(ops, ips, verdicts, begin, middle);
	return err ?: check_range(ops, ips, verdicts, middle, end);
}

/*
 * ftrace also takes an address in the middle of a location for that location,
 * but a hit reports its beginning. Where the instruction does not tell, because
 * somebody traces it already, the byte before does: it belongs to none.
 */
static bool is_location(struct ftrace_ops *ops, unsigned long ip)
{
	unsigned long before = ip - 1;

	switch (probekit_location_state(ip)) {
	case PROBEKIT_LOCATION_IDLE:
		return true;
	case PROBEKIT_LOCATION_TRACED:
		return ftrace_set_filter_ips(ops, &before, 1, 0, 1) == -EINVAL;
	default:
		return false;
	}
}

static int fprobe_check(unsigned long *ips, u32 *verdicts, u32 count)
{
	struct ftrace_ops *ops = kzalloc(sizeof(*ops), GFP_KERNEL);
	u32 i;
	int err;

	if (!ops)
		return -ENOMEM;
	err = check_range(ops, ips, verdicts, 0, count);
	/* Only what ftrace knows is read: anything else may be a device. */
	for (i = 0; !err && i < count; i++) {
		if (verdicts[i] != PROBEKIT_TARGET_OK)
			continue;
		ips[i] = probekit_ftrace_location(ips[i]);
		if (!is_location(ops, ips[i]))
			verdicts[i] = PROBEKIT_TARGET_NOT_TRACEABLE;
		cond_resched();
	}
	ftrace_free_filter(ops);
	kfree(ops);
	return err;
}

static void fprobe_disarm(struct probekit_probe *probe)
{
	/*
	 * A hit that comes while the fprobe is dismantled counts as missed there,
	 * though the probe is over: keep hits out, let those under way finish,
	 * and take the number before.
	 */
	disable_fprobe(&probe->fp);
	synchronize_rcu();
	probe->nmissed = probe->fp.nmissed;
	/* Pairs with fprobe_missed(). */
	smp_store_release(&probe->dismantling, true);
	unregister_fprobe(&probe->fp);
	/* Exit handlers run under RCU alone, apart from ftrace. */
	synchronize_rcu();
}

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

	if (probe->flags & PROBEKIT_FLAG_DISABLED) {
		err = register_fprobe_ips(&probe->fp, &probekit_parking, 1);
		WRITE_ONCE(set->attached, err ? 0 : set->accepted);
		return err;
	}
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
		fprobe_disarm(probe);
	return err;
}

static u32 fprobe_maxactive(u32 entry_data_size, u32 targets)
{
	return clamp(DEFAULT_STORAGE / (entry_data_size + 128), DEFAULT_ACTIVE_MIN, DEFAULT_ACTIVE);
}

static int fprobe_arm(struct probekit_probe *probe)
{
	struct fprobe *fp = &probe->fp;

	/* Or kernel.ftrace_enabled could switch a live probe off without a word. */
	fp->ops.flags |= FTRACE_OPS_FL_PERMANENT;
	if (probe->flags & PROBEKIT_FLAG_KPROBE_SHARED)
		fp->flags |= FPROBE_FL_KPROBE_SHARED;
	fp->entry_handler = fprobe_entry_only;
	if (probe->has_exit) {
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

/*
 * Disabling is done in the filter of ftrace, where it costs a hit nothing, and
 * not by the kernel's flag, which would also take the exit of calls in flight.
 */
static int fprobe_rearm(struct probekit_probe *probe)
{
	struct probekit_target_set *set = probe->targets;
	unsigned long *ips = kvmalloc_array(set->accepted, sizeof(*ips), GFP_KERNEL);
	u32 i, n = 0;
	int err;

	if (!ips)
		return -ENOMEM;
	for (i = 0; i < set->accepted; i++)
		if (probekit_target_wanted(probe, i))
			ips[n++] = set->ips[i];
	if (!n)
		ips[n++] = probekit_parking;
	err = ftrace_set_filter_ips(&probe->fp.ops, ips, n, 0, 1);
	kvfree(ips);
	return err;
}

static void fprobe_shapes(const struct probekit_probe *probe, u32 *optimised, u32 *ftrace_based)
{
	*ftrace_based += probe->targets->attached;
}

/* Storage never runs out below the engine, so what the kernel counts is recursion. */
static void fprobe_missed(const struct probekit_probe *probe, u64 *recursion, u64 *storage)
{
	/* Pairs with fprobe_disarm(). */
	*recursion += smp_load_acquire(&probe->dismantling) ? probe->nmissed :
							      READ_ONCE(probe->fp.nmissed);
}

const struct probekit_backend probekit_fprobe_backend = {
	.kind = PROBEKIT_KIND_FPROBE,
	.check = fprobe_check,
	.maxactive = fprobe_maxactive,
	.arm = fprobe_arm,
	.disarm = fprobe_disarm,
	.frame_of = fprobe_frame_of,
	.rearm = fprobe_rearm,
	.missed = fprobe_missed,
	.shapes = fprobe_shapes,
};
