// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * While a counter counts, the guest runs at full speed. This file corrects the differences between
 * the counter and LWP.
 *
 * INT n, INT3, INTO and ICEBP retire at CPL 3 and end in the kernel: the counter counts them, LWP
 * does not. They are intercepted, the counter is read, and they run while it is stopped
 * (LWP_MODE_AT_INT). With `exact` SYSCALL and SYSRET do not retire, because the user-return trap
 * has KVM emulate them; with `prompt` the counter counts SYSCALL. It does not see instructions that
 * KVM completes; the source is told of them here.
 */
#include "svm.h"
#include "lwp_layers.h"

/* The instruction in lwp->next has retired; user: at CPL 3. */
static void svm_lwp_retire(struct kvm_vcpu *vcpu, bool user)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct svm_lwp_next *next = &lwp->next;

	next->valid = false;
	lwp->ss_shadow = false;
	vcpu->stat.lwp_steps++;
	if (!user)
		return;
	mutex_lock(&lwp->lock);
	svm_lwp_clock_stepped(vcpu, &next->retired);
	svm_lwp_source_retired(vcpu, &next->retired);
	mutex_unlock(&lwp->lock);
}

/*
 * After #VMEXIT: where the vCPU is at CPL 3 says what has retired of the instruction in lwp->next
 * and the one behind it, whatever the exit is for. An instruction that leads to itself retires with
 * the trap of its step.
 */
void svm_lwp_passed(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	while (lwp->next.valid && lwp->exit_user && lwp->exit_ip != lwp->next.ip) {
		svm_lwp_retire(vcpu, true);
		lwp->next = lwp->behind;
		lwp->behind.valid = false;
		lwp->ss_shadow = lwp->next.valid;
	}
}

/*
 * The guest or KVM has completed the instruction in lwp->next; rIP is that of the following one. A
 * repeated string instruction counts when rIP leaves it (43724-701, 43724-714, 2007-701).
 */
void svm_lwp_retired(struct kvm_vcpu *vcpu)
{
	const struct svm_lwp_next *next = &to_svm(vcpu)->lwp.next;

	if (!next->valid)
		return;
	if (next->known && lwp_insn_is_repeated(&next->insn) && kvm_rip_read(vcpu) == next->ip)
		return;
	svm_lwp_retire(vcpu, svm_lwp_user_mode(to_svm(vcpu)));
}

/* KVM has completed an instruction that a counter at full speed did not see (43724-713). */
static void svm_lwp_completed(struct kvm_vcpu *vcpu, enum lwp_branch_class branch)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct lwp_retired r = { .address = kvm_get_linear_rip(vcpu), .branch = branch };

	if (!svm_lwp_user_mode(to_svm(vcpu)))
		return;
	mutex_lock(&lwp->lock);
	svm_lwp_source_retired(vcpu, &r);
	mutex_unlock(&lwp->lock);
}

/*
 * KVM has completed an intercepted instruction and advanced rIP. None of these is a branch
 * (43724-713).
 */
void svm_lwp_skipped(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	if (lwp->next.valid)
		svm_lwp_retired(vcpu);
	else if (svm_lwp_mode_counts(lwp->mode) && lwp->exit_user)
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
 * instruction counts when rIP leaves it (43724-713).
 */
void svm_lwp_emulated(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	if (lwp->next.valid)
		svm_lwp_retired(vcpu);
	else if (svm_lwp_mode_counts(lwp->mode) && lwp->exit_user &&
		 !(vcpu->arch.emulate_ctxt->rep_prefix && kvm_rip_read(vcpu) == lwp->exit_ip))
		svm_lwp_completed(vcpu, svm_lwp_emulated_branch(vcpu));
}
