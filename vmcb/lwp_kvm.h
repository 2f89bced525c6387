/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * What KVM and its user space agree on about LWP; in the kernel this is <asm/kvm_lwp.h>. The
 * numbers are out of tree; they lie above 0x4c570000 ("LW"), where upstream's do not come. Those of
 * the capability and of the groups change when a struct does: who has other structs finds no LWP.
 * Unknown flags, and reserved fields that are not 0, are -EINVAL.
 *
 * KVM_CHECK_EXTENSION(KVM_CAP_X86_LWP), on the VM: 0, or KVM_LWP_HAS_* bits. 0 for encrypted
 * guests.
 *
 * A VM has LWP only if its user space asks for it, by setting KVM_LWP_VM_POLICY before the first
 * vCPU exists, and if the CPUID of its vCPUs then announces LWP: 8000_0001 ECX[15], and leaf
 * 8000_001C with no more than KVM_LWP_VM_LEAF offers. KVM_GET_SUPPORTED_CPUID and
 * KVM_GET_MSR_INDEX_LIST do not tell of LWP.
 *
 * Attributes of the VM (KVM_{HAS,GET,SET}_DEVICE_ATTR on its file descriptor), group KVM_LWP_VM:
 *   KVM_LWP_VM_POLICY    struct kvm_lwp_policy; may be set before the first vCPU exists, later
 *                        -EBUSY unless it is the one that was set. Setting it asks for LWP.
 *   KVM_LWP_VM_LEAF      get only, struct kvm_lwp_leaf: leaf 8000_001C with all that this host
 *                        offers to a VM of this policy. EAX is that of a new vCPU.
 *   KVM_LWP_VM_CONTEXTS  struct kvm_lwp_contexts, which points to the array of contexts. Get with
 *                        a size too small writes the size needed and returns -ENOSPC. Those that
 *                        are live on a vCPU are among them, and stay live. Set replaces all; size 0
 *                        drops all (machine reset).
 *
 * Attributes of a vCPU, group KVM_LWP_VCPU:
 *   KVM_LWP_VCPU_IMAGE   struct kvm_lwp_image, the state. Set checks it (-EINVAL changes nothing)
 *                        and wins over the MSRs LWP_CFG and LWP_CBADDR.
 *   KVM_LWP_VCPU_STATUS  get only, __u32: why the vCPU has no LWP, KVM_LWP_REFUSED_*
 *   KVM_LWP_VCPU_LIVE    struct kvm_lwp_live: which context is live. Set after the VM's contexts,
 *                        the vCPU's registers and its image: the context goes live without a look
 *                        at memory, its state wins over that of the image but for LWP_CFG. -ENOENT:
 *                        no such context is parked. After an error nothing has changed.
 */
#ifndef _ASM_X86_KVM_LWP_H
#define _ASM_X86_KVM_LWP_H

#include <linux/types.h>

#define KVM_CAP_X86_LWP 0x4c570002

#define KVM_LWP_HAS_43724 (1U << 0)
#define KVM_LWP_HAS_2007 (1U << 1)
#define KVM_LWP_HAS_AUTO (1U << 2)
#define KVM_LWP_HAS_OS (1U << 3)
#define KVM_LWP_HAS_EXACT (1U << 4)
#define KVM_LWP_HAS_PROMPT (1U << 5)
#define KVM_LWP_HAS_VMCB (1U << 6) /* 8000_001C ECX[24] may be offered, with KVM_LWP_CONTEXT_OS */
#define KVM_LWP_HAS_NO_PRESET (1U << 7)
#define KVM_LWP_HAS_MISSES (1U << 8) /* KVM_LWP_SAMPLE_MISSES may be set */

#define KVM_LWP_VM 0x4c570002
#define KVM_LWP_VM_POLICY 0
#define KVM_LWP_VM_CONTEXTS 1
#define KVM_LWP_VM_LEAF 2

#define KVM_LWP_VCPU 0x4c570002
#define KVM_LWP_VCPU_IMAGE 0
#define KVM_LWP_VCPU_STATUS 1
#define KVM_LWP_VCPU_LIVE 2

