// SPDX-License-Identifier: GPL-2.0-only
/* Calls of known functions in softirq, hardirq and NMI context. */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/smp.h>

#ifdef CONFIG_X86_LOCAL_APIC
#include <asm/apic.h>
#include <asm/nmi.h>
#endif

#include "target.h"

static DEFINE_MUTEX(contexts_lock);

struct softirq_request {
	struct tasklet_struct tasklet;
	struct completion done;
	u32 times;
};

static void run_tasklet(struct tasklet_struct *tasklet)
{
	struct softirq_request *request = container_of(tasklet, struct softirq_request, tasklet);
	u32 i;

	for (i = 0; i < request->times; i++)
		target_in_softirq();
	complete(&request->done);
}

long target_run_softirq(u32 times)
{
	struct softirq_request request = { .times = times };

	init_completion(&request.done);
	tasklet_setup(&request.tasklet, run_tasklet);
	tasklet_schedule(&request.tasklet);
	wait_for_completion(&request.done);
	tasklet_kill(&request.tasklet);
	return 0;
}

struct hardirq_request {
	struct irq_work work;
	u32 times;
};

static void run_irq_work(struct irq_work *work)
{
	struct hardirq_request *request = container_of(work, struct hardirq_request, work);
	u32 i;

	for (i = 0; i < request->times; i++)
		target_in_hardirq();
}

long target_run_hardirq(u32 times)
{
	struct hardirq_request request = { .times = times };

	init_irq_work(&request.work, run_irq_work);
	irq_work_queue(&request.work);
	irq_work_sync(&request.work);
	return 0;
}

#ifdef CONFIG_X86_LOCAL_APIC
/* Interrupts yet to come; another's NMI finds it zero. */
static atomic_t nmis_expected;

static int run_nmi(unsigned int type, struct pt_regs *regs)
{
	if (atomic_dec_if_positive(&nmis_expected) < 0)
		return NMI_DONE;
	target_in_nmi();
	return NMI_HANDLED;
}

long target_run_nmi(u32 times)
{
	ktime_t limit = ktime_add_ms(ktime_get(), 10000);
	long err;
	u32 i;

	mutex_lock(&contexts_lock);
	err = register_nmi_handler(NMI_LOCAL, run_nmi, 0, "probekit_target");
	/* One at a time: pending NMIs merge. */
	for (i = 0; !err && i < times; i++) {
		atomic_set(&nmis_expected, 1);
		apic->send_IPI_mask(cpumask_of(get_cpu()), NMI_VECTOR);
		put_cpu();
		while (atomic_read(&nmis_expected) && ktime_before(ktime_get(), limit))
			cpu_relax();
		if (atomic_xchg(&nmis_expected, 0))
			err = -ETIMEDOUT;
	}
	if (i)
		unregister_nmi_handler(NMI_LOCAL, "probekit_target");
	mutex_unlock(&contexts_lock);
	return err;
}
#else
long target_run_nmi(u32 times)
{
	return -EOPNOTSUPP;
}
#endif

static struct hrtimer timer;
static bool timer_runs;
static u64 timer_period;
static atomic64_t timer_calls;

static enum hrtimer_restart run_timer(struct hrtimer *this)
{
	target_leaf();
	atomic64_inc(&timer_calls);
	hrtimer_forward_now(this, ns_to_ktime(timer_period));
	return HRTIMER_RESTART;
}

long target_timer_start(u64 period_ns)
{
	long err = -EBUSY;

	if (period_ns < 1000)
		return -EINVAL;
	mutex_lock(&contexts_lock);
	if (!timer_runs) {
		timer_runs = true;
		timer_period = period_ns;
		atomic64_set(&timer_calls, 0);
		hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED);
		timer.function = run_timer;
		hrtimer_start(&timer, ns_to_ktime(period_ns), HRTIMER_MODE_REL_PINNED);
		err = 0;
	}
	mutex_unlock(&contexts_lock);
	return err;
}

s64 target_timer_stop(void)
{
	mutex_lock(&contexts_lock);
	if (timer_runs)
		hrtimer_cancel(&timer);
	timer_runs = false;
	mutex_unlock(&contexts_lock);
	return atomic64_read(&timer_calls);
}
