// SPDX-License-Identifier: GPL-2.0-or-later
/* A small hypervisor: see svm.h. */
#include "cpu.h"
#include "lwp_cpuid.h"
#include "paging.h"
#include "place.h"
#include "report.h"
#include "svm.h"
#include "x86.h"

#define MSR_VM_HSAVE_PA 0xc0010117
#define EFER_SVME (1ul << 12)
#define CPUID_SVM (1u << 2)
#define SIZE_VMMCALL 3
#define IOPM_PAGES 3
#define MSRPM_PAGES 2
#define TLB_FLUSH_ALL 1
#define DR7_RESET 0x400
#define PAT_RESET 0x0007040600070406ul
/* Attributes: a descriptor's access byte, and its flags nibble above. */
#define ATTRIB(access, flags) ((access) | (flags) << 8)

void svm_vmrun(const u8 *vmcb, struct guest_regs *r);

static u8 *host_vmcb;
static u64 iopm, msrpm;
static u32 last_asid;

bool svm_present(void)
{
	return cpuid(0x80000001, 0).c & CPUID_SVM;
}

bool svm_lacks_lwp(const char *what)
{
	return report_lacks(!svm_present() || !(cpuid(LWP_CPUID_LEAF, 0).c & LWP_ECX_VMCB_AREA),
			    "no SVM, or 8000_001C ECX[24] is clear", what);
}

void svm_init(void)
{
	wrmsr(MSR_EFER, rdmsr(MSR_EFER) | EFER_SVME);
	wrmsr(MSR_VM_HSAVE_PA, phys_alloc(1, PAGE_SIZE));
	host_vmcb = (u8 *)phys_alloc(1, PAGE_SIZE);
	iopm = phys_alloc(IOPM_PAGES, PAGE_SIZE);
	msrpm = phys_alloc(MSRPM_PAGES, PAGE_SIZE);
}

static void set_segment(u8 *at, u16 selector, u16 attributes, u32 limit)
{
	lwp_put16(at, selector);
	lwp_put16(at + 2, attributes);
	lwp_put32(at + 4, limit);
}

void guest_init(struct guest *g, u64 cr3, u64 rip, u64 rsp, bool user)
{
	u8 *v = (u8 *)phys_alloc(1, PAGE_SIZE);
	u16 data = user ? ATTRIB(SEG_USER_DATA, SEG_32BIT_PAGES) : ATTRIB(0x93, SEG_32BIT_PAGES);

	*g = (struct guest){ .vmcb = v };
	lwp_put32(v + VMCB_EXCEPTIONS, ~0u);
	lwp_put32(v + VMCB_INTERCEPT3, INTERCEPT3_INTR | INTERCEPT3_NMI | INTERCEPT3_SHUTDOWN);
	lwp_put32(v + VMCB_INTERCEPT4, INTERCEPT4_VMRUN | INTERCEPT4_VMMCALL);
	lwp_put64(v + VMCB_IOPM, iopm);
	lwp_put64(v + VMCB_MSRPM, msrpm);
	lwp_put32(v + VMCB_ASID, ++last_asid);
	v[VMCB_TLB_CONTROL] = TLB_FLUSH_ALL;

	set_segment(v + VMCB_CS, user ? USER_CS64 : KERNEL_CS,
		    user ? ATTRIB(0xfb, 0xa) : ATTRIB(0x9b, 0xa), ~0u);
	set_segment(v + VMCB_SS, user ? USER_DS : KERNEL_DS, data, ~0u);
	set_segment(v + VMCB_DS, user ? USER_DS : KERNEL_DS, data, ~0u);
	set_segment(v + VMCB_ES, user ? USER_DS : KERNEL_DS, data, ~0u);
	set_segment(v + VMCB_TR, 0, ATTRIB(0x8b, 0), 0x67);
	set_segment(v + VMCB_LDTR, 0, ATTRIB(0x82, 0), 0);
	v[VMCB_CPL] = user ? 3 : 0;
	lwp_put64(v + VMCB_EFER, rdmsr(MSR_EFER));
	lwp_put64(v + VMCB_CR0, read_cr0());
	lwp_put64(v + VMCB_CR3, cr3);
	lwp_put64(v + VMCB_CR4, read_cr4());
	lwp_put64(v + VMCB_DR6, DR6_NONE);
	lwp_put64(v + VMCB_DR7, DR7_RESET);
	lwp_put64(v + VMCB_PAT, PAT_RESET);
	lwp_put64(v + VMCB_RFLAGS, RFLAGS_FIXED);
	lwp_put64(v + VMCB_RIP, rip);
	lwp_put64(v + VMCB_RSP, rsp);
}

u64 guest_nested(struct guest *g)
{
	u64 ncr3 = phys_alloc(1, PAGE_SIZE);

	as_map(ncr3, 0, 0, RAM_END / PAGE_SIZE, PAGE_USER_RW);
	if (place_device())
		as_map(ncr3, TESTDEV, TESTDEV, TESTDEV_PAGES, PAGE_USER_RW);
	lwp_put32(g->vmcb + VMCB_NESTED, NESTED_PAGING);
	lwp_put64(g->vmcb + VMCB_NESTED_CR3, ncr3);
	return ncr3;
}

void guest_flush(struct guest *g)
{
	g->vmcb[VMCB_TLB_CONTROL] = TLB_FLUSH_ALL;
}

u64 guest_vmrun(struct guest *g)
{
	u64 code;

	svm_vmrun(g->vmcb, &g->r);
	code = lwp_get64(g->vmcb + VMCB_EXIT_CODE);
	if (code == EXIT_VMMCALL)
		lwp_put64(g->vmcb + VMCB_RIP, lwp_get64(g->vmcb + VMCB_RIP) + SIZE_VMMCALL);
	return code;
}

u64 guest_run(struct guest *g)
{
	u64 code;

	vmsave(host_vmcb);
	vmload(g->vmcb);
	code = guest_vmrun(g);
	vmsave(g->vmcb);
	vmload(host_vmcb);
	return code;
}
