// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes: made when a link is created, gone when it is. Nothing here runs on
 * a hit.
 */
#include <linux/bpf.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "engine.h"

/* See engine.h. */
DEFINE_MUTEX(probekit_lock);

static LIST_HEAD(probes);
static unsigned int nr_probes;

static struct probekit_probe *find_probe(const void *kdata, const struct bpf_link *link)
{
	struct probekit_probe *probe;

	lockdep_assert_held(&probekit_lock);
	list_for_each_entry(probe, &probes, node)
		if (link ? probe->link == link : !probe->link && probe->kdata == kdata)
			return probe;
	return NULL;
}

static void put_programs(struct probekit_handlers *handlers)
{
	if (handlers->entry.prog)
		bpf_prog_put(handlers->entry.prog);
	if (handlers->exit.prog)
		bpf_prog_put(handlers->exit.prog);
}

static struct probekit_handlers *make_handlers(const struct probekit_request *request)
{
	struct probekit_handlers *handlers = kzalloc(sizeof(*handlers), GFP_KERNEL_ACCOUNT);

	if (!handlers)
		return NULL;
	probekit_struct_ops_handler(request, false, &handlers->entry);
	probekit_struct_ops_handler(request, true, &handlers->exit);
	return handlers;
}

static void free_probe(struct probekit_probe *probe)
{
	struct probekit_handlers *handlers = rcu_dereference_protected(probe->handlers, true);
	struct probekit_handlers *older;

	put_programs(handlers);
	for (; handlers; handlers = older) {
		older = handlers->retired;
		kfree(handlers);
	}
	/* Whoever reads counters may still look at what the backend has. */
	synchronize_rcu();
	if (probe->backend->free)
		probe->backend->free(probe);
	kfree(probe);
}

/*
 * More storage than that, or than an eighth of all memory, is a mistake; the
 * kernel's own sums overflow at 2 GiB.
 * What a call takes besides its entry data is rounded up.
 */
#define STORAGE_MAX	(256ULL << 20)
#define STORAGE_CALL	128U

/* How many calls may be in flight. */
static int choose_maxactive(const struct probekit_request *request,
			    const struct probekit_target_set *set, u32 *maxactive)
{
	const struct probekit_backend *backend = request->backend;
	u64 calls, storage;

	*maxactive = 0;
	if (!request->exit || !backend->maxactive)
		return 0;
	*maxactive = request->maxactive ?:
		     backend->maxactive(request->entry_data_size, set->accepted);
	calls = backend->pool_per_target ? (u64)*maxactive * set->accepted : *maxactive;
	storage = calls * (request->entry_data_size + STORAGE_CALL);
	return storage > min(STORAGE_MAX, (u64)totalram_pages() * PAGE_SIZE / 8) ? -E2BIG : 0;
}

static struct probekit_probe *make_probe(const struct probekit_request *request,
					 struct bpf_link *link, struct probekit_target_set *set,
					 u32 maxactive)
{
	struct probekit_probe *probe = kzalloc(sizeof(*probe), GFP_KERNEL_ACCOUNT);
	struct probekit_handlers *handlers;

	if (!probe)
		return NULL;
	handlers = make_handlers(request);
	if (!handlers) {
		kfree(probe);
		return NULL;
	}
	RCU_INIT_POINTER(probe->handlers, handlers);
	probe->counters = set->counters;
	probe->table = set->table;
	probe->shift = set->shift;
	probe->backend = request->backend;
	probe->has_exit = request->exit;
	probe->entry_data_size = request->entry_data_size;
	probe->maxactive = maxactive;
	/* The limit is exact to a batch per CPU; a small one wants to be exact. */
	probe->batch = clamp(probe->maxactive / (8 * num_possible_cpus()), 1U, 32U);
	probe->minus_batch = -probe->batch;
	probe->link = link;
	probe->kdata = request->kdata;
	probe->targets = set;
	return probe;
}

/* Makes a set that another probe may have been over before this one's. */
static void prepare_set(struct probekit_target_set *set, u32 entry_data_size)
{
	u64 slots = 1ULL << (32 - set->shift);
	u64 i;
	int cpu;

	for (i = 0; i < slots; i++)
		set->table[i].entry_data_size = entry_data_size;

	for_each_possible_cpu(cpu)
		*per_cpu_ptr(set->counters, cpu) = (struct probekit_counters) { .notice = 1 };
	set->attached = 0;
	set->peak_active = 0;
	set->kernel_recursion = 0;
	set->kernel_storage = 0;
}

