/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The wire format between the engine (kmod/), handlers (bpf/) and user space.
 *
 * Fixed-width types only: no bool, enum, long or pointer crosses this line,
 * fields are naturally aligned and padding is spelled out. Append, never
 * reorder; bump PROBEKIT_ABI_MINOR when appending, PROBEKIT_ABI_MAJOR otherwise.
 *
 * Every ioctl argument begins with its own size. An older engine accepts a
 * larger structure whose unknown tail is zero, a newer one zero-fills a
 * smaller structure; so either side may grow alone.
 */
#ifndef PROBEKIT_UAPI_H
#define PROBEKIT_UAPI_H

#ifndef __VMLINUX_H__
#include <linux/ioctl.h>
#include <linux/types.h>
#endif

#define PROBEKIT_ABI_MAJOR	1
#define PROBEKIT_ABI_MINOR	1

#define PROBEKIT_DEVICE		"/dev/probekit"

/* What carries a probe; also the bit number in probekit_info.kinds. */
#define PROBEKIT_KIND_FPROBE	1
#define PROBEKIT_KIND_KPROBE	2
#define PROBEKIT_KIND_KRETPROBE	3

/* Most targets in one set, and most bytes of entry data in one call. */
#define PROBEKIT_MAX_TARGETS	(1U << 20)
#define PROBEKIT_MAX_ENTRY_DATA	4096U
/* The kernel gives a kretprobe 4096 bytes, of which the engine takes some. */
#define PROBEKIT_MAX_KRETPROBE_DATA	4032U
/* Most calls of one probe that may be in flight at once. */
#define PROBEKIT_MAX_ACTIVE	(1U << 20)

/*
 * Flags of a probe, in the member of that name of its handlers.
 *
 * DISABLED: attached, but not one hit until it is enabled.
 * KPROBE_SHARED: fprobe only; its handlers never run while one of a kprobe does
 * (the call is missed for recursion), as those of two kprobes never do.
 * OUTCOME: its handlers may change what the probed functions return: see
 * probekit_set_return() and probekit_skip(). Needs CAP_SYS_ADMIN, a module that
 * was loaded with change_outcome=1, and no lockdown.
 */
#define PROBEKIT_FLAG_DISABLED		(1U << 0)
#define PROBEKIT_FLAG_KPROBE_SHARED	(1U << 1)
#define PROBEKIT_FLAG_OUTCOME		(1U << 2)

/* What an engine does only if its module was told to: see probekit_info. */
#define PROBEKIT_FEATURE_OUTCOME	(1U << 0)

/* Flags of probekit_stack(). */
#define PROBEKIT_STACK_USER	(1ULL << 0)	/* the stack in user space */

/* Answer of PROBEKIT_IOC_INFO: what this engine is and can do. */
struct probekit_info {
	__u32 size;		/* in: sizeof(struct probekit_info) */
	__u32 abi_major;
	__u32 abi_minor;
	__u32 kinds;		/* bit mask of 1 << PROBEKIT_KIND_* */
	__u32 max_targets;
	__u32 max_entry_data;
	__u32 max_active;
	__u32 probes;		/* live probes of the whole machine */
	__u32 features;		/* PROBEKIT_FEATURE_* */
	__u32 reserved;
};

/*
 * What to probe: a function, or any instruction for a kprobe. Its index in the
 * array is probekit_call.target.
 */
struct probekit_target {
	__u64 address;		/* of the function or its ftrace location; any, for a kprobe */
	__u64 cookie;		/* handed to the handlers, the engine ignores it */
};

/* Why a target cannot be probed, or PROBEKIT_TARGET_OK. */
#define PROBEKIT_TARGET_OK		0
#define PROBEKIT_TARGET_NOT_TRACEABLE	1	/* no ftrace location there */
#define PROBEKIT_TARGET_DUPLICATE	2	/* named earlier in the same set */
#define PROBEKIT_TARGET_NOT_INSTRUCTION	3	/* in the middle of an instruction */
/* No kprobe may be there; or it is not the entry of a function, for a kretprobe. */
#define PROBEKIT_TARGET_FORBIDDEN	4

/*
 * Argument of PROBEKIT_IOC_TARGETS, which returns the descriptor of a new
 * target set. Refused targets keep their index and are never hit.
 */
struct probekit_targets {
	__u32 size;		/* in: sizeof(struct probekit_targets) */
	__u32 kind;		/* in: PROBEKIT_KIND_* */
	__u32 flags;		/* in: zero */
	__u32 count;		/* in: entries of both arrays */
	__u64 targets;		/* in: address of struct probekit_target[count] */
	__u64 verdicts;		/* in: address of __u32[count], or zero */
	__u32 accepted;		/* out: targets that can be probed */
	__u32 reserved;		/* zero */
};

