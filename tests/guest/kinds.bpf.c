// SPDX-License-Identifier: GPL-2.0-only
/* kinds - handlers of kprobes and kretprobes: what they were given, last of all */
#include "vmlinux.h"
#include <probekit/probekit.bpf.h>

#include "events.h"

/* Return value of the entry handlers of the target with this cookie. */
#define COOKIE_CANCEL	13

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, struct kind_hits);
} kind_hits SEC(".maps");

static __always_inline struct kind_hits *hits_of(struct probekit_call *call)
{
	__u32 target = call->target;

	return bpf_map_lookup_elem(&kind_hits, &target);
}

static __always_inline int note_entry(struct probekit_call *call)
{
	struct kind_hits *hits = hits_of(call);

	if (!hits)
		return 1;
	__sync_fetch_and_add(&hits->entries, 1);
	hits->entry_ip = call->entry_ip;
	hits->ret_ip = call->ret_ip;
	hits->cookie = call->cookie;
	hits->arg = PT_REGS_PARM1(call->regs);
	hits->time_ns = bpf_ktime_get_ns();
	return call->cookie == COOKIE_CANCEL;
}

static __always_inline void note_exit(struct probekit_call *call)
{
	struct kind_hits *hits = hits_of(call);

	if (!hits)
		return;
	__sync_fetch_and_add(&hits->exits, 1);
	hits->result = PT_REGS_RC(call->regs);
	if (call->ret_ip != hits->ret_ip)
		hits->torn++;
}

SEC("struct_ops")
int BPF_PROG(kp_pre, struct probekit_call *call)
{
	return note_entry(call);
}

SEC("struct_ops")
int BPF_PROG(kp_pre_of_two, struct probekit_call *call)
{
	return note_entry(call);
}

SEC("struct_ops")
void BPF_PROG(kp_post, struct probekit_call *call)
{
	note_exit(call);
}

SEC("struct_ops")
int BPF_PROG(kr_entry, struct probekit_call *call)
{
	__u64 *data = (__u64 *)probekit_entry_data(call, sizeof(*data));

	if (!data)
		return 1;
	*data = PT_REGS_PARM1(call->regs);
	return note_entry(call);
}

SEC("struct_ops")
void BPF_PROG(kr_exit, struct probekit_call *call)
{
	const __u64 *data = (__u64 *)probekit_entry_data(call, sizeof(*data));
	struct kind_hits *hits = hits_of(call);

	note_exit(call);
	if (data && hits)
		hits->handed_over += *data;
}

SEC(".struct_ops.link")
struct probekit_kprobe pre = {
	.pre_handler = (void *)kp_pre,
};

SEC(".struct_ops.link")
struct probekit_kprobe pre_post = {
	.pre_handler = (void *)kp_pre_of_two,
	.post_handler = (void *)kp_post,
};

SEC(".struct_ops.link")
struct probekit_kretprobe kret = {
	.entry_handler = (void *)kr_entry,
	.handler = (void *)kr_exit,
	.data_size = sizeof(__u64),
};

SEC(".struct_ops.link")
struct probekit_kretprobe kret_of_four = {
	.entry_handler = (void *)kr_entry,
	.handler = (void *)kr_exit,
	.data_size = sizeof(__u64),
	.maxactive = 4,
};

char LICENSE[] SEC("license") = "GPL";
