// SPDX-License-Identifier: GPL-2.0-only
/* count - how often each probed function is called */
#include "vmlinux.h"
#include <probekit/probekit.bpf.h>

#include "calls.bpf.h"
#include "filter.bpf.h"

static __always_inline int count_call(struct probekit_call *call)
{
	if (filter_matches())
		calls_add(call);
	return 0;
}

/* A program belongs to one member of one type, so there is one for each kind. */
SEC("struct_ops")
int BPF_PROG(count_entry, struct probekit_call *call)
{
	return count_call(call);
}

SEC("struct_ops")
int BPF_PROG(count_kprobe_pre, struct probekit_call *call)
{
	return count_call(call);
}

SEC("struct_ops")
int BPF_PROG(count_kretprobe_entry, struct probekit_call *call)
{
	return count_call(call);
}

SEC(".struct_ops.link")
struct probekit_fprobe count = {
	.entry_handler = (void *)count_entry,
};

SEC(".struct_ops.link")
struct probekit_kprobe count_kprobe = {
	.pre_handler = (void *)count_kprobe_pre,
};

SEC(".struct_ops.link")
struct probekit_kretprobe count_kretprobe = {
	.entry_handler = (void *)count_kretprobe_entry,
};

char LICENSE[] SEC("license") = "GPL";
