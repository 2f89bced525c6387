// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counting at CPL 3 by single steps: the work before each VM-Entry, the handling of #DB, and how
 * KVM hides RFLAGS.TF from the guest.
 *
 * LWP's RFLAGS.TF exists only between svm_lwp_before_run() and svm_lwp_after_run(), around VMRUN.
 * Its other owners (the guest, KVM_GUESTDBG_SINGLESTEP, the NMI window) keep theirs in the VMCB all
 * the time, so no other code of KVM has to know of LWP's. KVM decodes the next instruction before
 * it runs. An instruction that could copy the flag to where the guest sees it is emulated, or runs
 * without the flag.
 */
#include <asm/debugreg.h>
#include <trace/events/ipi.h>

#include "svm.h"
#include "x86.h"
#include "lwp_svm.h"
#include "lwp_trace.h"

/*
 * Exceptions whose delivery would push the flag. They are intercepted while stepping, and queued
 * again. KVM always intercepts #UD, #DB, #AC and #MC; INT3 and INTO run without the flag.
 */
#define LWP_EXCEPTIONS                                                                        \
	(BIT(DE_VECTOR) | BIT(BR_VECTOR) | BIT(NM_VECTOR) | BIT(TS_VECTOR) | BIT(NP_VECTOR) | \
	 BIT(SS_VECTOR) | BIT(GP_VECTOR) | BIT(PF_VECTOR) | BIT(MF_VECTOR) | BIT(XM_VECTOR))
#define LWP_ERROR_CODE \
	(BIT(TS_VECTOR) | BIT(NP_VECTOR) | BIT(SS_VECTOR) | BIT(GP_VECTOR) | BIT(PF_VECTOR))

/* Does the state count events of this kind? */
bool svm_lwp_counts(const struct lwp_engine *e, enum lwp_kind kind)
{
	u8 id = e->rev->event_id[kind];

	return id && !lwp_state_deferred(&e->st) && e->st.flags & lwp_engine_avail(e) & LWP_BIT(id);
}

static bool svm_lwp_steps(const struct lwp_engine *e)
{
	return lwp_engine_on(e) && (svm_lwp_counts(e, LWP_KIND_IRE) ||
				    svm_lwp_counts(e, LWP_KIND_BRE) || svm_lwp_clock_steps(e));
}

/* Has LWP work to do when the vCPU runs at CPL 3? */
static bool svm_lwp_active(struct svm_lwp *lwp)
{
	const struct lwp_engine *e = &lwp->engine;

	return lwp_engine_on(e) && lwp_engine_avail(e) &&
	       (svm_lwp_steps(e) || svm_lwp_clock_wanted(e) || e->st.pending.event_id ||
		lwp_state_deferred(&e->st) || !e->ip_valid);
}

static bool svm_lwp_will_inject(struct vcpu_svm *svm)
{
	const struct vmcb_control_area *c = &svm->vmcb->control;

	return c->event_inj & SVM_EVTINJ_VALID ||
	       (c->int_ctl & V_NMI_PENDING_MASK && !(c->int_ctl & V_NMI_BLOCKING_MASK));
}

static void svm_lwp_set_exceptions(struct vcpu_svm *svm, bool on)
{
	u32 *word = &svm->vmcb01.ptr->control.intercepts[INTERCEPT_EXCEPTION];

	if (on == !!svm->lwp.exceptions)
		return;
	if (on) {
		svm->lwp.exceptions = LWP_EXCEPTIONS & ~*word;
		*word |= svm->lwp.exceptions;
	} else {
		*word &= ~svm->lwp.exceptions;
		svm->lwp.exceptions = 0;
	}
	recalc_intercepts(svm);
}

static void svm_lwp_set_step(struct vcpu_svm *svm, enum svm_lwp_step step)
{
	svm->lwp.step = step;
	svm_lwp_set_exceptions(svm, step == SVM_LWP_STEP_INSN || step == SVM_LWP_STEP_IRET);
}

