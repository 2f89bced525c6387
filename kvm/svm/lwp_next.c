// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The next instruction at CPL 3 while KVM steps: what it is, how it counts, and how it is stepped.
 */
#include <asm/debugreg.h>

#include "svm.h"
#include "x86.h"
#include "lwp_layers.h"

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
	r->target = svm_lwp_linear(vcpu, target);
}

static bool svm_lwp_has_shadow(const struct svm_lwp_next *next)
{
	return next->known &&
	       (next->insn.kind == LWP_INSN_MOV_SS || next->insn.kind == LWP_INSN_POP_SS);
}

/* Look at the instruction at an offset in CS. */
static void svm_lwp_look_at(struct kvm_vcpu *vcpu, u64 ip, struct svm_lwp_next *next)
{
	memset(next, 0, sizeof(*next));
	next->valid = true;
	next->ip = ip;
	next->retired.address = svm_lwp_linear(vcpu, ip);
	next->known = svm_lwp_insn_at(vcpu, next->retired.address, &next->insn);
	if (next->known)
		svm_lwp_describe(vcpu, next);
}

/* Look at the instruction at rIP, and at the one behind MOV SS or POP SS (43724-714, 2007-714). */
void svm_lwp_look(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct svm_lwp_next *next = &lwp->next;

	svm_lwp_look_at(vcpu, kvm_rip_read(vcpu), next);
	lwp->behind.valid = false;
	if (svm_lwp_has_shadow(next))
		svm_lwp_look_at(vcpu, lwp_insn_next_ip(&next->insn, next->ip), &lwp->behind);
}

/* What breakpoint i waits for, DR_RW_*; -1: it is not enabled. */
int svm_lwp_breakpoint_type(u64 dr7, int i)
{
	u64 enabled = dr7 >> (i * DR_ENABLE_SIZE) & (DR_LOCAL_ENABLE | DR_GLOBAL_ENABLE);

	return enabled ? dr7 >> (DR_CONTROL_SHIFT + i * DR_CONTROL_SIZE) & DR_RW_READ : -1;
}

/*
 * The bits DR6.B0 to B3 of a step that are the guest's own. The processor may also report
 * conditions of breakpoints that are not enabled; they are dropped. So are enabled breakpoints on
 * instructions: these fault before their instruction, and will come by themselves.
 */
u64 svm_lwp_watchpoints(u64 dr6, u64 dr7)
{
	u64 hit = 0;
	int i;

	for (i = 0; i < KVM_NR_DB_REGS; i++) {
		if (svm_lwp_breakpoint_type(dr7, i) > DR_RW_EXECUTE)
			hit |= dr6 & (DR_TRAP0 << i);
	}
	return hit;
}

/*
 * How to make the next instruction retire without the guest seeing RFLAGS.TF. The trap of a step
 * over MOV SS or POP SS comes behind the next one, so that decides.
 */
enum svm_lwp_mode svm_lwp_way(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	const struct svm_lwp_next *last = lwp->behind.valid ? &lwp->behind : &lwp->next;

	lwp->net.of = (struct lwp_net){};
	if (!last->known)
		return LWP_MODE_STEP;
	switch (last->insn.kind) {
	case LWP_INSN_PUSHF:
	case LWP_INSN_POPF:
	case LWP_INSN_MOV_SS:
	case LWP_INSN_POP_SS:
		lwp->net.of.cut[0] = lwp_insn_next_ip(&last->insn, last->ip);
		lwp->net.of.cuts = 1;
		return LWP_MODE_OVER;
	case LWP_INSN_IRET:
		/* It is intercepted behind MOV SS. */
		return lwp->behind.valid ? LWP_MODE_OVER : LWP_MODE_IRET;
	case LWP_INSN_INTO:
		if (!(kvm_get_rflags(vcpu) & X86_EFLAGS_OF))
			return LWP_MODE_STEP;
		fallthrough;
	case LWP_INSN_INT:
	case LWP_INSN_INT3:
	case LWP_INSN_ICEBP:
	case LWP_INSN_SYSCALL:
	case LWP_INSN_SYSENTER:
	case LWP_INSN_LLWPCB:
	case LWP_INSN_SLWPCB:
	case LWP_INSN_LWPINS:
	case LWP_INSN_LWPVAL:
		return lwp->behind.valid ? LWP_MODE_OVER : LWP_MODE_PASS;
	default:
		return LWP_MODE_STEP;
	}
}
