/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tests ask of the module probekit_target: run known functions, in a
 * known context, a known number of times. Included by the module and by C++.
 */
#ifndef PROBEKIT_TARGET_H
#define PROBEKIT_TARGET_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define TARGET_DEVICE	"/dev/probekit_target"

/* Calls target_NAME() request.times times, unless it says otherwise. */
enum target_action {
	TARGET_LEAF,		/* leaf() */
	TARGET_SUM,		/* sum(args[0], ..., args[5]); result */
	TARGET_CLOBBER,		/* clobber(args[0]): overwrites its argument; result */
	TARGET_RECURSE,		/* recurse(depth args[0], delay args[1] us a level); result */
	TARGET_CHAIN,		/* outer() calls middle() calls inner() */
	TARGET_TAIL,		/* tail(args[0]) jumps to tail_end(); result */
	TARGET_TWINS,		/* both functions called twin(), of two files; result */
	TARGET_UNTRACED,	/* untraced() is notrace */
	TARGET_INLINED,		/* inlined() has no address */
	TARGET_MIGRATE,		/* migrate(): CPU args[0] to args[1], args[2] us on each */
	TARGET_DIE,		/* die(), by a new thread each: it never returns */
	TARGET_BLOCK,		/* block() once: until the next TARGET_RELEASE, or a signal */
	TARGET_RELEASE,		/* lets all that are in block() go */
	TARGET_BLOCKED,		/* result: how many are in block() */
	TARGET_SOFTIRQ,		/* in_softirq(), in a tasklet */
	TARGET_HARDIRQ,		/* in_hardirq(), in an interrupt */
	TARGET_NMI,		/* in_nmi(), in a non-maskable interrupt; may be EOPNOTSUPP */
	TARGET_TIMER_START,	/* from now on leaf(), each args[0] ns, in an interrupt */
	TARGET_TIMER_STOP,	/* result: how many times it did */
};

struct target_request {
	__u32 action;
	__u32 times;
	__u64 args[6];
	__s64 result;
};

#define TARGET_IOC_RUN	_IOWR('T', 0xe0, struct target_request)

#endif /* PROBEKIT_TARGET_H */