/* RESET and INIT: remove all intercepts of LWP. */
void svm_lwp_disarm(struct kvm_vcpu *vcpu)
{
	struct vcpu_svm *svm = to_svm(vcpu);

	svm_lwp_trap_return(vcpu, false);
	svm_lwp_set_step(svm, SVM_LWP_STEP_NONE);
	svm_lwp_watch_soft(svm, false);
	svm->lwp.in_user = false;
	svm->lwp.by_hand = false;
	svm->lwp.at_speed = false;
	svm->lwp.over_iret = false;
	svm->lwp.ss_shadow = false;
	svm->lwp.next.valid = false;
}

/* Class of a near branch for the engine. */
enum lwp_branch_class svm_lwp_branch_class(const struct lwp_insn *insn)
{
	if (lwp_insn_is_conditional(insn))
		return LWP_BRANCH_CONDITIONAL;
	switch (insn->kind) {
	case LWP_INSN_JMP_REL:
		return LWP_BRANCH_RELATIVE;
	case LWP_INSN_CALL_REL:
		return LWP_BRANCH_CALL_RELATIVE;
	case LWP_INSN_JMP_IND:
	case LWP_INSN_CALL_IND:
	case LWP_INSN_RET:
		return LWP_BRANCH_ABSOLUTE;
	default:
		return LWP_BRANCH_NONE;
	}
}

/*
 * Set how the next instruction counts. If its target cannot be read, the branch itself will fault.
 */
static void svm_lwp_describe(struct kvm_vcpu *vcpu, struct svm_lwp_next *next)
{
	const struct lwp_insn *insn = &next->insn;
	struct lwp_retired *r = &next->retired;
	struct svm_lwp_reader reader;
	struct lwp_access access;
	u64 target;

	r->branch = svm_lwp_branch_class(insn);
	if (r->branch == LWP_BRANCH_NONE)
		return;
	r->taken = lwp_insn_taken(insn, kvm_get_rflags(vcpu), kvm_rcx_read(vcpu));
	target = lwp_insn_next_ip(insn, next->ip);
	if (r->taken) {
		access = svm_lwp_access(&reader, vcpu);
		if (lwp_insn_target(insn, next->ip, &access, &target))
			target = 0;
	}
	r->target = insn->code_bits == LWP_CODE64 ?
			    target :
			    (u32)(to_svm(vcpu)->vmcb->save.cs.base + target);
}

/* Look at the instruction at rIP. */
static void svm_lwp_look(struct kvm_vcpu *vcpu)
{
	struct svm_lwp_next *next = &to_svm(vcpu)->lwp.next;

	memset(next, 0, sizeof(*next));
	next->valid = true;
	next->ip = kvm_rip_read(vcpu);
	next->retired.address = kvm_get_linear_rip(vcpu);
	next->known = svm_lwp_insn_at_rip(vcpu, &next->insn);
	if (next->known)
		svm_lwp_describe(vcpu, next);
}

enum svm_lwp_way {
	LWP_WAY_STEP, /* run it with RFLAGS.TF */
	LWP_WAY_RUN, /* run it without RFLAGS.TF: it leaves CPL 3, or KVM completes it */
	LWP_WAY_BOUNCE, /* complete VMRUN of a nested guest and exit at once */
	LWP_WAY_IRET, /* step over an IRET */
	LWP_WAY_EMULATE, /* KVM's emulator executes it */
	LWP_WAY_EMULATE_SS, /* the same; the guest's own trap waits for one more instruction */
};

