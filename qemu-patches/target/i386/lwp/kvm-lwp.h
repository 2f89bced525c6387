/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP under KVM, see kvm-lwp.c.
 */
#ifndef KVM_LWP_GLUE_H
#define KVM_LWP_GLUE_H

/*
 * Can KVM give this CPU LWP?  Tells KVM the policy (revision, contexts,
 * delivery) on the way.
 */
bool kvm_lwp_check(X86CPU *cpu, Error **errp);

/* Once the CPU's properties are final. */
void kvm_lwp_realize(X86CPU *cpu);

/* After the MSRs, over whose values the image wins. */
int kvm_lwp_put(X86CPU *cpu, int level, Error **errp);

#endif
