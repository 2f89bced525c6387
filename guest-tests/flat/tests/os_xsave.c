// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `os` contexts: XSAVE component 62 (43724-302 to 43724-314), byte by byte, and an OS that switches LWP with
 * XSAVE and XRSTOR (43724-213, 43724-901).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"
#include "xsave.h"

extern char xsv_user[];

USER_CODE(/* XSAVE by user code: rdi = area. */
	  "xsv_user: xor %eax, %eax\n"
	  "mov $0x40000000, %edx\n"
	  "xsave64 (%rdi)\n"
	  "user_exit\n");

static const struct block plain = { .random = 3,
				    .filters = 1u << 28,
				    .event = { { EV_IRE, 100, 50 }, { EV_BRE, 7, 6 } } };

static void expect_layout(const char *who)
{
	rule("43724-302 43724-303", CERTAIN);
	report_push("%s", who);
	report_eq(lwp_get64(area + XSTATE_BV), BV_LWP, "XSTATE_BV[62] is set");
	report_eq(lwp_get64(lwp + 0), CB_VA, "LWPCBAddress");
	report_eq(lwp_get32(lwp + 8), 1u << EV_IRE | 1u << EV_BRE, "Flags");
	report_eq(lwp_get32(lwp + 12), 0, "BufferHeadOffset");
	report_eq(lwp_get64(lwp + 16), RING_VA, "BufferBase");
	rule("43724-302", RECALLED);
	report_eq(lwp_get32(lwp + 24), 0x30000000 | DEFAULT_RECORDS * RECORD_SIZE,
		  "BufferSize and Random");
	rule("43724-302", CERTAIN);
	report_eq(lwp_get32(lwp + 28), 1u << 28, "Filters");
	rule("43724-302", RECALLED);
	report(all(lwp + 32, 32, 0), "no pending record");
	rule("43724-302", CERTAIN);
	report_eq(lwp_get32(lwp + 64 + 4), 48, "EventCounter2: 50, two NOPs");
	report_eq(lwp_get32(lwp + 64 + 8), 6, "EventCounter3");
	rule("43724-302 43724-305", CHOICE);
	report(all(lwp + 64, 4, 0) && all(lwp + 76, 20, 0), "the other counters are 0");
	report(all(lwp + 96, 32, 0), "bytes 96 to 127 are 0");
	report_pop();
}

static void test_layout(struct lwp *l)
{
	go(l, &plain);
	xsave_lwp();
	ask("Q38", "43724-302", "bits 31 to 28 of dword 24 of the component, Random 3", "3",
	    text("%u", lwp_get32(lwp + 24) >> 28));
	expect_layout("XSAVE at CPL 0");
	rule("43724-306", RECALLED);
	report(all(area, XSTATE_BV, FILL), "no other component is written");
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "XSAVE does not stop LWP");
	report_eq(cb_counter(l, EV_IRE), 50, "XSAVE does not flush");

	memset(l->data, 0, PAGE_SIZE);
	l->u.r.rdi = DATA_VA;
	lwp_run(l, xsv_user);
	memcpy(area, l->data, AREA_SIZE);
	/* XOR and MOV were counted. */
	rule("43724-313", CHOICE);
	report_eq(lwp_get32(lwp + 64 + 4), 46, "XSAVE at CPL 3 saves the counters before itself");
	lwp_put32(lwp + 64 + 4, 48);
	expect_layout("XSAVE at CPL 3");
}

