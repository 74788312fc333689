// SPDX-License-Identifier: GPL-2.0-only
/* rivals - what the kernel's own attach types cost for the same questions */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

extern bool bpf_session_is_return(void) __ksym;
extern __u64 *bpf_session_cookie(void) __ksym;

__u64 total_ns;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 10240);
	__type(key, __u32);
	__type(value, __u64);
} starts SEC(".maps");

static __always_inline int start(void)
{
	__u32 tid = bpf_get_current_pid_tgid();
	__u64 now = bpf_ktime_get_ns();

	bpf_map_update_elem(&starts, &tid, &now, BPF_ANY);
	return 0;
}

static __always_inline int stop(void)
{
	__u32 tid = bpf_get_current_pid_tgid();
	__u64 *at = bpf_map_lookup_elem(&starts, &tid);

	if (!at)
		return 0;
	total_ns += bpf_ktime_get_ns() - *at;
	bpf_map_delete_elem(&starts, &tid);
	return 0;
}

SEC("fentry/__do_sys_getppid")
int fentry_empty(void *ctx)
{
	return 0;
}

SEC("fexit/__do_sys_getppid")
int fexit_empty(void *ctx)
{
	return 0;
}

SEC("fentry/__do_sys_getppid")
int fentry_time(void *ctx)
{
	return start();
}

SEC("fexit/__do_sys_getppid")
int fexit_time(void *ctx)
{
	return stop();
}

SEC("kprobe/__do_sys_getppid")
int kprobe_empty(void *ctx)
{
	return 0;
}

SEC("kretprobe/__do_sys_getppid")
int kretprobe_empty(void *ctx)
{
	return 0;
}

SEC("kprobe/__do_sys_getppid")
int kprobe_time(void *ctx)
{
	return start();
}

SEC("kretprobe/__do_sys_getppid")
int kretprobe_time(void *ctx)
{
	return stop();
}

SEC("kprobe.multi/__do_sys_getppid")
int kmulti_empty(void *ctx)
{
	return 0;
}

SEC("kretprobe.multi/__do_sys_getppid")
int kretmulti_empty(void *ctx)
{
	return 0;
}

SEC("kprobe.multi/__do_sys_getppid")
int kmulti_time(void *ctx)
{
	return start();
}

SEC("kretprobe.multi/__do_sys_getppid")
int kretmulti_time(void *ctx)
{
	return stop();
}

SEC("kprobe.session/__do_sys_getppid")
int session_empty(void *ctx)
{
	return 0;
}

SEC("kprobe.session/__do_sys_getppid")
int session_time(void *ctx)
{
	__u64 *cookie = bpf_session_cookie();

	if (bpf_session_is_return())
		total_ns += bpf_ktime_get_ns() - *cookie;
	else
		*cookie = bpf_ktime_get_ns();
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
