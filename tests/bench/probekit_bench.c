// SPDX-License-Identifier: GPL-2.0-only
/*
 * What fprobe itself costs, with C handlers: the floor that the engine is
 * measured against.
 *
 * Write a struct bench_request and the addresses that it counts to
 * debugfs/probekit_bench: registers one fprobe over them, in place of the one
 * before. A request without addresses only unregisters.
 */
#include <linux/debugfs.h>
#include <linux/fprobe.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#define BENCH_EXIT	1	/* with an exit handler */
#define BENCH_TIME	2	/* hand the start time over */

struct bench_request {
	u32 flags;
	u32 count;
	u64 addresses[];
};

static DEFINE_MUTEX(bench_lock);
static struct dentry *bench_file;
static struct fprobe bench;
static u64 bench_total;

static notrace int bench_entry(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
			       struct pt_regs *regs, void *data)
{
	return 0;
}

static notrace void bench_exit(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
			       struct pt_regs *regs, void *data)
{
}

static notrace int bench_entry_time(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
				    struct pt_regs *regs, void *data)
{
	*(u64 *)data = ktime_get_mono_fast_ns();
	return 0;
}

static notrace void bench_exit_time(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
				    struct pt_regs *regs, void *data)
{
	bench_total += ktime_get_mono_fast_ns() - *(u64 *)data;
}

static int bench_register(const struct bench_request *request)
{
	unsigned long *ips = kvcalloc(request->count, sizeof(*ips), GFP_KERNEL);
	u32 i;
	int err;

	if (!ips)
		return -ENOMEM;
	for (i = 0; i < request->count; i++)
		ips[i] = request->addresses[i];
	bench.entry_handler = request->flags & BENCH_TIME ? bench_entry_time : bench_entry;
	if (request->flags & BENCH_EXIT) {
		bench.exit_handler = request->flags & BENCH_TIME ? bench_exit_time : bench_exit;
		bench.entry_data_size = request->flags & BENCH_TIME ? sizeof(u64) : 0;
		bench.nr_maxactive = 16384;
	}
	err = register_fprobe_ips(&bench, ips, request->count);
	kvfree(ips);
	return err;
}

static void bench_unregister(void)
{
	if (bench.entry_handler)
		unregister_fprobe(&bench);
	memset(&bench, 0, sizeof(bench));
}

static ssize_t bench_write(struct file *file, const char __user *user, size_t size, loff_t *pos)
{
	struct bench_request *request;
	int err = 0;

	if (size < sizeof(*request))
		return -EINVAL;
	request = vmemdup_user(user, size);
	if (IS_ERR(request))
		return PTR_ERR(request);
	if (size != struct_size(request, addresses, request->count)) {
		kvfree(request);
		return -EINVAL;
	}
	mutex_lock(&bench_lock);
	bench_unregister();
	if (request->count) {
		err = bench_register(request);
		if (err)
			bench.entry_handler = NULL;
	}
	mutex_unlock(&bench_lock);
	kvfree(request);
	return err ?: size;
}

static const struct file_operations bench_fops = {
	.owner = THIS_MODULE,
	.write = bench_write,
};

static int __init bench_init(void)
{
	bench_file = debugfs_create_file("probekit_bench", 0200, NULL, NULL, &bench_fops);
	return PTR_ERR_OR_ZERO(bench_file);
}

static void __exit bench_cleanup(void)
{
	debugfs_remove(bench_file);
	bench_unregister();
}

module_init(bench_init);
module_exit(bench_cleanup);

MODULE_DESCRIPTION("probekit: the cost of fprobe itself");
MODULE_LICENSE("GPL");
