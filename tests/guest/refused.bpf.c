// SPDX-License-Identifier: GPL-2.0-only
/* refused - what the verifier must not let through; each is loaded alone */
#include "vmlinux.h"
#include <probekit/probekit.bpf.h>

/* No number that the verifier knows. */
int unknown_size = 8;

/* Nothing is wrong here: it tells a refusal from another failure. */
SEC("struct_ops")
int BPF_PROG(good_entry, struct probekit_call *call)
{
	__u64 *data = (__u64 *)probekit_entry_data(call, 8);

	if (data)
		*data = call->cookie;
	return 0;
}

SEC("struct_ops.s")
int BPF_PROG(sleeps_entry, struct probekit_call *call)
{
	return 0;
}

SEC("struct_ops")
int BPF_PROG(writes_call_entry, struct probekit_call *call)
{
	call->cookie = 1;
	return 0;
}

SEC("struct_ops")
int BPF_PROG(unchecked_data_entry, struct probekit_call *call)
{
	__u64 *data = (__u64 *)probekit_entry_data(call, 8);

	*data = 1;
	return 0;
}

SEC("struct_ops")
int BPF_PROG(beyond_data_entry, struct probekit_call *call)
{
	__u64 *data = (__u64 *)probekit_entry_data(call, 8);

	if (data)
		data[1] = 1;
	return 0;
}

SEC("struct_ops")
int BPF_PROG(before_data_entry, struct probekit_call *call)
{
	__u64 *data = (__u64 *)probekit_entry_data(call, 8);

	if (data)
		data[-1] = 1;
	return 0;
}

SEC("struct_ops")
int BPF_PROG(unknown_size_entry, struct probekit_call *call)
{
	return !probekit_entry_data(call, unknown_size);
}

SEC("struct_ops")
int BPF_PROG(wrong_call_entry, struct probekit_call *call)
{
	return !probekit_entry_data((struct probekit_call *)call->regs, 8);
}

SEC("struct_ops")
int BPF_PROG(no_call_entry, struct probekit_call *call)
{
	return !probekit_entry_data(NULL, 8);
}

/* The registers are the kernel's own, to be read only. */
SEC("struct_ops")
int BPF_PROG(writes_regs_entry, struct probekit_call *call)
{
	call->regs->ip = 0;
	return 0;
}

SEC("struct_ops")
int BPF_PROG(second_argument_entry, struct probekit_call *call, long nothing)
{
	return nothing;
}

SEC(".struct_ops.link")
struct probekit_fprobe good = { .entry_handler = (void *)good_entry };

SEC(".struct_ops.link")
struct probekit_fprobe sleeps = { .entry_handler = (void *)sleeps_entry };

SEC(".struct_ops.link")
struct probekit_fprobe writes_call = { .entry_handler = (void *)writes_call_entry };

SEC(".struct_ops.link")
struct probekit_fprobe unchecked_data = { .entry_handler = (void *)unchecked_data_entry };

SEC(".struct_ops.link")
struct probekit_fprobe beyond_data = { .entry_handler = (void *)beyond_data_entry };

SEC(".struct_ops.link")
struct probekit_fprobe before_data = { .entry_handler = (void *)before_data_entry };

SEC(".struct_ops.link")
struct probekit_fprobe unknown_data = { .entry_handler = (void *)unknown_size_entry };

SEC(".struct_ops.link")
struct probekit_fprobe wrong_call = { .entry_handler = (void *)wrong_call_entry };

SEC(".struct_ops.link")
struct probekit_fprobe no_call = { .entry_handler = (void *)no_call_entry };

SEC(".struct_ops.link")
struct probekit_fprobe writes_regs = { .entry_handler = (void *)writes_regs_entry };

SEC(".struct_ops.link")
struct probekit_fprobe second_argument = { .entry_handler = (void *)second_argument_entry };

char LICENSE[] SEC("license") = "GPL";
