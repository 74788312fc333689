// SPDX-License-Identifier: GPL-2.0-only
/*
 * kretprobe backend: entry and exit of functions, each with a kretprobe and a
 * pool of its own. The storage of a call is the kretprobe's.
 */
#include <linux/kprobes.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "compat.h"
#include "dispatch.h"

/* Calls of each function in flight where the user does not say. */
#define DEFAULT_ACTIVE		16384U
#define DEFAULT_ACTIVE_MIN	32U
#define DEFAULT_ACTIVE_MAX	1024U

/* Targets that are checked at once. */
#define CHECK_CHUNK		512U

struct probekit_kretprobe_sites {
	u32 count;
	struct kretprobe **kretprobes;
	struct probekit_kretprobe_site {
		struct kretprobe rp;
		struct probekit_probe *probe;
		const struct probekit_slot *slot;
	} sites[] __counted_by(count);
};

static struct probekit_kretprobe_site *site_of(struct kretprobe_instance *instance)
{
	return container_of(get_kretprobe(instance), struct probekit_kretprobe_site, rp);
}

static int kretprobe_entry(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct probekit_kretprobe_site *site = site_of(instance);
	unsigned long ret_ip = probekit_return_address(regs);

	return probekit_enter(site->probe, site->slot, ret_ip, regs,
			      (struct probekit_frame *)instance->data);
}
NOKPROBE_SYMBOL(kretprobe_entry);

static int kretprobe_exit(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct probekit_frame *frame = (struct probekit_frame *)instance->data;

	/* Found at entry, through trampolines. */
	probekit_leave(site_of(instance)->probe, frame, frame->call.ret_ip, regs);
	return 0;
}
NOKPROBE_SYMBOL(kretprobe_exit);

/*
 * The kretprobe of a hook may have gone and its memory be somebody else's, so
 * only its address counts; then the hook has no handler any more.
 */
static struct probekit_frame *kretprobe_frame_of(const struct probekit_probe *probe,
						 struct rethook_node *node)
{
	const struct probekit_kretprobe_sites *sites = probe->sites;
	const void *kretprobe = READ_ONCE(node->rethook->data);

	if (!rcu_access_pointer(node->rethook->handler) || kretprobe < (void *)sites->sites ||
	    kretprobe >= (void *)(sites->sites + sites->count))
		return NULL;
	return (void *)container_of(node, struct kretprobe_instance, node)->data;
}
NOKPROBE_SYMBOL(kretprobe_frame_of);

static int ignore(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	return 0;
}

/* As for kprobes: a chunk is registered for a moment, disabled. */
static void check_chunk(struct kretprobe *rps, struct kretprobe **good, unsigned long *ips,
			u32 *verdicts, u32 count)
{
	u32 i, n = 0;

	for (i = 0; i < count; i++) {
		rps[i] = (struct kretprobe) {
			.kp.addr = (kprobe_opcode_t *)ips[i],
			.kp.flags = KPROBE_FLAG_DISABLED,
			.handler = ignore,
			.maxactive = 1,
		};
		verdicts[i] = ips[i] ? probekit_kprobe_verdict(register_kretprobe(&rps[i])) :
				       PROBEKIT_TARGET_FORBIDDEN;
		if (verdicts[i] != PROBEKIT_TARGET_OK)
			continue;
		ips[i] = (unsigned long)rps[i].kp.addr;
		good[n++] = &rps[i];
	}
	unregister_kretprobes(good, n);
}

static int kretprobe_check(unsigned long *ips, u32 *verdicts, u32 count)
{
	struct kretprobe *rps = kvcalloc(CHECK_CHUNK, sizeof(*rps), GFP_KERNEL);
	struct kretprobe **good = kvcalloc(CHECK_CHUNK, sizeof(*good), GFP_KERNEL);
	int err = rps && good ? 0 : -ENOMEM;
	u32 done, n;

	for (done = 0; !err && done < count; done += n) {
		n = min(CHECK_CHUNK, count - done);
		check_chunk(rps, good, ips + done, verdicts + done, n);
		cond_resched();
		if (signal_pending(current))
			err = -EINTR;
	}
	kvfree(good);
	kvfree(rps);
	return err;
}

