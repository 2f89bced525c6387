// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Breakpoints in DR0 to DR3 around VMRUN: of nets, and behind an instruction that shows or loads
 * RFLAGS.TF (LWP_MODE_OVER, svm_lwp_way()). KVM restores the host's after #VMEXIT.
 *
 * Nets: with `exact` delivery the last events before a record pass up to breakpoints that cut each
 * way of the program before the due one (lwp_net.h); the counter says how many passed. The program
 * runs without RFLAGS.TF, so there is nothing to hide from it. There is no net while the guest or
 * user space has breakpoints. A way out of CPL 3 leads to an exit before the return: each return is
 * intercepted while a net is out, as it is for steps.
 *
 * What an entry has passed is compared with the longest way of its net. If it is more, the vCPU
 * steps DOUBT instructions, twice as many the next time, and tries again. An event that passed is
 * an overshoot, which lwp_source.c counts. Where there is no net the vCPU steps, too.
 */
#include <asm/debugreg.h>

#include "svm.h"
#include "x86.h"
#include "lwp_compat.h"
#include "lwp_layers.h"

/* With fewer events left an instruction is stepped. */
#define LEAST_LEFT 16
#define DOUBT 1024
#define MOST_DOUBT (DOUBT << 10)

static bool svm_lwp_net_possible(struct kvm_vcpu *vcpu)
{
	const struct vcpu_svm *svm = to_svm(vcpu);
	const struct vmcb *vmcb = svm->vmcb;

	return !(to_kvm_svm(vcpu->kvm)->lwp.policy.flags & KVM_LWP_NO_NET) && !svm->lwp.net.off &&
	       svm->lwp.engine.delivery == LWP_DELIVERY_EXACT && svm_lwp_source_perf() &&
	       !svm_lwp_clock_steps(&svm->lwp.engine) && !is_guest_mode(vcpu) &&
	       !vcpu->arch.switch_db_regs && !(vmcb->control.int_state & SVM_INTERRUPT_SHADOW_MASK);
}

/*
 * Is it worth arming the source, if it is not? perf schedules all events of the thread again for
 * that, and a counter of the guest's own with one event left interrupts one late.
 */
static bool svm_lwp_nets_pay(const struct svm_lwp *lwp, const u64 left[LWP_KINDS])
{
	return svm_lwp_source_nets(lwp) ||
	       (left[LWP_KIND_IRE] >= LEAST_LEFT && left[LWP_KIND_BRE] >= LEAST_LEFT);
}

/* Has the last entry with a net passed no more than it holds? `left`: until one is due, now. */
static void svm_lwp_net_judge(struct kvm_vcpu *vcpu, const u64 left[LWP_KINDS])
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct svm_lwp_net *n = &lwp->net;

	if (lwp->mode != LWP_MODE_NET || !svm_lwp_source_nets(lwp))
		return;
	if ((left[LWP_KIND_IRE] == LWP_BUDGET_NEVER ||
	     n->left[LWP_KIND_IRE] - left[LWP_KIND_IRE] <= n->of.insns) &&
	    (left[LWP_KIND_BRE] == LWP_BUDGET_NEVER ||
	     n->left[LWP_KIND_BRE] - left[LWP_KIND_BRE] <= n->of.branches))
		return;
	n->doubt = n->doubt ? min_t(u32, 2 * n->doubt, MOST_DOUBT) : DOUBT;
	n->off = n->doubt;
}

/*
 * RET, and JMP whose target is in memory, which another vCPU may change: KVM goes there itself, if
 * neither is due and nothing can fault.
 */
static bool svm_lwp_net_go(struct kvm_vcpu *vcpu, const u64 left[LWP_KINDS])
{
	struct lwp_retired r = {
		.address = kvm_get_linear_rip(vcpu),
		.branch = LWP_BRANCH_ABSOLUTE,
		.taken = true,
	};
	struct svm_lwp_reader reader;
	struct lwp_access access = svm_lwp_access(&reader, vcpu);
	struct lwp_insn insn;

	if (left[LWP_KIND_IRE] < 3 || left[LWP_KIND_BRE] < 3 ||
	    svm_lwp_code_bits(vcpu) != LWP_CODE64 || lwp_has_shstk(vcpu, true) ||
	    lwp_branches_recorded(to_svm(vcpu)->vmcb) || !svm_lwp_insn_at_rip(vcpu, &insn) ||
	    insn.op_bits != 64)
		return false;
	/* A longer RET has an operand. */
	if (!(insn.kind == LWP_INSN_RET && insn.length <= 2) &&
	    !(insn.kind == LWP_INSN_JMP_IND && insn.rm.is_mem))
		return false;
	if (lwp_insn_target(&insn, kvm_rip_read(vcpu), &access, &r.target) || reader.not_ram ||
	    is_noncanonical_address(r.target, vcpu, 0))
		return false;
	svm_lwp_source_retired(vcpu, &r);
	if (insn.kind == LWP_INSN_RET)
		kvm_rsp_write(vcpu, kvm_rsp_read(vcpu) + 8);
	kvm_rip_write(vcpu, r.target);
	to_svm(vcpu)->vmcb->save.rflags &= ~X86_EFLAGS_RF;
	lwp_pmu_branch_retired(vcpu);
	return true;
}

