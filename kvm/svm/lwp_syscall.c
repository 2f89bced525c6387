// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * SYSCALL and SYSRET while EFER.SCE is clear in the VMCB (the user-return trap): both raise #UD.
 * This file completes SYSRET, and SYSCALL where there are shadow stacks. Without them KVM's
 * emulator completes SYSCALL; with them it gives up, which would end the VM.
 *
 * Outside of long mode there are also SYSENTER and SYSEXIT. While SYSENTER_CS is 0 they raise
 * #GP(0), and this file completes them. A guest that has switched SVM on keeps its SYSENTER_CS,
 * because its VMLOAD and VMSAVE carry it.
 */
#include "svm.h"
#include "x86.h"
#include "pmu.h"
#include "lwp_compat.h"
#include "lwp_layers.h"

/* MSR STAR has the selectors' bases; they are at fixed distances from these. */
#define STAR_SYSCALL_SHIFT 32
#define STAR_SYSRET_SHIFT 48
#define SYSCALL_SS 8
#define SYSRET_SS 8
#define SYSRET_CS64 16

/* MSR SYSENTER_CS has the first of four selectors. */
#define SYSENTER_SS 8
#define SYSEXIT_CS 16
#define SYSEXIT_SS 24

/* Attributes of the segments that they load: present, accessed; readable code, writable data. */
#define SVM_SELECTOR_ACCESSED 1
#define LOADED_SEGMENT \
	(SVM_SELECTOR_P_MASK | SVM_SELECTOR_S_MASK | SVM_SELECTOR_ACCESSED | SVM_SELECTOR_G_MASK)
#define LOADED_CS (LOADED_SEGMENT | SVM_SELECTOR_CODE_MASK | SVM_SELECTOR_READ_MASK)
#define LOADED_SS (LOADED_SEGMENT | SVM_SELECTOR_WRITE_MASK | SVM_SELECTOR_DB_MASK)

/* The bits of RFLAGS that SYSRET loads from R11. */
#define SYSRET_RFLAGS                                                                      \
	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | X86_EFLAGS_ZF | X86_EFLAGS_SF |   \
	 X86_EFLAGS_TF | X86_EFLAGS_IF | X86_EFLAGS_DF | X86_EFLAGS_OF | X86_EFLAGS_IOPL | \
	 X86_EFLAGS_NT | X86_EFLAGS_AC | X86_EFLAGS_VIF | X86_EFLAGS_VIP | X86_EFLAGS_ID)

static void svm_lwp_load_cs(struct vcpu_svm *svm, u16 selector, bool code64, u8 dpl)
{
	struct vmcb_seg *cs = &svm->vmcb->save.cs;

	cs->selector = selector;
	cs->attrib = LOADED_CS | (dpl ? SVM_SELECTOR_DPL_MASK : 0) |
		     (code64 ? SVM_SELECTOR_L_MASK : SVM_SELECTOR_DB_MASK);
	cs->base = 0;
	cs->limit = U32_MAX;
}

/* What both do at the end. If they load RFLAGS.TF, its trap comes before the next instruction. */
static void svm_lwp_arrive(struct kvm_vcpu *vcpu, u64 rip, unsigned long rflags)
{
	struct vcpu_svm *svm = to_svm(vcpu);

	vmcb_mark_dirty(svm->vmcb, VMCB_SEG);
	kvm_rip_write(vcpu, rip);
	svm->vmcb->control.int_state &= ~SVM_INTERRUPT_SHADOW_MASK;
	kvm_set_rflags(vcpu, (rflags & ~X86_EFLAGS_RF) | X86_EFLAGS_FIXED);
	kvm_make_request(KVM_REQ_EVENT, vcpu);
	if (rflags & X86_EFLAGS_TF)
		kvm_queue_exception_p(vcpu, DB_VECTOR, DR6_BS);
}

