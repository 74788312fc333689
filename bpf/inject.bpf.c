// SPDX-License-Identifier: GPL-2.0-only
/* inject - calls of the probed functions return at once with a given value */
#include "vmlinux.h"
#include <probekit/probekit.bpf.h>

#include "calls.bpf.h"
#include "filter.bpf.h"

const volatile __u64 inject_value;
/* Which of the calls that the filter lets through; zero: no such limit. */
const volatile __u64 inject_every;
const volatile __u64 inject_times;
const volatile __u32 inject_probability;	/* of 2^32 */

/* Calls that the filter has let through. */
__u64 seen;

static __always_inline bool is_chosen(void)
{
	if (inject_probability)
		return bpf_get_prandom_u32() < inject_probability;
	if (inject_every)
		return __sync_add_and_fetch(&seen, 1) % inject_every == 0;
	if (inject_times)
		return __sync_fetch_and_add(&seen, 1) < inject_times;
	return true;
}

SEC("struct_ops")
int BPF_PROG(inject_pre, struct probekit_call *call)
{
	if (filter_matches() && is_chosen() && !probekit_skip(call, inject_value))
		calls_add(call);
	return 0;
}

SEC(".struct_ops.link")
struct probekit_kprobe inject = {
	.pre_handler = (void *)inject_pre,
};

char LICENSE[] SEC("license") = "GPL";
