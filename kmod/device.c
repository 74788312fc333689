// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/probekit: makes target sets and answers questions. It holds no probe
 * alive; links do.
 */
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/security.h>
#include <linux/uaccess.h>

#include "engine.h"

/* Smaller arguments come from no version of the wire format. */
#define ARG_SIZE_MIN	16U

/**
 * probekit_may_probe() - may the current task probe the kernel
 *
 * The rights that loading a tracing program takes, and kprobes under lockdown.
 *
 * Return: zero or -EPERM.
 */
int probekit_may_probe(void)
{
	if (!perfmon_capable() || !bpf_capable())
		return -EPERM;
	return security_locked_down(LOCKDOWN_KPROBES);
}

int probekit_arg_read(void *arg, size_t size, const void __user *user, u32 *user_size)
{
	if (get_user(*user_size, (const u32 __user *)user))
		return -EFAULT;
	if (*user_size < ARG_SIZE_MIN || *user_size > PAGE_SIZE)
		return -EINVAL;
	return copy_struct_from_user(arg, size, user, *user_size);
}

/* The size that user space gave stays what it was, and so does its own tail. */
int probekit_arg_write(void __user *user, u32 user_size, const void *arg, size_t size)
{
	size_t n = min_t(size_t, user_size, size);

	if (copy_to_user(user + sizeof(u32), arg + sizeof(u32), n - sizeof(u32)))
		return -EFAULT;
	return 0;
}

static long answer_info(struct probekit_info __user *user)
{
	struct probekit_info info;
	u32 size;
	int err;

	err = probekit_arg_read(&info, sizeof(info), user, &size);
	if (err)
		return err;
	info = (struct probekit_info) {
		.abi_major = PROBEKIT_ABI_MAJOR,
		.abi_minor = PROBEKIT_ABI_MINOR,
		.kinds = 1U << PROBEKIT_KIND_FPROBE | 1U << PROBEKIT_KIND_KPROBE |
			 1U << PROBEKIT_KIND_KRETPROBE,
		.max_targets = PROBEKIT_MAX_TARGETS,
		.max_entry_data = PROBEKIT_MAX_ENTRY_DATA,
		.max_active = PROBEKIT_MAX_ACTIVE,
		.probes = probekit_probe_count(),
		.features = probekit_change_outcome ? PROBEKIT_FEATURE_OUTCOME : 0,
	};
	return probekit_arg_write(user, size, &info, sizeof(info));
}

static int device_open(struct inode *inode, struct file *file)
{
	return perfmon_capable() && bpf_capable() ? 0 : -EPERM;
}

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;

	switch (cmd) {
	case PROBEKIT_IOC_INFO:
		return answer_info(user);
	case PROBEKIT_IOC_TARGETS:
		return probekit_may_probe() ?: probekit_targets_create(user);
	case PROBEKIT_IOC_PROBES:
		return probekit_probe_list(user);
	case PROBEKIT_IOC_ENABLE:
		return probekit_may_probe() ?: probekit_probe_enable(user, NULL);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.open = device_open,
	.unlocked_ioctl = device_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "probekit",
	.mode = 0600,
	.fops = &device_fops,
};

int probekit_device_register(void)
{
	return misc_register(&device);
}

void probekit_device_unregister(void)
{
	misc_deregister(&device);
}
