// SPDX-License-Identifier: GPL-2.0-only
/* counters - handlers that count, in several shapes */
#include "vmlinux.h"
#include <probekit/probekit.bpf.h>

#include "events.h"

/* Which object this is: only calls that it saw enter are its own. */
const volatile __u64 generation = 1;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, struct hits);
} counters SEC(".maps");

static __always_inline struct hits *hits_of(struct probekit_call *call)
{
	__u32 target = call->target;

	return bpf_map_lookup_elem(&counters, &target);
}

/* atomic: an interrupt on this CPU may count the same target */
static __always_inline int count_entry(struct probekit_call *call, __u64 *data)
{
	struct hits *hits = hits_of(call);

	if (hits)
		__sync_fetch_and_add(&hits->entries, 1);
	if (data)
		*data = generation;
	return 0;
}

static __always_inline void count_exit(struct probekit_call *call, const __u64 *data)
{
	struct hits *hits = hits_of(call);

	if (!hits)
		return;
	__sync_fetch_and_add(&hits->exits, 1);
	if (data && *data != generation)
		__sync_fetch_and_add(&hits->foreign, 1);
}

SEC("struct_ops")
int BPF_PROG(plain_entry, struct probekit_call *call)
{
	return count_entry(call, NULL);
}

SEC("struct_ops")
void BPF_PROG(plain_exit, struct probekit_call *call)
{
	count_exit(call, NULL);
}

SEC("struct_ops")
int BPF_PROG(marked_entry, struct probekit_call *call)
{
	return count_entry(call, (__u64 *)probekit_entry_data(call, sizeof(__u64)));
}

SEC("struct_ops")
void BPF_PROG(marked_exit, struct probekit_call *call)
{
	count_exit(call, (__u64 *)probekit_entry_data(call, sizeof(__u64)));
}

/* Wants no exit of calls with an odd cookie. */
SEC("struct_ops")
int BPF_PROG(choosy_entry, struct probekit_call *call)
{
	count_entry(call, NULL);
	return call->cookie & 1;
}

/* Runs on a function that this calls: the helper is one of the kernel's. */
SEC("struct_ops")
int BPF_PROG(calling_entry, struct probekit_call *call)
{
	bpf_get_prandom_u32();
	return count_entry(call, NULL);
}

SEC("struct_ops")
void BPF_PROG(calling_exit, struct probekit_call *call)
{
	bpf_get_prandom_u32();
	count_exit(call, NULL);
}

SEC(".struct_ops.link")
struct probekit_fprobe entry_only = {
	.entry_handler = (void *)plain_entry,
};

SEC(".struct_ops.link")
struct probekit_fprobe exit_only = {
	.exit_handler = (void *)plain_exit,
};

SEC(".struct_ops.link")
struct probekit_fprobe both = {
	.entry_handler = (void *)marked_entry,
	.exit_handler = (void *)marked_exit,
	.entry_data_size = sizeof(__u64),
};

/* As both, but in what a swap may not change. */
SEC(".struct_ops.link")
struct probekit_fprobe larger = {
	.entry_handler = (void *)marked_entry,
	.exit_handler = (void *)marked_exit,
	.entry_data_size = 2 * sizeof(__u64),
};

SEC(".struct_ops.link")
struct probekit_fprobe smaller = {
	.entry_handler = (void *)plain_entry,
	.exit_handler = (void *)plain_exit,
};

SEC(".struct_ops.link")
struct probekit_fprobe choosy = {
	.entry_handler = (void *)choosy_entry,
	.exit_handler = (void *)plain_exit,
};

SEC(".struct_ops.link")
struct probekit_fprobe calling = {
	.entry_handler = (void *)calling_entry,
	.exit_handler = (void *)calling_exit,
};

SEC(".struct_ops.link")
struct probekit_fprobe calling_entry_only = {
	.entry_handler = (void *)calling_entry,
};

char LICENSE[] SEC("license") = "GPL";
