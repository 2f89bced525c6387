// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counter sources: what counts while a program runs between two events, so that not every
 * instruction has to be stepped.
 *
 * A source is armed with the number of events after which it is to interrupt. With `exact` delivery
 * that is a margin before the event, and stepping does the rest; with `prompt` it is the event
 * itself. The interrupt always comes late (skid), but the count is true: when the source is read,
 * LWP's counters get what has passed. If that is more than it took, the record is gathered late,
 * see lwp_retire_late().
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/moduleparam.h>

#include "svm.h"
#include "lwp.h"
#include "lwp_trace.h"

static char *lwp_source = "step";
module_param(lwp_source, charp, 0444);
MODULE_PARM_DESC(lwp_source,
		 "what counts events: step (every instruction is stepped), or for tests fake");

static unsigned int lwp_margin = 1;
module_param(lwp_margin, uint, 0644);
MODULE_PARM_DESC(lwp_margin,
		 "events before the one that is due, from where on `exact` steps; at least 1");

static const struct svm_lwp_source step_source = { .name = "step" };

static const struct svm_lwp_source *const sources[] = { &step_source, &svm_lwp_fake };
static const struct svm_lwp_source *source = &step_source;

static const enum lwp_kind kinds[] = { LWP_KIND_IRE, LWP_KIND_BRE };

int svm_lwp_source_setup(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(sources); i++) {
		source = sources[i];
		if (!strcmp(source->name, lwp_source))
			return 0;
	}
	pr_err("lwp_source must be step or fake, not %s\n", lwp_source);
	return -EINVAL;
}

/* Can records be delivered promptly? Stepping has no other way than exactly. */
bool svm_lwp_source_prompt(void)
{
	return source->arm;
}

/* A counter counts all instructions and all branches: filters take stepping. */
static bool svm_lwp_countable(const struct lwp_engine *e)
{
	enum lwp_branch_class branch;

	if (lwp_ip_filtered(e))
		return false;
	if (lwp_budget(e, LWP_KIND_BRE) == LWP_BUDGET_NEVER)
		return true;
	for (branch = LWP_BRANCH_CONDITIONAL; branch < LWP_BRANCH_CLASSES; branch++) {
		if (!lwp_branch_counted(e, branch))
			return false;
	}
	return true;
}

/*
 * Have the source count from here on. False: step. At CPL 3 with the lock held, at an instruction
 * boundary that owes nothing.
 */
static bool svm_lwp_source_arm(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	const struct lwp_engine *e = &lwp->engine;
	u64 margin = e->delivery == LWP_DELIVERY_EXACT ? max(READ_ONCE(lwp_margin), 1u) : 0;
	u64 after[LWP_KINDS] = {};
	bool any = false;
	int i;

	if (!source->arm || lwp->late_branches || e->st.pending.event_id || !svm_lwp_countable(e))
		return false;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		u64 budget = lwp_budget(e, kinds[i]);

		if (budget == LWP_BUDGET_NEVER)
			continue;
		if (budget <= margin)
			return false;
		after[kinds[i]] = budget - margin;
		any = true;
	}
	return any && source->arm(vcpu, after);
}

/* May the vCPU run at full speed? */
bool svm_lwp_source_counts(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	if (!lwp->counting)
		lwp->counting = svm_lwp_source_arm(vcpu);
	return lwp->counting && !source->steps;
}

/* The counts are of no interest any more: the state has been replaced or discarded. */
void svm_lwp_source_drop(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	lwp->late_branches = 0;
	if (!lwp->counting)
		return;
	lwp->counting = false;
	source->disarm(vcpu);
}

/* n events of a kind have passed. `here`: the vCPU is at CPL 3, before the instruction at rIP. */
static void svm_lwp_source_add(struct kvm_vcpu *vcpu, enum lwp_kind kind, u64 n, bool here)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct lwp_engine *e = &lwp->engine;
	struct lwp_retired r = {};

	if (n < lwp_budget(e, kind)) {
		lwp_count(e, kind, n);
	} else if (!here) {
		lwp_count_unseen(e, kind, n);
	} else if (kind == LWP_KIND_BRE) {
		lwp->late_branches = n;
	} else {
		r.address = kvm_get_linear_rip(vcpu);
		lwp_retire_late(e, kind, n, &r);
	}
}

static void svm_lwp_source_read(struct kvm_vcpu *vcpu, bool here)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	u64 passed[ARRAY_SIZE(kinds)];
	int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		passed[i] = source->read(vcpu, kinds[i]);
	svm_lwp_source_drop(vcpu);
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		svm_lwp_source_add(vcpu, kinds[i], passed[i], here);
	trace_kvm_lwp_counted(vcpu->vcpu_id, passed[0], passed[1], lwp->late_branches);
}

/* The engine's counters are to be true now, wherever the vCPU is. */
void svm_lwp_source_fold(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	if (lwp->counting)
		svm_lwp_source_read(vcpu, false);
	if (lwp->late_branches)
		lwp_count_unseen(&lwp->engine, LWP_KIND_BRE, lwp->late_branches);
	lwp->late_branches = 0;
}

/* The same before an LWP instruction at CPL 3, which a late record can name. */
void svm_lwp_source_fold_here(struct kvm_vcpu *vcpu)
{
	if (to_svm(vcpu)->lwp.counting)
		svm_lwp_source_read(vcpu, true);
	svm_lwp_source_fold(vcpu);
}

/* Before the next instruction at CPL 3: has the source interrupted? */
void svm_lwp_source_check(struct kvm_vcpu *vcpu)
{
	if (!to_svm(vcpu)->lwp.counting || !source->pending(vcpu))
		return;
	vcpu->stat.lwp_counter_irqs++;
	svm_lwp_source_read(vcpu, true);
}

/*
 * The first branch after the source has interrupted takes the record of the branches that had
 * passed.
 */
static void svm_lwp_late_branch(struct svm_lwp *lwp, const struct lwp_retired *r)
{
	struct lwp_retired insn = *r;

	lwp_retire_late(&lwp->engine, LWP_KIND_BRE, lwp->late_branches + 1, r);
	lwp->late_branches = 0;
	insn.branch = LWP_BRANCH_NONE;
	lwp_retire(&lwp->engine, &insn);
}

/* An instruction was stepped at CPL 3, or completed by KVM. */
void svm_lwp_source_retired(struct kvm_vcpu *vcpu, const struct lwp_retired *r)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	if (lwp->counting)
		source->retired(vcpu, r);
	else if (lwp->late_branches && lwp_branch_counted(&lwp->engine, r->branch))
		svm_lwp_late_branch(lwp, r);
	else
		lwp_retire(&lwp->engine, r);
}
