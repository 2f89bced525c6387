// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The 2007 proposal with `os` contexts: the state in XSAVE component 62 (2007-304) and in the VMCB (2007-907), the
 * reset value of LWPMSR0 (43724-912, 2007-201, 2007-301, 2007-305, 2007-808).
 */
#include "lwp_fixture.h"
#include "svm.h"
#include "test.h"
#include "x86.h"
#include "xsave.h"

#define VMCB_AREA 0xf80
#define AREA_CFG (VMCB_AREA + 96)
#define AREA_REVISION (VMCB_AREA + 108)

extern char o07_guest[];

USER_CODE("o07_guest: llwpcb %rax\n"
	  "nop\n"
	  "nop\n"
	  "vmmcall\n"
	  "nop\n"
	  "slwpcb %rax\n"
	  "vmmcall\n");

static const struct block plain = { .event = { { EV07_BRE, 9, 7 }, { EV07_IRE, 100, 50 } } };

static void test_xsave(struct lwp *l)
{
	lwp_go(l, &plain, lwp_one);
	xsave_lwp();
	report_eq(lwp_get64(lwp), CB_VA, "XSAVE: the block");
	report_eq(lwp_get32(lwp + 8), 0x7, "Flags: Enabled IRE BRE");
	report_eq(lwp_get64(lwp + 16), RING_VA, "BufferBase");
	report_eq(lwp_get32(lwp + 64), 49, "EventCounter1 is that of EventId 1, in slot 2");
	report_eq(lwp_get32(lwp + 68), 7, "EventCounter2 is that of EventId 2");
	lwp_put64(area + XSTATE_BV, 0);
	xrstor_lwp();
	report_eq(lwp_query(l), 0, "XRSTOR with XSTATE_BV[62] = 0 turns LWP off");
	lwp_put64(area + XSTATE_BV, BV_LWP);
	xrstor_lwp();
	lwp_run(l, lwp_nop_1);
	report_eq(lwp_query(l), CB_VA, "XRSTOR of the area turns it on");
	report_eq(cb_counter(l, 2), 47, "and the counter continues: 49, two NOPs");
	lwp_stop();
}

/* The record that waits at zero goes into the component and comes back. */
static void test_pending(struct lwp *l)
{
	lwp_go(l, EVENT(EV07_IRE, 10, 2), lwp_one);
	l->u.r.rip = (u64)lwp_nop_1;
	run_to_missing(l, RING_VA, (u64)lwp_nop_2, "a record is pending");
	xsave_lwp();
	report_eq(lwp[32], EV07_IRE, "SavedEventRecord has its EventId");
	report_eq(lwp_get32(lwp + 64), 0, "its counter is frozen at 0");
	/* WRMSR of LWPMSR1 would flush. */
	lwp_put64(area + XSTATE_BV, 0);
	xrstor_lwp();
	as_protect(l->cr3, RING_VA, PAGE_USER_RW);
	lwp_put64(area + XSTATE_BV, BV_LWP);
	xrstor_lwp();
	lwp_resume(l);
	EXPECT_IRE(l, "restored, it is stored", lwp_nop_1);
	lwp_run(l, lwp_slwpcb);
	report_eq(cb_counter(l, 1), 9, "and the counter is reloaded then");
	lwp_stop();
}

static void test_vmcb(struct lwp *l)
{
	u64 cfg = rdmsr(LWP_MSR_CFG);
	struct guest g;

	if (svm_lacks_lwp("2007 in the VMCB"))
		return;
	svm_init();
	block_write(l, &plain);
	guest_init(&g, l->cr3, (u64)o07_guest, STACK_TOP, true);
	lwp_put64(g.vmcb + VMCB_RAX, CB_VA);
	lwp_put64(g.vmcb + AREA_CFG, 0x7);
	g.vmcb[AREA_REVISION] = 1;
	g.vmcb[AREA_REVISION + 1] = 1;
	report_eq(guest_run(&g), EXIT_VMMCALL, "a guest of its own LWP");
	report_eq(lwp_get64(g.vmcb + VMCB_AREA), CB_VA, "VMSAVE stores the block");
	report_eq(lwp_get32(g.vmcb + VMCB_AREA + 64), 48, "EventCounter1: 50, two NOPs");
	report_eq(g.vmcb[AREA_REVISION], 1, "revision 1");
	report_eq(rdmsr(LWP_MSR_CFG), cfg, "VMLOAD has brought back the hypervisor's LWPMSR0");
	report_eq(guest_run(&g), EXIT_VMMCALL, "VMLOAD loads it again");
	report_eq(lwp_get64(g.vmcb + VMCB_RAX), CB_VA, "SLWPCB of the guest gives its block");
	report_eq(cb_counter(l, 2), 47, "and its counter continues");
	g.vmcb[AREA_REVISION] = 0;
	guest_run(&g);
	report_eq(lwp_get64(g.vmcb + AREA_CFG), 0, "an image of the other revision: LWPMSR0 is 0");
}

FLAT_TEST(os_rev07)
{
	struct lwp l;

	rule("2007-304 2007-907", CHOICE);
	report_eq(rdmsr(LWP_MSR_CFG), 0, "LWPMSR0 is 0 at reset");
	lwp_init(&l);
	if (cpuid(0xd, 0).d & 1u << 30) {
		test_xsave(&l);
		test_pending(&l);
	}
	test_vmcb(&l);
}
