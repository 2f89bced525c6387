// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The next instruction at CPL 3 while KVM steps: what it is, how it counts, and whether the
 * processor or KVM's emulator executes it.
 */
#include <asm/debugreg.h>

#include "svm.h"
#include "x86.h"
#include "lwp_layers.h"

/* How often the next instruction is looked at while another vCPU changes the code. */
#define LWP_LOOKS 4

/* Class of a near branch for the engine (43724-716, 43724-717, 2007-707, 2007-708). */
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
 * Set how the next instruction counts. If its target cannot be read, the branch itself will fault
 * (43724-507, 43724-718).
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

/* Look at the instruction at rIP (43724-714, 2007-714). */
void svm_lwp_look(struct kvm_vcpu *vcpu)
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

/* What breakpoint i waits for, DR_RW_*; -1: it is not enabled. */
int svm_lwp_breakpoint_type(u64 dr7, int i)
{
	u64 enabled = dr7 >> (i * DR_ENABLE_SIZE) & (DR_LOCAL_ENABLE | DR_GLOBAL_ENABLE);

	return enabled ? dr7 >> (DR_CONTROL_SHIFT + i * DR_CONTROL_SIZE) & DR_RW_READ : -1;
}

/*
 * Does the processor stop before it executes this instruction: at a breakpoint, or because the
 * guest's hypervisor intercepts it?
 */
static bool svm_lwp_stops_before(struct kvm_vcpu *vcpu, const struct svm_lwp_next *next)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	u64 dr7 = svm->vmcb->save.dr7;
	int i;

	if (next->insn.kind == LWP_INSN_PUSHF && svm_is_intercept(svm, INTERCEPT_PUSHF))
		return true;
	if (next->insn.kind == LWP_INSN_POPF && svm_is_intercept(svm, INTERCEPT_POPF))
		return true;
	if (svm->vmcb->save.rflags & X86_EFLAGS_RF)
		return false;
	for (i = 0; i < KVM_NR_DB_REGS; i++) {
		if (svm_lwp_breakpoint_type(dr7, i) == DR_RW_EXECUTE &&
		    vcpu->arch.eff_db[i] == next->retired.address)
			return true;
	}
	return false;
}

/*
 * How to make the next instruction retire without the guest seeing the flag. KVM's emulator makes
 * no check that comes before execution; the processor makes it when it runs the instruction.
 */
enum svm_lwp_mode svm_lwp_way(struct kvm_vcpu *vcpu, const struct svm_lwp_next *next)
{
	if (!next->known)
		return LWP_MODE_STEP;
	switch (next->insn.kind) {
	case LWP_INSN_PUSHF:
	case LWP_INSN_POPF:
	case LWP_INSN_MOV_SS:
	case LWP_INSN_POP_SS:
		return svm_lwp_stops_before(vcpu, next) ? LWP_MODE_PASS : LWP_MODE_EMULATE;
	case LWP_INSN_IRET:
		return LWP_MODE_IRET;
	case LWP_INSN_INTO:
		return kvm_get_rflags(vcpu) & X86_EFLAGS_OF ? LWP_MODE_PASS : LWP_MODE_STEP;
	case LWP_INSN_INT:
	case LWP_INSN_INT3:
	case LWP_INSN_ICEBP:
	case LWP_INSN_SYSCALL:
	case LWP_INSN_SYSENTER:
	case LWP_INSN_LLWPCB:
	case LWP_INSN_SLWPCB:
	case LWP_INSN_LWPINS:
	case LWP_INSN_LWPVAL:
		return LWP_MODE_PASS;
	default:
		return LWP_MODE_STEP;
	}
}

/* Has KVM's emulator decoded one of the four instructions, the one of this kind? */
static bool svm_lwp_decoded(const struct x86_emulate_ctxt *ctxt, u8 kind)
{
	if (ctxt->opcode_len != 1)
		return false;
	switch (kind) {
	case LWP_INSN_PUSHF:
		return ctxt->b == 0x9c;
	case LWP_INSN_POPF:
		return ctxt->b == 0x9d;
	case LWP_INSN_MOV_SS:
		return ctxt->b == 0x8e && ctxt->modrm_reg == VCPU_SREG_SS;
	case LWP_INSN_POP_SS:
		return ctxt->b == 0x17;
	default:
		return false;
	}
}

/*
 * Have KVM's emulator decode the instruction that it is to execute. It reads the bytes again, and
 * another vCPU may have changed them since svm_lwp_look(). It must not execute any other
 * instruction for a program at CPL 3, so look again if it has decoded another one. If its decoder
 * does not accept the instruction, the processor runs it.
 */
enum svm_lwp_mode svm_lwp_confirm(struct kvm_vcpu *vcpu, enum svm_lwp_mode mode)
{
	struct svm_lwp_next *next = &to_svm(vcpu)->lwp.next;
	int looks = LWP_LOOKS;

	while (mode == LWP_MODE_EMULATE) {
		if (x86_decode_emulated_instruction(vcpu, 0, NULL, 0) == EMULATION_OK &&
		    svm_lwp_decoded(vcpu->arch.emulate_ctxt, next->insn.kind))
			return mode;
		svm_lwp_look(vcpu);
		if (!--looks)
			next->known = false;
		mode = svm_lwp_way(vcpu, next);
	}
	return mode;
}

/*
 * Emulate the next instruction, which svm_lwp_confirm() has decoded. MOV SS and POP SS delay a
 * single-step trap by one instruction, which the emulator does not do.
 */
int svm_lwp_emulate(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	enum lwp_insn_kind kind = lwp->next.insn.kind;
	bool ss = kind == LWP_INSN_MOV_SS || kind == LWP_INSN_POP_SS;
	u64 ip = lwp->next.ip;
	int r;

	if (ss)
		vcpu->arch.emulate_ctxt->tf = false;
	r = kvm_emulate_instruction(vcpu, EMULTYPE_NO_DECODE);
	if (ss)
		lwp->ss_shadow = kvm_rip_read(vcpu) != ip;
	return r;
}
