// SPDX-License-Identifier: GPL-2.0-only
/*
 * Target sets: from an array of addresses to a table that a hit looks up in
 * constant time, behind a descriptor.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "dispatch.h"

static void free_set(struct kref *kref)
{
	struct probekit_target_set *set = container_of(kref, struct probekit_target_set, kref);

	free_percpu(set->counters);
	kvfree(set->table);
	kvfree(set->ips);
	kvfree(set->states);
	kfree(set);
}

void probekit_targets_put(struct probekit_target_set *set)
{
	kref_put(&set->kref, free_set);
}

static int targets_release(struct inode *inode, struct file *file)
{
	probekit_targets_put(file->private_data);
	return 0;
}

static long targets_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct probekit_target_set *set = file->private_data;
	void __user *user = (void __user *)arg;
	struct probekit_stats stats;
	u32 size;
	int err;

	if (cmd == PROBEKIT_IOC_ENABLE)
		return probekit_probe_enable(user, set);
	if (cmd != PROBEKIT_IOC_STATS)
		return -ENOTTY;
	err = probekit_arg_read(&stats, sizeof(stats), user, &size);
	if (err)
		return err;
	memset(&stats, 0, sizeof(stats));
	probekit_probe_stats(set, &stats);
	return probekit_arg_write(user, size, &stats, sizeof(stats));
}

static const struct file_operations targets_fops = {
	.owner = THIS_MODULE,
	.release = targets_release,
	.unlocked_ioctl = targets_ioctl,
	.llseek = noop_llseek,
};

/**
 * probekit_targets_get_by_fd() - the target set behind a descriptor
 * @fd: descriptor of the current task
 *
 * Return: the set, which the caller owns a reference of; or -EBADF.
 */
struct probekit_target_set *probekit_targets_get_by_fd(u32 fd)
{
	struct probekit_target_set *set = ERR_PTR(-EBADF);
	struct file *file = fget(fd);

	if (!file)
		return set;
	if (file->f_op == &targets_fops) {
		set = file->private_data;
		kref_get(&set->kref);
	}
	fput(file);
	return set;
}

/**
 * probekit_targets_slot() - where a location is in the table, or would be
 * @set: the set
 * @ip: the location
 *
 * Return: its slot; an empty one if it is not there.
 */
struct probekit_slot *probekit_targets_slot(struct probekit_target_set *set, unsigned long ip)
{
	u32 i = probekit_hash(ip) >> set->shift;

	while (set->table[i].ip && set->table[i].ip != ip)
		i = (i + 1) & (~0U >> set->shift);
	return &set->table[i];
}

/* Fills the table with the good targets and packs their locations in ips. */
static void fill_table(struct probekit_target_set *set, const struct probekit_target *targets,
		       u32 *verdicts)
{
	u32 i;

	for (i = 0; i < set->count; i++) {
		struct probekit_slot *slot;

		if (verdicts[i] != PROBEKIT_TARGET_OK)
			continue;
		slot = probekit_targets_slot(set, set->ips[i]);
		if (slot->ip) {
			verdicts[i] = PROBEKIT_TARGET_DUPLICATE;
			continue;
		}
		slot->ip = set->ips[i];
		slot->address = targets[i].address;
		slot->cookie = targets[i].cookie;
		slot->target = i;
		set->ips[set->accepted++] = set->ips[i];
	}
}

static struct probekit_target_set *alloc_set(const struct probekit_backend *backend, u32 count)
{
	/* At most half full, and never so small that the shift is 32. */
	unsigned int bits = ilog2(roundup_pow_of_two(max(count, 1U))) + 1;
	struct probekit_target_set *set = kzalloc(sizeof(*set), GFP_KERNEL_ACCOUNT);

	if (!set)
		return NULL;
	kref_init(&set->kref);
	set->backend = backend;
	set->count = count;
	set->shift = 32 - bits;
	set->table = kvcalloc(1UL << bits, sizeof(*set->table), GFP_KERNEL_ACCOUNT);
	set->ips = kvcalloc(count, sizeof(*set->ips), GFP_KERNEL_ACCOUNT);
	set->states = kvcalloc(count, sizeof(*set->states), GFP_KERNEL_ACCOUNT);
	set->counters = alloc_percpu_gfp(struct probekit_counters, GFP_KERNEL_ACCOUNT);
	if (!set->table || !set->ips || !set->states || !set->counters) {
		probekit_targets_put(set);
		return NULL;
	}
	return set;
}