#define KVM_LWP_REV_43724 0
#define KVM_LWP_REV_2007 1

#define KVM_LWP_CONTEXT_AUTO 0
#define KVM_LWP_CONTEXT_OS 1

#define KVM_LWP_DELIVERY_EXACT 0
#define KVM_LWP_DELIVERY_PROMPT 1

#define KVM_LWP_NO_PRESET (1U << 0) /* LWP_CFG is 0 after RESET and INIT with auto, too */
/* Data cache misses (EventId 4; 2007: 3) are offered: estimated, by instruction-based sampling. */
#define KVM_LWP_SAMPLE_MISSES (1U << 1)
#define KVM_LWP_NO_NET (1U << 2) /* exact: steps instead of breakpoints */

/*
 * What it is until it is set: 43724, auto, prompt if the capability has it, no flags, and a budget
 * of 100,000.
 */
struct kvm_lwp_policy {
	__u32 rev; /* KVM_LWP_REV_* */
	__u32 context; /* KVM_LWP_CONTEXT_* */
	__u32 delivery; /* KVM_LWP_DELIVERY_* */
	__u32 flags; /* KVM_LWP_NO_PRESET, KVM_LWP_SAMPLE_MISSES, KVM_LWP_NO_NET */
	/* Instructions that a vCPU steps in a second with prompt delivery; 0: without limit. */
	__u32 step_budget;
	__u32 reserved[11]; /* 0 */
};

struct kvm_lwp_leaf {
	__u32 eax, ebx, ecx, edx;
};

#define KVM_LWP_CONTEXTS_FORMAT 2 /* 240 bytes each */

struct kvm_lwp_contexts {
	__u64 addr; /* user-space address of the array */
	__u64 size; /* bytes */
	__u32 format; /* KVM_LWP_CONTEXTS_FORMAT, when they are read, too */
	__u32 flags; /* 0 */
};

#define KVM_LWP_IMAGE_FORMAT 1

struct kvm_lwp_image {
	__u8 xsave[96]; /* of the component in an XSAVE area */
	__u64 cfg; /* LWP_CFG */
	__u8 reserved1[4]; /* 0 */
	__u8 rev; /* KVM_LWP_REV_* */
	__u8 format; /* KVM_LWP_IMAGE_FORMAT */
	__u8 reserved2[2]; /* 0 */
	__u64 retry_rip; /* of a record whose store has faulted */
	__u8 reserved3[8]; /* 0 */
};

#define KVM_LWP_LIVE (1U << 0) /* the context of this key is live; else the key is 0 */
#define KVM_LWP_LOOKUP (1U << 1) /* a context is looked for when the vCPU runs */
/* CPL 3 was entered and nothing executed there: a store that faulted is tried again. */
#define KVM_LWP_ENTERED (1U << 2)
#define KVM_LWP_LIVE_FLAGS (KVM_LWP_LIVE | KVM_LWP_LOOKUP | KVM_LWP_ENTERED)

struct kvm_lwp_live {
	__u64 cr3; /* struct lwp_ctx_key */
	__u64 thread;
	__u64 gs;
	__u32 key_flags;
	__u32 flags; /* KVM_LWP_LIVE_FLAGS */
	__u64 reserved[4]; /* 0 */
};

#define KVM_LWP_REFUSED_NOT 0 /* the vCPU has LWP */
#define KVM_LWP_REFUSED_CPUID 1 /* its CPUID does not announce LWP */
#define KVM_LWP_REFUSED_LEAF 2 /* leaf 8000_001C announces what this host cannot do */
#define KVM_LWP_REFUSED_ENCRYPTED 3 /* SEV, SEV-ES, SNP: registers or memory cannot be read */
#define KVM_LWP_REFUSED_APIC 4 /* no in-kernel local APIC */
#define KVM_LWP_REFUSED_HOST 5 /* LWP of kvm_amd is off: lwp=0, or a parameter is wrong */
#define KVM_LWP_REFUSED_POLICY 6 /* user space has not set KVM_LWP_VM_POLICY */
#define KVM_LWP_REFUSED_FEATURE 7 /* its CPUID has one with which LWP is not known to work */

#endif
