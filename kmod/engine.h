/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine's own structures; read this first.
 *
 * A target set (targets.c) is what user space hands over through the device:
 * functions to probe, and the counters of the probe over them. It lives as
 * long as its descriptor or its probe.
 *
 * A probe (probe.c) is one registration: a generation of handlers over a
 * target set. The BPF link is its life (struct_ops.c). What arms it in the
 * kernel is a backend (fprobe.c).
 */
#ifndef PROBEKIT_ENGINE_H
#define PROBEKIT_ENGINE_H

#include <linux/atomic.h>
#include <linux/fprobe.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include <probekit/ops.h>
#include <probekit/uapi.h>

struct bpf_link;
struct bpf_prog;

/*
 * What a hit writes, per CPU and probe: nothing that another CPU writes too.
 * Only this_cpu operations: an interrupt may hit the same probe at any time.
 */
struct probekit_counters {
	u64 entries;
	u64 exits;
	u64 cancelled;
	u64 missed_recursion;
	u64 missed_storage;
	u64 missed_swapped;
	u64 missed_exit;
	s32 active;		/* calls in flight, up to +-batch, not yet in probe->active */
} ____cacheline_aligned;

/* A target as a hit finds it: an open-addressed table keyed by ftrace location. */
struct probekit_slot {
	unsigned long ip;	/* zero: empty */
	u64 address;		/* as user space named it */
	u64 cookie;
	u32 target;
	u32 reserved;
};

struct probekit_target_set {
	struct kref kref;
	u32 kind;
	u32 count;
	u32 accepted;
	unsigned long *ips;		/* ftrace locations of the accepted targets */
	struct probekit_slot *table;
	unsigned int shift;		/* the table has 1 << (64 - shift) slots */
	struct probekit_counters __percpu *counters;
	/*
	 * Of the probe over this set, or of the last one when it has gone.
	 * Written under probekit_lock, read any time for progress.
	 */
	struct probekit_probe __rcu *probe;
	u32 state;
	u32 attached;
	u32 maxactive;
	u32 peak_active;
	u64 nmissed;			/* of the fprobe, once it has gone */
};

/*
 * One generation of handlers. A probe's generation is read under RCU (a hit
 * runs with preemption off) and replaced under probekit_lock.
 */
struct probekit_handlers {
	const struct probekit_fprobe *ops;	/* lives as long as the link */
	struct bpf_prog *entry;			/* direct dispatch; NULL: call through ops */
	struct bpf_prog *exit;
	u32 generation;
};

struct probekit_probe {
	/* What a hit reads. */
	struct probekit_handlers __rcu *handlers;
	struct probekit_counters __percpu *counters;
	struct probekit_slot *table;
	unsigned int shift;
	u32 entry_data_size;
	s32 batch;			/* calls that a CPU may count on its own */
	u32 full;			/* refuse calls: maxactive are in flight */

	struct fprobe fp;
	u32 maxactive;
	atomic_t active ____cacheline_aligned_in_smp;	/* less what CPUs count on their own */
	atomic_t peak_active;
	atomic_t reconciling;

	struct rcu_head rcu;
	struct list_head node;		/* in the list of all probes */
	struct bpf_link *link;		/* identity only; NULL: registered without */
	const void *kdata;		/* identity of a probe without a link */
	struct probekit_target_set *targets;
};

/* What stands before a handler's entry data in the storage of a call. */
struct probekit_frame {
	u32 slot;		/* index in the table */
	u32 generation;		/* of the handlers that saw the entry */
	u8 data[];
};

/* Serialises attach, detach and swap, and protects the list of probes. */
extern struct mutex probekit_lock;

/* targets.c */
long probekit_targets_create(struct probekit_targets __user *arg);
struct probekit_target_set *probekit_targets_get_by_fd(u32 fd);
void probekit_targets_put(struct probekit_target_set *set);

/* probe.c */
int probekit_probe_attach(const struct probekit_fprobe *ops, struct bpf_link *link);
void probekit_probe_detach(const void *kdata, struct bpf_link *link);
int probekit_probe_swap(const struct probekit_fprobe *ops, struct bpf_link *link);
unsigned int probekit_probe_count(void);
void probekit_probe_stats(struct probekit_target_set *set, struct probekit_stats *stats);

/* fprobe.c */
int probekit_fprobe_arm(struct probekit_probe *probe, bool exit_handler);
void probekit_fprobe_disarm(struct probekit_probe *probe);

/* struct_ops.c */
int probekit_struct_ops_register(void);
struct bpf_prog *probekit_struct_ops_program(const struct probekit_fprobe *ops, bool exit);

/* kfuncs.c */
int probekit_kfuncs_register(void);

/* device.c */
int probekit_device_register(void);
void probekit_device_unregister(void);
int probekit_may_probe(void);

/*
 * Copies an ioctl argument that begins with its own size, in and out. The
 * kernel's copy_struct_from_user() checks the unknown tail.
 */
int probekit_arg_read(void *arg, size_t size, const void __user *user, u32 *user_size);
int probekit_arg_write(void __user *user, u32 user_size, const void *arg, size_t size);

#endif /* PROBEKIT_ENGINE_H */
