// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes: made when a link is created, gone when it is. Nothing here runs on
 * a hit.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bpf.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "engine.h"

/* See engine.h. */
DEFINE_MUTEX(probekit_lock);

static LIST_HEAD(probes);
static unsigned int nr_probes;
static u32 last_id;

static struct probekit_probe *find_probe(const void *kdata, const struct bpf_link *link)
{
	struct probekit_probe *probe;

	lockdep_assert_held(&probekit_lock);
	list_for_each_entry(probe, &probes, node)
		if (link ? probe->link == link : !probe->link && probe->kdata == kdata)
			return probe;
	return NULL;
}

static struct probekit_probe *find_id(u32 id)
{
	struct probekit_probe *probe;

	lockdep_assert_held(&probekit_lock);
	list_for_each_entry(probe, &probes, node)
		if (probe->id == id)
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

static struct probekit_handlers *make_handlers(const struct probekit_request *request,
					       const struct probekit_probe *probe)
{
	struct probekit_handlers *handlers = kzalloc(sizeof(*handlers), GFP_KERNEL_ACCOUNT);

	if (!handlers)
		return NULL;
	handlers->probe = probe;
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
	put_pid(probe->owner);
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
	handlers = make_handlers(request, probe);
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
	probe->flags = request->flags;
	probe->entry_data_size = request->entry_data_size;
	probe->maxactive = maxactive;
	/* The limit is exact to a batch per CPU; a small one wants to be exact. */
	probe->batch = clamp(probe->maxactive / (8 * num_possible_cpus()), 1U, 32U);
	probe->minus_batch = -probe->batch;
	probe->link = link;
	probe->kdata = request->kdata;
	probe->targets = set;
	probe->owner = get_pid(task_tgid(current));
	get_task_comm(probe->owner_name, current->group_leader);
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
	memset(set->states, 0, set->accepted);
	set->disabled = 0;
	set->gone = 0;
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
		do
			probe->id = ++last_id;
		while (!probe->id || find_id(probe->id));
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
		probe->since = ktime_get_boottime_ns();
		list_add_tail(&probe->node, &probes);
		nr_probes++;
	}
	mutex_unlock(&probekit_lock);
	return err;
}

static int may_request(const struct probekit_request *request)
{
	int err = probekit_may_probe();

	if (!err && request->flags & PROBEKIT_FLAG_OUTCOME)
		err = probekit_may_change_outcome();
	return err;
}

/**
 * probekit_probe_attach() - make a probe of handlers and the set they name
 * @request: handlers, which live as long as @link
 * @link: what the probe belongs to, or NULL
 *
 * Return: zero; -EPERM; -EOPNOTSUPP where the kernel or the module was not made
 * for what the flags or handlers ask; -EBADF where targets_fd is not a target set;
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

	err = may_request(request);
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
	if (!err && probe->flags & PROBEKIT_FLAG_OUTCOME)
		pr_notice("%s [%d] changes the outcome of %u functions\n", current->comm,
			  task_tgid_nr(current), set->accepted);
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
	    (request->maxactive && request->maxactive != probe->maxactive) ||
	    ((request->flags ^ probe->flags) & ~PROBEKIT_FLAG_DISABLED))
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
 *	there was one, no more entry data than before, the same flags (whether the
 *	probe is disabled stays as it is), targets_fd zero or the same set
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

	err = may_request(request);
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
	new = make_handlers(request, probe);
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
		probe->backend->shapes(probe, &stats->optimised, &stats->ftrace_based);
		stats->peak_active = atomic_read(&probe->peak_active);
		stats->probe = probe->id;
		stats->flags = READ_ONCE(probe->flags);
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
	stats->disabled = READ_ONCE(set->disabled);
	stats->gone = READ_ONCE(set->gone);
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

static void describe(const struct probekit_probe *probe, struct probekit_probe_info *info)
{
	*info = (struct probekit_probe_info) {
		.kind = probe->backend->kind,
		.owner = pid_vnr(probe->owner),
		.age_ns = ktime_get_boottime_ns() - probe->since,
		.entry_data_size = probe->entry_data_size,
		.has_exit = probe->has_exit,
		.stats.size = sizeof(info->stats),
	};
	strscpy_pad(info->owner_name, probe->owner_name);
	probekit_probe_stats(probe->targets, &info->stats);
}

/* Return: how many were described, or -EINTR. */
static int describe_all(struct probekit_probe_info *infos, u32 room, u32 *count)
{
	struct probekit_probe *probe;
	u32 n = 0;
	int err = mutex_lock_killable(&probekit_lock);

	if (err)
		return err;
	list_for_each_entry(probe, &probes, node) {
		if (n == room)
			break;
		describe(probe, &infos[n++]);
	}
	*count = nr_probes;
	mutex_unlock(&probekit_lock);
	return n;
}

