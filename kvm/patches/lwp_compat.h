/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What kernels have elsewhere or call otherwise: Linux 6.12. Each function is there for all kernels
 * that vlwp supports.
 */
#ifndef __KVM_X86_SVM_LWP_COMPAT_H
#define __KVM_X86_SVM_LWP_COMPAT_H

#include <asm/amd-ibs.h>
#include <asm/msr.h>

#include "cpuid.h"
#include "pmu.h"
#include "svm.h"

#define CP_VECTOR 21

#define rdmsrq rdmsrl
#define rdmsrq_safe rdmsrl_safe
#define wrmsrq wrmsrl
#define wrmsrq_safe wrmsrl_safe

/* Intercept a guest's writes of an MSR that KVM passes through, or do not. */
static inline void lwp_intercept_msr_writes(struct kvm_vcpu *vcpu, u32 msr, bool on)
{
	set_msr_interception(vcpu, to_svm(vcpu)->msrpm, msr, 1, !on);
}

/* The same of its reads, too. */
static inline void lwp_intercept_msr(struct kvm_vcpu *vcpu, u32 msr, bool on)
{
	set_msr_interception(vcpu, to_svm(vcpu)->msrpm, msr, !on, !on);
}

/* svm->intercepts or svm->extra_intercepts have changed. */
static inline void lwp_intercepts_changed(struct vcpu_svm *svm)
{
	recalc_intercepts(svm);
}

/* What the guest's CPUID says of the vCPU's state has changed. */
static inline void lwp_cpuid_changed(struct kvm_vcpu *vcpu)
{
	kvm_update_cpuid_runtime(vcpu);
}

/* May the guest use a feature that KVM knows? */
static __always_inline bool lwp_guest_has(struct kvm_vcpu *vcpu, unsigned int x86_feature)
{
	return guest_cpuid_has(vcpu, x86_feature);
}

/* Is the guest's memory encrypted? */
static inline bool lwp_encrypted(struct kvm *kvm)
{
	return sev_guest(kvm);
}

/* Does the processor record branches for the guest? */
static inline bool lwp_branches_recorded(const struct vmcb *vmcb)
{
	return vmcb->control.virt_ext & LBR_CTL_ENABLE_MASK;
}

/* Walk the running guest's page tables, a nested guest's through its hypervisor's. */
static inline gpa_t lwp_gva_to_gpa(struct kvm_vcpu *vcpu, u64 gva, u64 access,
				   struct x86_exception *e)
{
	struct kvm_mmu *mmu = vcpu->arch.walk_mmu;

	return mmu->gva_to_gpa(vcpu, mmu, gva, access, e);
}

static inline u64 lwp_pdptr(struct kvm_vcpu *vcpu, int index)
{
	return vcpu->arch.walk_mmu->pdptrs[index];
}

/* Have walks take the PDPTEs of PAE that KVM has read, because kvm_pdptr_read() may sleep. */
static inline void lwp_keep_pdptrs(struct kvm_vcpu *vcpu, bool keep)
{
	vcpu->arch.walk_mmu->get_pdptr = keep ? lwp_pdptr : kvm_pdptr_read;
}

/* The guest's own counters count a branch that KVM has completed. */
static inline void lwp_pmu_branch_retired(struct kvm_vcpu *vcpu)
{
	kvm_pmu_trigger_event(vcpu, kvm_pmu_eventsel.INSTRUCTIONS_RETIRED);
	kvm_pmu_trigger_event(vcpu, kvm_pmu_eventsel.BRANCH_INSTRUCTIONS_RETIRED);
}

/* Have programs of the guest shadow stacks, or has its kernel? This KVM gives none to guests. */
static inline bool lwp_has_shstk(struct kvm_vcpu *vcpu, bool user)
{
	return false;
}

static inline u64 lwp_ssp(struct kvm_vcpu *vcpu)
{
	return 0;
}

static inline void lwp_set_ssp(struct kvm_vcpu *vcpu, u64 ssp)
{
}

static inline u64 lwp_pl3_ssp(struct kvm_vcpu *vcpu)
{
	return 0;
}

static inline void lwp_set_pl3_ssp(struct kvm_vcpu *vcpu, u64 ssp)
{
}

/* A VMRUN of the guest waits for the next entry. */
static inline bool lwp_nested_run_pending(const struct vcpu_svm *svm)
{
	return svm->nested.nested_run_pending;
}

#endif
