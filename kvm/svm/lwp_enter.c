// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The work before each VM-Entry: bring in the context of the running thread, store what is due,
 * and choose the mode.
 */
#include "svm.h"
#include "x86.h"
#include "lwp_compat.h"
#include "lwp_layers.h"
#include "lwp_trace.h"

static bool svm_lwp_steps(const struct lwp_engine *e)
{
	return lwp_engine_on(e) && (svm_lwp_counts(e, LWP_KIND_IRE) ||
				    svm_lwp_counts(e, LWP_KIND_BRE) || svm_lwp_clock_steps(e));
}

/* Has LWP work to do when the vCPU runs at CPL 3 (43724-820)? */
static bool svm_lwp_active(struct svm_lwp *lwp)
{
	const struct lwp_engine *e = &lwp->engine;

	return lwp_engine_on(e) && lwp_engine_avail(e) &&
	       (svm_lwp_steps(e) || svm_lwp_clock_wanted(e) || svm_lwp_ibs_wanted(e) ||
		e->st.pending.event_id || lwp_state_deferred(&e->st) || !e->ip_valid);
}

/*
 * Will the processor deliver a virtual interrupt before the next instruction? KVM intercepts its
 * own (VINTR); a hypervisor in the guest need not. APM Vol. 2, 15.21.4
 */
static bool svm_lwp_virtual_interrupt(const struct vmcb *vmcb)
{
	const struct vmcb_control_area *c = &vmcb->control;
	u32 priority = (c->int_ctl & V_INTR_PRIO_MASK) >> V_INTR_PRIO_SHIFT;

	if (!(c->int_ctl & V_IRQ_MASK) || c->int_state & SVM_INTERRUPT_SHADOW_MASK ||
	    !(vmcb->save.rflags & X86_EFLAGS_IF))
		return false;
	if (test_bit(INTERCEPT_VINTR, (const unsigned long *)c->intercepts))
		return false;
	if (c->int_ctl & V_GIF_ENABLE_MASK && !(c->int_ctl & V_GIF_MASK))
		return false;
	return c->int_ctl & V_IGN_TPR_MASK || priority > (c->int_ctl & V_TPR_MASK);
}

/* Will VMRUN deliver an event? The delivery would push RFLAGS.TF (43724-819, 2007-810). */
static bool svm_lwp_will_deliver(const struct vcpu_svm *svm)
{
	const struct vmcb_control_area *c = &svm->vmcb->control;

	return c->event_inj & SVM_EVTINJ_VALID || svm_lwp_virtual_interrupt(svm->vmcb) ||
	       (c->int_ctl & V_NMI_PENDING_MASK && !(c->int_ctl & V_NMI_BLOCKING_MASK));
}

/*
 * Arrange all that depends on the mode. unseen: the counter's interrupt comes when LWP has to act,
 * so returns to CPL 3 need not be noticed. With `exact` SYSCALL and SYSRET are completed by KVM
 * all the same, because the counter counts SYSCALL and LWP does not.
 */
static void svm_lwp_arrange(struct kvm_vcpu *vcpu, bool unseen)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	enum svm_lwp_mode mode = svm->lwp.mode;
	bool exact = svm->lwp.engine.delivery == LWP_DELIVERY_EXACT;

	svm_lwp_trap_return(vcpu, mode != LWP_MODE_OFF && (!unseen || exact));
	svm_lwp_trap_sysenter(vcpu);
	svm_lwp_avic(vcpu);
	svm_lwp_mode_intercepts(svm, !unseen && mode != LWP_MODE_OFF && mode != LWP_MODE_IRET);
}

/* RESET and INIT: remove all intercepts of LWP. */
void svm_lwp_disarm(struct kvm_vcpu *vcpu)
{
	struct vcpu_svm *svm = to_svm(vcpu);

	svm_lwp_set_mode(svm, "reset", LWP_MODE_OFF);
	svm_lwp_arrange(vcpu, true);
	svm->lwp.in_user = false;
	svm->lwp.ss_shadow = false;
	svm->lwp.next.valid = false;
}

/*
 * Before an instruction at CPL 3, with the lock held: store what is due, or retry a store that has
 * raised #PF (43724-816). True: an exception was queued, and the guest is not to be entered before
 * it is injected (43724-715, 43724-813, 43724-819, 2007-806, 2007-810).
 */
static bool svm_lwp_boundary(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	u64 rip = kvm_get_linear_rip(vcpu);
	bool entered = !lwp->in_user;
	struct lwp_exc exc;

	lwp->in_user = true;
	if (lwp->ss_shadow && to_svm(vcpu)->vmcb->control.int_state & SVM_INTERRUPT_SHADOW_MASK)
		return false;
	lwp->ss_shadow = false;
	if (!lwp_boundary_wanted(&lwp->engine, rip, entered))
		return false;
	svm_lwp_store_begin(vcpu);
	lwp_boundary(&lwp->engine, rip, entered, &exc);
	svm_lwp_store_end(vcpu);
	if (exc.kind == LWP_EXC_AGAIN)
		lwp->in_user = !entered;
	trace_kvm_lwp_boundary(vcpu->vcpu_id, rip, exc.kind, exc.fault.addr);
	svm_lwp_ctx_changed(vcpu);
	svm_lwp_inject(vcpu, &exc);
	return exc.kind != LWP_EXC_NONE;
}

