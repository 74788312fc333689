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

SEC("struct_ops")
int BPF_PROG(count_entry, struct probekit_call *call)
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

SEC(".struct_ops.link")
struct probekit_fprobe count = {
	.entry_handler = (void *)count_entry,
};

char LICENSE[] SEC("license") = "GPL";
