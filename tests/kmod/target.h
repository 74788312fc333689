/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions to probe. Each is global and in another file than its callers,
 * so that no compiler inlines or clones it; the twins are static by purpose.
 */
#ifndef TARGET_H
#define TARGET_H

#include <linux/types.h>

struct completion;
struct target_request;

/* functions.c */
void target_leaf(void);
long target_sum(long a, long b, long c, long d, long e, long f);
unsigned long target_clobber(unsigned long value);
unsigned int target_recurse(unsigned int depth, unsigned int delay_us);
long target_outer(long value);
long target_tail(long value);
long target_untraced(long value);
int target_migrate(unsigned int cpu, unsigned int delay_us);
void __noreturn target_die(struct completion *done);
int target_block(void);
void target_release(void);
unsigned int target_blocked(void);

/* Called by the above, or in a context that contexts.c makes. */
unsigned long target_sink(unsigned long value);
long target_middle(long value);
long target_inner(long value);
long target_tail_end(long value);
void target_in_softirq(void);
void target_in_hardirq(void);
void target_in_nmi(void);

/* twin_a.c, twin_b.c */
long target_call_twin_a(long value);
long target_call_twin_b(long value);

static __always_inline long target_inlined(long value)
{
	return value + 1;
}

/* contexts.c */
long target_run_softirq(u32 times);
long target_run_hardirq(u32 times);
long target_run_nmi(u32 times);
long target_timer_start(u64 period_ns);
s64 target_timer_stop(void);

#endif /* TARGET_H */
