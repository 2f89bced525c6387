// SPDX-License-Identifier: GPL-2.0-or-later
/* A sample of IBS in a guest with nested paging: its physical addresses are the system's, not the guest's. */
#include "ibs.h"
#include "lwp_fixture.h"
#include "svm.h"
#include "test.h"
#include "x86.h"

#define SAMPLE_AT 1024u

extern char ibs_npt_code[];

USER_CODE(".balign 4096\n"
	  "ibs_npt_code: .rept 2000\n"
	  "mov (%rdi), %eax\n"
	  ".endr\n"
	  "vmmcall\n");

static void sampled(struct guest *g, u32 msr, u64 ctl)
{
	lwp_put64(g->vmcb + VMCB_RIP, (u64)ibs_npt_code);
	wrmsr(msr, ctl | SAMPLE_AT / 16);
	report_eq(guest_run(g), EXIT_VMMCALL, "the guest ends");
	report(rdmsr(msr) & (msr == MSR_OP_CTL ? OP_VAL : FETCH_VAL), "there is a sample");
}

USER_TEST(pmu_ibs_npt)
{
	u64 ncr3, data, code, at;
	struct guest g;

	svm_init();
	guest_init(&g, l->cr3, (u64)ibs_npt_code, STACK_TOP, true);
	ncr3 = guest_nested(&g);
	data = phys_alloc(1, PAGE_SIZE);
	code = phys_alloc(1, PAGE_SIZE);
	memcpy((void *)code, ibs_npt_code, PAGE_SIZE);
	as_map(ncr3, (u64)l->data, data, 1, PAGE_USER_RW);
	as_map(ncr3, (u64)ibs_npt_code, code, 1, PAGE_USER_RW);
	g.r.rdi = DATA_VA + 8;

	sampled(&g, MSR_OP_CTL, OP_EN | OP_OPS);
	at = rdmsr(MSR_OP_RIP) - (u64)ibs_npt_code;
	report(at && at < PAGE_SIZE, "an op of the guest");
	report_eq(rdmsr(MSR_OP_DATA3), LOAD | BYTES_4 | LINEAR | PHYSICAL, "a load");
	report_eq(rdmsr(MSR_DC_LIN), DATA_VA + 8, "IBS_DC_LIN_AD: the guest's");
	report_eq(rdmsr(MSR_DC_PHYS), data + 8, "IBS_DC_PHYS_AD: the system's");
	wrmsr(MSR_OP_CTL, 0);

	sampled(&g, MSR_FETCH_CTL, FETCH_EN);
	at = rdmsr(MSR_FETCH_LIN) - (u64)ibs_npt_code;
	report(at && at < PAGE_SIZE, "a fetch of the guest");
	report(rdmsr(MSR_FETCH_CTL) & FETCH_PHYSICAL, "with its physical address");
	report_eq(rdmsr(MSR_FETCH_PHYS), code + at, "the system's");
	wrmsr(MSR_FETCH_CTL, 0);
}
