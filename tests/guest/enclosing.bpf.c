// SPDX-License-Identifier: GPL-2.0-only
/* enclosing - what each call knows of the call around it, by target */
#include "vmlinux.h"
#include <probekit/probekit.bpf.h>

#include "events.h"

/* Return value of the entry handlers of the target with this cookie. */
#define COOKIE_CANCEL	13

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, struct family);
} families SEC(".maps");

struct data {
	__u64 target;
	__u64 children;
};

static __always_inline struct family *family_of(struct probekit_call *call)
{
	__u32 target = call->target;

	return bpf_map_lookup_elem(&families, &target);
}

static __always_inline void note_parent(struct probekit_call *call, struct family *family,
					bool add)
{
	struct data *parent = (void *)probekit_enclosing_data(call, sizeof(*parent));

	if (!parent) {
		family->orphans++;
		return;
	}
	family->parents |= 1ULL << (parent->target & 63);
	if (add)
		parent->children++;
}

static __always_inline int enter(struct probekit_call *call)
{
	struct data *data = (void *)probekit_entry_data(call, sizeof(*data));
	struct family *family = family_of(call);

	if (!data || !family)
		return 1;
	data->target = call->target;
	data->children = 0;
	note_parent(call, family, false);
	return call->cookie == COOKIE_CANCEL;
}

static __always_inline void leave(struct probekit_call *call)
{
	struct data *data = (void *)probekit_entry_data(call, sizeof(*data));
	struct family *family = family_of(call);

	if (!data || !family)
		return;
	family->calls++;
	family->children += data->children;
	note_parent(call, family, true);
}

SEC("struct_ops")
int BPF_PROG(fp_enter, struct probekit_call *call)
{
	return enter(call);
}

SEC("struct_ops")
void BPF_PROG(fp_leave, struct probekit_call *call)
{
	leave(call);
}

SEC("struct_ops")
int BPF_PROG(kr_enter, struct probekit_call *call)
{
	return enter(call);
}

SEC("struct_ops")
void BPF_PROG(kr_leave, struct probekit_call *call)
{
	leave(call);
}

SEC(".struct_ops.link")
struct probekit_fprobe by_fprobe = {
	.entry_handler = (void *)fp_enter,
	.exit_handler = (void *)fp_leave,
	.entry_data_size = sizeof(struct data),
};

SEC(".struct_ops.link")
struct probekit_kretprobe by_kretprobe = {
	.entry_handler = (void *)kr_enter,
	.handler = (void *)kr_leave,
	.data_size = sizeof(struct data),
};

char LICENSE[] SEC("license") = "GPL";
