/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine's own structures; read this first.
 *
 * A target set (targets.c) is what user space hands over through the device:
 * what to probe, and the counters of the probe over it. It lives as long as its
 * descriptor or its probe.
 *
 * A probe (probe.c) is one registration: a generation of handlers over a
 * target set. The BPF link is its life (struct_ops.c). What arms it in the
 * kernel is a backend, one for each kind (fprobe.c, kprobe.c, kretprobe.c). A
 * hit goes from there through dispatch.h into a handler.
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
#include <linux/sched.h>
#include <linux/types.h>

#include <probekit/ops.h>
#include <probekit/uapi.h>

struct bpf_insn;
struct bpf_link;
struct bpf_prog;
struct kprobe;
struct rethook_node;
struct probekit_type;

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
	s32 notice;		/* from how many on there is news; at most batch */
} ____cacheline_aligned;

/* A target as a hit finds it: an open-addressed table keyed by location. */
struct probekit_slot {
	unsigned long ip;	/* zero: empty */
	u64 address;		/* as user space named it */
	u64 cookie;
	u32 target;
	u32 entry_data_size;	/* of the probe: both go to the call at once */
};

/* In probekit_target_set.states: why a target is not to be hit. */
#define TARGET_DISABLED		BIT(0)
#define TARGET_GONE		BIT(1)

struct probekit_target_set {
	struct kref kref;
	const struct probekit_backend *backend;
	u32 count;
	u32 accepted;
	unsigned long *ips;		/* locations of the accepted targets */
	struct probekit_slot *table;
	unsigned int shift;		/* the table has 1 << (32 - shift) slots */
	struct probekit_counters __percpu *counters;
	/*
	 * Of the probe over this set, or of the last one when it has gone.
	 * Written under probekit_lock, read any time for progress.
	 */
	struct probekit_probe __rcu *probe;
	u32 state;
	u32 attached;
	bool has_exit;
	u8 *states;			/* TARGET_* of each accepted target, under probekit_lock */
	u32 disabled;
	u32 gone;
	u32 maxactive;
	u32 peak_active;
	u64 kernel_recursion;		/* what the backend counted, once the probe has gone */
	u64 kernel_storage;
};

/*
 * One handler as a hit calls it: the program itself where the engine has it,
 * else a thunk that goes through the trampoline of struct_ops.
 */
struct probekit_handler {
	unsigned int (*run)(const void *args, const struct bpf_insn *insns);
	const struct bpf_insn *insns;	/* of the program, or what the thunk calls */
	struct bpf_prog *prog;		/* NULL: trampoline, or no such handler */
};

/*
 * One generation of handlers. A probe's generation is read under RCU (a hit
 * runs with preemption off) and replaced under probekit_lock. Retired ones stay
 * with the probe, without their programs: calls in flight compare addresses.
 */
struct probekit_handlers {
	struct probekit_handler entry;
	struct probekit_handler exit;
	const struct probekit_probe *probe;
	struct probekit_handlers *retired;
};

/* What a struct_ops type asks for, whichever it is; see struct_ops.c. */
struct probekit_request {
	const struct probekit_type *type;
	const struct probekit_backend *backend;
	const void *kdata;		/* identity; lives as long as the link */
	void *entry;			/* trampoline of the handler, or NULL */
	void *exit;
	u32 entry_data_size;
	u32 maxactive;
	u32 flags;
	u32 targets_fd;
};

struct probekit_probe {
	/* What a hit reads. */
	struct probekit_handlers __rcu *handlers;
	struct probekit_counters __percpu *counters;
	struct probekit_slot *table;
	unsigned int shift;
	s32 minus_batch;		/* see batch */
	u32 full;			/* refuse calls: maxactive are in flight */

	struct fprobe fp;
	bool dismantling;
	unsigned long nmissed;		/* of fp, before it is dismantled */
	void *sites;			/* a backend's own, one for each target */
	u8 __percpu *cancelled;		/* kprobe: sites whose post handler is not wanted */
	const struct probekit_backend *backend;
	bool has_exit;
	u32 flags;			/* PROBEKIT_FLAG_*; changes under probekit_lock */
	u32 entry_data_size;
	u32 maxactive;
	s32 batch;			/* calls that a CPU may count on its own */
	atomic_t active ____cacheline_aligned_in_smp;	/* less what CPUs count on their own */
	atomic_t peak_active;
	atomic_t reconciling;

	struct list_head node;		/* in the list of all probes */
	struct bpf_link *link;		/* identity only; NULL: registered without */
	const void *kdata;		/* identity of a probe without a link */
	struct probekit_target_set *targets;
	/* Who asks for a list of probes wants to know. */
	u32 id;
	struct pid *owner;
	char owner_name[TASK_COMM_LEN];
	u64 since;			/* boot time, ns */
};