/* How to make the next instruction retire without the guest seeing the flag. */
static enum svm_lwp_way svm_lwp_way(struct kvm_vcpu *vcpu, const struct svm_lwp_next *next)
{
	if (!next->known)
		return LWP_WAY_STEP;
	switch (next->insn.kind) {
	case LWP_INSN_PUSHF:
	case LWP_INSN_POPF:
		return LWP_WAY_EMULATE;
	case LWP_INSN_MOV_SS:
	case LWP_INSN_POP_SS:
		return LWP_WAY_EMULATE_SS;
	case LWP_INSN_IRET:
		return LWP_WAY_IRET;
	case LWP_INSN_INTO:
		return kvm_get_rflags(vcpu) & X86_EFLAGS_OF ? LWP_WAY_RUN : LWP_WAY_STEP;
	case LWP_INSN_INT:
	case LWP_INSN_INT3:
	case LWP_INSN_ICEBP:
	case LWP_INSN_SYSCALL:
	case LWP_INSN_SYSENTER:
	case LWP_INSN_LLWPCB:
	case LWP_INSN_SLWPCB:
	case LWP_INSN_LWPINS:
	case LWP_INSN_LWPVAL:
		return LWP_WAY_RUN;
	default:
		return LWP_WAY_STEP;
	}
}

/*
 * Emulate the next instruction. ss: MOV SS and POP SS delay a single-step trap by one instruction,
 * which the emulator does not do.
 */
static int svm_lwp_emulate(struct kvm_vcpu *vcpu, bool ss)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	unsigned long tf = to_svm(vcpu)->vmcb->save.rflags & X86_EFLAGS_TF;
	u64 ip = lwp->next.ip;
	int r;

	if (ss)
		to_svm(vcpu)->vmcb->save.rflags &= ~X86_EFLAGS_TF;
	r = kvm_emulate_instruction(vcpu, 0);
	if (!ss)
		return r;
	to_svm(vcpu)->vmcb->save.rflags |= tf;
	lwp->ss_shadow = kvm_rip_read(vcpu) != ip;
	return r;
}

/*
 * Before an instruction at CPL 3, with the lock held: store what is due, or retry a store that has
 * raised #PF (43724-816). True: an exception was queued, and the guest is not to be entered before
 * it is injected.
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
	lwp_boundary(&lwp->engine, rip, entered, &exc);
	trace_kvm_lwp_boundary(vcpu->vcpu_id, rip, exc.kind, exc.fault.addr);
	svm_lwp_ctx_changed(vcpu);
	svm_lwp_inject(vcpu, &exc);
	return exc.kind != LWP_EXC_NONE;
}

static enum svm_lwp_way svm_lwp_prepare(struct kvm_vcpu *vcpu, bool *again)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	struct svm_lwp *lwp = &svm->lwp;
	bool by_hand = lwp->by_hand;

	*again = false;
	svm_lwp_ctx_sync(vcpu);
	svm_lwp_trap_return(vcpu, (svm_lwp_active(lwp) && svm_lwp_here(vcpu)) ||
					  svm_lwp_ctx_awaited(vcpu));
	if (!lwp->trapping) {
		svm_lwp_source_fold(vcpu);
		return LWP_WAY_RUN;
	}
	if (svm->nested.nested_run_pending)
		return LWP_WAY_BOUNCE;
	if (svm_lwp_will_inject(svm)) {
		lwp->in_user = false;
		lwp->over_iret = false;
		return LWP_WAY_RUN;
	}
	if (svm->vmcb->save.cpl != 3)
		lwp->in_user = false;
	if (lwp->over_iret && kvm_rip_read(vcpu) == lwp->iret_ip && svm->vmcb->save.cpl != 3)
		return LWP_WAY_IRET;
	lwp->over_iret = false;
	if (svm->vmcb->save.cpl != 3)
		return LWP_WAY_RUN;
	if (svm_lwp_source_at_speed(vcpu) &&
	    svm->vmcb->control.int_state & SVM_INTERRUPT_SHADOW_MASK)
		lwp->ss_shadow = true;
	if (by_hand)
		svm_lwp_source_pause(vcpu);
	else
		svm_lwp_source_check(vcpu);
	svm_lwp_clock_check(vcpu);
	*again = svm_lwp_boundary(vcpu);
	if (!*again)
		svm_lwp_clock_run(vcpu);
	if (*again || !svm_lwp_steps(&lwp->engine) || (!by_hand && svm_lwp_source_counts(vcpu)) ||
	    !svm_lwp_budget_left(vcpu))
		return LWP_WAY_RUN;
	svm_lwp_look(vcpu);
	return svm_lwp_way(vcpu, &lwp->next);
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
	enum svm_lwp_way way;
	bool again;

	/* The request has done its work: it made this vCPU come here. */
	kvm_check_request(KVM_REQ_LWP, vcpu);
	if (!lwp->enabled || svm_lwp_idle(vcpu))
		return false;

	mutex_lock(&lwp->lock);
	lwp->next.valid = false;
	way = svm_lwp_prepare(vcpu, &again);
	lwp->at_speed = svm_lwp_source_at_speed(vcpu);
	svm_lwp_watch_soft(svm, lwp->at_speed && !lwp->by_hand);
	if (lwp->trapping && way != LWP_WAY_IRET)
		svm_lwp_trap_iret(svm, !svm_lwp_source_quiet(vcpu));
	lwp->by_hand = false;
	/* Without a step the instruction is counted elsewhere, if it counts at all. */
	if (way == LWP_WAY_RUN)
		lwp->next.valid = false;
	svm_lwp_account(vcpu);
	mutex_unlock(&lwp->lock);

	switch (way) {
	case LWP_WAY_STEP:
		svm_lwp_set_step(svm, SVM_LWP_STEP_INSN);
		break;
	case LWP_WAY_IRET:
		svm_clr_intercept(svm, INTERCEPT_IRET);
		svm_lwp_set_step(svm, SVM_LWP_STEP_IRET);
		break;
	case LWP_WAY_BOUNCE:
		svm_lwp_set_step(svm, SVM_LWP_STEP_BOUNCE);
		break;
	default:
		svm_lwp_set_step(svm, SVM_LWP_STEP_NONE);
		break;
	}
	if (way == LWP_WAY_EMULATE || way == LWP_WAY_EMULATE_SS) {
		*r = svm_lwp_emulate(vcpu, way == LWP_WAY_EMULATE_SS);
		return true;
	}
	*r = 1;
	return again;
}