/* The instruction at rIP, if it is of this kind and raises #UD only for the user-return trap. */
static bool svm_lwp_trapped(struct kvm_vcpu *vcpu, enum lwp_insn_kind kind, struct lwp_insn *insn)
{
	return to_svm(vcpu)->lwp.trapping && vcpu->arch.efer & EFER_SCE &&
	       svm_lwp_insn_at_rip(vcpu, insn) && insn->kind == kind;
}

/*
 * SYSCALL of a guest with shadow stacks, as the processor executes it: SSP of a program goes to
 * PL3_SSP, and a kernel that has shadow stacks begins without one. True: the instruction was such a
 * SYSCALL; *r is the result of the exit handler.
 */
bool svm_lwp_syscall(struct kvm_vcpu *vcpu, int *r)
{
	struct vmcb_save_area *save = &to_svm(vcpu)->vmcb->save;
	struct vmcb_save_area *msrs = &to_svm(vcpu)->vmcb01.ptr->save;
	unsigned long rflags = kvm_get_rflags(vcpu) & ~X86_EFLAGS_RF;
	bool user = lwp_has_shstk(vcpu, true), kernel = lwp_has_shstk(vcpu, false);
	u16 selector = (msrs->star >> STAR_SYSCALL_SHIFT) & ~SEGMENT_RPL_MASK;
	bool code64 = is_64_bit_mode(vcpu);
	struct lwp_insn insn;
	u64 rip;

	if (!(user || kernel) || !svm_lwp_trapped(vcpu, LWP_INSN_SYSCALL, &insn))
		return false;
	*r = 1;
	/* The guest's own counters, as for each instruction that KVM completes. */
	lwp_pmu_branch_retired(vcpu);
	rip = kvm_rip_read(vcpu) + insn.length;
	kvm_register_write_raw(vcpu, VCPU_REGS_RCX, code64 ? rip : (u32)rip);
	if (is_long_mode(vcpu)) {
		kvm_register_write_raw(vcpu, VCPU_REGS_R11, rflags);
		rflags &= ~msrs->sfmask;
		rip = code64 ? msrs->lstar : msrs->cstar;
	} else {
		rflags &= ~(X86_EFLAGS_VM | X86_EFLAGS_IF);
		rip = (u32)msrs->star;
	}
	svm_lwp_load_cs(to_svm(vcpu), selector, is_long_mode(vcpu), 0);
	save->ss.selector = selector + SYSCALL_SS;
	save->ss.attrib = LOADED_SS;
	save->ss.base = 0;
	save->ss.limit = U32_MAX;
	if (user && save->cpl == 3)
		lwp_set_pl3_ssp(vcpu, lwp_ssp(vcpu));
	if (kernel)
		lwp_set_ssp(vcpu, 0);
	save->cpl = 0;
	svm_lwp_arrive(vcpu, rip, rflags);
	return true;
}

/*
 * SYSRET of a guest whose EFER.SCE is set, as AMD processors execute it: SS keeps its base, limit
 * and type, and a rIP that is not canonical faults at CPL 3. SS.DPL becomes 3, because KVM derives
 * CPL from it when user space sets the registers. A program that has a shadow stack gets SSP from
 * PL3_SSP. True: the instruction was a SYSRET; *r is the result of the exit handler (43724-702).
 */
bool svm_lwp_sysret(struct kvm_vcpu *vcpu, int *r)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	struct vmcb_save_area *save = &svm->vmcb->save;
	u16 star = svm->vmcb01.ptr->save.star >> STAR_SYSRET_SHIFT;
	struct lwp_insn insn;
	unsigned long rflags;
	bool wide;

	if (!svm_lwp_trapped(vcpu, LWP_INSN_SYSRET, &insn))
		return false;
	*r = 1;
	if (save->cpl) {
		kvm_queue_exception_e(vcpu, GP_VECTOR, 0);
		return true;
	}
	/* The guest's own counters, as for each instruction that KVM completes. */
	lwp_pmu_branch_retired(vcpu);
	wide = is_long_mode(vcpu) && insn.op_bits == 64;
	if (is_long_mode(vcpu))
		rflags = kvm_register_read_raw(vcpu, VCPU_REGS_R11) & SYSRET_RFLAGS;
	else
		rflags = kvm_get_rflags(vcpu) | X86_EFLAGS_IF;
	svm_lwp_load_cs(svm, (wide ? star + SYSRET_CS64 : star) | SEGMENT_RPL_MASK, wide, 3);
	save->ss.selector = (star + SYSRET_SS) | SEGMENT_RPL_MASK;
	save->ss.attrib |= SVM_SELECTOR_DPL_MASK;
	save->cpl = 3;
	if (lwp_has_shstk(vcpu, true))
		lwp_set_ssp(vcpu, lwp_pl3_ssp(vcpu));
	svm->lwp.in_user = false;
	svm_lwp_arrive(vcpu, wide ? kvm_rcx_read(vcpu) : (u32)kvm_rcx_read(vcpu), rflags);
	return true;
}

