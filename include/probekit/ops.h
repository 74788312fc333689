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
 * struct probekit_call - one execution of a probed function
 * @entry_ip: address of the function as the target set named it, in the entry
 *	and in the exit handler
 * @ret_ip: address that the function returns to, never a trampoline
 * @regs: registers at entry (entry handler) or at return (exit handler)
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
 * @flags: zero
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

#ifdef __BPF__
#pragma clang attribute pop
#endif

#endif /* PROBEKIT_OPS_H */
