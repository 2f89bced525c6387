/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What kernels have elsewhere or call otherwise: Linux 7.3. Each function is there for all kernels
 * that vlwp supports.
 */
#ifndef __KVM_X86_SVM_LWP_COMPAT_H
#define __KVM_X86_SVM_LWP_COMPAT_H

#include <asm/amd/ibs.h>
#include <asm/cpuid/api.h>
#include <asm/msr.h>

#include "cpuid.h"
#include "pmu.h"
#include "svm.h"

/* Intercept a guest's writes of an MSR that KVM passes through, or do not. */
static inline void lwp_intercept_msr_writes(struct kvm_vcpu *vcpu, u32 msr, bool on)
{
	svm_set_intercept_for_msr(vcpu, msr, MSR_TYPE_W, on);
}

/* The same of its reads, too. */
static inline void lwp_intercept_msr(struct kvm_vcpu *vcpu, u32 msr, bool on)
{
	svm_set_intercept_for_msr(vcpu, msr, MSR_TYPE_RW, on);
}

/* svm->intercepts or svm->extra_intercepts have changed. */
static inline void lwp_intercepts_changed(struct vcpu_svm *svm)
{
	svm_mark_intercepts_dirty(svm);
}

/* What the guest's CPUID says of the vCPU's state has changed. */
static inline void lwp_cpuid_changed(struct kvm_vcpu *vcpu)
{
	vcpu->arch.cpuid_dynamic_bits_dirty = true;
}

/* May the guest use a feature that KVM knows? */
static __always_inline bool lwp_guest_has(struct kvm_vcpu *vcpu, unsigned int x86_feature)
{
	return guest_cpu_cap_has(vcpu, x86_feature);
}

/* Is the guest's memory encrypted? */
static inline bool lwp_encrypted(struct kvm *kvm)
{
#ifdef CONFIG_KVM_AMD_SEV
	return ____sev_guest(kvm);
#else
	return false;
#endif
}

/* Does the processor record branches for the guest? */
static inline bool lwp_branches_recorded(const struct vmcb *vmcb)
{
	return vmcb->control.misc_ctl2 & SVM_MISC2_ENABLE_V_LBR;
}

/* Walk the running guest's page tables, a nested guest's through its hypervisor's. */
static inline gpa_t lwp_gva_to_gpa(struct kvm_vcpu *vcpu, u64 gva, u64 access,
				   struct x86_exception *e)
{
	struct kvm_pagewalk *walk = &vcpu->arch.gva_walk;

	return walk->gva_to_gpa(vcpu, walk, gva, access, e);
}

static inline u64 lwp_pdptr(struct kvm_vcpu *vcpu, int index)
{
	return vcpu->arch.pdptrs[index];
}

/* Have walks take the PDPTEs of PAE that KVM has read, because kvm_pdptr_read() may sleep. */
static inline void lwp_keep_pdptrs(struct kvm_vcpu *vcpu, bool keep)
{
	vcpu->arch.gva_walk.get_pdptr = keep ? lwp_pdptr : kvm_pdptr_read;
}

/* The guest's own counters count a branch that KVM has completed. */
static inline void lwp_pmu_branch_retired(struct kvm_vcpu *vcpu)
{
	kvm_pmu_instruction_retired(vcpu);
	kvm_pmu_branch_retired(vcpu);
}

/* Have programs of the guest shadow stacks, or has its kernel? */
static inline bool lwp_has_shstk(struct kvm_vcpu *vcpu, bool user)
{
	u64 cet;

	return guest_cpu_cap_has(vcpu, X86_FEATURE_SHSTK) &&
	       kvm_is_cr4_bit_set(vcpu, X86_CR4_CET) &&
	       !__kvm_emulate_msr_read(vcpu, user ? MSR_IA32_U_CET : MSR_IA32_S_CET, &cet) &&
	       cet & CET_SHSTK_EN;
}

/* The shadow stack pointer, for a guest that has shadow stacks. */
static inline u64 lwp_ssp(struct kvm_vcpu *vcpu)
{
	return to_svm(vcpu)->vmcb->save.ssp;
}

static inline void lwp_set_ssp(struct kvm_vcpu *vcpu, u64 ssp)
{
	to_svm(vcpu)->vmcb->save.ssp = ssp;
	vmcb_mark_dirty(to_svm(vcpu)->vmcb, VMCB_CET);
}

/* That of the program while the guest's kernel runs. */
static inline u64 lwp_pl3_ssp(struct kvm_vcpu *vcpu)
{
	u64 ssp = 0;

	__kvm_emulate_msr_read(vcpu, MSR_IA32_PL3_SSP, &ssp);
	return ssp;
}

static inline void lwp_set_pl3_ssp(struct kvm_vcpu *vcpu, u64 ssp)
{
	__kvm_emulate_msr_write(vcpu, MSR_IA32_PL3_SSP, ssp);
}

/* A VMRUN of the guest waits for the next entry. */
static inline bool lwp_nested_run_pending(const struct vcpu_svm *svm)
{
	return svm->vcpu.arch.nested_run_pending;
}

#endif
