// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `os` contexts: an operating system that moves a thread, XSAVE on one processor and XRSTOR on another (43724-901).
 * Counter, ring and pending record go with it; LWP_CFG, and so CoreId, is the processor's.
 */
#include "lwp_fixture.h"
#include "smp.h"
#include "test.h"
#include "x86.h"
#include "xsave.h"

#define ROUNDS 100u

static u64 others_cbaddr;

/* XSAVE, and the next thread has none. */
static void leave(void)
{
	xsave_lwp();
	lwp_put64(area + XSTATE_BV, 0);
	xrstor_lwp();
	lwp_put64(area + XSTATE_BV, BV_LWP);
}

static void enable(void *arg)
{
	lwp_enable();
	wrmsr(LWP_MSR_CFG, rdmsr(LWP_MSR_CFG) | (u64)cpu_index() << LWP_CFG_COREID_SHIFT);
}

static void visit(void *arg)
{
	struct lwp *l = arg;

	others_cbaddr = rdmsr(LWP_MSR_CBADDR);
	xrstor_lwp();
	lwp_try(l, lwp_nop_1);
	leave();
}

static void test_move(struct lwp *l)
{
	struct rec on_1[2] = { REC_IRE(lwp_nop_1), REC_IRE(lwp_nop_2) };

	on_1[0].core = on_1[1].core = 1;
	lwp_go(l, every_insn(), lwp_on);
	leave();
	visit(l);
	smp_call(1, visit, l);
	report_eq(others_cbaddr, 0, "LWP of the other processor was off");
	visit(l);
	EXPECT_RECORDS(l, "records continue; CoreId is that of the processor", REC_IRE(lwp_nop_1),
		       REC_IRE(lwp_nop_2), on_1[0], on_1[1], REC_IRE(lwp_nop_1),
		       REC_IRE(lwp_nop_2));
}

static void test_pending(struct lwp *l)
{
	lwp_go(l, EVENT(EV_IRE, 9, 0), lwp_on);
	as_protect(l->cr3, RING_VA, PAGE_NONE);
	leave();
	visit(l);
	expect_store_fault(l, PF_WRITE | PF_USER, RING_VA, (u64)lwp_nop_2, "a record is pending");
	as_protect(l->cr3, RING_VA, PAGE_USER_RW);
	smp_call(1, visit, l);
	report(user_exited(&l->u), "the other processor runs the thread");
	EXPECT_IRE(l, "and has stored the record of the first", lwp_nop_1);
}

static void test_many(struct lwp *l)
{
	lwp_go(l, EVENT(EV_IRE, 2, 2), lwp_on);
	leave();
	for (u32 i = 0; i < ROUNDS; i++) {
		if (i & 1)
			smp_call(1, visit, l);
		else
			visit(l);
	}
	expect_stored(l, 66, "%u turns on two processors: every third of 200 instructions", ROUNDS);
}

FLAT_TEST(os_smp)
{
	struct lwp l;

	rule("43724-901 43724-410", CHOICE);
	smp_start();
	enable(NULL);
	smp_call(1, enable, NULL);
	lwp_map(&l, kernel_cr3());
	test_move(&l);
	test_pending(&l);
	test_many(&l);
}
