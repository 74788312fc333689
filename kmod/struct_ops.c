// SPDX-License-Identifier: GPL-2.0-only
/*
 * The struct_ops type: how BPF hands handlers over. Its link is the life of a
 * probe.
 *
 * For direct dispatch the engine needs the programs themselves, while
 * struct_ops gives only trampolines. While a map is filled in, its members
 * hold descriptors of the programs; the engine notes descriptor and id then,
 * and takes the programs when the link is made or updated, by the same task
 * in the usual case. Where the descriptor no longer leads to the program that
 * was noted, the trampoline serves.
 */
#include <linux/bpf.h>
#include <linux/bpf_verifier.h>
#include <linux/btf.h>
#include <linux/filter.h>
#include <linux/kprobes.h>
#include <linux/module.h>

#include "engine.h"

/* Meaning of probekit_fprobe.engine, by 2 * exit. */
enum { ENGINE_FD, ENGINE_ID };

/* Of the type, as the verifier and the kernel's checks see it. */
static const struct btf *type_btf;
static u32 type_id;

static u32 member_offset(const struct btf_member *member, const struct btf_type *t)
{
	return __btf_member_bit_offset(t, member) / 8;
}

static int fprobe_init(struct btf *btf)
{
	type_btf = btf;
	return 0;
}

/* Called for each program that the verifier has been through. */
static int fprobe_check_member(const struct btf_type *t, const struct btf_member *member,
			       const struct bpf_prog *prog)
{
	/* A hit cannot sleep. */
	if (prog->sleepable)
		return -EINVAL;
	WRITE_ONCE(type_id, prog->aux->attach_btf_id);
	return 0;
}

/* Notes the program of a member that is being filled in. */
static void note_program(u32 *note, unsigned long fd)
{
	struct bpf_prog *prog;

	if (!fd)
		return;
	prog = bpf_prog_get_type_dev(fd, BPF_PROG_TYPE_STRUCT_OPS, false);
	if (IS_ERR(prog))
		return;
	note[ENGINE_FD] = fd;
	note[ENGINE_ID] = prog->aux->id;
	bpf_prog_put(prog);
}

/* The program that was noted for a member; the caller owns a reference. */
static struct bpf_prog *noted_program(const struct probekit_fprobe *ops, bool exit)
{
	const u32 *note = &ops->engine[2 * exit];
	struct bpf_prog *prog;

	if (!note[ENGINE_ID])
		return NULL;
	prog = bpf_prog_get_type_dev(note[ENGINE_FD], BPF_PROG_TYPE_STRUCT_OPS, false);
	if (IS_ERR(prog))
		return NULL;
	/* The descriptor may lead elsewhere by now, or have done so then. */
	if (prog->aux->id == note[ENGINE_ID] && prog->aux->attach_btf == type_btf &&
	    prog->aux->attach_btf_id == READ_ONCE(type_id) &&
	    prog->expected_attach_type == exit)
		return prog;
	bpf_prog_put(prog);
	return NULL;
}

/* Thunks: a handler that has only its trampoline, and one that is not there. */
static unsigned int run_entry_trampoline(const void *args, const struct bpf_insn *handler)
{
	return ((int (*)(struct probekit_call *))handler)(*(struct probekit_call **)args);
}
NOKPROBE_SYMBOL(run_entry_trampoline);

static unsigned int run_exit_trampoline(const void *args, const struct bpf_insn *handler)
{
	((void (*)(struct probekit_call *))handler)(*(struct probekit_call **)args);
	return 0;
}
NOKPROBE_SYMBOL(run_exit_trampoline);

static unsigned int run_nothing(const void *args, const struct bpf_insn *insns)
{
	return 0;
}
NOKPROBE_SYMBOL(run_nothing);

/**
 * probekit_struct_ops_handler() - how a hit calls a handler
 * @ops: handlers, as struct_ops keeps them: they live as long as the link
 * @exit: the exit handler, not the entry handler
 * @handler: filled in; the caller owns a reference of its program, if any
 */
void probekit_struct_ops_handler(const struct probekit_fprobe *ops, bool exit,
				 struct probekit_handler *handler)
{
	void *trampoline = exit ? (void *)ops->exit_handler : (void *)ops->entry_handler;

