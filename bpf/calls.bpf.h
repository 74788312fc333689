/* SPDX-License-Identifier: GPL-2.0-only */
/* A count per target. */
#ifndef PROBEKIT_CALLS_BPF_H
#define PROBEKIT_CALLS_BPF_H

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);		/* the loader sets it: one per target */
	__type(key, __u32);
	__type(value, __u64);
} calls SEC(".maps");

static __always_inline void calls_add(const struct probekit_call *call)
{
	__u32 target = call->target;
	__u64 *n = bpf_map_lookup_elem(&calls, &target);

	/* atomic: an interrupt on this CPU may count the same function */
	if (n)
		__sync_fetch_and_add(n, 1);
}

#endif /* PROBEKIT_CALLS_BPF_H */