/*
 * The storage of a call. What its handlers are given is filled in at entry and
 * kept, so that the exit has little left to do. A hit that needs none has the
 * beginning of one on the stack, for kfuncs to find.
 */
struct probekit_frame {
	const struct probekit_handlers *handlers;	/* that saw the entry */
	u32 preempt;					/* count of the entry handler */
	struct probekit_call call;
	u8 data[];					/* entry data */
};

/**
 * struct probekit_backend - what arms probes of one kind
 * @kind: PROBEKIT_KIND_*
 * @check: for each of @count addresses: can it be probed? Writes verdicts, and
 *	over the address of a good one the location that a hit reports. Returns
 *	-errno only where no verdict could be had.
 * @maxactive: calls in flight by default, of a probe over so many targets;
 *	NULL where a hit takes no storage
 * @pool_per_target: each target has storage for as many
 * @arm: attaches a probe to every target of its set, or to none. Publishes its
 *	progress in the set and gives up, with -EINTR, for a signal.
 * @disarm: when it returns, no handler of the probe runs or will run. Calls in
 *	flight lose their exit, and their storage is freed when they return.
 * @frame_of: the frame of a hooked call, if that is one of the probe's; NULL
 *	where a probe has no frames
 * @free: frees what it hung on a probe that is disarmed; optional
 * @rearm: makes what is hit agree with the flags of a probe that is armed and
 *	with the states of its targets; under probekit_lock
 * @missed: adds what the kernel itself counted as missed
 * @shapes: adds how many targets are optimised, and how many go through ftrace
 */
struct probekit_backend {
	u32 kind;
	int (*check)(unsigned long *ips, u32 *verdicts, u32 count);
	u32 (*maxactive)(u32 entry_data_size, u32 targets);
	bool pool_per_target;
	int (*arm)(struct probekit_probe *probe);
	void (*disarm)(struct probekit_probe *probe);
	struct probekit_frame *(*frame_of)(const struct probekit_probe *probe,
					   struct rethook_node *node);
	void (*free)(struct probekit_probe *probe);
	int (*rearm)(struct probekit_probe *probe);
	void (*missed)(const struct probekit_probe *probe, u64 *recursion, u64 *storage);
	void (*shapes)(const struct probekit_probe *probe, u32 *optimised, u32 *ftrace_based);
};

/* Is a target to be hit? By its position among the accepted ones. */
static inline bool probekit_target_wanted(const struct probekit_probe *probe, u32 i)
{
	return !(probe->flags & PROBEKIT_FLAG_DISABLED) && !probe->targets->states[i];
}

extern const struct probekit_backend probekit_fprobe_backend;
extern const struct probekit_backend probekit_kprobe_backend;
extern const struct probekit_backend probekit_kretprobe_backend;

/* Protects the list of probes, and which probe a set belongs to; serialises swaps. */
extern struct mutex probekit_lock;

/* active.c */
void probekit_active_hand_over(struct probekit_probe *probe);
void probekit_active_notice(struct probekit_probe *probe);
void probekit_active_write_off(struct probekit_probe *probe, u32 active);

/* outcome.c */
extern bool probekit_change_outcome;
int probekit_may_change_outcome(void);
void probekit_return_at_once(void);

/* stack.c */
u32 probekit_kernel_stack(const struct probekit_call *call, u64 *ips, u32 room);
u32 probekit_user_stack(u64 *ips, u32 room);

/* calibrate.c */
extern unsigned long probekit_return_trampoline;
extern unsigned long probekit_parking;
void probekit_calibrate(void);

/* kprobe.c */
u32 probekit_kprobe_verdict(int err);
int probekit_kprobe_switch(struct kprobe *kp, bool on);
void probekit_kprobe_shape(const struct kprobe *kp, u32 *optimised, u32 *ftrace_based);

/* targets.c */
long probekit_targets_create(struct probekit_targets __user *arg);
struct probekit_target_set *probekit_targets_get_by_fd(u32 fd);
void probekit_targets_put(struct probekit_target_set *set);
struct probekit_slot *probekit_targets_slot(struct probekit_target_set *set, unsigned long ip);

/* probe.c */
int probekit_probe_attach(const struct probekit_request *request, struct bpf_link *link);
void probekit_probe_detach(const void *kdata, struct bpf_link *link);
int probekit_probe_swap(const struct probekit_request *request, struct bpf_link *link);
unsigned int probekit_probe_count(void);
long probekit_probe_list(struct probekit_probes __user *user);
int probekit_probe_enable(const struct probekit_enable __user *user,
			  struct probekit_target_set *set);
int probekit_probe_watch_modules(void);
void probekit_probe_unwatch_modules(void);
void probekit_probe_stats(struct probekit_target_set *set, struct probekit_stats *stats);

/* struct_ops.c */
int probekit_struct_ops_register(void);
void probekit_struct_ops_handler(const struct probekit_request *request, bool exit,
				 struct probekit_handler *handler);

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
