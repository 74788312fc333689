// SPDX-License-Identifier: GPL-2.0-only
/*
 * The struct_ops types: how BPF hands handlers over. Their links are the life
 * of probes. The types differ in where their members lie and in their backend;
 * the rest is one.
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

/* What the engine notes of a program, in a pair of words for each handler. */
enum { NOTE_FD, NOTE_ID, NOTE_WORDS };

/*
 * Members by their offset. Handlers come first in every type, so the offset of
 * the entry handler is zero, and zero elsewhere means that there is none.
 */
struct probekit_type {
	struct bpf_struct_ops ops;
	const struct probekit_backend *backend;
	u32 entry;
	u32 exit;
	u32 data_size;
	u32 maxactive;
	u32 flags;
	u32 targets_fd;
	u32 engine;
	u32 max_data;
	u32 known_flags;
	/* As the verifier and the kernel's checks see the type. */
	const struct btf *btf;
	u32 id;
};

static u32 *word_at(const void *data, u32 offset)
{
	return (u32 *)(data + offset);
}

static void *pointer_at(const void *data, u32 offset)
{
	return *(void **)(data + offset);
}

/* Called for each program that the verifier has been through. */
static int type_check_member(struct probekit_type *type, const struct bpf_prog *prog)
{
	/* A hit cannot sleep. */
	if (prog->sleepable)
		return -EINVAL;
	WRITE_ONCE(type->id, prog->aux->attach_btf_id);
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
	note[NOTE_FD] = fd;
	note[NOTE_ID] = prog->aux->id;
	bpf_prog_put(prog);
}

