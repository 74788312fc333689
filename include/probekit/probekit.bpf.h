/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * All that an author of handlers includes, after vmlinux.h:
 *
 *	SEC("struct_ops")
 *	int BPF_PROG(my_entry, struct probekit_call *call) { ... return 0; }
 *
 *	SEC(".struct_ops.link")
 *	struct probekit_fprobe my_probe = { .entry_handler = (void *)my_entry };
 *
 * An argument of a BPF_PROG cannot be called ctx.
 */
#ifndef PROBEKIT_BPF_H
#define PROBEKIT_BPF_H

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include <probekit/ops.h>
#include <probekit/uapi.h>

/**
 * probekit_entry_data() - storage that belongs to one call
 * @call: the call, as handed to the handler
 * @rdwr_buf_size: bytes wanted, a constant, at most entry_data_size
 *
 * The entry handler of a call writes it, the exit handler of the same call
 * reads it; at entry its content is undefined.
 *
 * Return: the storage, or NULL where @rdwr_buf_size exceeds entry_data_size.
 */
extern __u8 *probekit_entry_data(struct probekit_call *call, const int rdwr_buf_size) __ksym;

/**
 * probekit_enclosing_data() - entry data of the call that this one is part of
 * @call: the call, as handed to the handler
 * @rdwr_buf_size: bytes wanted, a constant, at most entry_data_size
 *
 * That is the innermost call of a target of the same probe that was entered on
 * this task before @call, in the same context, and has not returned: whatever
 * an interrupt runs is not part of what it interrupted. Calls that have no
 * entry data are passed over: cancelled ones, missed ones, and those that other
 * handlers saw before these were swapped in. The storage is that call's own:
 * what an exit handler adds to it, the exit handler of the enclosing call reads.
 *
 * Return: the storage, or NULL where there is no such call, for kprobes, or
 * where @rdwr_buf_size exceeds entry_data_size.
 */
extern __u8 *probekit_enclosing_data(struct probekit_call *call,
				     const int rdwr_buf_size) __ksym;

/**
 * probekit_stack() - the call stack
 * @call: the call, as handed to the handler
 * @buf: where to, as __u64
 * @buf__sz: bytes, a multiple of eight; what does not fit is left out
 * @flags: zero, or PROBEKIT_STACK_USER
 *
 * Of the kernel: first entry_ip, then where it returns to and so on outwards,
 * the same in entry and exit handlers; true addresses, never those of
 * trampolines, and no frame of the engine. Of user space: first where the task
 * entered the kernel, then what frame pointers lead to, as far as it is in memory.
 *
 * Return: bytes written, zero where there is no such stack; -EINVAL.
 */
extern int probekit_stack(struct probekit_call *call, void *buf, __u32 buf__sz,
			  __u64 flags) __ksym;

/**
 * probekit_set_return() - change what a function returns
 * @call: the call, as handed to an exit handler of an fprobe or a kretprobe
 * @value: what the caller shall find in the register of the return value
 *
 * The function has run; only its caller is told something else, and must be
 * able to cope with it. The probe needs PROBEKIT_FLAG_OUTCOME.
 *
 * Return: zero, or -EPERM without that flag, or in a handler of another kind.
 */
extern int probekit_set_return(struct probekit_call *call, __u64 value) __ksym;

/**
 * probekit_skip() - let a function return at once, without having run
 * @call: the call, as handed to the pre handler of a kprobe at the entry of a
 *	function
 * @value: what the function shall return
 *
 * The caller must be able to cope with a function that did nothing: locks not
 * taken, memory not allocated, arguments not consumed. Other kprobes there,
 * registered later, do not see the call. The probe needs PROBEKIT_FLAG_OUTCOME.
 *
 * Return: zero, or -EPERM without that flag, or in a handler of another kind.
 */
extern int probekit_skip(struct probekit_call *call, __u64 value) __ksym;

#endif /* PROBEKIT_BPF_H */
