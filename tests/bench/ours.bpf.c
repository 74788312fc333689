// SPDX-License-Identifier: GPL-2.0-only
/* ours - the same three questions as in rivals.bpf.c, as probekit handlers */
#include "vmlinux.h"
#include <probekit/probekit.bpf.h>

__u64 total_ns;

SEC("struct_ops")
int BPF_PROG(empty_entry, struct probekit_call *call)
{
	return 0;
}

SEC("struct_ops")
void BPF_PROG(empty_exit, struct probekit_call *call)
{
}

SEC("struct_ops")
int BPF_PROG(time_entry, struct probekit_call *call)
{
	__u64 *start = (__u64 *)probekit_entry_data(call, sizeof(*start));

	if (!start)
		return 1;
	*start = bpf_ktime_get_ns();
	return 0;
}

SEC("struct_ops")
void BPF_PROG(time_exit, struct probekit_call *call)
{
	const __u64 *start = (__u64 *)probekit_entry_data(call, sizeof(*start));

	if (start)
		total_ns += bpf_ktime_get_ns() - *start;
}

SEC(".struct_ops.link")
struct probekit_fprobe entry = {
	.entry_handler = (void *)empty_entry,
};

SEC(".struct_ops.link")
struct probekit_fprobe both = {
	.entry_handler = (void *)empty_entry,
	.exit_handler = (void *)empty_exit,
};

SEC(".struct_ops.link")
struct probekit_fprobe timed = {
	.entry_handler = (void *)time_entry,
	.exit_handler = (void *)time_exit,
	.entry_data_size = sizeof(__u64),
};

/* A program is of one type and member, so each kind has programs of its own. */
SEC("struct_ops")
int BPF_PROG(empty_pre, struct probekit_call *call)
{
	return 0;
}

SEC("struct_ops")
int BPF_PROG(empty_pre_of_two, struct probekit_call *call)
{
	return 0;
}

SEC("struct_ops")
void BPF_PROG(empty_post, struct probekit_call *call)
{
}

SEC("struct_ops")
int BPF_PROG(empty_kret_entry, struct probekit_call *call)
{
	return 0;
}

SEC("struct_ops")
void BPF_PROG(empty_kret_exit, struct probekit_call *call)
{
}

SEC(".struct_ops.link")
struct probekit_kprobe pre = {
	.pre_handler = (void *)empty_pre,
};

SEC(".struct_ops.link")
struct probekit_kprobe pre_post = {
	.pre_handler = (void *)empty_pre_of_two,
	.post_handler = (void *)empty_post,
};

SEC(".struct_ops.link")
struct probekit_kretprobe kret = {
	.entry_handler = (void *)empty_kret_entry,
	.handler = (void *)empty_kret_exit,
};

char LICENSE[] SEC("license") = "GPL";
