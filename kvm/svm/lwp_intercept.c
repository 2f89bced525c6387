// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The intercepts that KVM has for LWP, exceptions that LWP raises, statistics.
 */
#include "svm.h"
#include "cpuid.h"
#include "smm.h"
#include "x86.h"
#include "lwp_compat.h"
#include "lwp_layers.h"

/*
 * Add bits to, or remove them from, the intercepts that KVM has only for LWP. All of them are there
 * or none. KVM's own are not affected.
 */
void svm_lwp_intercept(struct vcpu_svm *svm, int word, u32 bits, bool on)
{
	if ((svm->extra_intercepts[word] & bits) == (on ? bits : 0))
		return;
	svm->extra_intercepts[word] ^= bits;
	lwp_intercepts_changed(svm);
}

/* Is this exception intercepted for LWP only? */
bool svm_lwp_excepts(const struct vcpu_svm *svm, u32 vector)
{
	return vector < 32 && svm->extra_intercepts[INTERCEPT_EXCEPTION] &
				      ~svm->intercepts[INTERCEPT_EXCEPTION] & BIT(vector);
}

/* Has the last entry ended with the trap of a step? */
bool svm_lwp_stepped(const struct vcpu_svm *svm)
{
	return svm->vmcb->control.exit_code == SVM_EXIT_EXCP_BASE + DB_VECTOR &&
	       (svm->vmcb->save.dr6 ^ DR6_ACTIVE_LOW) & DR6_BS;
}

/* Does the state count events of this kind (43724-701, 43724-820, 2007-701)? */
bool svm_lwp_counts(const struct lwp_engine *e, enum lwp_kind kind)
{
	u8 id = e->rev->event_id[kind];

	return id && !lwp_state_deferred(&e->st) && e->st.flags & lwp_engine_avail(e) & LWP_BIT(id);
}

/* n events of a kind have passed. `here`: the vCPU is at CPL 3, before the instruction at rIP. */
void svm_lwp_pass(struct kvm_vcpu *vcpu, enum lwp_kind kind, u64 n, bool here)
{
	struct lwp_retired next = {};

	if (here)
		next.address = kvm_get_linear_rip(vcpu);
	lwp_pass(&to_svm(vcpu)->lwp.engine, kind, n, here ? &next : NULL);
}

/* LWP_CFG may have changed: update the guest's CPUID leaf (43724-109). */
void svm_lwp_update_avail(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	u32 avail = lwp->enabled ? lwp_engine_avail(&lwp->engine) : 0;

	if (vcpu->arch.lwp_avail == avail)
		return;
	vcpu->arch.lwp_avail = avail;
	lwp_cpuid_changed(vcpu);
}

/* Add what the engine has counted since the last call to the vCPU's statistics. */
void svm_lwp_account(struct kvm_vcpu *vcpu)
{
	const struct lwp_stats *now = &to_svm(vcpu)->lwp.engine.stats;
	struct lwp_stats *seen = &to_svm(vcpu)->lwp.seen;
	u64 counted[LWP_KINDS];
	u32 kind;

	for (kind = 0; kind < LWP_KINDS; kind++)
		counted[kind] = now->counted[kind] - seen->counted[kind];
	vcpu->stat.lwp_records += now->records - seen->records;
	vcpu->stat.lwp_missed += now->missed - seen->missed;
	vcpu->stat.lwp_overshoots += now->overshoots - seen->overshoots;
	vcpu->stat.lwp_faults += now->faults - seen->faults;
	vcpu->stat.lwp_threshold_irqs += now->interrupts - seen->interrupts;
	vcpu->stat.lwp_turned_off += now->turned_off - seen->turned_off;
	vcpu->stat.lwp_counted_values += counted[LWP_KIND_VAL];
	vcpu->stat.lwp_counted_instructions += counted[LWP_KIND_IRE];
	vcpu->stat.lwp_counted_branches += counted[LWP_KIND_BRE];
	vcpu->stat.lwp_counted_dcache_misses += counted[LWP_KIND_DME];
	vcpu->stat.lwp_counted_cycles += counted[LWP_KIND_CNH];
	vcpu->stat.lwp_counted_ref_cycles += counted[LWP_KIND_RNH];
	*seen = *now;
}

/*
 * Queue the exception that an LWP access or instruction raised. If an access of a nested guest
 * faulted in the tables of its hypervisor, the hypervisor gets the fault (43724-815).
 */
void svm_lwp_inject(struct kvm_vcpu *vcpu, const struct lwp_exc *exc)
{
	struct x86_exception e;

	switch (exc->kind) {
	case LWP_EXC_NONE:
	case LWP_EXC_AGAIN:
		break;
	case LWP_EXC_UD:
		kvm_queue_exception(vcpu, UD_VECTOR);
		break;
	case LWP_EXC_GP:
		kvm_queue_exception_e(vcpu, GP_VECTOR, 0);
		break;
	case LWP_EXC_PF:
		e = svm_lwp_page_fault(&exc->fault);
		kvm_inject_emulated_page_fault(vcpu, &e);
		break;
	}
}

/*
 * An instruction was executed: advance rIP; clear RFLAGS.RF and the interrupt shadow; raise the
 * guest's single-step trap.
 */
int svm_lwp_complete(struct kvm_vcpu *vcpu, unsigned int length)
{
	struct vcpu_svm *svm = to_svm(vcpu);
	u64 next = kvm_rip_read(vcpu) + length;

	kvm_set_rflags(vcpu, kvm_get_rflags(vcpu) & ~X86_EFLAGS_RF);
	svm->vmcb->control.next_rip = 0;
	svm->next_rip = svm_lwp_code_bits(vcpu) == LWP_CODE64 ? next : (u32)next;
	return kvm_skip_emulated_instruction(vcpu);
}

u8 *svm_lwp_image(struct vmcb *vmcb)
{
	BUILD_BUG_ON(sizeof(*vmcb) > LWP_VMCB_OFFSET);
	BUILD_BUG_ON(LWP_VMCB_OFFSET + LWP_IMAGE_SIZE > PAGE_SIZE);
	return (u8 *)vmcb + LWP_VMCB_OFFSET;
}

/* Do the guest's VMLOAD and VMSAVE carry LWP? Then KVM has to intercept them (43724-116). */
bool svm_lwp_in_vmcb(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	return lwp->enabled && lwp->engine.caps.ecx_features & LWP_ECX_VMCB_AREA;
}

/*
 * Has the running code LWP? Code in SMM has not; a nested guest has only if its hypervisor switches
 * the state (43724-914 to 43724-921).
 */
bool svm_lwp_here(struct kvm_vcpu *vcpu)
{
	return !is_smm(vcpu) && (!is_guest_mode(vcpu) || svm_lwp_in_vmcb(vcpu));
}
