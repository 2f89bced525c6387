// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counter sources count events while a program runs at full speed, so that KVM need not step every
 * instruction.
 *
 * A source is armed with the number of events after which it interrupts. With `exact` delivery it
 * interrupts a margin before the event that is due, and KVM steps the rest; with `prompt` it
 * interrupts at that event. The interrupt comes late (skid), but the count is true: when KVM reads
 * the source, LWP's counters get the events that have passed. If these reach or exceed the event
 * that is due, the record is gathered late, see lwp_retire_late().
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/moduleparam.h>

#include "svm.h"
#include "x86.h"
#include "lwp_svm.h"
#include "lwp_trace.h"

static char *lwp_source = "auto";
module_param(lwp_source, charp, 0444);
MODULE_PARM_DESC(
	lwp_source,
	"source of event counts: perf (the PMU), step, auto (perf if there is a PMU), fake (tests)");

static unsigned int lwp_margin;
module_param(lwp_margin, uint, 0644);
MODULE_PARM_DESC(lwp_margin,
		 "`exact` delivery steps the last lwp_margin events before a record; 0: automatic");

static unsigned int lwp_margin_start;
module_param(lwp_margin_start, uint, 0644);
MODULE_PARM_DESC(lwp_margin_start,
		 "first value of an automatic margin, for new vCPUs; 0: by the processor's family");

/* perf itself may delay an interrupt by one event, see lwp_perf.c. */
#define MARGIN_LEAST 2

static const struct svm_lwp_source step_source = { .name = "step" };

static const struct svm_lwp_source *const sources[] = { &svm_lwp_perf, &step_source,
							&svm_lwp_fake };
static const struct svm_lwp_source *source = &step_source;

static const enum lwp_kind kinds[] = { LWP_KIND_IRE, LWP_KIND_BRE };

static const struct svm_lwp_source *svm_lwp_source_find(void)
{
	int i;

	if (!strcmp(lwp_source, "auto"))
		return svm_lwp_perf.usable() ? &svm_lwp_perf : &step_source;
	for (i = 0; i < ARRAY_SIZE(sources); i++) {
		if (!strcmp(sources[i]->name, lwp_source))
			return sources[i];
	}
	return NULL;
}

int svm_lwp_source_setup(void)
{
	const struct svm_lwp_source *found = svm_lwp_source_find();

	if (!found) {
		pr_err("lwp_source must be auto, perf, step or fake, not %s\n", lwp_source);
		return -EINVAL;
	}
	if (found->usable && !found->usable()) {
		pr_err("lwp_source=%s: this host has no performance counters for it\n", lwp_source);
		return -ENODEV;
	}
	source = found;
	if (source == &svm_lwp_perf)
		svm_lwp_cpu_warn();
	return 0;
}

void svm_lwp_source_init(struct kvm_vcpu *vcpu)
{
	const struct svm_lwp_cpu *cpu = svm_lwp_cpu();
	u32 start = READ_ONCE(lwp_margin_start);
	int i;

	start = start ? clamp_t(u32, start, MARGIN_LEAST, cpu->most) : cpu->start;
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		lwp_margin_init(&to_svm(vcpu)->lwp.margin[kinds[i]], start, MARGIN_LEAST,
				cpu->most);
}

/* Can records be delivered promptly? Stepping delivers exactly. */
bool svm_lwp_source_prompt(void)
{
	return source->arm;
}

/* Can clocks of this kind be counted? That takes a PMU. */
bool svm_lwp_source_clocks(enum lwp_kind kind)
{
	return source == &svm_lwp_perf && svm_lwp_clock_usable(kind);
}

/*
 * Can a counter count for this state? It counts all instructions and all branches, so filters need
 * stepping. SYSENTER in legacy mode needs stepping too: a counter counts it, LWP does not, and it
 * has no intercept.
 */
