// SPDX-License-Identifier: GPL-2.0-only
/* The device through which tests run the functions. */
#include <linux/completion.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "probekit_target.h"
#include "target.h"

static int die_thread(void *done)
{
	target_die(done);
}

static long run_die(void)
{
	DECLARE_COMPLETION_ONSTACK(done);
	struct task_struct *task = kthread_run(die_thread, &done, "probekit_die");

	if (IS_ERR(task))
		return PTR_ERR(task);
	wait_for_completion(&done);
	return 0;
}

static long run_migrate(const u64 *args)
{
	long ret;

	if (args[0] >= nr_cpu_ids || args[1] >= nr_cpu_ids)
		return -EINVAL;
	ret = set_cpus_allowed_ptr(current, cpumask_of(args[0]));
	if (!ret)
		ret = target_migrate(args[1], args[2]);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	return ret;
}

/* One call, whose result the last one leaves. */
static long run_once(const struct target_request *request)
{
	const u64 *args = request->args;

	switch (request->action) {
	case TARGET_LEAF:
		target_leaf();
		return 0;
	case TARGET_SUM:
		return target_sum(args[0], args[1], args[2], args[3], args[4], args[5]);
	case TARGET_CLOBBER:
		return target_clobber(args[0]);
	case TARGET_RECURSE:
		return target_recurse(args[0], args[1]);
	case TARGET_CHAIN:
		return target_outer(args[0]);
	case TARGET_TAIL:
		return target_tail(args[0]);
	case TARGET_TWINS:
		return target_call_twin_a(args[0]) + target_call_twin_b(args[0]);
	case TARGET_UNTRACED:
		return target_untraced(args[0]);
	case TARGET_INLINED:
		return target_inlined(args[0]);
	case TARGET_MIGRATE:
		return run_migrate(args);
	case TARGET_DIE:
		return run_die();
	default:
		return -ENOTTY;
	}
}

static long run_repeated(const struct target_request *request)
{
	long result = 0;
	u32 i;

	for (i = 0; i < request->times; i++) {
		result = run_once(request);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return result;
}

static long run(const struct target_request *request)
{
	switch (request->action) {
	case TARGET_BLOCK:
		return target_block();
	case TARGET_RELEASE:
		target_release();
		return 0;
	case TARGET_BLOCKED:
		return target_blocked();
	case TARGET_SOFTIRQ:
		return target_run_softirq(request->times);
	case TARGET_HARDIRQ:
		return target_run_hardirq(request->times);
	case TARGET_NMI:
		return target_run_nmi(request->times);
	case TARGET_TIMER_START:
		return target_timer_start(request->args[0]);
	case TARGET_TIMER_STOP:
		return target_timer_stop();
	default:
		return run_repeated(request);
	}
}

/* What the functions return goes to request.result, an error of theirs too. */
static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct target_request __user *user = (void __user *)arg;
	struct target_request request;

	if (cmd != TARGET_IOC_RUN)
		return -ENOTTY;
	if (copy_from_user(&request, user, sizeof(request)))
		return -EFAULT;
	/* Too deep for a kernel stack. */
	if (request.action == TARGET_RECURSE && request.args[0] > 100)
		return -EINVAL;
	request.result = run(&request);
	return put_user(request.result, &user->result);
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = device_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "probekit_target",
	.mode = 0600,
	.fops = &device_fops,
};

static int __init target_init(void)
{
	return misc_register(&device);
}

static void __exit target_exit(void)
{
	target_timer_stop();
	misc_deregister(&device);
}

module_init(target_init);
module_exit(target_exit);

MODULE_DESCRIPTION("probekit: known functions for its tests to probe");
MODULE_LICENSE("GPL");
