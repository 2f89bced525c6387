// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The user-return trap: while LWP has to act when the guest returns to CPL 3 (a step, a store, a
 * retry), KVM traps the two usual instructions that return. IRET is intercepted and stepped over
 * with RFLAGS.TF. EFER.SCE is clear in the VMCB, so SYSCALL and SYSRET raise #UD: lwp_syscall.c.
 * SYSENTER and SYSEXIT raise #GP. RETF is not trapped: it has no intercept, and no OS resumes a
 * preempted program with it. While a counter counts, its interrupt arms the trap, but the trap is
 * also how switches to threads of 32-bit code are noticed.
 */
#include "svm.h"
#include "x86.h"
#include "lwp_layers.h"

/* The value of EFER for the VMCB, from the one that KVM would write. */
u64 svm_lwp_efer(struct vcpu_svm *svm, u64 efer)
{
	return svm->lwp.trapping ? efer & ~EFER_SCE : efer;
}

/* How long AVIC stays inhibited after the last step, in jiffies. */
#define AVIC_DELAY HZ

/*
 * AVIC delivers interrupts without an exit, and so would push LWP's RFLAGS.TF on the guest's stack.
 * It is inhibited in the whole VM while a vCPU steps. To set or clear the inhibit stops all vCPUs,
 * so it is cleared only when no vCPU has stepped for AVIC_DELAY: a program that the guest's kernel
 * parks and resumes does not toggle it.
 */
static void svm_lwp_inhibit_avic(struct kvm_vcpu *vcpu, bool on)
{
	struct kvm_svm_lwp *vm = &to_kvm_svm(vcpu->kvm)->lwp;
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	if (!enable_apicv || lwp->avic_off == on)
		return;
	lwp->avic_off = on;
	guard(mutex)(&vm->lock);
	if (on && !vm->stepping++ && !vm->inhibited) {
		vm->inhibited = true;
		kvm_set_apicv_inhibit(vcpu->kvm, APICV_INHIBIT_REASON_LWP);
	} else if (!on && !--vm->stepping) {
		mod_delayed_work(system_wq, &vm->allow_avic, AVIC_DELAY);
	}
}

static void svm_lwp_allow_avic(struct work_struct *work)
{
	struct kvm_svm_lwp *vm =
		container_of(to_delayed_work(work), struct kvm_svm_lwp, allow_avic);
	struct kvm *kvm = &container_of(vm, struct kvm_svm, lwp)->kvm;

	guard(mutex)(&vm->lock);
	if (vm->stepping || !vm->inhibited)
		return;
	vm->inhibited = false;
	kvm_clear_apicv_inhibit(kvm, APICV_INHIBIT_REASON_LWP);
}

void svm_lwp_avic_init(struct kvm *kvm)
{
	INIT_DELAYED_WORK(&to_kvm_svm(kvm)->lwp.allow_avic, svm_lwp_allow_avic);
}

/*
 * A vCPU is freed. If the VM goes with it, so does the work, which needs all vCPUs. Else the vCPU
 * could not be created, and the work never sees it.
 */
void svm_lwp_avic_stop(struct kvm *kvm)
{
	if (!refcount_read(&kvm->users_count))
		cancel_delayed_work_sync(&to_kvm_svm(kvm)->lwp.allow_avic);
}

/*
 * Inhibit AVIC for single steps; allow it when the vCPU runs at full speed again. The
 * processor delivers nothing before an IRET if RFLAGS.IF is clear, and the trap after it comes
 * first.
 */
void svm_lwp_avic(struct kvm_vcpu *vcpu)
{
	enum svm_lwp_mode mode = to_svm(vcpu)->lwp.mode;

	if (mode == LWP_MODE_OFF || mode == LWP_MODE_COUNT)
		svm_lwp_inhibit_avic(vcpu, false);
	else if (mode == LWP_MODE_IRET ? kvm_get_rflags(vcpu) & X86_EFLAGS_IF :
					 svm_lwp_mode_single(mode))
		svm_lwp_inhibit_avic(vcpu, true);
}

/* Arm or disarm the trap (43724-816). */
void svm_lwp_trap_return(struct kvm_vcpu *vcpu, bool on)
{
	struct vcpu_svm *svm = to_svm(vcpu);

	if (svm->lwp.trapping == on)
		return;
	svm->lwp.trapping = on;
	svm->vmcb->save.efer &= ~EFER_SCE;
	if (!on)
		svm->vmcb->save.efer |= vcpu->arch.efer & EFER_SCE;
	vmcb_mark_dirty(svm->vmcb, VMCB_CR);
}