static int copy_infos(const struct probekit_probes *arg, const struct probekit_probe_info *infos,
		      int count)
{
	void __user *to = u64_to_user_ptr(arg->probes);
	u32 size = min_t(u32, arg->entry_size, sizeof(*infos));
	int i;

	for (i = 0; i < count; i++, to += arg->entry_size)
		if (copy_to_user(to, &infos[i], size))
			return -EFAULT;
	return 0;
}

/**
 * probekit_probe_list() - PROBEKIT_IOC_PROBES
 * @user: the argument
 *
 * Return: zero, -EINVAL, -EFAULT, -ENOMEM, -EINTR.
 */
long probekit_probe_list(struct probekit_probes __user *user)
{
	struct probekit_probe_info *infos;
	struct probekit_probes arg;
	u32 size, room;
	int ret;

	ret = probekit_arg_read(&arg, sizeof(arg), user, &size);
	if (ret)
		return ret;
	if (arg.flags || arg.entry_size < sizeof(u32) || arg.entry_size > PAGE_SIZE)
		return -EINVAL;
	/* Some may come meanwhile; those are for the next time. */
	room = min(arg.count, probekit_probe_count() + 8);
	infos = kvcalloc(room ?: 1, sizeof(*infos), GFP_KERNEL_ACCOUNT);
	if (!infos)
		return -ENOMEM;
	ret = describe_all(infos, room, &arg.count);
	if (ret >= 0)
		ret = copy_infos(&arg, infos, ret);
	kvfree(infos);
	return ret ?: probekit_arg_write(user, size, &arg, sizeof(arg));
}

/* Where a target is among the accepted ones, which are in the order of their indices. */
static int find_accepted(struct probekit_target_set *set, u32 target)
{
	u32 begin = 0, end = set->accepted;

	while (begin < end) {
		u32 middle = begin + (end - begin) / 2;
		u32 found = probekit_targets_slot(set, set->ips[middle])->target;

		if (found == target)
			return middle;
		if (found < target)
			begin = middle + 1;
		else
			end = middle;
	}
	return -ENOENT;
}

/* Return: zero, or -ENOENT with nothing changed where one is no target. */
static int mark_disabled(struct probekit_target_set *set, const u32 *targets, u32 count,
			 bool disabled)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (find_accepted(set, targets[i]) < 0)
			return -ENOENT;
	for (i = 0; i < count; i++) {
		u8 *state = &set->states[find_accepted(set, targets[i])];

		if (!(*state & TARGET_DISABLED) == !disabled)
			continue;
		*state ^= TARGET_DISABLED;
		set->disabled += disabled ? 1 : -1;
	}
	return 0;
}

static int switch_targets(struct probekit_probe *probe, const u32 *targets, u32 count, bool on)
{
	struct probekit_target_set *set = probe->targets;
	u32 disabled = set->disabled;
	u8 *before;
	int err;

	before = kvmemdup(set->states, set->accepted, GFP_KERNEL_ACCOUNT);
	if (!before)
		return -ENOMEM;
	err = mark_disabled(set, targets, count, !on);
	if (!err)
		err = probe->backend->rearm(probe);
	if (err) {
		memcpy(set->states, before, set->accepted);
		WRITE_ONCE(set->disabled, disabled);
		probe->backend->rearm(probe);
	}
	kvfree(before);
	return err;
}

