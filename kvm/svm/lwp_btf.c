// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Steps over branches. With `exact` delivery the last events before a record are stepped. With
 * DEBUGCTL.BTF a step ends after the next taken branch instead of the next instruction, and the
 * counter says how many instructions that were. So KVM steps instructions only when the one that
 * is due, or one that needs care, is next. Where one of these ends the straight line ahead
 * (lwp_line.h), DR0 is on it, unless someone else uses the debug registers.
 *
 * The processor switches DEBUGCTL with LBR virtualization only. Without it the guest runs with what
 * KVM has loaded, which is the guest's value: KVM never gives its guests BTF. So BTF is set after
 * the place where svm_vcpu_run() loads the guest's value, and the host's value is written after
 * #VMEXIT. A processor may clear the bit at #DB; it is written at each entry.
 *
 * What a vCPU cannot trust it does not use: if an entry passes more than its line has, or traps
 * before a branch (lwp_line_explains()), the vCPU steps DOUBT instructions, twice as many the next
 * time, and tries again. An event that passed is an overshoot, which lwp_source.c counts. A row
 * with btf=0 says that it need not be tried.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <asm/debugreg.h>

#include "svm.h"
#include "x86.h"
#include "lwp_compat.h"
#include "lwp_layers.h"

/* Fewer events than this are stepped. */
#define LEAST_LEFT 16
#define DOUBT 1024
#define MOST_DOUBT (DOUBT << 10)

static bool usable;

/* Does the processor, or the hypervisor below, keep the bit? RFLAGS.TF is clear here. */
static bool svm_lwp_btf_kept(void)
{
	u64 old, now;

	guard(irqsave)();
	if (rdmsrq_safe(MSR_IA32_DEBUGCTLMSR, &old) ||
	    wrmsrq_safe(MSR_IA32_DEBUGCTLMSR, old | DEBUGCTLMSR_BTF))
		return false;
	rdmsrq(MSR_IA32_DEBUGCTLMSR, now);
	wrmsrq(MSR_IA32_DEBUGCTLMSR, old);
	return now == (old | DEBUGCTLMSR_BTF);
}

/* At load, after the source has been chosen: it must be one that can be read while it counts. */
void svm_lwp_btf_setup(void)
{
	if (!svm_lwp_source_readable())
		return;
	usable = svm_lwp_btf_kept();
	if (!usable)
		pr_info("LWP: DEBUGCTL.BTF cannot be set, so each instruction is stepped\n");
}

/*
 * May this entry set TF and BTF? Not if someone else steps, nor in the shadow of an instruction
 * that delays traps, nor if the guest records branches, because then DEBUGCTL is in the VMCB.
 */
static bool svm_lwp_btf_possible(struct kvm_vcpu *vcpu)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	const struct vmcb *vmcb = svm->vmcb;

	return usable && !svm->lwp.btf.off && !svm_lwp_row_no_btf() &&
	       svm->lwp.engine.delivery == LWP_DELIVERY_EXACT &&
	       !svm_lwp_clock_steps(&svm->lwp.engine) && !is_guest_mode(vcpu) &&
	       !(vmcb->save.rflags & X86_EFLAGS_TF) &&
	       !(vmcb->control.int_state & SVM_INTERRUPT_SHADOW_MASK) &&
	       !lwp_branches_recorded(vmcb);
}

/* Events that have passed since the last entry; ~0: not counted. */
static u64 svm_lwp_btf_passed(const struct svm_lwp_btf *b, const u64 left[LWP_KINDS],
			      enum lwp_kind kind)
{
	return left[kind] == LWP_BUDGET_NEVER ? ~(u64)0 : b->left[kind] - left[kind];
}

/* Did the last entry do what BTF is for? `left`: events until one is due, now. */
static void svm_lwp_btf_judge(struct kvm_vcpu *vcpu, const u64 left[LWP_KINDS])
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct svm_lwp_btf *b = &lwp->btf;

	if (lwp->mode != LWP_MODE_BRANCH || !svm_lwp_source_branches(lwp) ||
	    lwp_line_explains(&b->line, svm_lwp_btf_passed(b, left, LWP_KIND_IRE),
			      svm_lwp_btf_passed(b, left, LWP_KIND_BRE), b->trapped))
		return;
	b->doubt = b->doubt ? min_t(u32, 2 * b->doubt, MOST_DOUBT) : DOUBT;
	b->off = b->doubt;
	pr_warn_once("LWP: no trap at a branch: a vCPU steps each instruction for a while\n");
}

/*
 * May LWP use DR0? KVM loads DR0 to DR3 for the guest or for user space if one of them uses them;
 * after #VMEXIT it restores the host's if the host does.
 */
