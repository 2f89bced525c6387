// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counter source on a real PMU: perf events of the vCPU's thread that count the guest at CPL 3.
 *
 * The row of the processor says where these events are ahead of the truth (lwp_row.c).
 *
 * Near branches are retired branches (C2h) minus far control transfers (C6h). Only the event C2h
 * interrupts. It interrupts early by the number of far transfers, and is then armed again for the
 * rest.
 *
 * The overflow handler runs in NMI context and only sets a flag. An NMI that takes the vCPU out of
 * the guest has been handled when svm_vcpu_run() returns; svm_lwp_before_run() sees one that comes
 * later, before GIF is cleared for the next entry. KVM takes all numbers from the counters and none
 * from the interrupts, which come late and may be lost.
 *
 * The events are pinned: the host's perf cannot take their counters while they run. If perf has the
 * counters already, the vCPU steps and tries again after SVM_LWP_PERF_RETRY.
 *
 * If one thread runs several vCPUs in turns, which no known VMM does, the events of an armed vCPU
 * count the others too.
 */
#include <linux/jiffies.h>
#include <linux/perf_event.h>
#include <linux/workqueue.h>

#include "svm.h"
#include "lwp_layers.h"
#include "lwp/lwp_tally.h"

/* Events of PERF_CTL. */
#define PMC_RETIRED_INSTRUCTIONS 0xc0
#define PMC_RETIRED_BRANCHES 0xc2
#define PMC_RETIRED_FAR 0xc6

/*
 * The shortest period for which perf arms a counter. A counter that has less left when its thread
 * is scheduled again would interrupt late, so KVM reads it and steps the rest.
 */
#define PERF_LEAST 2

/* NMI context. */
static void svm_lwp_perf_overflow(struct perf_event *event, struct perf_sample_data *data,
				  struct pt_regs *regs)
{
	struct svm_lwp_perf *p = event->overflow_handler_context;

	WRITE_ONCE(p->overflow, true);
}

static const struct svm_lwp_counter perf_counters[SVM_LWP_PERF_EVENTS] = {
	[SVM_LWP_PERF_INSNS] = { PERF_TYPE_RAW, PMC_RETIRED_INSTRUCTIONS, svm_lwp_perf_overflow },
	[SVM_LWP_PERF_BRANCHES] = { PERF_TYPE_RAW, PMC_RETIRED_BRANCHES, svm_lwp_perf_overflow },
	[SVM_LWP_PERF_FAR] = { PERF_TYPE_RAW, PMC_RETIRED_FAR },
};

static void svm_lwp_perf_put_all(struct svm_lwp_perf *p)
{
	int n;

	for (n = 0; n < SVM_LWP_PERF_EVENTS; n++)
		svm_lwp_event_put(&p->event[n]);
}

/* Release the events of a vCPU. They do not count now. */
void svm_lwp_perf_free(struct kvm_vcpu *vcpu)
{
	svm_lwp_perf_put_all(&to_svm(vcpu)->lwp.perf);
}

/* Does this host have the counters? They need not be free now. */
bool svm_lwp_perf_usable(void)
{
	struct svm_lwp_perf p = {};
	int n;

	for (n = 0; n < SVM_LWP_PERF_EVENTS; n++) {
		if (!svm_lwp_event_get(&p.event[n], &perf_counters[n], &p))
			break;
	}
	svm_lwp_perf_put_all(&p);
	return n == SVM_LWP_PERF_EVENTS;
}

/* Start one of the events. It interrupts after `after` counts; 0 = never. */
static bool svm_lwp_perf_start(struct svm_lwp_perf *p, enum svm_lwp_perf_event n, u64 after)
{
	if (!svm_lwp_event_get(&p->event[n], &perf_counters[n], p))
		return false;
	p->running |= BIT(n);
	return svm_lwp_event_run(p->event[n], after);
}

