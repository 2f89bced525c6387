// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * While a counter counts, the guest runs at full speed. This file corrects the differences between
 * the counter and LWP.
 *
 * INT n, INT3, INTO and ICEBP retire at CPL 3 and end in the kernel: the counter counts them, LWP
 * does not. They are intercepted, the counter is read, and they run while it is stopped. SYSCALL
 * and SYSRET do not retire, because the user-return trap has KVM emulate them. The counter does not
 * see instructions that KVM completes; the source is told of them here.
 */
#include "svm.h"
#include "lwp_svm.h"

#define SOFT_EXCEPTIONS (BIT(BP_VECTOR) | BIT(OF_VECTOR))

/* Switch the intercepts of instructions that the counter would count wrongly on or off. */
void svm_lwp_watch_soft(struct vcpu_svm *svm, bool on)
{
	u32 *word = &svm->vmcb01.ptr->control.intercepts[INTERCEPT_EXCEPTION];

	if (svm->lwp.soft == on)
		return;
	svm->lwp.soft = on;
	if (on) {
		svm->lwp.soft_exceptions = SOFT_EXCEPTIONS & ~*word;
		*word |= svm->lwp.soft_exceptions;
		svm_set_intercept(svm, INTERCEPT_INTn);
		svm_set_intercept(svm, INTERCEPT_ICEBP);
	} else {
		*word &= ~svm->lwp.soft_exceptions;
		svm->lwp.soft_exceptions = 0;
		svm_clr_intercept(svm, INTERCEPT_INTn);
		svm_clr_intercept(svm, INTERCEPT_ICEBP);
	}
}

/* True: the exit was for one of these instructions. It runs at the next entry. */
bool svm_lwp_soft(struct kvm_vcpu *vcpu, u32 exit_code)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	u32 vector = exit_code - SVM_EXIT_EXCP_BASE;

	if (exit_code != SVM_EXIT_SWINT && exit_code != SVM_EXIT_ICEBP &&
	    (vector >= 32 || !(lwp->soft_exceptions & BIT(vector))))
		return false;
	lwp->by_hand = true;
	return true;
}

/* KVM has completed an instruction that a counter at full speed did not see. */
static void svm_lwp_completed(struct kvm_vcpu *vcpu, enum lwp_branch_class branch)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct lwp_retired r = { .address = kvm_get_linear_rip(vcpu), .branch = branch };

	if (to_svm(vcpu)->vmcb->save.cpl != 3)
		return;
	mutex_lock(&lwp->lock);
	svm_lwp_source_retired(vcpu, &r);
	mutex_unlock(&lwp->lock);
}

/* KVM has completed an intercepted instruction and advanced rIP. None of these is a branch. */
void svm_lwp_skipped(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	if (lwp->next.valid)
		svm_lwp_retired(vcpu);
	else if (lwp->at_speed && lwp->exit_cpl == 3)
		svm_lwp_completed(vcpu, LWP_BRANCH_NONE);
}

/* The class of the near branch that the emulator has executed, or LWP_BRANCH_NONE. */
static enum lwp_branch_class svm_lwp_emulated_branch(struct kvm_vcpu *vcpu)
{
	const struct x86_emulate_ctxt *ctxt = vcpu->arch.emulate_ctxt;
	struct lwp_insn insn;

	if (!ctxt->is_branch ||
	    lwp_insn_decode(ctxt->fetch.data, ctxt->fetch.end - ctxt->fetch.data,
			    svm_lwp_code_bits(vcpu), &insn) != LWP_DECODE_OK)
		return LWP_BRANCH_NONE;
	return svm_lwp_branch_class(&insn);
}

/*
 * KVM's emulator has completed an instruction, or some iterations of a repeated one. A repeated
 * instruction counts when rIP leaves it.
 */
void svm_lwp_emulated(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	if (lwp->next.valid)
		svm_lwp_retired(vcpu);
	else if (lwp->at_speed && lwp->exit_cpl == 3 &&
		 !(vcpu->arch.emulate_ctxt->rep_prefix && kvm_rip_read(vcpu) == lwp->exit_ip))
		svm_lwp_completed(vcpu, svm_lwp_emulated_branch(vcpu));
}
