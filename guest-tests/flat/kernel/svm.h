/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small hypervisor: SVM guests without nested paging, each in an address space of its own, that come back by
 * VMMCALL or by any exception. VMCB offsets are those of APM volume 2, appendix B.
 */
#ifndef FLAT_SVM_H
#define FLAT_SVM_H

#include "lwp_types.h"

/* Control area */
#define VMCB_EXCEPTIONS 0x008
#define VMCB_INTERCEPT3 0x00c
#define VMCB_INTERCEPT4 0x010
#define VMCB_IOPM 0x040
#define VMCB_MSRPM 0x048
#define VMCB_TSC_OFFSET 0x050
#define VMCB_ASID 0x058
#define VMCB_TLB_CONTROL 0x05c
#define VMCB_INTERRUPT 0x060
#define VMCB_EXIT_CODE 0x070
#define VMCB_EXIT_INFO_1 0x078
#define VMCB_EXIT_INFO_2 0x080
#define VMCB_NESTED 0x090
#define VMCB_NESTED_CR3 0x0b0
#define VMCB_VIRTUAL 0x0b8
/* State save area */
#define VMCB_ES 0x400
#define VMCB_CS 0x410
#define VMCB_SS 0x420
#define VMCB_DS 0x430
#define VMCB_LDTR 0x470
#define VMCB_TR 0x490
#define VMCB_CPL 0x4cb
#define VMCB_EFER 0x4d0
#define VMCB_CR4 0x548
#define VMCB_CR3 0x550
#define VMCB_CR0 0x558
#define VMCB_DR7 0x560
#define VMCB_DR6 0x568
#define VMCB_RFLAGS 0x570
#define VMCB_RIP 0x578
#define VMCB_RSP 0x5d8
#define VMCB_RAX 0x5f8
#define VMCB_KERNEL_GS_BASE 0x620
#define VMCB_PAT 0x668
/* 43724-912: the image of LWP */
#define VMCB_LWP 0xf80

#define INTERCEPT3_INTR 0x00000001u
#define INTERCEPT3_NMI 0x00000002u
#define INTERCEPT3_MSR 0x10000000u
#define INTERCEPT3_SHUTDOWN 0x80000000u
#define INTERCEPT4_VMRUN 0x01u
#define INTERCEPT4_VMMCALL 0x02u
#define NESTED_PAGING 0x1u
#define VIRTUAL_VMLOAD_VMSAVE 0x2u

#define EXIT_EXCEPTION 0x40 /* + vector */
#define EXIT_DB 0x41
#define EXIT_NMI 0x61
#define EXIT_MSR 0x7c
#define EXIT_VMMCALL 0x81
#define EXIT_NPF 0x400

/* CPUID 8000_000A EDX */
#define SVM_VIRTUAL_VMLOAD_VMSAVE (1u << 15)
#define SVM_NESTED_PAGING (1u << 0)

struct guest {
	u8 *vmcb; /* a page; the kernel reaches it at its physical address */
	/* In this order in svm.S; RAX, RSP and RIP are in the VMCB. */
	struct guest_regs {
		u64 rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15;
	} r;
};

bool svm_present(void);
/* Is there no SVM, or no LWP in the VMCB? Then what was to be tried is skipped, as report_lacks() does it. */
bool svm_lacks_lwp(const char *what);
/* EFER.SVME, the host save area. */
void svm_init(void);

/* A guest that starts 64-bit code at rip with the flat segments of user mode, or of kernel mode. */
void guest_init(struct guest *g, u64 cr3, u64 rip, u64 rsp, bool user);
/*
 * Nested paging for it: all memory of a run (place.h) at its own address, in pages of 4 KiB. Returns the nested CR3, of
 * which as_map() and as_protect() change pages; guest_flush() makes the guest see that.
 */
u64 guest_nested(struct guest *g);
void guest_flush(struct guest *g);
/* VMRUN between CLGI and STGI; returns the exit code. A VMMCALL that came back is stepped over. */
u64 guest_vmrun(struct guest *g);
/*
 * What a hypervisor does: VMSAVE of its own state, VMLOAD of the guest's, VMRUN, VMSAVE, VMLOAD. Returns the
 * exit code.
 */
u64 guest_run(struct guest *g);

static inline void vmload(const void *vmcb)
{
	asm volatile("vmload %%rax" : : "a"(vmcb) : "memory");
}

static inline void vmsave(void *vmcb)
{
	asm volatile("vmsave %%rax" : : "a"(vmcb) : "memory");
}

#endif
