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

#endif /* PROBEKIT_BPF_H */