/* Stop and reset all events; get their counts. Result: a bit of each that had lost its counter. */
static u32 svm_lwp_perf_pause(struct svm_lwp_perf *p, u64 count[SVM_LWP_PERF_EVENTS])
{
	u32 lost = 0;
	int n;

	for (n = 0; n < SVM_LWP_PERF_EVENTS; n++) {
		count[n] = 0;
		if (!(p->running & BIT(n)))
			continue;
		if (READ_ONCE(p->event[n]->state) == PERF_EVENT_STATE_ERROR)
			lost |= BIT(n);
		count[n] = perf_event_pause(p->event[n], true);
	}
	p->running = 0;
	return lost;
}

/* A counter is missing: step until the retry. */
static void svm_lwp_perf_fail(struct kvm_vcpu *vcpu)
{
	struct svm_lwp_perf *p = &to_svm(vcpu)->lwp.perf;

	p->failed = true;
	p->retry = jiffies + SVM_LWP_PERF_RETRY;
	vcpu->stat.lwp_no_counter++;
}

bool svm_lwp_perf_arm(struct kvm_vcpu *vcpu, const u64 after[LWP_KINDS])
{
	struct svm_lwp_perf *p = &to_svm(vcpu)->lwp.perf;
	u64 insns = after[LWP_KIND_IRE], branches = after[LWP_KIND_BRE];
	u64 count[SVM_LWP_PERF_EVENTS];

	if ((insns && insns < PERF_LEAST) || (branches && branches < PERF_LEAST))
		return false;
	if (p->failed && time_before(jiffies, p->retry))
		return false;
	svm_lwp_event_use(vcpu);
	svm_lwp_row_over(p->over);
	memset(p->besides, 0, sizeof(p->besides));
	memset(p->emulated, 0, sizeof(p->emulated));
	memcpy(p->after, after, sizeof(p->after));
	WRITE_ONCE(p->overflow, false);
	p->failed = false;
	/* What the entry that follows counts too much would use up a part of a short period. */
	insns += insns ? p->over[PMC_INSNS][p->exited] : 0;
	branches += branches ? p->over[PMC_BRANCHES][p->exited] : 0;
	/* Nets are read at each exit. Their overcount must not interrupt. */
	if (to_svm(vcpu)->lwp.nets) {
		insns = insns ? S32_MAX : 0;
		branches = branches ? S32_MAX : 0;
	}
	if ((!insns || svm_lwp_perf_start(p, SVM_LWP_PERF_INSNS, insns)) &&
	    (!branches || (svm_lwp_perf_start(p, SVM_LWP_PERF_BRANCHES, branches) &&
			   svm_lwp_perf_start(p, SVM_LWP_PERF_FAR, 0))))
		return true;
	svm_lwp_perf_pause(p, count);
	svm_lwp_perf_fail(vcpu);
	return false;
}

/* The events that LWP counts, of the counts of the counters. lost: bits of svm_lwp_perf_event. */
static void svm_lwp_perf_add_up(const struct svm_lwp_perf *p, const u64 count[SVM_LWP_PERF_EVENTS],
				u32 lost, u64 passed[LWP_KINDS])
{
	memset(passed, 0, LWP_KINDS * sizeof(*passed));
	if (p->after[LWP_KIND_IRE])
		passed[LWP_KIND_IRE] = lwp_tally(count[SVM_LWP_PERF_INSNS], p->besides[PMC_INSNS],
						 p->emulated[LWP_KIND_IRE]);
	if (p->after[LWP_KIND_BRE])
		passed[LWP_KIND_BRE] = lwp_tally_branches(
			lwp_tally(count[SVM_LWP_PERF_BRANCHES], p->besides[PMC_BRANCHES], 0),
			lwp_tally(count[SVM_LWP_PERF_FAR], p->besides[PMC_FAR], 0),
			lost & BIT(SVM_LWP_PERF_FAR), p->emulated[LWP_KIND_BRE]);
}

bool svm_lwp_perf_stop(struct kvm_vcpu *vcpu, u64 passed[LWP_KINDS])
{
	struct svm_lwp_perf *p = &to_svm(vcpu)->lwp.perf;
	u64 count[SVM_LWP_PERF_EVENTS];
	u32 lost = svm_lwp_perf_pause(p, count);

	svm_lwp_perf_add_up(p, count, lost, passed);
	if (lost)
		svm_lwp_perf_fail(vcpu);
	return !lost;
}

