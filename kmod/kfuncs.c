// SPDX-License-Identifier: GPL-2.0-only
/* What handlers may call. Built without ftrace: it runs on a hit. */
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/kprobes.h>
#include <linux/module.h>

#include "engine.h"

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

__bpf_kfunc_end_defs();

BTF_KFUNCS_START(probekit_kfunc_ids)
BTF_ID_FLAGS(func, probekit_entry_data, KF_TRUSTED_ARGS | KF_RET_NULL)
BTF_KFUNCS_END(probekit_kfunc_ids)

static const struct btf_kfunc_id_set probekit_kfunc_set = {
	.owner = THIS_MODULE,
	.set = &probekit_kfunc_ids,
};

int probekit_kfuncs_register(void)
{
	return register_btf_kfunc_id_set(BPF_PROG_TYPE_STRUCT_OPS, &probekit_kfunc_set);
}
