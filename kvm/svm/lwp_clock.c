// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Clock events: core clocks (CNH) and reference clocks (RNH) not halted, of the guest at CPL 3.
 *
 * Perf events of the vCPU's thread count them, also while KVM steps for other events. No clock
 * belongs to an instruction. So with either delivery the record names the instruction before which
 * the guest stopped, and the interval ends with the true count. An IP filter is the exception: it
 * needs the instruction in which a clock passed. KVM steps the guest then, and each instruction
 * gets the clocks that passed since the one before.
 *
 * KVM offers the clocks that perf can count on this host. If others take the counters later, clocks
 * pass uncounted until the counters are free again; the statistic lwp_no_counter counts the failed
 * attempts.
 */
#include <linux/jiffies.h>
#include <linux/perf_event.h>

#include "svm.h"
#include "lwp_layers.h"

/* Clocks that the guest runs between two stops at least, however short its interval is. */
#define CLOCKS_LEAST 1000

/* NMI context. */
static void svm_lwp_clock_overflow(struct perf_event *event, struct perf_sample_data *data,
				   struct pt_regs *regs)
{
	struct svm_lwp_clock *c = event->overflow_handler_context;

	WRITE_ONCE(c->overflow, true);
}

static const struct {
	enum lwp_kind kind;
	struct svm_lwp_counter counter;
} clocks[] = {
	{ LWP_KIND_CNH, { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, svm_lwp_clock_overflow } },
	{ LWP_KIND_RNH,
	  { PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, svm_lwp_clock_overflow } },
};

void svm_lwp_clock_free(struct kvm_vcpu *vcpu)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++)
		svm_lwp_event_put(&to_svm(vcpu)->lwp.clock.event[i]);
}

/* Do events count clocks of this vCPU now? */
bool svm_lwp_clock_running(struct kvm_vcpu *vcpu)
{
	const struct svm_lwp_clock *c = &to_svm(vcpu)->lwp.clock;

	return c->after[0] || c->after[1];
}

/* Can this host count clocks of this kind (43724-721)? */
bool svm_lwp_clock_usable(enum lwp_kind kind)
{
	struct perf_event *event = NULL;
	bool usable = false;
	int i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++)
		if (clocks[i].kind == kind)
			usable = svm_lwp_event_get(&event, &clocks[i].counter, NULL);
	svm_lwp_event_put(&event);
	return usable;
}

/* Does the state count clocks? */
bool svm_lwp_clock_wanted(const struct lwp_engine *e)
{
	return svm_lwp_counts(e, LWP_KIND_CNH) || svm_lwp_counts(e, LWP_KIND_RNH);
}

/* Must each instruction be stepped for clock events? */
bool svm_lwp_clock_steps(const struct lwp_engine *e)
{
	return svm_lwp_clock_wanted(e) && lwp_ip_filtered(e);
}

/* Clocks after which the guest is stopped. The maximum, S32_MAX, means almost never. */
static u64 svm_lwp_clock_period(const struct lwp_engine *e, int i)
{
	if (lwp_ip_filtered(e))
		return S32_MAX;
	return clamp_t(u64, lwp_budget(e, clocks[i].kind), CLOCKS_LEAST, S32_MAX);
}

/* Stop and reset the events; get the clocks that have passed. */
static void svm_lwp_clock_pause(struct svm_lwp_clock *c, u64 passed[SVM_LWP_CLOCKS])
{
	int i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++)
		passed[i] = c->after[i] ? perf_event_pause(c->event[i], true) : 0;
	memset(c->after, 0, sizeof(c->after));
	WRITE_ONCE(c->overflow, false);
}

/*
 * Bring the engine's counters up to date, wherever the vCPU is. Called by any thread; `here`: the
 * vCPU is at CPL 3, before an instruction that a record can name (43724-720).
 */
void svm_lwp_clock_stop(struct kvm_vcpu *vcpu, bool here)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	u64 passed[SVM_LWP_CLOCKS];
	int i;

	svm_lwp_clock_pause(&lwp->clock, passed);
	/*
	 * With an IP filter svm_lwp_clock_stepped() counts; these clocks passed in no instruction.
	 */
	if (lwp_ip_filtered(&lwp->engine))
		return;
	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		if (passed[i])
			svm_lwp_pass(vcpu, clocks[i].kind, passed[i], here);
	}
}

/* Discard the counts. */
void svm_lwp_clock_drop(struct kvm_vcpu *vcpu)
{
	u64 passed[SVM_LWP_CLOCKS];

	svm_lwp_clock_pause(&to_svm(vcpu)->lwp.clock, passed);
}

/* Has an event interrupted or counted its period, or has it stopped counting? */
bool svm_lwp_clock_pending(struct kvm_vcpu *vcpu)
{
	struct svm_lwp_clock *c = &to_svm(vcpu)->lwp.clock;
	int i;

	if (READ_ONCE(c->overflow))
		return true;
	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		if (c->after[i] && svm_lwp_event_reached(c->event[i], c->after[i]))
			return true;
	}
	return false;
}

/* Before the next instruction at CPL 3: gather records of clock events that are due. */
void svm_lwp_clock_check(struct kvm_vcpu *vcpu)
{
	if (!svm_lwp_clock_pending(vcpu))
		return;
	vcpu->stat.lwp_counter_irqs++;
	svm_lwp_clock_stop(vcpu, true);
}

static void svm_lwp_clock_start(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct svm_lwp_clock *c = &lwp->clock;
	int i;

	if (c->failed && time_before(jiffies, c->retry))
		return;
	c->failed = false;
	svm_lwp_event_use(vcpu);
	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		u64 after = svm_lwp_clock_period(&lwp->engine, i);

		if (!svm_lwp_counts(&lwp->engine, clocks[i].kind))
			continue;
		if (svm_lwp_event_get(&c->event[i], &clocks[i].counter, c)) {
			c->after[i] = after;
			c->failed |= !svm_lwp_event_run(c->event[i], after);
		} else {
			c->failed = true;
		}
	}
	if (!c->failed)
		return;
	svm_lwp_clock_drop(vcpu);
	c->retry = jiffies + SVM_LWP_PERF_RETRY;
	vcpu->stat.lwp_no_counter++;
}

/*
 * Before the next instruction at CPL 3: start the events. They are started again when the distance
 * to the next record has changed, because a record was stored (43724-720).
 */
void svm_lwp_clock_run(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	bool right = true;
	int i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++)
		right &= lwp->clock.after[i] == (svm_lwp_counts(&lwp->engine, clocks[i].kind) ?
							 svm_lwp_clock_period(&lwp->engine, i) :
							 0);
	if (right)
		return;
	svm_lwp_clock_stop(vcpu, false);
	svm_lwp_clock_start(vcpu);
}

/* An instruction was stepped. With an IP filter it gets the clocks since the one before. */
void svm_lwp_clock_stepped(struct kvm_vcpu *vcpu, struct lwp_retired *r)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	u64 passed[SVM_LWP_CLOCKS];

	if (!svm_lwp_clock_steps(&lwp->engine))
		return;
	svm_lwp_clock_pause(&lwp->clock, passed);
	r->cnh = passed[0];
	r->rnh = passed[1];
}