/* IRQs are off, nothing can come between this and VMRUN. */
void svm_lwp_before_run(struct vcpu_svm *svm)
{
	struct svm_lwp *lwp = &svm->lwp;
	bool bounce = lwp->step == SVM_LWP_STEP_BOUNCE;

	lwp->ran = bounce ? SVM_LWP_STEP_NONE : lwp->step;
	lwp->step = SVM_LWP_STEP_NONE;
	/* The source may have interrupted after svm_lwp_source_check(). */
	if (lwp->at_speed && svm->vmcb->save.cpl == 3 && svm_lwp_source_interrupted(&svm->vcpu))
		bounce = true;
	/*
	 * With an interrupt of the host pending, VMRUN completes and no instruction of the guest
	 * does.
	 */
	if (bounce)
		smp_send_reschedule(svm->vcpu.cpu);
	if (lwp->trapping)
		svm_lwp_source_entering(&svm->vcpu);
	if (lwp->ran == SVM_LWP_STEP_NONE)
		return;
	lwp->others_tf = svm->vmcb->save.rflags & X86_EFLAGS_TF;
	svm->vmcb->save.rflags |= X86_EFLAGS_TF;
}

/* Has the last entry ended with the trap of a step? */
bool svm_lwp_stepped(const struct vcpu_svm *svm)
{
	return svm->vmcb->control.exit_code == SVM_EXIT_EXCP_BASE + DB_VECTOR &&
	       (svm->vmcb->save.dr6 ^ DR6_ACTIVE_LOW) & DR6_BS;
}

/*
 * After #VMEXIT: restore RFLAGS.TF to the value of its other owners. A completed IRET has loaded it
 * already.
 */
void svm_lwp_after_run(struct vcpu_svm *svm)
{
	struct svm_lwp *lwp = &svm->lwp;

	lwp->exit_cpl = svm->vmcb->save.cpl;
	lwp->exit_ip = svm->vmcb->save.rip;
	if (lwp->trapping)
		svm_lwp_source_exited(&svm->vcpu);
	if (lwp->ran == SVM_LWP_STEP_NONE ||
	    (lwp->ran == SVM_LWP_STEP_IRET && svm_lwp_stepped(svm)))
		return;
	svm->vmcb->save.rflags &= ~X86_EFLAGS_TF;
	svm->vmcb->save.rflags |= lwp->others_tf;
}