static bool svm_lwp_countable(struct kvm_vcpu *vcpu)
{
	const struct lwp_engine *e = &to_svm(vcpu)->lwp.engine;
	enum lwp_branch_class branch;

	if (lwp_ip_filtered(e))
		return false;
	if (!source->steps && !is_long_mode(vcpu) &&
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

/* The source must interrupt this many events early. */
static u64 svm_lwp_margin(struct svm_lwp *lwp, enum lwp_kind kind)
{
	unsigned int fixed = READ_ONCE(lwp_margin);

	if (lwp->engine.delivery != LWP_DELIVERY_EXACT)
		return 0;
	return fixed ? fixed : lwp->margin[kind].now;
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
 * Arm the source. False: step. Called at CPL 3 with the lock held, at an instruction boundary where
 * nothing is outstanding.
 */
static bool svm_lwp_source_arm(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	const struct lwp_engine *e = &lwp->engine;
	bool any = false;
	int i;

	if (!source->arm || lwp->late_branches || e->st.pending.event_id ||
	    !svm_lwp_countable(vcpu))
		return false;
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
	return any && source->arm(vcpu, lwp->armed);
}

/* May the vCPU run at full speed? */
bool svm_lwp_source_counts(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	if (!lwp->counting)
		lwp->counting = svm_lwp_source_arm(vcpu);
	return lwp->counting && !source->steps;
}

/*
 * n events of a kind have passed, and one of them was due: gather its record late, naming r. The
 * trace names each record that `exact` delivers late.
 */
static void svm_lwp_source_late(struct kvm_vcpu *vcpu, enum lwp_kind kind, u64 n,
				const struct lwp_retired *r)
{
	struct lwp_engine *e = &to_svm(vcpu)->lwp.engine;
	u64 overshoots = e->stats.overshoots;
	u64 due = lwp_budget(e, kind);

	lwp_retire_late(e, kind, n, r);
	if (e->stats.overshoots != overshoots)
		trace_kvm_lwp_overshoot(vcpu->vcpu_id, e->rev->event_id[kind], r->address, n - due);
}

/* Does the source count this entry at full speed? A source that counts in software does not. */
bool svm_lwp_source_at_speed(struct kvm_vcpu *vcpu)
{
	return to_svm(vcpu)->lwp.counting && !source->steps;
}

/* The same, and neither it nor a clock must be read before it interrupts? */
bool svm_lwp_source_quiet(struct kvm_vcpu *vcpu)
{
	return svm_lwp_source_at_speed(vcpu) && !source->pending(vcpu) &&
	       !svm_lwp_clock_pending(vcpu) && !(source->needs_returns && source->needs_returns());
}

/* Right before VM-Entry, and right after #VMEXIT, IRQs off. */
void svm_lwp_source_entering(struct kvm_vcpu *vcpu)
{
	if (source->entering)
		source->entering(vcpu);
}

void svm_lwp_source_exited(struct kvm_vcpu *vcpu)
{
	if (source->exited)
		source->exited(vcpu);
}

/* Right before VM-Entry, with IRQs off: has the source interrupted since svm_lwp_source_check()? */
bool svm_lwp_source_interrupted(struct kvm_vcpu *vcpu)
{
	return source->interrupted && source->interrupted(vcpu);
}

/* Discard the counts: the state has been replaced or discarded. */
void svm_lwp_source_drop(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	u64 passed[LWP_KINDS];

	svm_lwp_clock_drop(vcpu);
	memset(lwp->unseen, 0, sizeof(lwp->unseen));
	lwp->late_branches = 0;
	if (!lwp->counting)
		return;
	lwp->counting = false;
	source->stop(vcpu, passed);
}

/* With `exact` delivery a record is `by` events late. `address`: the record's; 0: not known yet. */
static void svm_lwp_overshot(struct kvm_vcpu *vcpu, enum lwp_kind kind, u64 address, u64 by)
{
	struct lwp_engine *e = &to_svm(vcpu)->lwp.engine;

	e->stats.overshoots++;
	trace_kvm_lwp_overshoot(vcpu->vcpu_id, e->rev->event_id[kind], address, by);
}

/*
 * n events have passed, and the vCPU is at a point where no record can be gathered. If one of them
 * was due, its record is late and names the next instruction that counts.
 */
static void svm_lwp_source_unseen(struct kvm_vcpu *vcpu, enum lwp_kind kind, u64 n)
{
	struct lwp_engine *e = &to_svm(vcpu)->lwp.engine;
	u64 due = lwp_budget(e, kind);

	lwp_count_unseen(e, kind, n);
	if (n < due || !lwp_overshoots(e, kind))
		return;
	svm_lwp_overshot(vcpu, kind, 0, n - due);
	to_svm(vcpu)->lwp.unseen[kind] = SVM_LWP_UNSEEN_COUNTED;
}

/* n events of a kind have passed. `here`: the vCPU is at CPL 3, before the instruction at rIP. */
void svm_lwp_source_add(struct kvm_vcpu *vcpu, enum lwp_kind kind, u64 n, bool here)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct lwp_engine *e = &lwp->engine;
	struct lwp_retired r = {};

	if (n < lwp_budget(e, kind)) {
		lwp_count(e, kind, n);
	} else if (!here) {
		svm_lwp_source_unseen(vcpu, kind, n);
	} else if (kind == LWP_KIND_BRE) {
		lwp->late_branches = n;
	} else {
		r.address = kvm_get_linear_rip(vcpu);
		svm_lwp_source_late(vcpu, kind, n, &r);
	}
}

/* Stop the source and give its counts to the engine. */
static void svm_lwp_source_read(struct kvm_vcpu *vcpu, bool here)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	u64 passed[LWP_KINDS];
	int i;

	lwp->counting = false;
	lwp->late_branches = 0;
	source->stop(vcpu, passed);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (here && lwp->armed[kinds[i]] && passed[kinds[i]] >= lwp->armed[kinds[i]])
			lwp_margin_seen(&lwp->margin[kinds[i]],
					passed[kinds[i]] - lwp->armed[kinds[i]]);
		svm_lwp_source_add(vcpu, kinds[i], passed[kinds[i]], here);
	}
	trace_kvm_lwp_counted(vcpu->vcpu_id, passed[LWP_KIND_IRE], passed[LWP_KIND_BRE],
			      lwp->late_branches);
}

