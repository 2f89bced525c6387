// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Single steps at CPL 3: around VMRUN, at #DB, and how KVM hides RFLAGS.TF from the guest.
 *
 * LWP's RFLAGS.TF exists only between svm_lwp_before_run() and svm_lwp_after_run(), around VMRUN.
 * Its other owners (the guest, KVM_GUESTDBG_SINGLESTEP, the NMI window) keep theirs in the VMCB all
 * the time, so no other code of KVM has to know of LWP's. KVM decodes the next instruction before
 * it runs. An instruction that could copy the flag to where the guest sees it, or loads it, runs
 * without the flag up to a breakpoint on what follows (lwp_nets.c).
 */
#include <asm/debugreg.h>
#include <trace/events/ipi.h>

#include "svm.h"
#include "x86.h"
#include "lwp_compat.h"
#include "lwp_layers.h"

#define LWP_ERROR_CODE                                                                        \
	(BIT(TS_VECTOR) | BIT(NP_VECTOR) | BIT(SS_VECTOR) | BIT(GP_VECTOR) | BIT(PF_VECTOR) | \
	 BIT(CP_VECTOR))

/* IRQs are off, nothing can come between this and VMRUN. */
void svm_lwp_before_run(struct vcpu_svm *svm)
{
	struct svm_lwp *lwp = &svm->lwp;
	bool exit_at_once = lwp->mode == LWP_MODE_VMRUN;

	/* The source may have interrupted after svm_lwp_source_check(). */
	if (svm_lwp_mode_counts(lwp->mode) && svm_lwp_user_mode(svm) &&
	    svm_lwp_perf_interrupted(&svm->vcpu))
		exit_at_once = true;
	/*
	 * With an interrupt of the host pending, VMRUN completes and no instruction of the guest
	 * does.
	 */
	if (exit_at_once)
		smp_send_reschedule(svm->vcpu.cpu);
	if (lwp->mode != LWP_MODE_OFF) {
		svm_lwp_perf_entering(&svm->vcpu);
		svm_lwp_ibs_entering(svm);
	}
	svm_lwp_net_entering(svm);
	if (!svm_lwp_mode_steps(lwp->mode))
		return;
	lwp->others_tf = svm->vmcb->save.rflags & X86_EFLAGS_TF;
	svm->vmcb->save.rflags |= X86_EFLAGS_TF;
}

/*
 * After #VMEXIT: restore RFLAGS.TF to the value of its other owners. A completed IRET has loaded it
 * already.
 */
void svm_lwp_after_run(struct vcpu_svm *svm)
{
	struct svm_lwp *lwp = &svm->lwp;

	lwp->exit_user = svm_lwp_user_mode(svm);
	lwp->exit_ip = svm->vmcb->save.rip;
	if (lwp->mode != LWP_MODE_OFF) {
		svm_lwp_perf_exited(&svm->vcpu);
		svm_lwp_ibs_exited(svm);
	}
	svm_lwp_net_exited(svm);
	if (!svm_lwp_mode_steps(lwp->mode) || (lwp->mode == LWP_MODE_IRET && svm_lwp_stepped(svm)))
		return;
	svm->vmcb->save.rflags &= ~X86_EFLAGS_TF;
	svm->vmcb->save.rflags |= lwp->others_tf;
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

	if (lwp->mode == LWP_MODE_NET || lwp->mode == LWP_MODE_OVER)
		return svm_lwp_net_db(vcpu);
	if (!svm_lwp_mode_steps(lwp->mode) || !svm_lwp_stepped(svm))
		return false;
	svm_lwp_retired(vcpu);
	if (lwp->behind.valid) {
		lwp->next = lwp->behind;
		lwp->behind.valid = false;
		svm_lwp_retired(vcpu);
	}
	svm_lwp_set_mode(svm, "db", lwp->mode == LWP_MODE_IRET ? LWP_MODE_PASS : lwp->mode);
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

	if (vector == GP_VECTOR && svm_lwp_sysenter(vcpu))
		return true;
	if (!svm_lwp_requeues(svm, vector))
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
