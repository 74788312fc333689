// SPDX-License-Identifier: GPL-2.0-only
/* outcome - what functions return is what their target's cookie says */
#include "vmlinux.h"
#include <probekit/probekit.bpf.h>

/* How often the engine refused. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} refused SEC(".maps");

static __always_inline void expect_zero(int result)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(&refused, &zero);

	if (result && count)
		__sync_fetch_and_add(count, 1);
}

SEC("struct_ops")
int BPF_PROG(skip, struct probekit_call *call)
{
	expect_zero(probekit_skip(call, call->cookie));
	return 0;
}

SEC("struct_ops")
void BPF_PROG(fp_return, struct probekit_call *call)
{
	expect_zero(probekit_set_return(call, call->cookie));
}

SEC("struct_ops")
void BPF_PROG(kr_return, struct probekit_call *call)
{
	expect_zero(probekit_set_return(call, call->cookie));
}

SEC(".struct_ops.link")
struct probekit_kprobe skipping = {
	.pre_handler = (void *)skip,
};

SEC(".struct_ops.link")
struct probekit_fprobe returning = {
	.exit_handler = (void *)fp_return,
};

SEC(".struct_ops.link")
struct probekit_kretprobe returning_kret = {
	.handler = (void *)kr_return,
};

char LICENSE[] SEC("license") = "GPL";