/* Fold: bring the engine's counters up to date, wherever the vCPU is. */
void svm_lwp_source_fold(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	svm_lwp_clock_fold(vcpu);
	if (lwp->counting)
		svm_lwp_source_read(vcpu, false);
	if (lwp->late_branches)
		svm_lwp_source_unseen(vcpu, LWP_KIND_BRE, lwp->late_branches);
	lwp->late_branches = 0;
}

/* Before the next instruction at CPL 3, which must be stepped: stop the source. */
void svm_lwp_source_pause(struct kvm_vcpu *vcpu)
{
	if (to_svm(vcpu)->lwp.counting)
		svm_lwp_source_read(vcpu, true);
}

/* svm_lwp_source_fold() before an LWP instruction at CPL 3: a late record can name it. */
void svm_lwp_source_fold_here(struct kvm_vcpu *vcpu)
{
	svm_lwp_source_pause(vcpu);
	svm_lwp_clock_fold_here(vcpu);
	svm_lwp_source_fold(vcpu);
}

/* Before the next instruction at CPL 3: read the source if it has to be read. */
void svm_lwp_source_check(struct kvm_vcpu *vcpu)
{
	if (!to_svm(vcpu)->lwp.counting || !source->pending(vcpu))
		return;
	if (!source->interrupted || source->interrupted(vcpu))
		vcpu->stat.lwp_counter_irqs++;
	svm_lwp_source_read(vcpu, true);
}

/*
 * The first branch after the source has interrupted gets the record of the branches that had
 * passed. If a record of instructions is due with the same instruction and in time, it goes first.
 */
static void svm_lwp_late_branch(struct kvm_vcpu *vcpu, const struct lwp_retired *r)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct lwp_engine *e = &lwp->engine;
	struct lwp_retired insn = *r;
	u64 passed = lwp->late_branches + 1;

	lwp->late_branches = 0;
	if (e->st.pending.event_id)
		svm_lwp_source_unseen(vcpu, LWP_KIND_BRE, passed);
	else if (lwp_overshoots(e, LWP_KIND_BRE) && lwp_budget(e, LWP_KIND_IRE) == 1)
		lwp->late_branches = passed;
	else
		svm_lwp_source_late(vcpu, LWP_KIND_BRE, passed, r);
	insn.branch = LWP_BRANCH_NONE;
	lwp_retire(e, &insn);
}

/* Is a record of this kind due with the instruction that has retired, and in time? */
static bool svm_lwp_due_with(struct svm_lwp *lwp, enum lwp_kind kind, const struct lwp_retired *r)
{
	const struct lwp_engine *e = &lwp->engine;

	return lwp_overshoots(e, kind) && !lwp->unseen[kind] && lwp_budget(e, kind) == 1 &&
	       (kind == LWP_KIND_IRE || lwp_branch_counted(e, r->branch));
}

/*
 * An instruction retires after events that have passed unseen. If those were more than a period,
 * its record is late too. A record of the other kind that is due here has to wait, and is late as
 * well.
 */
static void svm_lwp_retire_behind(struct kvm_vcpu *vcpu, enum lwp_kind kind,
				  const struct lwp_retired *r)
{
	enum lwp_kind other = kind == LWP_KIND_IRE ? LWP_KIND_BRE : LWP_KIND_IRE;
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct lwp_engine *e = &lwp->engine;
	u8 id = e->rev->event_id[kind];
	s32 counter = e->st.counter[id - 1];
	bool both = svm_lwp_due_with(lwp, other, r);
	bool free = !e->st.pending.event_id;

	lwp_retire(e, r);
	if (counter >= 0) {
		lwp->unseen[kind] = SVM_LWP_UNSEEN_NOT;
		return;
	}
	if (!free || e->st.pending.event_id != id)
		return;
	if (lwp->unseen[kind] == SVM_LWP_UNSEEN_GONE)
		svm_lwp_overshot(vcpu, kind, r->address, -counter);
	lwp->unseen[kind] = SVM_LWP_UNSEEN_GONE;
	if (both) {
		svm_lwp_overshot(vcpu, other, 0, 0);
		lwp->unseen[other] = SVM_LWP_UNSEEN_COUNTED;
	}
}

/* An instruction was stepped at CPL 3, or completed by KVM. */
void svm_lwp_source_retired(struct kvm_vcpu *vcpu, const struct lwp_retired *r)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	if (lwp->counting)
		source->retired(vcpu, r);
	else if (lwp->late_branches && lwp_branch_counted(&lwp->engine, r->branch))
		svm_lwp_late_branch(vcpu, r);
	else if (lwp->unseen[LWP_KIND_IRE])
		svm_lwp_retire_behind(vcpu, LWP_KIND_IRE, r);
	else if (lwp->unseen[LWP_KIND_BRE])
		svm_lwp_retire_behind(vcpu, LWP_KIND_BRE, r);
	else
		lwp_retire(&lwp->engine, r);
}