static int switch_probe(struct probekit_probe *probe, bool on)
{
	u32 before = probe->flags;
	int err;

	if (on)
		WRITE_ONCE(probe->flags, before & ~PROBEKIT_FLAG_DISABLED);
	else
		WRITE_ONCE(probe->flags, before | PROBEKIT_FLAG_DISABLED);
	if (probe->flags == before)
		return 0;
	err = probe->backend->rearm(probe);
	if (err) {
		WRITE_ONCE(probe->flags, before);
		probe->backend->rearm(probe);
	}
	return err;
}

/**
 * probekit_probe_enable() - PROBEKIT_IOC_ENABLE
 * @user: the argument
 * @set: the set whose probe is meant, or NULL: the argument names the probe
 *
 * Return: zero; -ENOENT where there is no such probe or target; -EBUSY while
 * the probe is being attached; -EINVAL, -E2BIG, -EFAULT, -ENOMEM, -EINTR; -errno of
 * the kernel, with nothing changed.
 */
int probekit_probe_enable(const struct probekit_enable __user *user,
			  struct probekit_target_set *set)
{
	struct probekit_probe *probe;
	struct probekit_enable arg;
	u32 *targets = NULL, size;
	int err;

	err = probekit_arg_read(&arg, sizeof(arg), user, &size);
	if (err)
		return err;
	if (arg.enable > 1 || !arg.probe == !set || !arg.count != !arg.targets)
		return -EINVAL;
	if (arg.count > PROBEKIT_MAX_TARGETS)
		return -E2BIG;
	if (arg.count)
		targets = vmemdup_array_user(u64_to_user_ptr(arg.targets), arg.count,
					     sizeof(*targets));
	if (IS_ERR(targets))
		return PTR_ERR(targets);
	err = mutex_lock_killable(&probekit_lock);
	if (err)
		goto free_targets;
	if (set && READ_ONCE(set->state) == PROBEKIT_STATE_ATTACHING)
		err = -EBUSY;
	probe = set ? rcu_dereference_protected(set->probe, lockdep_is_held(&probekit_lock)) :
		      find_id(arg.probe);
	if (!probe)
		err = -ENOENT;
	if (!err)
		err = targets ? switch_targets(probe, targets, arg.count, arg.enable) :
				switch_probe(probe, arg.enable);
	mutex_unlock(&probekit_lock);
free_targets:
	kvfree(targets);
	return err;
}

/* The targets of a module that goes are gone: what comes later is not what was named. */
static void forget_module(struct probekit_probe *probe, const struct module *module)
{
	struct probekit_target_set *set = probe->targets;
	u32 gone = set->gone;
	u32 i;

	for (i = 0; i < set->accepted; i++) {
		if (!within_module(set->ips[i], module) || set->states[i] & TARGET_GONE)
			continue;
		set->states[i] |= TARGET_GONE;
		WRITE_ONCE(set->gone, set->gone + 1);
	}
	if (set->gone != gone && probe->backend->rearm(probe))
		pr_warn("probe %u may be hit by what takes the place of %s\n", probe->id,
			module->name);
}

static int module_changed(struct notifier_block *block, unsigned long state, void *data)
{
	struct probekit_probe *probe;

	if (state != MODULE_STATE_GOING)
		return NOTIFY_DONE;
	mutex_lock(&probekit_lock);
	list_for_each_entry(probe, &probes, node)
		forget_module(probe, data);
	mutex_unlock(&probekit_lock);
	return NOTIFY_OK;
}

static struct notifier_block module_watch = {
	.notifier_call = module_changed,
};

int probekit_probe_watch_modules(void)
{
	return register_module_notifier(&module_watch);
}

void probekit_probe_unwatch_modules(void)
{
	unregister_module_notifier(&module_watch);
}
