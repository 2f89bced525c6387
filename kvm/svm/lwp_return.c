// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The user-return trap: while LWP has to act when the guest returns to CPL 3 (a step, a store, a
 * retry), KVM traps the two usual instructions that return. IRET is intercepted and stepped over
 * with RFLAGS.TF. EFER.SCE is clear in the VMCB, so SYSCALL and SYSRET raise #UD: KVM's emulator
 * completes SYSCALL, this file completes SYSRET. RETF and SYSEXIT are not trapped: they have no
 * intercept, and no OS resumes a preempted program with them.
 */
#include "svm.h"
#include "x86.h"
#include "pmu.h"
#include "lwp_compat.h"
#include "lwp_inside.h"

/* MSR STAR has the base of SYSRET's selectors; these are at fixed distances from it. */
#define STAR_SYSRET_SHIFT 48
#define SYSRET_SS 8
#define SYSRET_CS64 16

/* Attributes of the code segment that SYSRET loads: present, DPL 3, code, readable, accessed. */
#define SVM_SELECTOR_ACCESSED 1
#define SYSRET_CS                                                                  \
	(SVM_SELECTOR_P_MASK | SVM_SELECTOR_S_MASK | SVM_SELECTOR_DPL_MASK |       \
	 SVM_SELECTOR_CODE_MASK | SVM_SELECTOR_READ_MASK | SVM_SELECTOR_ACCESSED | \
	 SVM_SELECTOR_G_MASK)

/* The bits of RFLAGS that SYSRET loads from R11. */
#define SYSRET_RFLAGS                                                                      \
	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | X86_EFLAGS_ZF | X86_EFLAGS_SF |   \
	 X86_EFLAGS_TF | X86_EFLAGS_IF | X86_EFLAGS_DF | X86_EFLAGS_OF | X86_EFLAGS_IOPL | \
	 X86_EFLAGS_NT | X86_EFLAGS_AC | X86_EFLAGS_VIF | X86_EFLAGS_VIP | X86_EFLAGS_ID)

/* The value of EFER for the VMCB, from the one that KVM would write. */
u64 svm_lwp_efer(struct vcpu_svm *svm, u64 efer)
{
	return svm->lwp.mode == LWP_MODE_OFF ? efer : efer & ~EFER_SCE;
}

/* How long AVIC stays inhibited behind the last step, in jiffies. */
#define AVIC_DELAY HZ

/*
 * AVIC delivers interrupts without an exit, and so would push LWP's RFLAGS.TF on the guest's stack.
 * It is inhibited in the whole VM while a vCPU may step. To set or clear the inhibit stops all
 * vCPUs, so it is cleared only when no vCPU has stepped for AVIC_DELAY: a program that the guest's
 * kernel parks and resumes does not toggle it. Called with svm_lwp.lock held.
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

/* Arm or disarm the trap, before the mode becomes another than LWP_MODE_OFF, or that. */
void svm_lwp_trap_return(struct kvm_vcpu *vcpu, bool on)
{
	struct vcpu_svm *svm = to_svm(vcpu);

	if ((svm->lwp.mode != LWP_MODE_OFF) == on)
		return;
	svm_lwp_inhibit_avic(vcpu, on);
	svm->vmcb->save.efer &= ~EFER_SCE;
	if (!on)
		svm->vmcb->save.efer |= vcpu->arch.efer & EFER_SCE;
	vmcb_mark_dirty(svm->vmcb, VMCB_CR);
}

/* Is 0F 07 at rIP, after at most a REX prefix in 64-bit code? *wide: REX.W. */
static bool svm_lwp_is_sysret(struct kvm_vcpu *vcpu, bool *wide)
{
	struct lwp_insn insn;

	if (!svm_lwp_insn_at_rip(vcpu, &insn))
		return false;
	*wide = insn.op_bits == 64;
	return insn.kind == LWP_INSN_SYSRET;
}

static void svm_lwp_load_cs(struct vcpu_svm *svm, u16 selector, bool code64)
{
	struct vmcb_seg *cs = &svm->vmcb->save.cs;

	cs->selector = selector | SEGMENT_RPL_MASK;
	cs->attrib = SYSRET_CS | (code64 ? SVM_SELECTOR_L_MASK : SVM_SELECTOR_DB_MASK);
	cs->base = 0;
	cs->limit = U32_MAX;
}

/*
 * SYSRET of a guest whose EFER.SCE is set, as AMD processors execute it: SS keeps its base, limit
 * and type, and a rIP that is not canonical faults at CPL 3. SS.DPL becomes 3, because KVM derives
 * CPL from it when user space sets the registers. True: the instruction was a SYSRET; *r is the
 * result of the exit handler.
 */
bool svm_lwp_sysret(struct kvm_vcpu *vcpu, int *r)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	struct vmcb_save_area *save = &svm->vmcb->save;
	u16 star = svm->vmcb01.ptr->save.star >> STAR_SYSRET_SHIFT;
	unsigned long rflags;
	bool wide;

	if (svm->lwp.mode == LWP_MODE_OFF || !(vcpu->arch.efer & EFER_SCE) ||
	    !svm_lwp_is_sysret(vcpu, &wide))
		return false;
	*r = 1;
	if (save->cpl) {
		kvm_queue_exception_e(vcpu, GP_VECTOR, 0);
		return true;
	}
	/* The guest's own counters, as for each instruction that KVM completes. */
	lwp_pmu_branch_retired(vcpu);
	if (is_long_mode(vcpu)) {
		rflags = kvm_register_read_raw(vcpu, VCPU_REGS_R11) & SYSRET_RFLAGS;
		svm_lwp_load_cs(svm, wide ? star + SYSRET_CS64 : star, wide);
	} else {
		rflags = kvm_get_rflags(vcpu) | X86_EFLAGS_IF;
		svm_lwp_load_cs(svm, star, false);
		wide = false;
	}
	save->ss.selector = (star + SYSRET_SS) | SEGMENT_RPL_MASK;
	save->ss.attrib |= SVM_SELECTOR_DPL_MASK;
	save->cpl = 3;
	svm->lwp.in_user = false;
	vmcb_mark_dirty(svm->vmcb, VMCB_SEG);
	kvm_rip_write(vcpu, wide ? kvm_rcx_read(vcpu) : (u32)kvm_rcx_read(vcpu));
	svm->vmcb->control.int_state &= ~SVM_INTERRUPT_SHADOW_MASK;
	kvm_set_rflags(vcpu, (rflags & ~X86_EFLAGS_RF) | X86_EFLAGS_FIXED);
	kvm_make_request(KVM_REQ_EVENT, vcpu);
	/* If SYSRET loads RFLAGS.TF, the trap comes before the first instruction at CPL 3. */
	if (rflags & X86_EFLAGS_TF)
		kvm_queue_exception_p(vcpu, DB_VECTOR, DR6_BS);
	return true;
}
