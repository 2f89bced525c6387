/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A very small hypervisor inside the machine of kvm_vm.h: it runs guests by VMLOAD, VMRUN, VMSAVE, as it is told by
 * the test between two of their exits.
 */
#ifndef HYPER_H
#define HYPER_H

#include "kvm_vm.h"

#define HYPER_VMCB 0x320000 /* of guest 0; each further one a page later */
#define HYPER_HOST 0x330000 /* where the hypervisor keeps its own part */
#define HYPER_GUESTS 4

#define HYPER_EXIT 0x70 /* vm_run(): a guest has exited */
#define HYPER_VMMCALL 0x81 /* exit codes */
#define HYPER_PUSHF 0x70
#define HYPER_POPF 0x71
#define HYPER_MSR 0x7c

#define VMCB_MISC1 0x0c /* intercepts */
#define VMCB_MISC1_PUSHF 16
#define VMCB_MISC1_POPF 17
#define VMCB_MISC1_MSR 28
#define VMCB_MISC1_SHUTDOWN 31
#define VMCB_MSRPM 0x48
#define VMCB_INT_CTL 0x60
#define VMCB_V_IRQ 0x100
#define VMCB_V_PRIO_15 0xf0000
#define VMCB_INT_VECTOR 0x64
#define VMCB_EXIT_CODE 0x70
#define VMCB_EXIT_INFO_1 0x78
#define VMCB_EXIT_INFO_2 0x80
#define VMCB_SAVE 0x400
#define VMCB_RIP (VMCB_SAVE + 0x178)
#define VMCB_RAX (VMCB_SAVE + 0x1f8)

struct hyper {
	struct vm *vm;
	struct vcpu *v;
	struct kvm_regs guest[HYPER_GUESTS]; /* those that VMRUN does not switch */
};

/* A machine with KVM_LWP_CONTEXT_* contexts; `area`: its CPUID offers LWP state in VMCBs. One that was there ends. */
void hyper_init(struct hyper *h, u32 context, bool area);
/* The vCPU at CPL 0, at the hypervisor's beginning. */
void hyper_start(struct hyper *h);
/* A guest at CPL 3 at linear address rip, with the hypervisor's tables; `npt`: with nested paging. */
void hyper_guest(struct hyper *h, u32 index, u64 rip, bool npt);
/* Have the guest run at CPL 0. */
void hyper_guest_kernel(struct hyper *h, u32 index);
/* Run a guest until it exits; returns its exit code, or another result of vm_run(). */
u64 hyper_run(struct hyper *h, u32 index);
/* Have the guest continue after its VMMCALL. */
void hyper_skip_vmmcall(struct hyper *h, u32 index);
u8 *hyper_vmcb(const struct hyper *h, u32 index);
u8 *hyper_image(const struct hyper *h, u32 index);
/* The guest's state before LLWPCB: LWP off, and the LWP_CFG that the hypervisor gives it. */
void hyper_lwp_off(const struct hyper *h, u32 index, u64 cfg);

#endif
