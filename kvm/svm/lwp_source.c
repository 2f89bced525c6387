// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counter sources count events while a program runs at full speed, so that KVM need not step every
 * instruction.
 *
 * A source is armed with the number of events after which it interrupts. With `exact` delivery it
 * interrupts a margin before the event that is due, and KVM steps the rest; with `prompt` it
 * interrupts at that event. The interrupt comes late (skid), but the count is true: when KVM reads
 * the source, the engine gets the events that have passed, and makes late records of those that
 * were due, see lwp_pass().
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/moduleparam.h>

#include "svm.h"
#include "pmu.h"
#include "x86.h"
#include "lwp_layers.h"
#include "lwp_trace.h"

static char *lwp_source = "auto";
module_param(lwp_source, charp, 0444);
MODULE_PARM_DESC(lwp_source,
		 "source of event counts: perf (the PMU), step, auto (perf if there is a PMU)");

static bool by_perf; /* else in steps */

static const enum lwp_kind kinds[] = { LWP_KIND_IRE, LWP_KIND_BRE };

/* Choose the source. Result: why the parameter is wrong; NULL: it is not. */
const char *svm_lwp_source_setup(void)
{
	bool perf = !strcmp(lwp_source, "perf");

	if (!perf && strcmp(lwp_source, "auto") && strcmp(lwp_source, "step"))
		return "lwp_source must be auto, perf or step";
	by_perf = strcmp(lwp_source, "step") && svm_lwp_perf_usable();
	if (perf && !by_perf)
		return "this host has no performance counters for lwp_source=perf";
	if (by_perf)
		svm_lwp_cpu_warn();
	svm_lwp_row_tell(by_perf);
	return NULL;
}

/*
 * Release the events of a vCPU that has not used them for SVM_LWP_PERF_IDLE: a host whose vPMUs are
 * mediated creates no such VM while there is an event that counts guests. The timer runs on while
 * they count.
 */
static void svm_lwp_source_release_idle(struct work_struct *work)
{
	struct svm_lwp *lwp =
		container_of(to_delayed_work(work), struct svm_lwp, perf.release_idle);
	struct vcpu_svm *svm = container_of(lwp, struct vcpu_svm, lwp);
	unsigned long idle_at;

	guard(mutex)(&lwp->lock);
	if (lwp->perf.running || svm_lwp_clock_running(&svm->vcpu) ||
	    svm_lwp_ibs_running(&svm->vcpu))
		lwp->perf.used = jiffies;
	idle_at = lwp->perf.used + SVM_LWP_PERF_IDLE;
	if (time_before(jiffies, idle_at)) {
		schedule_delayed_work(&lwp->perf.release_idle, idle_at - jiffies);
	} else {
		svm_lwp_perf_free(&svm->vcpu);
		svm_lwp_clock_free(&svm->vcpu);
		svm_lwp_ibs_free(&svm->vcpu);
	}
}

/* Will KVM make a perf event for a counter of the guest? See reprogram_counter(). */
static bool svm_lwp_guest_wants(struct kvm_vcpu *vcpu)
{
	const struct kvm_pmu *pmu = vcpu_to_pmu(vcpu);
	int i;

	for (i = 0; i < pmu->nr_arch_gp_counters; i++) {
		const struct kvm_pmc *pmc = &pmu->gp_counters[i];

		if (pmc->eventsel & ARCH_PERFMON_EVENTSEL_ENABLE &&
		    !(pmc->perf_event && pmc->current_config == pmc->eventsel))
			return true;
	}
	return false;
}

/*
 * The guest's kernel has programmed its PMU; KVM makes the events before the next VM-Entry. They
 * come before LWP's, and perf gives counters to a thread's pinned events in the order in which they
 * were made: LWP's go, and are made again after them. If no counter is left, the vCPU steps.
 */
void svm_lwp_yield(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	if (!lwp->enabled || !svm_lwp_guest_wants(vcpu))
		return;
	guard(mutex)(&lwp->lock);
	svm_lwp_source_stop(vcpu);
	svm_lwp_perf_free(vcpu);
	svm_lwp_clock_free(vcpu);
}

void svm_lwp_source_init(struct kvm_vcpu *vcpu)
{
	INIT_DELAYED_WORK(&to_svm(vcpu)->lwp.perf.release_idle, svm_lwp_source_release_idle);
}

/* The vCPU goes: release what counts for it. */
void svm_lwp_source_free(struct kvm_vcpu *vcpu)
{
	cancel_delayed_work_sync(&to_svm(vcpu)->lwp.perf.release_idle);
	svm_lwp_perf_free(vcpu);
	svm_lwp_clock_free(vcpu);
	svm_lwp_ibs_free(vcpu);
}