/* Leaves the last counters of a probe that is armed no more in its set. */
static void retire(struct probekit_probe *probe)
{
	struct probekit_target_set *set = probe->targets;

	lockdep_assert_held(&probekit_lock);
	probe->backend->missed(probe, &set->kernel_recursion, &set->kernel_storage);
	set->peak_active = atomic_read(&probe->peak_active);
	/* Readers of the counters take either these or the probe's. */
	rcu_assign_pointer(set->probe, NULL);
	WRITE_ONCE(set->state, PROBEKIT_STATE_DETACHED);
}

static int claim_set(struct probekit_probe *probe)
{
	struct probekit_target_set *set = probe->targets;
	int err;

	err = mutex_lock_killable(&probekit_lock);
	if (err)
		return err;
	if (rcu_access_pointer(set->probe)) {
		err = -EBUSY;
	} else {
		prepare_set(set, probe->entry_data_size);
		rcu_assign_pointer(set->probe, probe);
		set->maxactive = probe->maxactive;
		set->has_exit = probe->has_exit;
		WRITE_ONCE(set->state, PROBEKIT_STATE_ATTACHING);
	}
	mutex_unlock(&probekit_lock);
	return err;
}

/*
 * Without the lock while the backend works, which may take a minute: others can
 * detach meanwhile. Nobody finds the probe before it is in the list.
 */
static int arm(struct probekit_probe *probe)
{
	struct probekit_target_set *set = probe->targets;
	int err;

	err = claim_set(probe);
	if (err)
		return err;
	err = probe->backend->arm(probe);

	mutex_lock(&probekit_lock);
	if (err) {
		retire(probe);
	} else {
		WRITE_ONCE(set->state, PROBEKIT_STATE_LIVE);
		list_add_tail(&probe->node, &probes);
		nr_probes++;
	}
	mutex_unlock(&probekit_lock);
	return err;
}

/**
 * probekit_probe_attach() - make a probe of handlers and the set they name
 * @request: handlers, which live as long as @link
 * @link: what the probe belongs to, or NULL
 *
 * Return: zero; -EPERM; -EBADF where targets_fd is not a target set;
 * -EMEDIUMTYPE where it is one for another kind of probe; -ENOENT
 * where the set has no target that can be probed; -E2BIG where maxactive calls
 * would take too much storage; -EBUSY where another probe
 * is over the set; -EINTR; -ENOMEM; -errno of the kernel.
 */
int probekit_probe_attach(const struct probekit_request *request, struct bpf_link *link)
{
	struct probekit_target_set *set;
	struct probekit_probe *probe;
	u32 maxactive;
	int err;

	err = probekit_may_probe();
	if (err)
		return err;
	set = probekit_targets_get_by_fd(request->targets_fd);
	if (IS_ERR(set))
		return PTR_ERR(set);
	err = -EMEDIUMTYPE;
	if (set->backend != request->backend)
		goto put_set;
	err = -ENOENT;
	if (!set->accepted)
		goto put_set;
	err = choose_maxactive(request, set, &maxactive);
	if (err)
		goto put_set;
	err = -ENOMEM;
	probe = make_probe(request, link, set, maxactive);
	if (!probe)
		goto put_set;

	err = arm(probe);
	if (!err)
		return 0;
	free_probe(probe);
put_set:
	probekit_targets_put(set);
	return err;
}

/**
 * probekit_probe_detach() - end a probe
 * @kdata: its first handlers
 * @link: its link, or NULL
 *
 * When this returns no handler runs and the counters of its set are final.
 */
void probekit_probe_detach(const void *kdata, struct bpf_link *link)
{
	struct probekit_probe *probe;

	mutex_lock(&probekit_lock);
	probe = find_probe(kdata, link);
	if (probe) {
		list_del(&probe->node);
		nr_probes--;
		probe->backend->disarm(probe);
		retire(probe);
	}
	mutex_unlock(&probekit_lock);
	if (!probe)
		return;
	probekit_targets_put(probe->targets);
	free_probe(probe);
}

