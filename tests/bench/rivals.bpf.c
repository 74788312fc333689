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

#define PROG(section, name, body)	\
SEC(section)				\
int name(void *ctx)			\
{					\
	body;				\
	return 0;			\
}

PROG("fentry/__do_sys_getppid", fentry_empty, )
PROG("fexit/__do_sys_getppid", fexit_empty, )
PROG("fentry/__do_sys_getppid", fentry_time, start())
PROG("fexit/__do_sys_getppid", fexit_time, stop())
PROG("kprobe/__do_sys_getppid", kprobe_empty, )
PROG("kretprobe/__do_sys_getppid", kretprobe_empty, )
PROG("kprobe/__do_sys_getppid", kprobe_time, start())
PROG("kretprobe/__do_sys_getppid", kretprobe_time, stop())
PROG("kprobe.multi/__do_sys_getppid", kmulti_empty, )
PROG("kretprobe.multi/__do_sys_getppid", kretmulti_empty, )
PROG("kprobe.multi/__do_sys_getppid", kmulti_time, start())
PROG("kretprobe.multi/__do_sys_getppid", kretmulti_time, stop())
PROG("kprobe.session/__do_sys_getppid", session_empty, )

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
