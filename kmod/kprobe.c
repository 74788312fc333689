// SPDX-License-Identifier: GPL-2.0-only
/*
 * kprobe backend: before and after single instructions. Each target is a kprobe
 * of its own, so a hit comes with its site and looks nothing up.
 */
#include <linux/kprobes.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "compat.h"
#include "dispatch.h"

/* Sites with a post handler have a byte per CPU each, in one allocation. */
#define POST_SITES_MAX	(16U << 10)

/* Targets that are checked at once. */
#define CHECK_CHUNK	512U

struct probekit_kprobe_sites {
	u32 count;
	struct kprobe **kprobes;	/* what the kernel wants to unregister many at once */
	struct probekit_kprobe_site {
		struct kprobe kp;
		struct probekit_probe *probe;
		const struct probekit_slot *slot;
		u32 index;
	} sites[] __counted_by(count);
};

static int kprobe_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct probekit_kprobe_site *site = container_of(kp, struct probekit_kprobe_site, kp);

	probekit_hit(site->probe, site->slot, 0, regs);
	return 0;
}
NOKPROBE_SYMBOL(kprobe_pre);

/* The same where the handler may have the function skipped. */
static int kprobe_pre_of_outcome(struct kprobe *kp, struct pt_regs *regs)
{
	kprobe_pre(kp, regs);
	return instruction_pointer(regs) == (unsigned long)probekit_return_at_once;
}
NOKPROBE_SYMBOL(kprobe_pre_of_outcome);

/* The same where a post handler follows: it has to know whether it is wanted. */
static int kprobe_pre_of_two(struct kprobe *kp, struct pt_regs *regs)
{
	struct probekit_kprobe_site *site = container_of(kp, struct probekit_kprobe_site, kp);
	struct probekit_probe *probe = site->probe;
	u64 recursion = this_cpu_read(probe->counters->missed_recursion);
	int ret = probekit_hit(probe, site->slot, 0, regs);

	if (ret && recursion == this_cpu_read(probe->counters->missed_recursion))
		this_cpu_inc(probe->counters->cancelled);
	*this_cpu_ptr(probe->cancelled + site->index) = !!ret;
	return 0;
}
NOKPROBE_SYMBOL(kprobe_pre_of_two);

/* On the CPU of the pre handler, which nothing else has used since. */
static void kprobe_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	struct probekit_kprobe_site *site = container_of(kp, struct probekit_kprobe_site, kp);
	struct probekit_probe *probe = site->probe;
	struct probekit_frame frame __uninitialized;
	u32 outer;

	if (*this_cpu_ptr(probe->cancelled + site->index))
		return;
	if (unlikely(!probekit_guard_enter(&outer))) {
		this_cpu_inc(probe->counters->missed_exit);
		return;
	}
	probekit_call_init(&frame.call, site->slot, 0, regs);
	frame.handlers = rcu_dereference_raw(probe->handlers);
	probekit_run(&frame.handlers->exit, &frame.call);
	this_cpu_inc(probe->counters->exits);
	probekit_guard_leave(outer);
}
NOKPROBE_SYMBOL(kprobe_post);

/**
 * probekit_kprobe_verdict() - what the kernel means when it refuses a kprobe
 * @err: what it said
 *
 * Return: PROBEKIT_TARGET_*.
 */
u32 probekit_kprobe_verdict(int err)
{
	switch (err) {
	case 0:
		return PROBEKIT_TARGET_OK;
	case -EILSEQ:
		return PROBEKIT_TARGET_NOT_INSTRUCTION;
	default:
		return PROBEKIT_TARGET_FORBIDDEN;
	}
}

/**
 * probekit_kprobe_switch() - enable or disable a kprobe, unless it is so
 * @kp: a registered kprobe
 * @on: enable
 *
 * Return: zero or -errno of the kernel.
 */
int probekit_kprobe_switch(struct kprobe *kp, bool on)
{
	if (kprobe_gone(kp) || on == !kprobe_disabled(kp))
		return 0;
	cond_resched();
	return on ? enable_kprobe(kp) : disable_kprobe(kp);
}

/**
 * probekit_kprobe_shape() - how the kernel reaches a kprobe
 * @kp: the kprobe
 * @optimised: counted up where it is a jump
 * @ftrace_based: counted up where it is a call of ftrace
 */
