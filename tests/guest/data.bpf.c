// SPDX-License-Identifier: GPL-2.0-only
/* data - entry data of many sizes, filled at entry and checked at exit */
#include "vmlinux.h"
#include <probekit/probekit.bpf.h>

#include "events.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct data_checks);
} checks SEC(".maps");

__u64 seeds;

/* @size is a constant wherever these are called, which the kfunc wants. */
static __always_inline int fill(struct probekit_call *call, const int size)
{
	__u64 *data = (__u64 *)probekit_entry_data(call, size);
	__u64 seed = __sync_add_and_fetch(&seeds, 1);
	struct data_checks *check;
	__u32 zero = 0;

	check = bpf_map_lookup_elem(&checks, &zero);
	if (!check)
		return 1;
	check->entries++;
	if (!data) {
		check->none++;
		return 0;
	}
	for (__u32 i = 0; i < size / sizeof(*data); i++)
		data[i] = seed * (i + 1);
	check->seeds_written += seed;
	return 0;
}

static __always_inline void verify(struct probekit_call *call, const int size)
{
	const __u64 *data = (__u64 *)probekit_entry_data(call, size);
	struct data_checks *check;
	__u32 zero = 0;
	__u64 torn = 0;

	check = bpf_map_lookup_elem(&checks, &zero);
	if (!check)
		return;
	check->exits++;
	if (!data) {
		check->none++;
		return;
	}
	for (__u32 i = 0; i < size / sizeof(*data); i++)
		torn |= data[i] ^ data[0] * (i + 1);
	check->torn += !!torn;
	check->seeds_read += data[0];
}

SEC("struct_ops")
int BPF_PROG(bytes_8_entry, struct probekit_call *call)
{
	return fill(call, 8);
}

SEC("struct_ops")
void BPF_PROG(bytes_8_exit, struct probekit_call *call)
{
	verify(call, 8);
}

SEC(".struct_ops.link")
struct probekit_fprobe bytes_8 = {
	.entry_handler = (void *)bytes_8_entry,
	.exit_handler = (void *)bytes_8_exit,
	.entry_data_size = 8,
};

SEC("struct_ops")
int BPF_PROG(bytes_64_entry, struct probekit_call *call)
{
	return fill(call, 64);
}

SEC("struct_ops")
void BPF_PROG(bytes_64_exit, struct probekit_call *call)
{
	verify(call, 64);
}

SEC(".struct_ops.link")
struct probekit_fprobe bytes_64 = {
	.entry_handler = (void *)bytes_64_entry,
	.exit_handler = (void *)bytes_64_exit,
	.entry_data_size = 64,
};

SEC("struct_ops")
int BPF_PROG(bytes_120_entry, struct probekit_call *call)
{
	return fill(call, 120);
}

SEC("struct_ops")
void BPF_PROG(bytes_120_exit, struct probekit_call *call)
{
	verify(call, 120);
}

SEC(".struct_ops.link")
struct probekit_fprobe bytes_120 = {
	.entry_handler = (void *)bytes_120_entry,
	.exit_handler = (void *)bytes_120_exit,
	.entry_data_size = 120,
};

SEC("struct_ops")
int BPF_PROG(bytes_1024_entry, struct probekit_call *call)
{
	return fill(call, 1024);
}

SEC("struct_ops")
void BPF_PROG(bytes_1024_exit, struct probekit_call *call)
{
	verify(call, 1024);
}

SEC(".struct_ops.link")
struct probekit_fprobe bytes_1024 = {
	.entry_handler = (void *)bytes_1024_entry,
	.exit_handler = (void *)bytes_1024_exit,
	.entry_data_size = 1024,
};

SEC("struct_ops")
int BPF_PROG(bytes_4096_entry, struct probekit_call *call)
{
	return fill(call, 4096);
}

SEC("struct_ops")
void BPF_PROG(bytes_4096_exit, struct probekit_call *call)
{
	verify(call, 4096);
}

SEC(".struct_ops.link")
struct probekit_fprobe bytes_4096 = {
	.entry_handler = (void *)bytes_4096_entry,
	.exit_handler = (void *)bytes_4096_exit,
	.entry_data_size = 4096,
};

SEC("struct_ops")
int BPF_PROG(too_many_entry, struct probekit_call *call)
{
	return fill(call, 72);
}

SEC("struct_ops")
void BPF_PROG(too_many_exit, struct probekit_call *call)
{
	verify(call, 72);
}

SEC(".struct_ops.link")
struct probekit_fprobe too_many = {
	.entry_handler = (void *)too_many_entry,
	.exit_handler = (void *)too_many_exit,
	.entry_data_size = 64,
};

SEC("struct_ops")
int BPF_PROG(none_there_entry, struct probekit_call *call)
{
	return fill(call, 8);
}

SEC("struct_ops")
void BPF_PROG(none_there_exit, struct probekit_call *call)
{
	verify(call, 8);
}

SEC(".struct_ops.link")
struct probekit_fprobe none_there = {
	.entry_handler = (void *)none_there_entry,
	.exit_handler = (void *)none_there_exit,
};

/* The verifier lets it through: an unsigned size that no storage has. */
SEC("struct_ops")
int BPF_PROG(negative_entry, struct probekit_call *call)
{
	struct data_checks *check;
	__u32 zero = 0;

	check = bpf_map_lookup_elem(&checks, &zero);
	if (check) {
		check->entries++;
		check->none += !probekit_entry_data(call, -1);
	}
	return 0;
}

SEC("struct_ops")
void BPF_PROG(negative_exit, struct probekit_call *call)
{
	struct data_checks *check;
	__u32 zero = 0;

	check = bpf_map_lookup_elem(&checks, &zero);
	if (check) {
		check->exits++;
		check->none += !probekit_entry_data(call, -1);
	}
}

SEC(".struct_ops.link")
struct probekit_fprobe negative = {
	.entry_handler = (void *)negative_entry,
	.exit_handler = (void *)negative_exit,
	.entry_data_size = PROBEKIT_MAX_ENTRY_DATA,
};

char LICENSE[] SEC("license") = "GPL";
