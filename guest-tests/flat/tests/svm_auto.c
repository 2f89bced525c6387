// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * SVM without LWP in the VMCB. With `auto` contexts an SVM guest has no LWP and counts nothing for the
 * hypervisor's program, even with its CR3 and FS base; VMSAVE does not write the area.
 * A hypervisor can intercept both MSRs (43724-116, 43724-215, 43724-914).
 */
#include "lwp_fixture.h"
#include "svm.h"
#include "test.h"
#include "x86.h"

#define AREA 0xf80
#define FILL 0x5a

extern char sva_guest[], sva_guest_query[], sva_rdmsr[], sva_wrmsr[];

USER_CODE("sva_guest: .fill 100, 1, 0x90\n"
	  "jmp 1f\n"
	  "1: vmmcall\n"
	  "sva_guest_query: slwpcb %rbx\n"
	  "vmmcall\n"
	  "sva_rdmsr: rdmsr\n"
	  "vmmcall\n"
	  "sva_wrmsr: wrmsr\n"
	  "vmmcall\n");

/* A guest's kernel executes RDMSR or WRMSR. Result: the exit code. */
static u64 access(struct guest *g, const char *code, u32 msr)
{
	guest_init(g, kernel_cr3(), (u64)code, 0, false);
	lwp_put32(g->vmcb + VMCB_INTERCEPT3, lwp_get32(g->vmcb + VMCB_INTERCEPT3) | INTERCEPT3_MSR);
	g->r.rcx = msr;
	return guest_run(g);
}

static void test_intercepts(void)
{
	static const u32 msrs[] = { LWP_MSR_CFG, LWP_MSR_CBADDR };
	u64 cfg = rdmsr(LWP_MSR_CFG);
	struct guest g;
	u8 *map;
	u32 bit;

	guest_init(&g, kernel_cr3(), 0, 0, false);
	map = (u8 *)lwp_get64(g.vmcb + VMCB_MSRPM);
	for (u32 i = 0; i < 2; i++) {
		/* 43724-215: two bits for each MSR; those of C000_0000 and up begin at 800h of the map. */
		bit = 0x800 * 8 + (msrs[i] & 0x1fff) * 2;
		report_push("%s", i ? "LWP_CBADDR" : "LWP_CFG");
		report(access(&g, sva_rdmsr, msrs[i]) != EXIT_MSR, "RDMSR is not intercepted");
		map[bit / 8] |= 1u << bit % 8;
		report(access(&g, sva_rdmsr, msrs[i]) == EXIT_MSR &&
			       !lwp_get64(g.vmcb + VMCB_EXIT_INFO_1),
		       "its bit in the map intercepts RDMSR");
		map[bit / 8] = (u8)(2u << bit % 8);
		report(access(&g, sva_rdmsr, msrs[i]) != EXIT_MSR, "and no other does");
		report(access(&g, sva_wrmsr, msrs[i]) == EXIT_MSR &&
			       lwp_get64(g.vmcb + VMCB_EXIT_INFO_1) == 1,
		       "the next intercepts WRMSR");
		map[bit / 8] = 0;
		report_pop();
	}
	report_eq(rdmsr(LWP_MSR_CFG), cfg, "LWP_CFG is as it was");
}

LWP_TEST(svm_auto)
{
	static const struct block b = { .event = { { EV_IRE, 1000, 50 }, { EV_BRE, 1000, 70 } } };
	struct guest g;
	bool untouched = true;

	rule("43724-914", CHOICE);
	if (report_lacks(!svm_present(), "8000_0001 ECX[2] is clear", "SVM guests"))
		return;
	svm_init();
	report_eq(cpuid(LWP_CPUID_LEAF, 0).c & LWP_ECX_VMCB_AREA, 0, "8000_001C ECX[24] is clear");
	lwp_go(l, &b, lwp_start);

	guest_init(&g, l->cr3, (u64)sva_guest, STACK_TOP, true);
	memset(g.vmcb + AREA, FILL, 128);
	report_eq(guest_run(&g), EXIT_VMMCALL, "a guest runs in the program's address space");
	report_eq(guest_run(&g), EXIT_EXCEPTION + VEC_UD, "SLWPCB in the guest: #UD");
	report_eq(lwp_get64(g.vmcb + VMCB_RIP), (u64)sva_guest_query, "at SLWPCB");
	for (u32 i = 0; i < 128; i++)
		untouched &= g.vmcb[AREA + i] == FILL;
	report(untouched, "VMSAVE and #VMEXIT leave the area alone");

	report_eq(lwp_query(l), CB_VA, "the program's LWP is on as before");
	report_eq(cb_counter(l, EV_IRE), 48,
		  "its two NOPs were counted, the guest's hundred were not");
	report_eq(cb_counter(l, EV_BRE), 70, "nor the guest's branch");
	expect_no_records(l, "no record");
	test_intercepts();
}