static struct probekit_target_set *make_set(const struct probekit_backend *backend,
					    const struct probekit_target *targets,
					    u32 *verdicts, u32 count)
{
	struct probekit_target_set *set = alloc_set(backend, count);
	u32 i;
	int err;

	if (!set)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < count; i++)
		set->ips[i] = targets[i].address;
	err = backend->check(set->ips, verdicts, count);
	if (err) {
		probekit_targets_put(set);
		return ERR_PTR(err);
	}
	fill_table(set, targets, verdicts);
	return set;
}

/* Gives the set a descriptor, last of all: from then on user space owns it. */
static int publish_set(struct probekit_target_set *set, struct probekit_targets __user *user,
		       u32 user_size, struct probekit_targets *arg)
{
	struct file *file;
	int fd, err;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	arg->accepted = set->accepted;
	err = probekit_arg_write(user, user_size, arg, sizeof(*arg));
	if (err)
		goto put_fd;
	file = anon_inode_getfile("[probekit-targets]", &targets_fops, set, O_RDWR);
	if (IS_ERR(file)) {
		err = PTR_ERR(file);
		goto put_fd;
	}
	fd_install(fd, file);
	return fd;
put_fd:
	put_unused_fd(fd);
	return err;
}

static const struct probekit_backend *backend_of(u32 kind)
{
	switch (kind) {
	case PROBEKIT_KIND_FPROBE:
		return &probekit_fprobe_backend;
	case PROBEKIT_KIND_KPROBE:
		return &probekit_kprobe_backend;
	case PROBEKIT_KIND_KRETPROBE:
		return &probekit_kretprobe_backend;
	default:
		return NULL;
	}
}

static int check_arg(const struct probekit_targets *arg)
{
	if (!backend_of(arg->kind))
		return -EOPNOTSUPP;
	if (arg->flags || arg->reserved || !arg->count)
		return -EINVAL;
	if (arg->count > PROBEKIT_MAX_TARGETS)
		return -E2BIG;
	return 0;
}

/**
 * probekit_targets_create() - PROBEKIT_IOC_TARGETS
 * @user: the argument
 *
 * Return: a descriptor; -EOPNOTSUPP (kind), -EINVAL, -E2BIG (count), -EFAULT,
 * -ENOMEM, -EINTR, or -ENODEV where ftrace has been shut down by a fault.
 */
long probekit_targets_create(struct probekit_targets __user *user)
{
	struct probekit_target_set *set = NULL;
	struct probekit_target *targets;
	struct probekit_targets arg;
	u32 *verdicts, size;
	long ret;

	ret = probekit_arg_read(&arg, sizeof(arg), user, &size);
	ret = ret ?: check_arg(&arg);
	if (ret)
		return ret;
	targets = vmemdup_array_user(u64_to_user_ptr(arg.targets), arg.count, sizeof(*targets));
	if (IS_ERR(targets))
		return PTR_ERR(targets);
	ret = -ENOMEM;
	verdicts = kvcalloc(arg.count, sizeof(*verdicts), GFP_KERNEL_ACCOUNT);
	if (!verdicts)
		goto free_targets;
	set = make_set(backend_of(arg.kind), targets, verdicts, arg.count);
	if (IS_ERR(set)) {
		ret = PTR_ERR(set);
		goto free_verdicts;
	}
	ret = -EFAULT;
	if (!arg.verdicts || !copy_to_user(u64_to_user_ptr(arg.verdicts), verdicts,
					   arg.count * sizeof(*verdicts)))
		ret = publish_set(set, user, size, &arg);
	if (ret < 0)
		probekit_targets_put(set);
free_verdicts:
	kvfree(verdicts);
free_targets:
	kvfree(targets);
	return ret;
}