/* New handlers serve the storage and the registration that are there. */
static int check_swap(const struct probekit_probe *probe, const struct probekit_request *request)
{
	struct probekit_target_set *set;

	if (request->backend != probe->backend || !request->exit != !probe->has_exit ||
	    request->entry_data_size > probe->entry_data_size ||
	    (request->maxactive && request->maxactive != probe->maxactive))
		return -EINVAL;
	if (!request->targets_fd)
		return 0;
	set = probekit_targets_get_by_fd(request->targets_fd);
	if (IS_ERR(set))
		return PTR_ERR(set);
	probekit_targets_put(set);
	return set == probe->targets ? 0 : -EINVAL;
}

/**
 * probekit_probe_swap() - replace the handlers of a live probe
 * @request: new handlers over the same targets: an exit handler if and only if
 *	there was one, no more entry data than before, targets_fd zero or the
 *	same set
 * @link: link of the probe
 *
 * No call is seen by neither generation. A call that the old handlers saw
 * enter is not shown to the new exit handler, which could not read its entry
 * data: it is counted as missed_swapped.
 *
 * Return: zero, -ENOENT, -EINVAL, -ENOMEM, -EPERM.
 */
int probekit_probe_swap(const struct probekit_request *request, struct bpf_link *link)
{
	struct probekit_handlers *old, *new;
	struct probekit_probe *probe;
	int err;

	err = probekit_may_probe();
	if (err)
		return err;
	mutex_lock(&probekit_lock);
	probe = find_probe(NULL, link);
	if (!probe) {
		err = -ENOENT;
		goto unlock;
	}
	err = check_swap(probe, request);
	if (err)
		goto unlock;
	err = -ENOMEM;
	new = make_handlers(request);
	if (!new)
		goto unlock;
	old = rcu_dereference_protected(probe->handlers, lockdep_is_held(&probekit_lock));
	new->retired = old;
	rcu_assign_pointer(probe->handlers, new);
	synchronize_rcu();
	put_programs(old);
	err = 0;
unlock:
	mutex_unlock(&probekit_lock);
	return err;
}

unsigned int probekit_probe_count(void)
{
	return READ_ONCE(nr_probes);
}

/* Reads what only the probe itself knows, while it is there. */
static void read_live(struct probekit_target_set *set, struct probekit_stats *stats,
		      u64 *recursion, u64 *storage)
{
	struct probekit_probe *probe;

	rcu_read_lock();
	probe = rcu_dereference(set->probe);
	if (probe) {
		probe->backend->missed(probe, recursion, storage);
		stats->peak_active = atomic_read(&probe->peak_active);
	} else {
		*recursion = set->kernel_recursion;
		*storage = set->kernel_storage;
		stats->peak_active = set->peak_active;
	}
	rcu_read_unlock();
}

/**
 * probekit_probe_stats() - counters of the probe over a set, live or gone
 * @set: the set
 * @stats: where to; zero but for the size
 *
 * Takes no lock: whoever attaches holds it all along, and progress is to be
 * seen meanwhile.
 */
void probekit_probe_stats(struct probekit_target_set *set, struct probekit_stats *stats)
{
	u64 left, recursion = 0, storage = 0;
	int cpu;

	stats->state = READ_ONCE(set->state);
	stats->accepted = set->accepted;
	stats->attached = READ_ONCE(set->attached);
	stats->maxactive = READ_ONCE(set->maxactive);
	for_each_possible_cpu(cpu) {
		struct probekit_counters *c = per_cpu_ptr(set->counters, cpu);

		stats->exits += READ_ONCE(c->exits);
		stats->cancelled += READ_ONCE(c->cancelled);
		stats->missed_recursion += READ_ONCE(c->missed_recursion);
		stats->missed_storage += READ_ONCE(c->missed_storage);
		stats->missed_swapped += READ_ONCE(c->missed_swapped);
		stats->missed_exit += READ_ONCE(c->missed_exit);
	}
	/* Entries last: a call that returns meanwhile stays in flight here. */
	smp_rmb();
	for_each_possible_cpu(cpu)
		stats->entries += READ_ONCE(per_cpu_ptr(set->counters, cpu)->entries);
	read_live(set, stats, &recursion, &storage);

	stats->handled = stats->entries - stats->missed_recursion - stats->missed_storage;
	left = stats->exits + stats->cancelled + stats->missed_recursion + stats->missed_storage +
	       stats->missed_swapped + stats->missed_exit;
	if (READ_ONCE(set->has_exit) && stats->entries > left)
		stats->in_flight = stats->entries - left;
	/* What never got as far as the engine. */
	stats->entries += recursion + storage;
	stats->missed_recursion += recursion;
	stats->missed_storage += storage;
}