/*
 * The guest or KVM has completed the instruction in lwp->next; rIP is that of the following one. A
 * repeated string instruction counts when rIP leaves it.
 */
void svm_lwp_retired(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct svm_lwp_next *next = &lwp->next;

	if (!next->valid)
		return;
	if (next->known && lwp_insn_is_repeated(&next->insn) && kvm_rip_read(vcpu) == next->ip)
		return;
	next->valid = false;
	lwp->ss_shadow = false;
	vcpu->stat.lwp_steps++;
	trace_kvm_lwp_step(vcpu->vcpu_id, next->retired.address, next->insn.kind);
	if (to_svm(vcpu)->vmcb->save.cpl != 3)
		return;
	mutex_lock(&lwp->lock);
	svm_lwp_clock_stepped(vcpu, &next->retired);
	svm_lwp_source_retired(vcpu, &next->retired);
	mutex_unlock(&lwp->lock);
}

/*
 * The bits DR6.B0 to B3 of a step that are the guest's own. The processor may also report
 * conditions of breakpoints that are not enabled; they are dropped. So are enabled breakpoints on
 * instructions: these fault before their instruction, and will come by themselves.
 */
static u64 svm_lwp_watchpoints(u64 dr6, u64 dr7)
{
	u64 hit = 0;
	int i;

	for (i = 0; i < KVM_NR_DB_REGS; i++) {
		u64 enabled = dr7 >> (i * DR_ENABLE_SIZE) & (DR_LOCAL_ENABLE | DR_GLOBAL_ENABLE);
		u64 type = dr7 >> (DR_CONTROL_SHIFT + i * DR_CONTROL_SIZE) & DR_RW_READ;

		if (enabled && type != DR_RW_EXECUTE)
			hit |= dr6 & (DR_TRAP0 << i);
	}
	return hit;
}

/*
 * #DB was intercepted. True: only LWP's step raised it. False: the handler of #DB continues; DR6.BS
 * is cleared in the VMCB if only LWP stepped.
 */
bool svm_lwp_db(struct kvm_vcpu *vcpu)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	struct svm_lwp *lwp = &svm->lwp;
	u64 hit;

	if (lwp->ran == SVM_LWP_STEP_NONE || !svm_lwp_stepped(svm))
		return false;
	lwp->over_iret = false;
	svm_lwp_retired(vcpu);
	if (lwp->others_tf)
		return false;
	hit = svm_lwp_watchpoints(svm->vmcb->save.dr6, svm->vmcb->save.dr7);
	svm->vmcb->save.dr6 = DR6_ACTIVE_LOW | hit;
	vmcb_mark_dirty(svm->vmcb, VMCB_DR);
	return !hit;
}

/*
 * An exception was intercepted. True: it was for LWP only, and is queued for injection; the image
 * of RFLAGS that its delivery pushes has no flag of LWP's.
 */
bool svm_lwp_exception(struct kvm_vcpu *vcpu, u32 exit_code)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	struct vmcb_control_area *c = &svm->vmcb->control;
	u32 vector = exit_code - SVM_EXIT_EXCP_BASE;
	struct x86_exception e = {
		.vector = PF_VECTOR,
		.error_code_valid = true,
	};

	if (vector >= 32 || !(svm->lwp.exceptions & BIT(vector)))
		return false;
	if (vector == PF_VECTOR) {
		if (vcpu->arch.apf.host_apf_flags)
			return false;
		e.error_code = c->exit_info_1;
		e.address = c->exit_info_2;
		kvm_inject_emulated_page_fault(vcpu, &e);
	} else if (LWP_ERROR_CODE & BIT(vector)) {
		kvm_queue_exception_e(vcpu, vector, c->exit_info_1);
	} else {
		kvm_queue_exception(vcpu, vector);
	}
	return true;
}
