// SPDX-License-Identifier: GPL-2.0-only
/* count - how often each probed function is called */
#include "vmlinux.h"
#include <probekit/probekit.bpf.h>

#include "filter.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);		/* the loader sets it: one per target */
	__type(key, __u32);
	__type(value, __u64);
} calls SEC(".maps");

static __always_inline int count_call(struct probekit_call *call)
{
	__u32 target = call->target;
	__u64 *n;

	if (!filter_matches())
		return 0;
	n = bpf_map_lookup_elem(&calls, &target);
	/* atomic: an interrupt on this CPU may count the same function */
	if (n)
		__sync_fetch_and_add(n, 1);
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