static void test_switch(struct lwp *l)
{
	u64 cfg = rdmsr(LWP_MSR_CFG);

	go(l, &plain);
	xsave_lwp();
	lwp_put64(area + XSTATE_BV, 0);
	xrstor_lwp();
	rule("43724-308", RECALLED);
	report_eq(rdmsr(LWP_MSR_CBADDR), 0, "XRSTOR with XSTATE_BV[62] = 0 turns LWP off");
	report_eq(cb_counter(l, EV_IRE), 50, "and flushes nothing");
	lwp_run(l, lwp_nop_1);
	lwp_put64(area + XSTATE_BV, BV_LWP);
	memset(lwp + 96, 0xff, 32);
	xrstor_lwp();
	rule("43724-213 43724-901", RECALLED);
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "XRSTOR of the area turns it on");
	rule("43724-305", CHOICE);
	report_eq(rdmsr(LWP_MSR_CFG), cfg, "LWP_CFG is not taken from bytes 96 and up");
	lwp_run(l, lwp_nop_1);
	rule("43724-901", CERTAIN);
	report_eq(lwp_query(l), CB_VA, "SLWPCB gives the block");
	rule("43724-712 43724-901", CHOICE);
	report_eq(cb_counter(l, EV_IRE), 46, "the counter went on: 48, two NOPs");
	rule("43724-704", CERTAIN);
	expect_no_records(l, "no event was due");
	lwp_stop();

	clear_area();
	xsave_lwp();
	rule("43724-307", RECALLED);
	report_eq(lwp_get64(area + XSTATE_BV), 0, "XSAVE while off: XSTATE_BV[62] = 0");
	report(all(lwp, 128, FILL), "and the component is not written");
}

static void test_mask(struct lwp *l)
{
	u64 cfg = rdmsr(LWP_MSR_CFG);

	go(l, &plain);
	xsave_lwp();
	wrmsr(LWP_MSR_CFG, 1u << EV_BRE);
	xrstor_lwp();
	clear_area();
	xsave_lwp();
	rule("43724-309", RECALLED);
	report_eq(lwp_get32(lwp + 8), 1u << EV_BRE, "XRSTOR masks Flags with LWP_CFG");
	lwp_stop();
	wrmsr(LWP_MSR_CFG, cfg);
}

/* A record that could not be stored is in SavedEventRecord and comes back from there. */
static void test_pending(struct lwp *l)
{
	go(l, EVENT(EV_IRE, 9, 2));
	l->u.r.rip = (u64)lwp_nop_1;
	rule("43724-302 43724-815", CHOICE);
	run_to_missing(l, RING_VA, (u64)lwp_nop_2, "a record is pending");
	xsave_lwp();
	report_eq(lwp[32], EV_IRE, "SavedEventRecord has its EventId");
	report_eq(lwp_get64(lwp + 32 + 8), (u64)lwp_nop_1, "and its address");
	lwp_stop();
	as_protect(l->cr3, RING_VA, PAGE_USER_RW);
	xrstor_lwp();
	lwp_resume(l);
	EXPECT_IRE(l, "restored, it is stored", lwp_nop_1);
	lwp_stop();
}

/*
 * BaseIP and LimitIP are not in the component: they are read again at the first CPL-3 moment, before anything
 * counts, and a block that is not there then faults in the program.
 */
static void test_ip_filter(struct lwp *l)
{
	struct block b = { .filters = 1u << 31,
			   .base_ip = (u64)lwp_nop_1,
			   .limit_ip = (u64)lwp_nop_1,
			   .event = { { EV_IRE, 0, 0 } } };

	if (report_lacks(!(cpuid(LWP_CPUID_LEAF, 0).c & LWP_ECX_IP_FILTERING),
			 "8000_001C ECX[29] is clear", "IP filter after XRSTOR"))
		return;
	lwp_go(l, &b, lwp_on);
	xsave_lwp();
	lwp_stop();
	xrstor_lwp();
	as_protect(l->cr3, CB_VA, PAGE_NONE);
	lwp_try(l, lwp_nop_1);
	rule("43724-310", CHOICE);
	report(l->u.r.vector == VEC_PF && l->u.r.error & PF_USER && l->u.r.rip == (u64)lwp_nop_1 &&
		       (l->u.cr2 & PAGE_MASK) == CB_VA,
	       "XRSTOR with an IP filter, block not there: #PF at the first instruction");
	lwp_bring(l, CB_VA);
	EXPECT_IRE(l, "with the block there the filter is as it was", lwp_nop_1);
	lwp_stop();
}

LWP_TEST(os_xsave)
{
	test_layout(l);
	test_switch(l);
	test_mask(l);
	test_pending(l);
	test_ip_filter(l);
}