/* Without steps: because the source counts, or because nothing is to be counted. */
static enum svm_lwp_mode svm_lwp_unstepped(struct kvm_vcpu *vcpu)
{
	return to_svm(vcpu)->lwp.counting ? LWP_MODE_COUNT : LWP_MODE_PASS;
}

/* Below CPL 3: the return is stepped over if it is next. */
static enum svm_lwp_mode svm_lwp_choose_below(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	bool iret = lwp->mode == LWP_MODE_AT_IRET || lwp->mode == LWP_MODE_IRET;

	lwp->in_user = false;
	if (iret && kvm_rip_read(vcpu) == lwp->iret_ip)
		return LWP_MODE_IRET;
	return svm_lwp_unstepped(vcpu);
}

/* At CPL 3. *again: see svm_lwp_boundary() (43724-715). */
static enum svm_lwp_mode svm_lwp_choose_user(struct kvm_vcpu *vcpu, bool *again)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	struct svm_lwp *lwp = &svm->lwp;
	bool iret = lwp->mode == LWP_MODE_AT_IRET && kvm_rip_read(vcpu) == lwp->iret_ip;
	bool uncounted = iret || lwp->mode == LWP_MODE_AT_INT;

	if (lwp->counting && svm->vmcb->control.int_state & SVM_INTERRUPT_SHADOW_MASK)
		lwp->ss_shadow = true;
	if (uncounted)
		svm_lwp_source_pause(vcpu);
	else
		svm_lwp_source_check(vcpu);
	svm_lwp_clock_check(vcpu);
	svm_lwp_ibs_check(vcpu);
	*again = svm_lwp_boundary(vcpu);
	if (!*again) {
		svm_lwp_clock_run(vcpu);
		svm_lwp_ibs_run(vcpu);
	}
	/* Even if nothing counts: an IRET at CPL 3 would be intercepted again. */
	if (*again || !svm_lwp_steps(&lwp->engine) || (!uncounted && svm_lwp_source_counts(vcpu)) ||
	    !svm_lwp_budget_left(vcpu))
		return iret ? LWP_MODE_IRET : svm_lwp_unstepped(vcpu);
	if (!uncounted && svm_lwp_net(vcpu))
		return LWP_MODE_NET;
	svm_lwp_look(vcpu);
	return svm_lwp_way(vcpu);
}

/* Choose the mode. *event: what it was chosen for. */
static enum svm_lwp_mode svm_lwp_choose(struct kvm_vcpu *vcpu, const char **event, bool *again)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	struct svm_lwp *lwp = &svm->lwp;

	*again = false;
	*event = svm_lwp_ctx_sync(vcpu);
	if (svm_lwp_memory_waits(vcpu))
		return lwp->mode;
	if (!(svm_lwp_active(lwp) && svm_lwp_here(vcpu)) && !svm_lwp_ctx_awaited(vcpu)) {
		svm_lwp_source_stop(vcpu);
		return LWP_MODE_OFF;
	}
	if (lwp_nested_run_pending(svm)) {
		*event = "nested";
		return LWP_MODE_VMRUN;
	}
	if (svm_lwp_will_deliver(svm)) {
		*event = "inject";
		/* perf may have stopped only the counter of branches, not that of far transfers. */
		if (svm_lwp_user_mode(svm))
			svm_lwp_source_check(vcpu);
		lwp->in_user = false;
		return svm_lwp_unstepped(vcpu);
	}
	return svm_lwp_user_mode(svm) ? svm_lwp_choose_user(vcpu, again) :
					svm_lwp_choose_below(vcpu);
}

/*
 * The last call before VM-Entry in process context, after events have been injected. Stores records
 * that are due, and makes sure that the next instruction at CPL 3 is counted. True: do not enter
 * the guest, but return *r from vcpu_enter_guest().
 */
bool svm_lwp_enter(struct kvm_vcpu *vcpu, int *r)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	struct svm_lwp *lwp = &svm->lwp;
	enum svm_lwp_mode mode;
	const char *event;
	bool again, unseen;

	if (!lwp->enabled)
		return false;
	if (svm_lwp_collect_due(&to_kvm_svm(vcpu->kvm)->lwp))
		svm_lwp_collect(vcpu);
	if (svm_lwp_idle(vcpu))
		return false;

	*r = 1;
	svm_lwp_memory_lock(vcpu);
	lwp->next.valid = lwp->behind.valid = false;
	mode = svm_lwp_choose(vcpu, &event, &again);
	unseen = svm_lwp_source_will_interrupt(vcpu) && !svm_lwp_code32(vcpu);
	svm_lwp_account(vcpu);
	if (svm_lwp_memory_unlock(vcpu)) {
		lwp->next.valid = false;
		return true;
	}

	/* Without a step the instruction is counted elsewhere, if it counts at all. */
	if (mode == LWP_MODE_PASS)
		lwp->next.valid = false;
	svm_lwp_set_mode(svm, event, mode);
	svm_lwp_arrange(vcpu, unseen);
	return again;
}