static bool svm_lwp_guard_possible(const struct kvm_vcpu *vcpu)
{
	return !vcpu->arch.switch_db_regs && !vcpu->guest_debug;
}

/* Can the line at rIP run with BTF? Fills *line. */
static bool svm_lwp_btf_line(struct kvm_vcpu *vcpu, const u64 left[LWP_KINDS],
			     struct lwp_line *line)
{
	enum lwp_code_bits bits = svm_lwp_code_bits(vcpu);
	u8 bytes[LWP_LINE_BYTES];
	unsigned int count;

	if (bits == LWP_CODE16)
		return false;
	count = svm_lwp_code_at_rip(vcpu, bytes, sizeof(bytes));
	return count &&
	       lwp_line_ends(bytes, count, bits, left[LWP_KIND_IRE], left[LWP_KIND_BRE], line) &&
	       (!line->guard || svm_lwp_guard_possible(vcpu));
}

/*
 * Is it worth arming the source, if it is not? perf schedules all events of the thread again for
 * that, and a counter of the guest's own with one event left interrupts one late.
 */
static bool svm_lwp_btf_pays(const struct svm_lwp *lwp, const u64 left[LWP_KINDS])
{
	return svm_lwp_source_branches(lwp) ||
	       (left[LWP_KIND_IRE] >= LEAST_LEFT && left[LWP_KIND_BRE] >= LEAST_LEFT);
}

/*
 * Before an instruction at CPL 3 that must be stepped, with the lock held. True: enter with BTF;
 * the source counts. False: step the instruction; no counter runs.
 */
bool svm_lwp_btf_step(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	u64 left[LWP_KINDS];

	if (lwp->btf.off)
		lwp->btf.off--;
	if (svm_lwp_btf_possible(vcpu)) {
		svm_lwp_source_left(vcpu, left);
		svm_lwp_btf_judge(vcpu, left);
		lwp->btf.trapped = false;
		if (!lwp->btf.off && svm_lwp_btf_pays(lwp, left) &&
		    svm_lwp_btf_line(vcpu, left, &lwp->btf.line) &&
		    svm_lwp_source_arm_branches(vcpu, left)) {
			memcpy(lwp->btf.left, left, sizeof(left));
			return true;
		}
	}
	/* A source that counts in software continues. */
	if (svm_lwp_source_branches(lwp))
		svm_lwp_source_pause(vcpu);
	return false;
}

/*
 * #DB was intercepted. True: it ended a step over branches, by its trap or by DR0, which is a fault.
 */
bool svm_lwp_btf_db(struct kvm_vcpu *vcpu)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	struct svm_lwp_btf *b = &svm->lwp.btf;

	if (svm->lwp.mode != LWP_MODE_BRANCH)
		return false;
	b->trapped = svm_lwp_stepped(svm);
	if (!b->trapped && !(b->line.guard && svm->vmcb->save.dr6 & DR_TRAP0))
		return false;
	vcpu->stat.lwp_steps++;
	return true;
}

/* DR7: DR0 for instructions, or the guest's own, which has no breakpoint then. */
static void svm_lwp_set_dr7(struct vcpu_svm *svm, u64 dr7)
{
	svm->vmcb->save.dr7 = dr7;
	vmcb_mark_dirty(svm->vmcb, VMCB_DR);
}

/* Right before VMRUN, IRQs off. */
void svm_lwp_btf_entering(struct vcpu_svm *svm)
{
	struct svm_lwp_btf *b = &svm->lwp.btf;

	if (svm->lwp.mode != LWP_MODE_BRANCH)
		return;
	update_debugctlmsr(svm->vmcb->save.dbgctl | DEBUGCTLMSR_BTF);
	if (!b->line.guard)
		return;
	b->others_dr7 = svm->vmcb->save.dr7;
	set_debugreg(kvm_get_linear_rip(&svm->vcpu) + b->line.guard, 0);
	svm_lwp_set_dr7(svm, DR7_FIXED_1 | DR_GLOBAL_ENABLE);
}

/*
 * After #VMEXIT, IRQs off. svm_vcpu_run() loads the host's value only if it differs from the
 * guest's, so it may be left to do.
 */
void svm_lwp_btf_exited(struct vcpu_svm *svm)
{
	if (svm->lwp.mode != LWP_MODE_BRANCH)
		return;
	update_debugctlmsr(svm->vcpu.arch.host_debugctl);
	if (svm->lwp.btf.line.guard)
		svm_lwp_set_dr7(svm, svm->lwp.btf.others_dr7);
}