u64 *svm_lwp_sysenter_cs(struct vcpu_svm *svm)
{
	return svm->lwp.sysenter_trapped ? &svm->lwp.sysenter_cs :
					   &svm->vmcb01.ptr->save.sysenter_cs;
}

/* The user-return trap was armed or disarmed, or the guest may have entered or left long mode. */
void svm_lwp_trap_sysenter(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	bool on = lwp->trapping && !is_long_mode(vcpu) && !(vcpu->arch.efer & EFER_SVME);

	if (lwp->sysenter_trapped == on)
		return;
	swap(to_svm(vcpu)->vmcb01.ptr->save.sysenter_cs, lwp->sysenter_cs);
	lwp->sysenter_trapped = on;
	svm_lwp_recalc_msr_intercepts(vcpu);
}

/* The segments that SYSENTER and SYSEXIT load, and CPL. */
static void svm_lwp_load_fast(struct vcpu_svm *svm, u16 cs, u16 ss, u8 cpl)
{
	struct vmcb_save_area *save = &svm->vmcb->save;

	svm_lwp_load_cs(svm, cs | cpl, false, cpl);
	save->ss.selector = ss | cpl;
	save->ss.attrib = LOADED_SS | (cpl ? SVM_SELECTOR_DPL_MASK : 0);
	save->ss.base = 0;
	save->ss.limit = U32_MAX;
	save->cpl = cpl;
}

/*
 * #GP was intercepted. True: only the trap has raised it, and SYSENTER or SYSEXIT is completed
 * (43724-702).
 */
bool svm_lwp_sysenter(struct kvm_vcpu *vcpu)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	const struct vmcb_save_area *msrs = &svm->vmcb01.ptr->save;
	unsigned long rflags = kvm_get_rflags(vcpu);
	u16 cs = svm->lwp.sysenter_cs & ~SEGMENT_RPL_MASK;
	struct lwp_insn insn;

	if (!svm->lwp.sysenter_trapped || !cs || svm->vmcb->control.exit_info_1 ||
	    !is_protmode(vcpu) || !svm_lwp_insn_at_rip(vcpu, &insn))
		return false;
	if (insn.kind == LWP_INSN_SYSENTER) {
		svm_lwp_load_fast(svm, cs, cs + SYSENTER_SS, 0);
		kvm_rsp_write(vcpu, (u32)msrs->sysenter_esp);
		svm_lwp_arrive(vcpu, (u32)msrs->sysenter_eip,
			       rflags & ~(X86_EFLAGS_VM | X86_EFLAGS_IF));
	} else if (insn.kind == LWP_INSN_SYSEXIT && !svm->vmcb->save.cpl) {
		svm_lwp_load_fast(svm, cs + SYSEXIT_CS, cs + SYSEXIT_SS, 3);
		kvm_rsp_write(vcpu, (u32)kvm_rcx_read(vcpu));
		svm->lwp.in_user = false;
		svm_lwp_arrive(vcpu, (u32)kvm_rdx_read(vcpu), rflags);
	} else {
		return false;
	}
	/* The guest's own counters, as for each instruction that KVM completes. */
	lwp_pmu_branch_retired(vcpu);
	return true;
}
