// SPDX-License-Identifier: GPL-2.0-only
/* What handlers may call. Built without ftrace: it runs on a hit. */
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/kprobes.h>
#include <linux/module.h>

#include "dispatch.h"

__bpf_kfunc_start_defs();

/*
 * The verifier makes @rdwr_buf_size the size of the buffer that it lets the
 * handler use, so all that is left to check is that the storage is as large.
 */
__bpf_kfunc u8 *probekit_entry_data(struct probekit_call *call, const int rdwr_buf_size)
{
	struct probekit_frame *frame = container_of(call, struct probekit_frame, call);

	return (u32)rdwr_buf_size <= call->entry_data_size ? frame->data : NULL;
}
NOKPROBE_SYMBOL(probekit_entry_data);

__bpf_kfunc u8 *probekit_enclosing_data(struct probekit_call *call, const int rdwr_buf_size)
{
	struct probekit_frame *own = container_of(call, struct probekit_frame, call);
	const struct probekit_probe *probe = own->handlers->probe;
	unsigned int context = probekit_context_of(this_cpu_read(probekit_running));
	struct rethook_node *node;

	if (!probe->backend->frame_of || (u32)rdwr_buf_size > call->entry_data_size)
		return NULL;
	probekit_for_each_hooked(node) {
		struct probekit_frame *frame = probe->backend->frame_of(probe, node);

		/* In an exit handler, the call itself is among them. */
		if (!frame || frame == own || frame->handlers != own->handlers)
			continue;
		return probekit_context_of(frame->preempt) == context ? frame->data : NULL;
	}
	return NULL;
}
NOKPROBE_SYMBOL(probekit_enclosing_data);

__bpf_kfunc int probekit_stack(struct probekit_call *call, void *buf, u32 buf__sz, u64 flags)
{
	u32 room = buf__sz / sizeof(u64);

	if (!room || buf__sz % sizeof(u64) || flags & ~PROBEKIT_STACK_USER)
		return -EINVAL;
	return sizeof(u64) * (flags & PROBEKIT_STACK_USER ?
			      probekit_user_stack(buf, room) :
			      probekit_kernel_stack(call, buf, room));
}
NOKPROBE_SYMBOL(probekit_stack);

/* Handlers at entry and exit are told apart by the verifier, see below. */
static bool may_change(struct probekit_call *call, bool kprobe)
{
	struct probekit_frame *frame = container_of(call, struct probekit_frame, call);
	const struct probekit_probe *probe = frame->handlers->probe;

	return probe->flags & PROBEKIT_FLAG_OUTCOME &&
	       kprobe == (probe->backend->kind == PROBEKIT_KIND_KPROBE);
}
NOKPROBE_SYMBOL(may_change);

__bpf_kfunc int probekit_set_return(struct probekit_call *call, u64 value)
{
	if (!may_change(call, false))
		return -EPERM;
	regs_set_return_value(call->regs, value);
	return 0;
}
NOKPROBE_SYMBOL(probekit_set_return);

__bpf_kfunc int probekit_skip(struct probekit_call *call, u64 value)
{
	if (!may_change(call, true))
		return -EPERM;
	regs_set_return_value(call->regs, value);
	instruction_pointer_set(call->regs, (unsigned long)probekit_return_at_once);
	return 0;
}
NOKPROBE_SYMBOL(probekit_skip);

__bpf_kfunc_end_defs();

BTF_KFUNCS_START(probekit_kfunc_ids)
BTF_ID_FLAGS(func, probekit_entry_data, KF_TRUSTED_ARGS | KF_RET_NULL)
BTF_ID_FLAGS(func, probekit_enclosing_data, KF_TRUSTED_ARGS | KF_RET_NULL)
BTF_ID_FLAGS(func, probekit_set_return, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, probekit_skip, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, probekit_stack, KF_TRUSTED_ARGS)
BTF_KFUNCS_END(probekit_kfunc_ids)

BTF_ID_LIST_SINGLE(set_return_id, func, probekit_set_return)
BTF_ID_LIST_SINGLE(skip_id, func, probekit_skip)

/* Which handlers may call what; their members are the first two of each type. */
static int filter_kfuncs(const struct bpf_prog *prog, u32 kfunc)
{
	const bool exit = prog->expected_attach_type == 1;

	if (prog->type != BPF_PROG_TYPE_STRUCT_OPS)
		return 0;
	if (kfunc == set_return_id[0])
		return exit ? 0 : -EACCES;
	if (kfunc == skip_id[0])
		return exit ? -EACCES : 0;
	return 0;
}

static const struct btf_kfunc_id_set probekit_kfunc_set = {
	.owner = THIS_MODULE,
	.set = &probekit_kfunc_ids,
	.filter = filter_kfuncs,
};

int probekit_kfuncs_register(void)
{
	return register_btf_kfunc_id_set(BPF_PROG_TYPE_STRUCT_OPS, &probekit_kfunc_set);
}