static u32 kretprobe_maxactive(u32 entry_data_size, u32 targets)
{
	return clamp(DEFAULT_ACTIVE / targets, DEFAULT_ACTIVE_MIN, DEFAULT_ACTIVE_MAX);
}

static void kretprobe_free(struct probekit_probe *probe)
{
	struct probekit_kretprobe_sites *sites = probe->sites;

	if (!sites)
		return;
	kvfree(sites->kretprobes);
	kvfree(sites);
}

static struct probekit_kretprobe_sites *make_sites(struct probekit_probe *probe)
{
	struct probekit_target_set *set = probe->targets;
	struct probekit_kretprobe_sites *sites;
	u32 i;

	sites = kvzalloc(struct_size(sites, sites, set->accepted), GFP_KERNEL_ACCOUNT);
	if (!sites)
		return NULL;
	sites->count = set->accepted;
	sites->kretprobes = kvcalloc(set->accepted, sizeof(*sites->kretprobes),
				     GFP_KERNEL_ACCOUNT);
	if (!sites->kretprobes) {
		kvfree(sites);
		return NULL;
	}
	for (i = 0; i < set->accepted; i++) {
		struct probekit_kretprobe_site *site = &sites->sites[i];

		site->rp.kp.addr = (kprobe_opcode_t *)set->ips[i];
		site->rp.entry_handler = kretprobe_entry;
		site->rp.handler = kretprobe_exit;
		site->rp.data_size = sizeof(struct probekit_frame) + probe->entry_data_size;
		site->rp.maxactive = probe->maxactive;
		if (probe->flags & PROBEKIT_FLAG_DISABLED)
			site->rp.kp.flags = KPROBE_FLAG_DISABLED;
		site->probe = probe;
		site->slot = probekit_targets_slot(set, set->ips[i]);
		sites->kretprobes[i] = &site->rp;
	}
	return sites;
}

static void kretprobe_disarm(struct probekit_probe *probe)
{
	struct probekit_kretprobe_sites *sites = probe->sites;

	unregister_kretprobes(sites->kretprobes, probe->targets->attached);
}

static int kretprobe_arm(struct probekit_probe *probe)
{
	struct probekit_target_set *set = probe->targets;
	struct probekit_kretprobe_sites *sites = make_sites(probe);
	int err = 0;
	u32 i;

	if (!sites)
		return -ENOMEM;
	probe->sites = sites;
	for (i = 0; i < sites->count && !err; i++) {
		cond_resched();
		err = signal_pending(current) ? -EINTR : register_kretprobe(sites->kretprobes[i]);
		if (!err)
			WRITE_ONCE(set->attached, i + 1);
	}
	if (err && set->attached)
		kretprobe_disarm(probe);
	return err;
}

static int kretprobe_rearm(struct probekit_probe *probe)
{
	struct probekit_kretprobe_sites *sites = probe->sites;
	int err = 0;
	u32 i;

	for (i = 0; i < sites->count && !err; i++)
		err = probekit_kprobe_switch(&sites->sites[i].rp.kp,
					     probekit_target_wanted(probe, i));
	return err;
}

static void kretprobe_shapes(const struct probekit_probe *probe, u32 *optimised,
			     u32 *ftrace_based)
{
	const struct probekit_kretprobe_sites *sites = probe->sites;
	u32 i;

	for (i = 0; sites && i < sites->count; i++)
		probekit_kprobe_shape(&sites->sites[i].rp.kp, optimised, ftrace_based);
}

static void kretprobe_missed(const struct probekit_probe *probe, u64 *recursion, u64 *storage)
{
	const struct probekit_kretprobe_sites *sites = probe->sites;
	u32 i;

	for (i = 0; sites && i < sites->count; i++) {
		*recursion += READ_ONCE(sites->sites[i].rp.kp.nmissed);
		*storage += READ_ONCE(sites->sites[i].rp.nmissed);
	}
}

const struct probekit_backend probekit_kretprobe_backend = {
	.kind = PROBEKIT_KIND_KRETPROBE,
	.check = kretprobe_check,
	.maxactive = kretprobe_maxactive,
	.pool_per_target = true,
	.arm = kretprobe_arm,
	.disarm = kretprobe_disarm,
	.free = kretprobe_free,
	.frame_of = kretprobe_frame_of,
	.rearm = kretprobe_rearm,
	.missed = kretprobe_missed,
	.shapes = kretprobe_shapes,
};