/* Life of the probe over a target set. */
#define PROBEKIT_STATE_IDLE		0	/* never attached */
#define PROBEKIT_STATE_ATTACHING	1
#define PROBEKIT_STATE_LIVE		2
#define PROBEKIT_STATE_DETACHED		3	/* the counters are final */

/*
 * Answer of PROBEKIT_IOC_STATS on a target set: the counters of its probe,
 * also after the probe has gone. For a probe with an exit handler
 *
 *	entries = exits + in_flight + cancelled + every missed_*
 *
 * and without one, entries = handled + missed_recursion.
 */
struct probekit_stats {
	__u32 size;		/* in: sizeof(struct probekit_stats) */
	__u32 state;		/* PROBEKIT_STATE_* */
	__u32 accepted;		/* targets of the set that can be probed */
	__u32 attached;		/* targets attached so far */
	__u64 entries;		/* calls of the targets, missed ones included */
	__u64 handled;		/* calls whose entry handler ran or was not needed */
	__u64 exits;		/* calls whose exit handler ran */
	__u64 cancelled;	/* the entry handler returned non-zero: no exit wanted */
	__u64 in_flight;	/* entered, not returned yet; final after detach */
	__u64 missed_recursion;	/* called by a handler, or while one was running */
	__u64 missed_storage;	/* more than nr_maxactive calls in flight */
	__u64 missed_swapped;	/* handlers were swapped between entry and exit */
	__u64 missed_exit;	/* the exit came while a handler was running */
	__u32 maxactive;	/* calls that may be in flight at once */
	__u32 peak_active;	/* most calls in flight at once, less up to 32 a CPU */
	__u32 probe;		/* id of the live probe, or zero */
	__u32 flags;		/* PROBEKIT_FLAG_*, as they are now */
	__u32 disabled;		/* targets disabled one by one */
	__u32 gone;		/* targets whose module has been unloaded */
	__u32 optimised;	/* targets where a jump does, without an int3 */
	__u32 ftrace_based;	/* targets that are reached through ftrace */
};

/* A live probe, as PROBEKIT_IOC_PROBES lists it. */
struct probekit_probe_info {
	__u32 kind;		/* PROBEKIT_KIND_* */
	__u32 owner;		/* process that attached it; zero: in another pid namespace */
	char owner_name[16];	/* what that process was called, zero-terminated */
	__u64 age_ns;		/* since it was attached, sleep of the machine included */
	__u32 entry_data_size;
	__u32 has_exit;		/* it has an exit, return or post handler */
	struct probekit_stats stats;	/* size: of what was filled in */
};

/*
 * Argument of PROBEKIT_IOC_PROBES: fills an array with the live probes of the
 * whole machine, oldest first. Where the array is too small its entries are
 * filled and count tells how many there are.
 */
struct probekit_probes {
	__u32 size;		/* in: sizeof(struct probekit_probes) */
	__u32 flags;		/* in: zero */
	__u32 count;		/* in: entries of the array; out: live probes */
	__u32 entry_size;	/* in: sizeof(struct probekit_probe_info) */
	__u64 probes;		/* in: address of struct probekit_probe_info[count] */
};

/*
 * Argument of PROBEKIT_IOC_ENABLE: enables or disables a probe, or single
 * targets of it. What is disabled costs nothing and counts nothing, and calls
 * in flight still have their exit. A target is hit while both itself and its
 * probe are enabled. On a target set: its own probe; on the device: any.
 */
struct probekit_enable {
	__u32 size;		/* in: sizeof(struct probekit_enable) */
	__u32 enable;		/* in: 1 enable, 0 disable */
	__u32 probe;		/* in: id of the probe; zero on a target set */
	__u32 count;		/* in: targets, or zero: the probe as a whole */
	__u64 targets;		/* in: address of __u32[count]: their indices */
};

#define PROBEKIT_IOC_MAGIC	'p'
/* On the device. */
#define PROBEKIT_IOC_INFO	_IO(PROBEKIT_IOC_MAGIC, 0xe0)
#define PROBEKIT_IOC_TARGETS	_IO(PROBEKIT_IOC_MAGIC, 0xe1)
#define PROBEKIT_IOC_PROBES	_IO(PROBEKIT_IOC_MAGIC, 0xe2)
/* On a target set. */
#define PROBEKIT_IOC_STATS	_IO(PROBEKIT_IOC_MAGIC, 0xe8)
/* On either. */
#define PROBEKIT_IOC_ENABLE	_IO(PROBEKIT_IOC_MAGIC, 0xe9)

#endif /* PROBEKIT_UAPI_H */