/* Is it perf? It can deliver records promptly, and be read while it counts. */
bool svm_lwp_source_perf(void)
{
	return by_perf;
}

/* Can clocks of this kind be counted? That takes a PMU (43724-721). */
bool svm_lwp_source_clocks(enum lwp_kind kind)
{
	return by_perf && svm_lwp_clock_usable(kind);
}

/*
 * Can a counter count for this state? It counts all instructions and all branches, so filters need
 * stepping. So does SYSENTER where it is not trapped (lwp_syscall.c): a counter counts it, LWP does
 * not.
 */
static bool svm_lwp_countable(struct kvm_vcpu *vcpu)
{
	const struct lwp_engine *e = &to_svm(vcpu)->lwp.engine;
	enum lwp_branch_class branch;

	if (lwp_ip_filtered(e))
		return false;
	if (!is_long_mode(vcpu) && vcpu->arch.efer & EFER_SVME &&
	    to_svm(vcpu)->vmcb01.ptr->save.sysenter_cs & ~(u64)SEGMENT_RPL_MASK)
		return false;
	if (lwp_budget(e, LWP_KIND_BRE) == LWP_BUDGET_NEVER)
		return true;
	for (branch = LWP_BRANCH_CONDITIONAL; branch < LWP_BRANCH_CLASSES; branch++) {
		if (!lwp_branch_counted(e, branch))
			return false;
	}
	return true;
}

/* Is the source as right as the delivery wants it? */
static bool svm_lwp_right(const struct lwp_engine *e)
{
	int i;

	if (e->delivery != LWP_DELIVERY_EXACT)
		return true;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (lwp_budget(e, kinds[i]) != LWP_BUDGET_NEVER && !svm_lwp_row_exact(kinds[i]))
			return false;
	}
	return true;
}

/* The source must interrupt this many events early (43724-822). */
static u64 svm_lwp_margin(struct svm_lwp *lwp, enum lwp_kind kind)
{
	return lwp->engine.delivery == LWP_DELIVERY_EXACT ? lwp->margin[kind].now : 0;
}

/*
 * The next event of a kind is nearer than the margin, as it is at the end of each period that a
 * counter has counted. If the whole period before was stepped too, tell the margin.
 */
static void svm_lwp_too_near(struct svm_lwp *lwp, enum lwp_kind kind, u64 budget)
{
	if (budget > lwp->near[kind])
		lwp_margin_stepped(&lwp->margin[kind]);
	lwp->near[kind] = budget;
}

/*
 * Another row means other margins. How late interrupts come in events is a matter of the code that
 * runs, so those of another thread begin again as the row says. (Doubts of nets are of the
 * processor, and stay.)
 */
static void svm_lwp_margins(struct svm_lwp *lwp)
{
	u32 turn = svm_lwp_row_turn();
	int i;

	if (lwp->row_turn == turn && lwp_ctx_key_equal(&lwp->margin_of, &lwp->live_key))
		return;
	lwp->row_turn = turn;
	lwp->margin_of = lwp->live_key;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		svm_lwp_row_margin(&lwp->margin[kinds[i]]);
		lwp->near[kinds[i]] = U64_MAX;
	}
}

/*
 * Arm the source. False: step. Called at CPL 3 with the lock held, at an instruction boundary where
 * nothing is outstanding.
 */
static bool svm_lwp_source_arm(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	const struct lwp_engine *e = &lwp->engine;
	bool any = false;
	int i;

	if (!by_perf || lwp_awaits_branch(e) || e->st.pending.event_id ||
	    !svm_lwp_countable(vcpu) || !svm_lwp_right(e))
		return false;
	svm_lwp_margins(lwp);
	lwp->nets = false;
	memset(lwp->armed, 0, sizeof(lwp->armed));
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		u64 budget = lwp_budget(e, kinds[i]);
		u64 margin = svm_lwp_margin(lwp, kinds[i]);

		if (budget == LWP_BUDGET_NEVER)
			continue;
		if (budget <= margin) {
			svm_lwp_too_near(lwp, kinds[i], budget);
			return false;
		}
		lwp->near[kinds[i]] = U64_MAX;
		lwp->armed[kinds[i]] = budget - margin;
		any = true;
	}
	return any && svm_lwp_perf_arm(vcpu, lwp->armed);
}

/* May the vCPU run at full speed? */
bool svm_lwp_source_counts(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	if (!lwp->counting)
		lwp->counting = svm_lwp_source_arm(vcpu);
	return lwp->counting && !lwp->nets;
}

/* Is the source armed for nets? */
bool svm_lwp_source_nets(const struct svm_lwp *lwp)
{
	return lwp->counting && lwp->nets;
}

