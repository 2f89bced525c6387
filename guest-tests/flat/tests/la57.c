// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Five-level paging: block and ring may lie where only 57 bits reach (43724-612), a record and its #PF have the whole
 * address, and an `auto` context is found there again (43724-902, 2007-610).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define FAR 0x00a5000000000000ul
#define FAR_RING (FAR + 0x10000)
#define NON_CANONICAL 0x0100000000000000ul

static void prepare(struct lwp *l, u64 block, u64 ring)
{
	struct block b = { .base = ring, .event = { { EV_IRE, 0, 0 } } };

	lwp_prepare(l, &b, lwp_on);
	l->u.r.rax = block;
}

static void expect_gp(struct lwp *l, u64 block, u64 ring, const char *what)
{
	prepare(l, block, ring);
	run_to_fault(l, VEC_GP, 0, (u64)lwp_on, what);
}

LWP_TEST(la57)
{
	rule("43724-612", RECALLED);
	report(read_cr4() & CR4_LA57, "CR4.LA57 is set");
	as_map(l->cr3, FAR, (u64)l->cb, CB_PAGES, PAGE_USER_RW);
	as_map(l->cr3, FAR_RING, (u64)l->ring, RING_PAGES, PAGE_USER_RW);
	prepare(l, FAR, FAR_RING);
	lwp_resume(l);
	report_eq(rdmsr(LWP_MSR_CBADDR), FAR, "a block beyond 48 bits");
	lwp_run(l, lwp_nop_1);
	rule("43724-612 43724-410", CHOICE);
	EXPECT_IRE(l, "a ring beyond 48 bits", lwp_nop_1, lwp_nop_2);
	rule("43724-622", CERTAIN);
	report_eq(lwp_query(l), FAR, "SLWPCB returns the whole address");
	rule("43724-815", CHOICE);
	l->u.r.rip = (u64)lwp_nop_1;
	run_to_missing(l, FAR_RING + 3 * RECORD_SIZE, (u64)lwp_nop_2,
		       "a missing ring: CR2 is the whole address");
	as_protect(l->cr3, FAR_RING, PAGE_USER_RW);
	rule("43724-902", CHOICE);
	write_cr3(as_new());
	write_cr3(l->cr3);
	lwp_resume(l);
	report_eq(rdmsr(LWP_MSR_CBADDR), FAR, "the context is found again");
	expect_head(l, 5 * RECORD_SIZE, "with its pending record");
	rule("43724-612", RECALLED);
	expect_gp(l, NON_CANONICAL, FAR_RING, "a block that is not canonical in 57 bits: #GP(0)");
	expect_gp(l, FAR, NON_CANONICAL - RECORD_SIZE, "a ring that ends there: #GP(0)");
}