/* The program that was noted for a member; the caller owns a reference. */
static struct bpf_prog *noted_program(const struct probekit_type *type, const void *kdata,
				      bool exit)
{
	const u32 *note = word_at(kdata, type->engine) + NOTE_WORDS * exit;
	struct bpf_prog *prog;

	if (!note[NOTE_ID])
		return NULL;
	prog = bpf_prog_get_type_dev(note[NOTE_FD], BPF_PROG_TYPE_STRUCT_OPS, false);
	if (IS_ERR(prog))
		return NULL;
	/* The descriptor may lead elsewhere by now, or have done so then. */
	if (prog->aux->id == note[NOTE_ID] && prog->aux->attach_btf == type->btf &&
	    prog->aux->attach_btf_id == READ_ONCE(type->id) &&
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

static int init_word(u32 *to, u32 value, u32 limit)
{
	if (value > limit)
		return -E2BIG;
	*to = value;
	return 1;
}

static int init_flags(u32 *to, u32 value, u32 known)
{
	if (value & ~known)
		return -EINVAL;
	*to = value;
	return 1;
}

/* Return: whether the member is dealt with, or -errno. */
static int type_init_member(const struct probekit_type *type, const struct btf_type *t,
			    const struct btf_member *member, void *kdata, const void *udata)
{
	u32 offset = __btf_member_bit_offset(t, member) / 8;
	u32 *to = word_at(kdata, offset);

	if (offset == type->entry || offset == type->exit) {
		note_program(word_at(kdata, type->engine) + NOTE_WORDS * (offset == type->exit),
			     (unsigned long)pointer_at(udata, offset));
		return 0;
	}
	if (offset == type->engine)
		return memchr_inv(udata + offset, 0, 2 * NOTE_WORDS * sizeof(u32)) ? -EINVAL : 1;
	if (offset == type->flags)
		return init_flags(to, *word_at(udata, offset), type->known_flags);
	if (offset == type->data_size)
		return init_word(to, *word_at(udata, offset), type->max_data);
	if (offset == type->maxactive)
		return init_word(to, *word_at(udata, offset), PROBEKIT_MAX_ACTIVE);
	if (offset == type->targets_fd)
		return init_word(to, *word_at(udata, offset), U32_MAX);
	return 0;
}

static struct probekit_request request_of(const struct probekit_type *type, const void *kdata)
{
	return (struct probekit_request) {
		.type = type,
		.backend = type->backend,
		.kdata = kdata,
		.entry = pointer_at(kdata, type->entry),
		.exit = pointer_at(kdata, type->exit),
		.entry_data_size = type->data_size ? *word_at(kdata, type->data_size) : 0,
		.maxactive = type->maxactive ? *word_at(kdata, type->maxactive) : 0,
		.flags = *word_at(kdata, type->flags),
		.targets_fd = *word_at(kdata, type->targets_fd),
	};
}

/**
 * probekit_struct_ops_handler() - how a hit calls a handler
 * @request: handlers, as struct_ops keeps them: they live as long as the link
 * @exit: the exit handler, not the entry handler
 * @handler: filled in; the caller owns a reference of its program, if any
 */
void probekit_struct_ops_handler(const struct probekit_request *request, bool exit,
				 struct probekit_handler *handler)
{
	void *trampoline = exit ? request->exit : request->entry;

	handler->prog = noted_program(request->type, request->kdata, exit);
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

static int type_validate(const struct probekit_type *type, const void *kdata)
{
	const struct probekit_request request = request_of(type, kdata);

	if (!request.entry && !request.exit)
		return -EINVAL;
	/* Nobody would read it, or no call would be in flight. */
	if (!request.exit && (request.entry_data_size || request.maxactive))
		return -EINVAL;
	return 0;
}

static int type_reg(const struct probekit_type *type, const void *kdata, struct bpf_link *link)
{
	const struct probekit_request request = request_of(type, kdata);

	return probekit_probe_attach(&request, link);
}

static int type_update(const struct probekit_type *type, const void *kdata, struct bpf_link *link)
{
	const struct probekit_request request = request_of(type, kdata);

	return probekit_probe_swap(&request, link);
}

static void type_unreg(void *kdata, struct bpf_link *link)
{
	probekit_probe_detach(kdata, link);
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
static int probekit__entry(struct probekit_call *call)
{
	return 0;
}

static void probekit__exit(struct probekit_call *call)
{
}

/* struct_ops callbacks are not told which type they are called for. */
#define DEFINE_TYPE_CALLBACKS(name)							\
static struct probekit_type name##_type;						\
static int name##_init(struct btf *btf)							\
{											\
	name##_type.btf = btf;								\
	return 0;									\
}											\
static int name##_check_member(const struct btf_type *t, const struct btf_member *member,	\
			       const struct bpf_prog *prog)				\
{											\
	return type_check_member(&name##_type, prog);					\
}											\
static int name##_init_member(const struct btf_type *t, const struct btf_member *member,	\
			      void *kdata, const void *udata)				\
{											\
	return type_init_member(&name##_type, t, member, kdata, udata);			\
}											\
static int name##_validate(void *kdata)							\
{											\
	return type_validate(&name##_type, kdata);					\
}											\
static int name##_reg(void *kdata, struct bpf_link *link)				\
{											\
	return type_reg(&name##_type, kdata, link);					\
}											\
static int name##_update(void *kdata, void *old_kdata, struct bpf_link *link)		\
{											\
	return type_update(&name##_type, kdata, link);					\
}

#define TYPE_OPS(type, stubs) {			\
	.verifier_ops = &verifier_ops,		\
	.init = type##_init,			\
	.check_member = type##_check_member,	\
	.init_member = type##_init_member,	\
	.validate = type##_validate,		\
	.reg = type##_reg,			\
	.unreg = type_unreg,			\
	.update = type##_update,		\
	.cfi_stubs = &(stubs),			\
	.owner = THIS_MODULE,			\
	.name = "probekit_" #type,		\
}

DEFINE_TYPE_CALLBACKS(fprobe)

static struct probekit_fprobe fprobe_stubs = {
	.entry_handler = probekit__entry,
	.exit_handler = probekit__exit,
};

static struct probekit_type fprobe_type = {
	.ops = TYPE_OPS(fprobe, fprobe_stubs),
	.backend = &probekit_fprobe_backend,
	.entry = offsetof(struct probekit_fprobe, entry_handler),
	.exit = offsetof(struct probekit_fprobe, exit_handler),
	.data_size = offsetof(struct probekit_fprobe, entry_data_size),
	.maxactive = offsetof(struct probekit_fprobe, nr_maxactive),
	.flags = offsetof(struct probekit_fprobe, flags),
	.targets_fd = offsetof(struct probekit_fprobe, targets_fd),
	.engine = offsetof(struct probekit_fprobe, engine),
	.max_data = PROBEKIT_MAX_ENTRY_DATA,
	.known_flags = PROBEKIT_FLAG_DISABLED | PROBEKIT_FLAG_KPROBE_SHARED |
		       PROBEKIT_FLAG_OUTCOME,
};

DEFINE_TYPE_CALLBACKS(kprobe)

static struct probekit_kprobe kprobe_stubs = {
	.pre_handler = probekit__entry,
	.post_handler = probekit__exit,
};

static struct probekit_type kprobe_type = {
	.ops = TYPE_OPS(kprobe, kprobe_stubs),
	.backend = &probekit_kprobe_backend,
	.entry = offsetof(struct probekit_kprobe, pre_handler),
	.exit = offsetof(struct probekit_kprobe, post_handler),
	.flags = offsetof(struct probekit_kprobe, flags),
	.targets_fd = offsetof(struct probekit_kprobe, targets_fd),
	.engine = offsetof(struct probekit_kprobe, engine),
	.known_flags = PROBEKIT_FLAG_DISABLED | PROBEKIT_FLAG_OUTCOME,
};

DEFINE_TYPE_CALLBACKS(kretprobe)

static struct probekit_kretprobe kretprobe_stubs = {
	.entry_handler = probekit__entry,
	.handler = probekit__exit,
};

static struct probekit_type kretprobe_type = {
	.ops = TYPE_OPS(kretprobe, kretprobe_stubs),
	.backend = &probekit_kretprobe_backend,
	.entry = offsetof(struct probekit_kretprobe, entry_handler),
	.exit = offsetof(struct probekit_kretprobe, handler),
	.data_size = offsetof(struct probekit_kretprobe, data_size),
	.maxactive = offsetof(struct probekit_kretprobe, maxactive),
	.flags = offsetof(struct probekit_kretprobe, flags),
	.targets_fd = offsetof(struct probekit_kretprobe, targets_fd),
	.engine = offsetof(struct probekit_kretprobe, engine),
	.max_data = PROBEKIT_MAX_KRETPROBE_DATA,
	.known_flags = PROBEKIT_FLAG_DISABLED | PROBEKIT_FLAG_OUTCOME,
};

int probekit_struct_ops_register(void)
{
	int err;

	err = register_bpf_struct_ops(&fprobe_type.ops, probekit_fprobe);
	if (!err)
		err = register_bpf_struct_ops(&kprobe_type.ops, probekit_kprobe);
	if (!err)
		err = register_bpf_struct_ops(&kretprobe_type.ops, probekit_kretprobe);
	return err;
}
