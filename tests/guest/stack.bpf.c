// SPDX-License-Identifier: GPL-2.0-only
/* stack - the stacks of the last call of targets with a cookie, by handler */
#include "vmlinux.h"
#include <probekit/probekit.bpf.h>

#include "events.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, STACKS);
	__type(key, __u32);
	__type(value, struct stacks);
} stacks SEC(".maps");

static __always_inline void note(struct probekit_call *call, __u32 handler)
{
	struct stacks *stacks_of = bpf_map_lookup_elem(&stacks, &handler);

	if (!stacks_of || !call->cookie)
		return;
	stacks_of->count++;
	stacks_of->kernel_bytes = probekit_stack(call, stacks_of->kernel,
						 sizeof(stacks_of->kernel), 0);
	stacks_of->user_bytes = probekit_stack(call, stacks_of->user, sizeof(stacks_of->user),
					       PROBEKIT_STACK_USER);
	stacks_of->small_bytes = probekit_stack(call, stacks_of->small,
						sizeof(stacks_of->small), 0);
	stacks_of->odd_size = probekit_stack(call, stacks_of->small, 12, 0);
	stacks_of->bad_flags = probekit_stack(call, stacks_of->small,
					      sizeof(stacks_of->small), 2);
}

SEC("struct_ops")
int BPF_PROG(fp_entry, struct probekit_call *call)
{
	note(call, STACK_FPROBE_ENTRY);
	return 0;
}

SEC("struct_ops")
void BPF_PROG(fp_exit, struct probekit_call *call)
{
	note(call, STACK_FPROBE_EXIT);
}

SEC("struct_ops")
int BPF_PROG(kp_pre, struct probekit_call *call)
{
	note(call, STACK_KPROBE);
	return 0;
}

SEC("struct_ops")
int BPF_PROG(kr_entry, struct probekit_call *call)
{
	note(call, STACK_KRETPROBE_ENTRY);
	return 0;
}

SEC("struct_ops")
void BPF_PROG(kr_exit, struct probekit_call *call)
{
	note(call, STACK_KRETPROBE_EXIT);
}

SEC(".struct_ops.link")
struct probekit_fprobe by_fprobe = {
	.entry_handler = (void *)fp_entry,
	.exit_handler = (void *)fp_exit,
};

SEC(".struct_ops.link")
struct probekit_kprobe by_kprobe = {
	.pre_handler = (void *)kp_pre,
};

SEC(".struct_ops.link")
struct probekit_kretprobe by_kretprobe = {
	.entry_handler = (void *)kr_entry,
	.handler = (void *)kr_exit,
};

char LICENSE[] SEC("license") = "GPL";