static unsigned int svm_lwp_net_fetch(void *ctx, u64 ip, u8 *bytes)
{
	return svm_lwp_code_at(ctx, svm_lwp_linear(ctx, ip), bytes, LWP_NET_BYTES);
}

static bool svm_lwp_net_lay(struct kvm_vcpu *vcpu, const u64 left[LWP_KINDS])
{
	struct svm_lwp_reader reader;
	struct lwp_access access = svm_lwp_access(&reader, vcpu);
	const struct lwp_net_code code = {
		.ctx = vcpu,
		.bits = svm_lwp_code_bits(vcpu),
		.access = &access,
		.fetch = svm_lwp_net_fetch,
	};

	return code.bits != LWP_CODE16 &&
	       lwp_net_lay(&code, kvm_rip_read(vcpu), left[LWP_KIND_IRE], left[LWP_KIND_BRE],
			   &to_svm(vcpu)->lwp.net.of);
}

/*
 * Before an instruction at CPL 3, where the next event is near, with the lock held. True: enter
 * with a net; the source counts.
 */
bool svm_lwp_net(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct svm_lwp_net *n = &lwp->net;
	u64 left[LWP_KINDS];

	if (n->off)
		n->off--;
	if (svm_lwp_net_possible(vcpu)) {
		svm_lwp_source_left(vcpu, left);
		svm_lwp_net_judge(vcpu, left);
		if (!n->off && svm_lwp_nets_pay(lwp, left) && svm_lwp_source_arm_nets(vcpu, left)) {
			if (svm_lwp_net_go(vcpu, left))
				svm_lwp_source_left(vcpu, left);
			memcpy(n->left, left, sizeof(left));
			if (svm_lwp_net_lay(vcpu, left))
				return true;
		}
	}
	if (svm_lwp_source_nets(lwp))
		svm_lwp_source_pause(vcpu);
	return false;
}

/*
 * #DB was intercepted, in a mode with breakpoints. True: only LWP's raised it. False: the handler
 * of #DB continues, with what others wait for in DR6.
 */
bool svm_lwp_net_db(struct kvm_vcpu *vcpu)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	u64 dr6 = svm->vmcb->save.dr6, slots = svm->lwp.net.slots, others;

	if (!(dr6 & slots))
		return false;
	others = svm_lwp_watchpoints(dr6, svm->vmcb->save.dr7) & ~slots;
	if (svm_lwp_stepped(svm))
		others |= DR6_BS;
	if (svm->lwp.mode == LWP_MODE_NET)
		vcpu->stat.lwp_steps++;
	svm_lwp_set_mode(svm, "db", svm->lwp.mode);
	svm->vmcb->save.dr6 = DR6_ACTIVE_LOW | others;
	vmcb_mark_dirty(svm->vmcb, VMCB_DR);
	return !others;
}

/*
 * The register for one more breakpoint: a free one, else one that waits for code elsewhere. If all
 * four wait for data, DR3 misses it for one instruction.
 */
static unsigned int svm_lwp_free_slot(u64 dr7)
{
	int want, i;

	for (want = -1; want <= DR_RW_EXECUTE; want++) {
		for (i = 0; i < KVM_NR_DB_REGS; i++) {
			if (svm_lwp_breakpoint_type(dr7, i) == want)
				return i;
		}
	}
	return KVM_NR_DB_REGS - 1;
}

/* Right before VMRUN, IRQs off. KVM loads the breakpoints of others before each entry. */
void svm_lwp_net_entering(struct vcpu_svm *svm)
{
	struct svm_lwp_net *n = &svm->lwp.net;
	u64 dr7 = svm->vmcb->save.dr7;
	unsigned int slot;
	u32 i;

	if (svm->lwp.mode != LWP_MODE_NET && svm->lwp.mode != LWP_MODE_OVER)
		return;
	n->others_dr7 = dr7;
	n->slots = 0;
	for (i = 0; i < n->of.cuts; i++) {
		slot = svm_lwp_free_slot(dr7);
		set_debugreg(svm_lwp_linear(&svm->vcpu, n->of.cut[i]), slot);
		dr7 &= ~(0xfULL << (DR_CONTROL_SHIFT + slot * DR_CONTROL_SIZE));
		dr7 |= (u64)DR_GLOBAL_ENABLE << (slot * DR_ENABLE_SIZE);
		n->slots |= DR_TRAP0 << slot;
	}
	svm->vmcb->save.dr7 = dr7;
	vmcb_mark_dirty(svm->vmcb, VMCB_DR);
	n->rf = n->of.again && !(svm->vmcb->save.rflags & X86_EFLAGS_RF);
	if (n->rf)
		svm->vmcb->save.rflags |= X86_EFLAGS_RF;
}

/* After #VMEXIT, IRQs off. */
void svm_lwp_net_exited(struct vcpu_svm *svm)
{
	struct svm_lwp_net *n = &svm->lwp.net;

	if (svm->lwp.mode != LWP_MODE_NET && svm->lwp.mode != LWP_MODE_OVER)
		return;
	svm->vmcb->save.dr7 = n->others_dr7;
	vmcb_mark_dirty(svm->vmcb, VMCB_DR);
	if (n->rf)
		svm->vmcb->save.rflags &= ~(u64)X86_EFLAGS_RF;
}