void probekit_kprobe_shape(const struct kprobe *kp, u32 *optimised, u32 *ftrace_based)
{
	u8 insn;

	if (kp->flags & KPROBE_FLAG_GONE)
		return;
	if (kp->flags & KPROBE_FLAG_FTRACE)
		(*ftrace_based)++;
	else if (!copy_from_kernel_nofault(&insn, kp->addr, 1) && probekit_is_jump(insn) &&
		 !probekit_is_jump(kp->opcode))
		(*optimised)++;
}

/*
 * Registers a chunk for a moment, disabled: only the kernel knows all its rules.
 * Unregistering waits for RCU, so many at once.
 */
static void check_chunk(struct kprobe *kps, struct kprobe **good, unsigned long *ips,
			u32 *verdicts, u32 count)
{
	u32 i, n = 0;

	for (i = 0; i < count; i++) {
		kps[i] = (struct kprobe) {
			.addr = (kprobe_opcode_t *)ips[i],
			.flags = KPROBE_FLAG_DISABLED,
		};
		verdicts[i] = ips[i] ? probekit_kprobe_verdict(register_kprobe(&kps[i])) :
				       PROBEKIT_TARGET_FORBIDDEN;
		if (verdicts[i] != PROBEKIT_TARGET_OK)
			continue;
		/* At the entry of a function the kernel steps over endbr64. */
		ips[i] = (unsigned long)kps[i].addr;
		good[n++] = &kps[i];
	}
	unregister_kprobes(good, n);
}

static int kprobe_check(unsigned long *ips, u32 *verdicts, u32 count)
{
	struct kprobe *kps = kvcalloc(CHECK_CHUNK, sizeof(*kps), GFP_KERNEL);
	struct kprobe **good = kvcalloc(CHECK_CHUNK, sizeof(*good), GFP_KERNEL);
	int err = kps && good ? 0 : -ENOMEM;
	u32 done, n;

	for (done = 0; !err && done < count; done += n) {
		n = min(CHECK_CHUNK, count - done);
		check_chunk(kps, good, ips + done, verdicts + done, n);
		cond_resched();
		if (signal_pending(current))
			err = -EINTR;
	}
	kvfree(good);
	kvfree(kps);
	return err;
}

static void free_sites(struct probekit_kprobe_sites *sites)
{
	kvfree(sites->kprobes);
	kvfree(sites);
}

static struct probekit_kprobe_sites *make_sites(struct probekit_probe *probe)
{
	struct probekit_target_set *set = probe->targets;
	struct probekit_kprobe_sites *sites;
	u32 i;

	sites = kvzalloc(struct_size(sites, sites, set->accepted), GFP_KERNEL_ACCOUNT);
	if (!sites)
		return NULL;
	sites->count = set->accepted;
	sites->kprobes = kvcalloc(set->accepted, sizeof(*sites->kprobes), GFP_KERNEL_ACCOUNT);
	if (!sites->kprobes) {
		kvfree(sites);
		return NULL;
	}
	for (i = 0; i < set->accepted; i++) {
		struct probekit_kprobe_site *site = &sites->sites[i];

		site->kp.addr = (kprobe_opcode_t *)set->ips[i];
		site->kp.pre_handler = probe->has_exit ? kprobe_pre_of_two : kprobe_pre;
		if (probe->flags & PROBEKIT_FLAG_OUTCOME)
			site->kp.pre_handler = kprobe_pre_of_outcome;
		site->kp.post_handler = probe->has_exit ? kprobe_post : NULL;
		if (probe->flags & PROBEKIT_FLAG_DISABLED)
			site->kp.flags = KPROBE_FLAG_DISABLED;
		site->probe = probe;
		site->slot = probekit_targets_slot(set, set->ips[i]);
		site->index = i;
		sites->kprobes[i] = &site->kp;
	}
	return sites;
}

static void kprobe_disarm(struct probekit_probe *probe)
{
	struct probekit_kprobe_sites *sites = probe->sites;

	unregister_kprobes(sites->kprobes, probe->targets->attached);
}

static void kprobe_free(struct probekit_probe *probe)
{
	free_percpu(probe->cancelled);
	if (probe->sites)
		free_sites(probe->sites);
}