/* Events of each kind until one is due, by the counts so far; LWP_BUDGET_NEVER: not counted. */
void svm_lwp_source_left(struct kvm_vcpu *vcpu, u64 left[LWP_KINDS])
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	u64 passed[LWP_KINDS] = {};
	int i;

	if (lwp->counting)
		svm_lwp_perf_so_far(vcpu, passed);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		u64 budget = lwp_budget(&lwp->engine, kinds[i]);

		left[kinds[i]] = budget;
		if (budget != LWP_BUDGET_NEVER)
			left[kinds[i]] -= min(budget, passed[kinds[i]]);
	}
}

/*
 * Arm the source for nets, if it is not. It is read at each exit and is not to
 * interrupt, so nothing is to be learned of the interrupts' lateness. False: it cannot count now.
 */
bool svm_lwp_source_arm_nets(struct kvm_vcpu *vcpu, const u64 left[LWP_KINDS])
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	u64 after[LWP_KINDS] = {};
	int i;

	if (lwp->counting)
		return true;
	if (lwp_awaits_branch(&lwp->engine) || lwp->engine.st.pending.event_id ||
	    !svm_lwp_countable(vcpu) || !svm_lwp_right(&lwp->engine))
		return false;
	memset(lwp->armed, 0, sizeof(lwp->armed));
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (left[kinds[i]] != LWP_BUDGET_NEVER)
			after[kinds[i]] = left[kinds[i]];
	}
	lwp->nets = true;
	lwp->counting = svm_lwp_perf_arm(vcpu, after);
	return lwp->counting;
}

/* Does the source count, and must neither it nor a clock be read before it interrupts? */
bool svm_lwp_source_will_interrupt(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	return lwp->counting && !lwp->nets && !svm_lwp_perf_pending(vcpu) &&
	       !svm_lwp_clock_pending(vcpu) && !svm_lwp_perf_needs_returns(vcpu);
}

/* Discard the counts: the state has been replaced or discarded. */
void svm_lwp_source_drop(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	u64 passed[LWP_KINDS];

	svm_lwp_clock_drop(vcpu);
	svm_lwp_ibs_drop(vcpu);
	if (!lwp->counting)
		return;
	lwp->counting = false;
	svm_lwp_perf_stop(vcpu, passed);
}

/* Stop the source and give its counts to the engine. */
static void svm_lwp_source_read(struct kvm_vcpu *vcpu, bool here)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	u64 passed[LWP_KINDS];
	bool whole;
	int i;

	lwp->counting = false;
	whole = svm_lwp_perf_stop(vcpu, passed);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (here && whole && lwp->armed[kinds[i]] &&
		    passed[kinds[i]] >= lwp->armed[kinds[i]])
			lwp_margin_seen(&lwp->margin[kinds[i]],
					passed[kinds[i]] - lwp->armed[kinds[i]]);
		svm_lwp_pass(vcpu, kinds[i], passed[kinds[i]], here);
	}
	trace_kvm_lwp_counted(vcpu->vcpu_id, passed[LWP_KIND_IRE], passed[LWP_KIND_BRE],
			      lwp->engine.late.branches);
}

/* Bring the engine's counters up to date, wherever the vCPU is. */
void svm_lwp_source_stop(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	svm_lwp_clock_stop(vcpu, false);
	svm_lwp_ibs_stop(vcpu);
	if (lwp->counting)
		svm_lwp_source_read(vcpu, false);
	lwp_pass(&lwp->engine, LWP_KIND_BRE, 0, NULL);
}

/* Before the next instruction at CPL 3, which must be stepped: stop the source. */
void svm_lwp_source_pause(struct kvm_vcpu *vcpu)
{
	if (to_svm(vcpu)->lwp.counting)
		svm_lwp_source_read(vcpu, true);
}

/* svm_lwp_source_stop() before an LWP instruction at CPL 3: a late record can name it. */
void svm_lwp_source_stop_user(struct kvm_vcpu *vcpu)
{
	svm_lwp_source_pause(vcpu);
	svm_lwp_clock_stop(vcpu, true);
	svm_lwp_source_stop(vcpu);
}

/* Before the next instruction at CPL 3: read the source if it has to be read. */
void svm_lwp_source_check(struct kvm_vcpu *vcpu)
{
	if (!to_svm(vcpu)->lwp.counting || !svm_lwp_perf_pending(vcpu))
		return;
	if (svm_lwp_perf_interrupted(vcpu))
		vcpu->stat.lwp_counter_irqs++;
	svm_lwp_source_read(vcpu, true);
}

/* An instruction was stepped at CPL 3, or completed by KVM. */
void svm_lwp_source_retired(struct kvm_vcpu *vcpu, const struct lwp_retired *r)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	if (lwp->counting)
		svm_lwp_perf_retired(vcpu, r);
	else
		lwp_retire(&lwp->engine, r);
}
