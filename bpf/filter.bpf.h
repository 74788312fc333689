/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which calls the commands measure. Every knob is constant when the verifier
 * sees it, so a filter that is off costs nothing on a hit.
 */
#ifndef PROBEKIT_FILTER_BPF_H
#define PROBEKIT_FILTER_BPF_H

/* Process (thread group) and thread, zero: any. */
const volatile __u32 filter_tgid;
const volatile __u32 filter_tid;
/* A cgroup of the unified hierarchy and its level: it and all below; zero: any. */
const volatile __u64 filter_cgroup;
const volatile __u32 filter_cgroup_level;
/* Name of the thread, empty: any. */
const volatile char filter_comm[TASK_COMM_LEN];

static __always_inline bool filter_comm_matches(const struct task_struct *task)
{
	char comm[TASK_COMM_LEN];

	if (bpf_probe_read_kernel(comm, sizeof(comm), task->comm))
		return false;
	for (int i = 0; i < TASK_COMM_LEN; i++) {
		if (comm[i] != filter_comm[i])
			return false;
		if (!comm[i])
			break;
	}
	return true;
}

/* Does the current task's call count? */
static __always_inline bool filter_matches(void)
{
	if (filter_tgid || filter_tid || filter_comm[0]) {
		const struct task_struct *task = bpf_get_current_task_btf();

		if (filter_tgid && (__u32)task->tgid != filter_tgid)
			return false;
		if (filter_tid && (__u32)task->pid != filter_tid)
			return false;
		if (filter_comm[0] && !filter_comm_matches(task))
			return false;
	}
	if (filter_cgroup &&
	    bpf_get_current_ancestor_cgroup_id(filter_cgroup_level) != filter_cgroup)
		return false;
	return true;
}

#endif /* PROBEKIT_FILTER_BPF_H */
