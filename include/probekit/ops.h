/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What the engine and handlers share: the call that a handler is given, and
 * the struct_ops types that carry handlers. The including side has defined
 * the kernel's types (vmlinux.h for BPF, linux/types.h in the module).
 */
#ifndef PROBEKIT_OPS_H
#define PROBEKIT_OPS_H

#ifdef __BPF__
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

struct pt_regs;

/**
 * struct probekit_call - one execution of a probed function or instruction
 * @entry_ip: address of the target as its set named it, in every handler
 * @ret_ip: address that the function returns to, never a trampoline; zero for
 *	a kprobe, which may be anywhere in its function
 * @regs: registers when the handler runs
 * @cookie: cookie of the target
 * @target: index of the target in its set: an array key
 * @entry_data_size: bytes that probekit_entry_data() may hand out
 */
struct probekit_call {
	__u64 entry_ip;
	__u64 ret_ip;
	struct pt_regs *regs;
	__u64 cookie;
	__u32 target;
	__u32 entry_data_size;
};

/**
 * struct probekit_fprobe - handlers over the entry and exit of functions
 * @entry_handler: runs when a target is called, with preemption off, in any
 *	context including NMI. Non-zero return: no exit handler for this call.
 *	Optional if there is an exit handler.
 * @exit_handler: runs when the same call returns, with preemption off, on the
 *	same task but perhaps another CPU. Optional.
 * @entry_data_size: bytes that probekit_entry_data() may hand out per call, at
 *	most PROBEKIT_MAX_ENTRY_DATA; needs an exit handler
 * @nr_maxactive: calls that may be in flight at once, further ones are missed
 *	and counted; zero: a sane default
 * @flags: PROBEKIT_FLAG_*
 * @targets_fd: descriptor of the target set, read when the link is created
 * @engine: the engine's own, zero
 *
 * Zero means "off" or "default" in every data member, so that an object built
 * against a newer header still loads on an older engine.
 */
struct probekit_fprobe {
	int (*entry_handler)(struct probekit_call *call);
	void (*exit_handler)(struct probekit_call *call);
	__u32 entry_data_size;
	__u32 nr_maxactive;
	__u32 flags;
	__u32 targets_fd;
	__u32 engine[4];
};

/**
 * struct probekit_kprobe - handlers before and after single instructions
 * @pre_handler: runs before the instruction, with preemption off, in any
 *	context including NMI. Non-zero return: no post handler this time.
 *	Optional if there is a post handler.
 * @post_handler: runs after the instruction. Optional; a probe with one is
 *	never optimised to a jump, and may not be at the entry of a function
 *	that ftrace can attach to (EOPNOTSUPP): an fprobe serves there.
 * @flags: PROBEKIT_FLAG_DISABLED, PROBEKIT_FLAG_OUTCOME
 * @targets_fd: descriptor of a target set of kind PROBEKIT_KIND_KPROBE
 * @engine: the engine's own, zero
 */
struct probekit_kprobe {
	int (*pre_handler)(struct probekit_call *call);
	void (*post_handler)(struct probekit_call *call);
	__u32 flags;
	__u32 targets_fd;
	__u32 engine[4];
};

/**
 * struct probekit_kretprobe - handlers over functions, one kretprobe for each
 * @entry_handler: as of struct probekit_fprobe
 * @handler: runs when the same call returns
 * @data_size: bytes that probekit_entry_data() may hand out per call, at most
 *	PROBEKIT_MAX_KRETPROBE_DATA
 * @maxactive: calls of each function that may be in flight at once; zero: a
 *	default that shrinks with the number of functions
 * @flags: PROBEKIT_FLAG_DISABLED, PROBEKIT_FLAG_OUTCOME
 * @targets_fd: descriptor of a target set of kind PROBEKIT_KIND_KRETPROBE
 * @engine: the engine's own, zero
 */
struct probekit_kretprobe {
	int (*entry_handler)(struct probekit_call *call);
	void (*handler)(struct probekit_call *call);
	__u32 data_size;
	__u32 maxactive;
	__u32 flags;
	__u32 targets_fd;
	__u32 engine[4];
};

#ifdef __BPF__
#pragma clang attribute pop
#endif

#endif /* PROBEKIT_OPS_H */
