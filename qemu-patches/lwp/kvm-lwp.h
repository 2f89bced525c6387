/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP under KVM, see kvm-lwp.c.
 */
#ifndef KVM_LWP_GLUE_H
#define KVM_LWP_GLUE_H

#include "system/kvm.h"

/* Has KVM LWP for guests that ask for it?  Its supported CPUID does not say. */
bool kvm_lwp_offered(KVMState *s);

/* EDX of leaf 8000_001C that KVM offers; 0 if it has no LWP. */
uint32_t kvm_lwp_features(void);

/*
 * Can KVM give this CPU LWP?  Also asks KVM for it by setting the policy
 * (revision, contexts, delivery).
 */
bool kvm_lwp_check(X86CPU *cpu, Error **errp);

/* To be called when the CPU's properties are final. */
void kvm_lwp_realize(X86CPU *cpu);

/* To be called after the MSRs are put: the image overrides their values. */
int kvm_lwp_put(X86CPU *cpu, int level, Error **errp);

#endif