/* How many targets are at ftrace locations, or -errno. */
static int count_ftrace_locations(const struct probekit_target_set *set)
{
	unsigned long *ips = kvmemdup(set->ips, set->accepted * sizeof(*ips), GFP_KERNEL);
	u32 *verdicts = kvcalloc(set->accepted, sizeof(*verdicts), GFP_KERNEL);
	int ret = ips && verdicts ? 0 : -ENOMEM;
	u32 i;

	if (!ret)
		ret = probekit_fprobe_backend.check(ips, verdicts, set->accepted);
	for (i = 0; ret >= 0 && i < set->accepted; i++)
		ret += verdicts[i] == PROBEKIT_TARGET_OK;
	kvfree(verdicts);
	kvfree(ips);
	return ret;
}

/*
 * The kernel (6.12) makes a kprobe at an ftrace location an ftrace one, of
 * another sort if it has a post handler, and gets the sorts mixed up when two
 * kprobes of both share a place: it fails to disarm them, and dies of it. So
 * there are no post handlers there, where somebody else's kprobe may be.
 */
static int refuse_ftrace_locations(const struct probekit_target_set *set)
{
	int count = count_ftrace_locations(set);

	return count > 0 ? -EOPNOTSUPP : count;
}

/*
 * A function is skipped at its entry alone, where the stack is as its caller
 * left it. There a kprobe goes through ftrace and is never optimised to a jump,
 * which could not change the instruction pointer.
 */
static int want_ftrace_locations(const struct probekit_probe *probe)
{
	int count;

	if (probe->has_exit)
		return -EINVAL;
	count = count_ftrace_locations(probe->targets);
	if (count < 0)
		return count;
	return count == probe->targets->accepted ? 0 : -EOPNOTSUPP;
}

static int prepare_post_handlers(struct probekit_probe *probe)
{
	struct probekit_target_set *set = probe->targets;

	if (set->accepted > POST_SITES_MAX)
		return -E2BIG;
	probe->cancelled = __alloc_percpu_gfp(set->accepted, 1, GFP_KERNEL_ACCOUNT);
	if (!probe->cancelled)
		return -ENOMEM;
	return refuse_ftrace_locations(set);
}

static int kprobe_arm(struct probekit_probe *probe)
{
	struct probekit_target_set *set = probe->targets;
	struct probekit_kprobe_sites *sites;
	int err = 0;
	u32 i;

	if (probe->flags & PROBEKIT_FLAG_OUTCOME)
		err = want_ftrace_locations(probe);
	else if (probe->has_exit)
		err = prepare_post_handlers(probe);
	if (err)
		return err;
	sites = make_sites(probe);
	if (!sites)
		return -ENOMEM;
	probe->sites = sites;
	for (i = 0; i < sites->count && !err; i++) {
		cond_resched();
		err = signal_pending(current) ? -EINTR : register_kprobe(sites->kprobes[i]);
		if (!err)
			WRITE_ONCE(set->attached, i + 1);
	}
	if (err && set->attached)
		kprobe_disarm(probe);
	return err;
}

static int kprobe_rearm(struct probekit_probe *probe)
{
	struct probekit_kprobe_sites *sites = probe->sites;
	int err = 0;
	u32 i;

	for (i = 0; i < sites->count && !err; i++)
		err = probekit_kprobe_switch(&sites->sites[i].kp,
					     probekit_target_wanted(probe, i));
	return err;
}

static void kprobe_shapes(const struct probekit_probe *probe, u32 *optimised, u32 *ftrace_based)
{
	const struct probekit_kprobe_sites *sites = probe->sites;
	u32 i;

	for (i = 0; sites && i < sites->count; i++)
		probekit_kprobe_shape(&sites->sites[i].kp, optimised, ftrace_based);
}

static void kprobe_missed(const struct probekit_probe *probe, u64 *recursion, u64 *storage)
{
	const struct probekit_kprobe_sites *sites = probe->sites;
	u32 i;

	for (i = 0; sites && i < sites->count; i++)
		*recursion += READ_ONCE(sites->sites[i].kp.nmissed);
}

const struct probekit_backend probekit_kprobe_backend = {
	.kind = PROBEKIT_KIND_KPROBE,
	.check = kprobe_check,
	.arm = kprobe_arm,
	.disarm = kprobe_disarm,
	.free = kprobe_free,
	.rearm = kprobe_rearm,
	.missed = kprobe_missed,
	.shapes = kprobe_shapes,
};
