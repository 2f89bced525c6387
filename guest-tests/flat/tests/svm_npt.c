// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LWP's stores in a guest with nested paging: what the nested table lacks is the hypervisor's #VMEXIT(NPF), at the
 * boundary before the next instruction, as a user's write; the record waits and goes into the ring (43724-815).
 */
#include "lwp_fixture.h"
#include "svm.h"
#include "test.h"
#include "x86.h"

/* EXITINFO1: the nested walk of the final address. */
#define NPF_FINAL (1ul << 32)

extern char npt_code[], npt_0[], npt_1[];

USER_CODE("npt_code: llwpcb %rax\n"
	  "npt_0: nop\n"
	  "npt_1: nop\n"
	  "mov $1, %esi\n"
	  "vmmcall\n");

static void expect_npf(struct guest *g, u64 page, const char *what)
{
	u64 code = guest_run(g);

	report_push("%s", what);
	report_eq(code, EXIT_NPF, "#VMEXIT(NPF)");
	report_eq(lwp_get64(g->vmcb + VMCB_EXIT_INFO_1), NPF_FINAL | PF_WRITE | PF_USER,
		  "a user's write");
	report_eq(lwp_get64(g->vmcb + VMCB_EXIT_INFO_2) & ~(PAGE_SIZE - 1), page, "to its page");
	report_eq(lwp_get64(g->vmcb + VMCB_RIP), (u64)npt_1, "before the second NOP");
	report_pop();
}

FLAT_TEST(svm_npt)
{
	struct guest g;
	struct lwp l;
	u64 ncr3;

	rule("43724-912 43724-913", CHOICE);
	if (svm_lacks_lwp("LWP in the VMCB"))
		return;
	lwp_enable();
	svm_init();
	lwp_map(&l, kernel_cr3());
	block_write(&l, EVENT(EV_IRE, 2, 0));
	memset(l.ring, RING_FILL, RING_PAGES * PAGE_SIZE);
	guest_init(&g, l.cr3, (u64)npt_code, STACK_TOP, true);
	ncr3 = guest_nested(&g);
	vmcb_lwp_off(g.vmcb);
	lwp_put64(g.vmcb + VMCB_RAX, CB_VA);
	as_protect(ncr3, (u64)l.ring, PAGE_NONE);
	expect_npf(&g, (u64)l.ring, "the ring");
	as_protect(ncr3, (u64)l.ring, PAGE_USER_RW);
	as_protect(ncr3, (u64)l.cb, PAGE_NONE);
	guest_flush(&g);
	expect_npf(&g, (u64)l.cb, "the block");
	report(ring_untouched(&l, 0), "nothing is in the ring");
	as_protect(ncr3, (u64)l.cb, PAGE_USER_RW);
	guest_flush(&g);
	report_eq(guest_run(&g), EXIT_VMMCALL, "both are there: the guest continues");
	EXPECT_IRE(&l, "and the record is in the ring", npt_0);
	/* The second NOP and MOV have counted: the first is due again. */
	lwp_put64(g.vmcb + VMCB_RIP, (u64)npt_0);
	lwp_put64(g.vmcb + VMCB_RFLAGS, RFLAGS_FIXED | RFLAGS_RF);
	as_protect(ncr3, (u64)l.ring, PAGE_NONE);
	guest_flush(&g);
	expect_npf(&g, (u64)l.ring, "the ring, after a NOP with RF set");
	report_eq(lwp_get64(g.vmcb + VMCB_RFLAGS) & RFLAGS_RF, 0, "which has cleared RF");
	report_eq(rdmsr(LWP_MSR_CBADDR), 0, "the hypervisor's LWP is off");
}