/* A counter of far transfers that is lost counts nothing here, so the next event seems nearer. */
void svm_lwp_perf_so_far(struct kvm_vcpu *vcpu, u64 passed[LWP_KINDS])
{
	struct svm_lwp_perf *p = &to_svm(vcpu)->lwp.perf;
	u64 count[SVM_LWP_PERF_EVENTS] = {};
	int n;

	for (n = 0; n < SVM_LWP_PERF_EVENTS; n++) {
		if (p->running & BIT(n) && !svm_lwp_event_count(p->event[n], &count[n]))
			count[n] = 0;
	}
	svm_lwp_perf_add_up(p, count, 0, passed);
}

/* Has the event counted as far as perf can be trusted with the rest? */
static bool svm_lwp_perf_passed(struct svm_lwp_perf *p, enum svm_lwp_perf_event n,
				enum lwp_kind kind)
{
	u64 besides = p->besides[kind == LWP_KIND_IRE ? PMC_INSNS : PMC_BRANCHES];
	u64 after = p->after[kind];

	return after && svm_lwp_event_reached(p->event[n], after - (PERF_LEAST - 1) + besides);
}

bool svm_lwp_perf_interrupted(struct kvm_vcpu *vcpu)
{
	return READ_ONCE(to_svm(vcpu)->lwp.perf.overflow);
}

/* Instructions that KVM completed delay the interrupt by their number: arm again for the rest. */
bool svm_lwp_perf_pending(struct kvm_vcpu *vcpu)
{
	struct svm_lwp_perf *p = &to_svm(vcpu)->lwp.perf;

	return svm_lwp_perf_interrupted(vcpu) || p->emulated[LWP_KIND_IRE] ||
	       svm_lwp_perf_passed(p, SVM_LWP_PERF_INSNS, LWP_KIND_IRE) ||
	       svm_lwp_perf_passed(p, SVM_LWP_PERF_BRANCHES, LWP_KIND_BRE);
}

/* KVM has completed an instruction of the guest, so the counters have not counted it. */
void svm_lwp_perf_retired(struct kvm_vcpu *vcpu, const struct lwp_retired *r)
{
	struct svm_lwp_perf *p = &to_svm(vcpu)->lwp.perf;

	p->emulated[LWP_KIND_IRE]++;
	p->emulated[LWP_KIND_BRE] += r->branch != LWP_BRANCH_NONE;
}

/* At a place where the counters count too much. */
static void svm_lwp_perf_over(struct svm_lwp_perf *p, enum pmc_place place)
{
	int i;

	for (i = 0; i < PMC_EVENTS; i++)
		p->besides[i] += p->over[i][place];
}

/*
 * Around VMRUN without the lock: who takes the vCPU's context away has the events paused meanwhile,
 * for which perf interrupts this CPU. So only numbers are touched here, and no event.
 */
void svm_lwp_perf_entering(struct kvm_vcpu *vcpu)
{
	struct vcpu_svm *svm = to_svm(vcpu);

	lockdep_assert_irqs_disabled();
	if (!svm_lwp_user_mode(svm))
		return;
	svm_lwp_perf_over(&svm->lwp.perf, svm->lwp.perf.exited);
	if (svm->vmcb->control.event_inj & SVM_EVTINJ_VALID)
		svm_lwp_perf_over(&svm->lwp.perf, PMC_INJECT);
}

void svm_lwp_perf_exited(struct kvm_vcpu *vcpu)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	struct svm_lwp_perf *p = &svm->lwp.perf;

	p->exited = pmc_place_of_exit(svm->vmcb->control.exit_code, svm->vmcb->save.dr6 & DR6_BS);
	if (svm->lwp.mode == LWP_MODE_IRET && svm_lwp_stepped(svm) && svm_lwp_user_mode(svm))
		svm_lwp_perf_over(p, PMC_IRET);
}

bool svm_lwp_perf_needs_returns(struct kvm_vcpu *vcpu)
{
	const struct svm_lwp_perf *p = &to_svm(vcpu)->lwp.perf;

	return p->over[PMC_INSNS][PMC_IRET] || p->over[PMC_BRANCHES][PMC_IRET] ||
	       p->over[PMC_FAR][PMC_IRET];
}
