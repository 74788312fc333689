// SPDX-License-Identifier: GPL-2.0-only
/* record - all that handlers are given, call by call */
#include "vmlinux.h"
#include <probekit/probekit.bpf.h>

#include "events.h"

/* Only calls of this process; zero: all. */
const volatile __u32 only_tgid;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EVENTS_MAX);
	__type(key, __u32);
	__type(value, struct event);
} events SEC(".maps");

__u64 numbers;

/* Where kernels keep the preempt count of a CPU. */
struct pcpu_hot___with_count {
	int preempt_count;
} __attribute__((preserve_access_index));

extern const struct pcpu_hot___with_count pcpu_hot __ksym __weak;
extern const int __preempt_count __ksym __weak;

static __always_inline __u32 preempt_count(void)
{
	if (bpf_ksym_exists(&pcpu_hot))
		return ((const struct pcpu_hot___with_count *)bpf_this_cpu_ptr(&pcpu_hot))
			->preempt_count;
	if (bpf_ksym_exists(&__preempt_count))
		return *(const int *)bpf_this_cpu_ptr(&__preempt_count);
	return ~0;
}

static __always_inline bool wanted(void)
{
	return !only_tgid || bpf_get_current_pid_tgid() >> 32 == only_tgid;
}

static __always_inline __u64 record(struct probekit_call *call, __u64 entry, bool is_exit)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	__u64 number = __sync_fetch_and_add(&numbers, 1);
	struct pt_regs *regs = call->regs;
	__u32 key = number;
	struct event *e;

	e = bpf_map_lookup_elem(&events, &key);
	if (!e)
		return 0;
	e->number = number + 1;
	e->entry = entry;
	e->time_ns = bpf_ktime_get_ns();
	e->entry_ip = call->entry_ip;
	e->ret_ip = call->ret_ip;
	e->cookie = call->cookie;
	e->args[0] = PT_REGS_PARM1(regs);
	e->args[1] = PT_REGS_PARM2(regs);
	e->args[2] = PT_REGS_PARM3(regs);
	e->args[3] = PT_REGS_PARM4(regs);
	e->args[4] = PT_REGS_PARM5(regs);
	e->args[5] = PT_REGS_PARM6(regs);
	e->result = PT_REGS_RC(regs);
	e->ip = PT_REGS_IP(regs);
	e->sp = PT_REGS_SP(regs);
	e->target = call->target;
	e->entry_data_size = call->entry_data_size;
	e->cpu = bpf_get_smp_processor_id();
	e->tid = task->pid;
	e->tgid = task->tgid;
	e->preempt_count = preempt_count();
	e->is_exit = is_exit;
	return e->number;
}

SEC("struct_ops")
int BPF_PROG(record_entry, struct probekit_call *call)
{
	if (wanted())
		record(call, 0, false);
	return 0;
}

SEC("struct_ops")
void BPF_PROG(record_exit, struct probekit_call *call)
{
	if (wanted())
		record(call, 0, true);
}

SEC("struct_ops")
int BPF_PROG(paired_entry, struct probekit_call *call)
{
	__u64 *data = (__u64 *)probekit_entry_data(call, sizeof(*data));

	if (!data || !wanted())
		return 1;
	*data = record(call, 0, false);
	return 0;
}

SEC("struct_ops")
void BPF_PROG(paired_exit, struct probekit_call *call)
{
	const __u64 *data = (__u64 *)probekit_entry_data(call, sizeof(*data));

	if (data)
		record(call, *data, true);
}

SEC(".struct_ops.link")
struct probekit_fprobe entries = {
	.entry_handler = (void *)record_entry,
};

SEC(".struct_ops.link")
struct probekit_fprobe exits = {
	.exit_handler = (void *)record_exit,
};

SEC(".struct_ops.link")
struct probekit_fprobe pairs = {
	.entry_handler = (void *)paired_entry,
	.exit_handler = (void *)paired_exit,
	.entry_data_size = sizeof(__u64),
};

char LICENSE[] SEC("license") = "GPL";