	handler->prog = noted_program(ops, exit);
	if (handler->prog) {
		handler->run = handler->prog->bpf_func;
		handler->insns = handler->prog->insnsi;
	} else if (trampoline) {
		handler->run = exit ? run_exit_trampoline : run_entry_trampoline;
		handler->insns = trampoline;
	} else {
		handler->run = run_nothing;
	}
}

static int init_data_member(u32 offset, struct probekit_fprobe *ops,
			    const struct probekit_fprobe *user)
{
	switch (offset) {
	case offsetof(struct probekit_fprobe, entry_data_size):
		if (user->entry_data_size > PROBEKIT_MAX_ENTRY_DATA)
			return -E2BIG;
		ops->entry_data_size = user->entry_data_size;
		return 1;
	case offsetof(struct probekit_fprobe, nr_maxactive):
		if (user->nr_maxactive > PROBEKIT_MAX_ACTIVE)
			return -E2BIG;
		ops->nr_maxactive = user->nr_maxactive;
		return 1;
	case offsetof(struct probekit_fprobe, flags):
		return user->flags ? -EINVAL : 1;
	case offsetof(struct probekit_fprobe, targets_fd):
		ops->targets_fd = user->targets_fd;
		return 1;
	case offsetof(struct probekit_fprobe, engine):
		return memchr_inv(user->engine, 0, sizeof(user->engine)) ? -EINVAL : 1;
	default:
		return 0;
	}
}

static int fprobe_init_member(const struct btf_type *t, const struct btf_member *member,
			      void *kdata, const void *udata)
{
	const struct probekit_fprobe *user = udata;
	u32 offset = member_offset(member, t);
	struct probekit_fprobe *ops = kdata;

	switch (offset) {
	case offsetof(struct probekit_fprobe, entry_handler):
		note_program(&ops->engine[0], (unsigned long)user->entry_handler);
		return 0;
	case offsetof(struct probekit_fprobe, exit_handler):
		note_program(&ops->engine[2], (unsigned long)user->exit_handler);
		return 0;
	default:
		return init_data_member(offset, ops, user);
	}
}

static int fprobe_validate(void *kdata)
{
	const struct probekit_fprobe *ops = kdata;

	if (!ops->entry_handler && !ops->exit_handler)
		return -EINVAL;
	/* Nobody would read it, or no call would be in flight. */
	if (!ops->exit_handler && (ops->entry_data_size || ops->nr_maxactive))
		return -EINVAL;
	return 0;
}

static int fprobe_reg(void *kdata, struct bpf_link *link)
{
	return probekit_probe_attach(kdata, link);
}

static void fprobe_unreg(void *kdata, struct bpf_link *link)
{
	probekit_probe_detach(kdata, link);
}

static int fprobe_update(void *kdata, void *old_kdata, struct bpf_link *link)
{
	return probekit_probe_swap(kdata, link);
}

static bool is_valid_access(int off, int size, enum bpf_access_type type,
			    const struct bpf_prog *prog, struct bpf_insn_access_aux *info)
{
	if (off < 0 || off >= sizeof(u64) * MAX_BPF_FUNC_ARGS || off % size)
		return false;
	return type == BPF_READ && btf_ctx_access(off, size, type, prog, info);
}

static const struct bpf_verifier_ops verifier_ops = {
	.get_func_proto = bpf_base_func_proto,
	.is_valid_access = is_valid_access,
};

/* The kernel reads names and types of arguments off these. */
static int probekit_fprobe__entry_handler(struct probekit_call *call)
{
	return 0;
}

static void probekit_fprobe__exit_handler(struct probekit_call *call)
{
}

static struct probekit_fprobe stubs = {
	.entry_handler = probekit_fprobe__entry_handler,
	.exit_handler = probekit_fprobe__exit_handler,
};

static struct bpf_struct_ops fprobe_struct_ops = {
	.verifier_ops = &verifier_ops,
	.init = fprobe_init,
	.check_member = fprobe_check_member,
	.init_member = fprobe_init_member,
	.validate = fprobe_validate,
	.reg = fprobe_reg,
	.unreg = fprobe_unreg,
	.update = fprobe_update,
	.cfi_stubs = &stubs,
	.owner = THIS_MODULE,
	.name = "probekit_fprobe",
};

int probekit_struct_ops_register(void)
{
	return register_bpf_struct_ops(&fprobe_struct_ops, probekit_fprobe);
}
