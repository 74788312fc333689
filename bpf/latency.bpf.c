// SPDX-License-Identifier: GPL-2.0-only
/*
 * latency - how long calls of each probed function take
 *
 * The start time travels in the entry data of the call itself, so recursion,
 * nesting and migration between CPUs need no care here.
 */
#include "vmlinux.h"
#include <probekit/probekit.bpf.h>

#include "filter.bpf.h"
#include "latency.h"

/* Shorter calls are left out. */
const volatile __u64 min_ns;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);		/* the loader sets it: one per target */
	__type(key, __u32);
	__type(value, struct latency_stats);
} latencies SEC(".maps");

/* Slot of a duration: its highest bit, found without a loop. */
static __always_inline __u32 slot_of(__u64 ns)
{
	__u32 slot = 0;

	if (ns >> 32) {
		slot += 32;
		ns >>= 32;
	}
	if (ns >> 16) {
		slot += 16;
		ns >>= 16;
	}
	if (ns >> 8) {
		slot += 8;
		ns >>= 8;
	}
	if (ns >> 4) {
		slot += 4;
		ns >>= 4;
	}
	if (ns >> 2) {
		slot += 2;
		ns >>= 2;
	}
	if (ns >> 1)
		slot += 1;
	return slot < LATENCY_SLOTS ? slot : LATENCY_SLOTS - 1;
}

/*
 * An interrupt on this CPU may time the same function, between any two
 * instructions of ours; a lost race means that it has raised the value.
 */
static __always_inline void raise_to(__u64 *extreme, __u64 value)
{
	for (int i = 0; i < 4; i++) {
		__u64 seen = *(volatile __u64 *)extreme;

		if (value <= seen ||
		    __sync_val_compare_and_swap(extreme, seen, value) == seen)
			return;
	}
}

static __always_inline int enter(struct probekit_call *call)
{
	__u64 *start;

	if (!filter_matches())
		return 1;
	start = (__u64 *)probekit_entry_data(call, sizeof(*start));
	if (!start)
		return 1;
	*start = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void leave(struct probekit_call *call)
{
	__u64 now = bpf_ktime_get_ns(), ns;
	__u32 target = call->target;
	struct latency_stats *stats;
	const __u64 *start;

	start = (__u64 *)probekit_entry_data(call, sizeof(*start));
	stats = bpf_map_lookup_elem(&latencies, &target);
	if (!start || !stats)
		return;
	/* clocks of two CPUs may differ by a few ns after a migration */
	ns = now > *start ? now - *start : 0;
	if (ns < min_ns)
		return;
	__sync_fetch_and_add(&stats->total_ns, ns);
	__sync_fetch_and_add(&stats->slots[slot_of(ns)], 1);
	raise_to(&stats->max_ns, ns);
	raise_to(&stats->min_inverted, ~ns);
}

/* A program belongs to one member of one type, so there is one for each kind. */
SEC("struct_ops")
int BPF_PROG(latency_entry, struct probekit_call *call)
{
	return enter(call);
}

SEC("struct_ops")
void BPF_PROG(latency_exit, struct probekit_call *call)
{
	leave(call);
}

SEC("struct_ops")
int BPF_PROG(latency_kretprobe_entry, struct probekit_call *call)
{
	return enter(call);
}

SEC("struct_ops")
void BPF_PROG(latency_kretprobe_return, struct probekit_call *call)
{
	leave(call);
}

SEC(".struct_ops.link")
struct probekit_fprobe latency = {
	.entry_handler = (void *)latency_entry,
	.exit_handler = (void *)latency_exit,
	.entry_data_size = sizeof(__u64),
};

SEC(".struct_ops.link")
struct probekit_kretprobe latency_kretprobe = {
	.entry_handler = (void *)latency_kretprobe_entry,
	.handler = (void *)latency_kretprobe_return,
	.data_size = sizeof(__u64),
};

char LICENSE[] SEC("license") = "GPL";
