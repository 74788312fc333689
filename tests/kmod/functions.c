// SPDX-License-Identifier: GPL-2.0-only
/* Functions whose behaviour is known to the last call. */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/wait.h>

#include "target.h"

static DECLARE_WAIT_QUEUE_HEAD(queue);
static atomic_t releases;
static atomic_t blocked;

/* Busy, and never shorter than asked for: udelay() may be. */
static void delay(unsigned int us)
{
	ktime_t end = ktime_add_us(ktime_get(), us);

	while (us && ktime_before(ktime_get(), end))
		cpu_relax();
}

void target_leaf(void)
{
	barrier();
}

/* Each argument and the result are told apart. */
long target_sum(long a, long b, long c, long d, long e, long f)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
}

noinline unsigned long target_sink(unsigned long value)
{
	barrier();
	return value;
}

/* Whatever the architecture, the first argument register is another's now. */
unsigned long target_clobber(unsigned long value)
{
	unsigned long result = target_sink(~value);

	barrier();
	return result;
}

/* Level n of depth takes at least n times the delay, and no more than its caller. */
unsigned int target_recurse(unsigned int depth, unsigned int delay_us)
{
	unsigned int below = 0;

	delay(delay_us);
	if (depth > 1)
		below = target_recurse(depth - 1, delay_us);
	barrier();	/* a call and no jump to itself */
	return below + 1;
}

noinline long target_inner(long value)
{
	barrier();
	return value + 1;
}

noinline long target_middle(long value)
{
	long result = target_inner(value);

	barrier();
	return result + 10;
}

long target_outer(long value)
{
	long result = target_middle(value);

	barrier();
	return result + 100;
}

noinline long target_tail_end(long value)
{
	barrier();
	return value + 1;
}

/* A jump at the end: both functions return to the same place. */
long target_tail(long value)
{
	barrier();
	return target_tail_end(value + 1);
}

notrace long target_untraced(long value)
{
	barrier();
	return value + 1;
}

/* Enters on one CPU, returns on another. */
int target_migrate(unsigned int cpu, unsigned int delay_us)
{
	int err;

	delay(delay_us);
	err = set_cpus_allowed_ptr(current, cpumask_of(cpu));
	delay(delay_us);
	return err ?: raw_smp_processor_id();
}

/* Does not return. */
void __noreturn target_die(struct completion *done)
{
	kthread_complete_and_exit(done, 0);
}

int target_block(void)
{
	int before = atomic_read(&releases);
	int err;

	atomic_inc(&blocked);
	err = wait_event_interruptible(queue, atomic_read(&releases) != before);
	atomic_dec(&blocked);
	return err;
}

void target_release(void)
{
	atomic_inc(&releases);
	wake_up_all(&queue);
}

unsigned int target_blocked(void)
{
	return atomic_read(&blocked);
}

noinline void target_in_softirq(void)
{
	barrier();
}

noinline void target_in_hardirq(void)
{
	barrier();
}

noinline void target_in_nmi(void)
{
	barrier();
}
