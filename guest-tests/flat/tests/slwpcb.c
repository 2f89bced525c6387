// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * SLWPCB: 0 while off; while on the effective address of the block, after a flush that shows the counters as they were
 * before its own retirement (43724-415, 43724-602, 43724-609).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define DS_BASE 0x10000u

extern char slwpcb_off[], slwpcb_count[], slwpcb_flush[], slwpcb_flush_1[], slwpcb32[];

USER_CODE("slwpcb_off: mov $-1, %rbx\n"
	  "mov $-1, %rcx\n"
	  "stc\n"
	  "slwpcb %rbx\n"
	  "slwpcb %ecx\n"
	  "setc %dl\n"
	  "user_exit\n"
	  "slwpcb_count: llwpcb %rax\n"
	  "nop\n"
	  "nop\n"
	  "slwpcb %rbx\n"
	  "user_exit\n"
	  "slwpcb %ecx\n"
	  "user_exit\n"
	  "slwpcb_flush: llwpcb %rax\n"
	  "slwpcb_flush_1: nop\n"
	  "slwpcb %rbx\n"
	  "mov 16(%rax), %ecx\n"
	  "user_exit\n"
	  ".code32\n"
	  "slwpcb32: llwpcb %eax\n"
	  "nop\n"
	  "slwpcb %ebx\n"
	  "user_exit\n"
	  ".code64\n");

static void test_off(struct lwp *l)
{
	lwp_go(l, NO_EVENT, slwpcb_off);
	rule("43724-620 43724-623", CERTAIN);
	report_eq(l->u.r.rbx, 0, "off: the 64-bit form returns 0");
	report_eq(l->u.r.rcx, 0, "off: the 32-bit form returns 0, zero-extended");
	report_eq(l->u.r.rdx & 0xff, 1, "off: CF is kept");
}

static void test_count(struct lwp *l)
{
	lwp_prepare(l, EVENT(EV_IRE, 100, 50), slwpcb_count);
	lwp_put32(l->cb + cb_slot(EV_VAL) + LWP_CB_SLOT_COUNTER, 77);
	lwp_resume(l);
	rule("43724-622", CERTAIN);
	report_eq(l->u.r.rbx, CB_VA, "on: returns the address of the block");
	/* 50, two NOPs. */
	rule("43724-712", CHOICE);
	report_eq(cb_counter(l, EV_IRE), 48, "on: the counter is flushed, without SLWPCB itself");
	rule("43724-621", CERTAIN);
	report_eq(cb_interval(l, EV_IRE), 100, "on: the interval is not changed");
	report_eq(cb_counter(l, EV_VAL), 77, "on: nor the counter of an event not in Flags");
	lwp_resume(l);
	rule("43724-622", CERTAIN);
	report_eq(l->u.r.rcx, CB_VA, "on: the 32-bit form returns the low 32 bits, zero-extended");
	/* 48, then the first SLWPCB; INT is not counted. */
	rule("43724-712", CHOICE);
	report_eq(cb_counter(l, EV_IRE), 47, "SLWPCB counts after it has stored");
	rule("43724-621", CERTAIN);
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "LWP continues");
	expect_no_records(l, "no event was due");
}

static void test_flush(struct lwp *l)
{
	lwp_go(l, EVENT(EV_IRE, 100, 0), slwpcb_flush);
	rule("43724-621 43724-710", RECALLED);
	EXPECT_IRE(l, "a record that is due is in the ring", slwpcb_flush_1);
	report_eq(l->u.r.rcx, RECORD_SIZE, "and the head that the program reads is after it");
}

static void test_fault(struct lwp *l)
{
	lwp_go(l, EVENT(EV_IRE, 100, 50), lwp_one);
	l->u.r.rip = (u64)lwp_slwpcb;
	as_protect(l->cr3, CB_VA, PAGE_USER_RO);
	rule("43724-623", CERTAIN);
	run_to_store_fault(l, PF_PRESENT | PF_WRITE | PF_USER, CB_VA, (u64)lwp_slwpcb,
			   "a read-only block gives #PF at SLWPCB");
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "LWP stays on");
	run_to_missing(l, CB_VA, (u64)lwp_slwpcb, "a block that is not there gives #PF at SLWPCB");
	lwp_bring(l, CB_VA);
	rule("43724-622", CERTAIN);
	report_eq(l->u.r.rbx, CB_VA, "restarted, it returns the address");
	rule("43724-701", RECALLED);
	report_eq(cb_counter(l, EV_IRE), 49, "what faulted was not counted");
}

static void test_ds_base(struct lwp *l)
{
	static const struct block b = { .base = RING_VA - DS_BASE,
					.event = { { EV_IRE, 100, 0 } } };

	seg_set(USER_FREE_DS, DS_BASE, 0xfffff, SEG_USER_DATA, SEG_32BIT_PAGES);
	lwp_prepare32(l, &b, slwpcb32);
	l->u.ds = USER_FREE_DS;
	l->u.r.rax = CB_VA - DS_BASE;
	lwp_resume(l);
	rule("43724-210 43724-617", CERTAIN);
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "DS base: LWP_CBADDR is linear");
	rule("43724-622", CERTAIN);
	report_eq(l->u.r.rbx, CB_VA - DS_BASE, "DS base: SLWPCB returns the effective address");
	rule("43724-615", RECALLED);
	EXPECT_IRE(l, "DS base: the ring is at BufferBase + DS base", slwpcb32 + 5);
	rule("43724-414", CERTAIN);
	report_eq(lwp_get64(l->cb + LWP_CB_BASE), RING_VA - DS_BASE, "BufferBase is not rewritten");
}

LWP_TEST(slwpcb)
{
	test_off(l);
	test_count(l);
	test_flush(l);
	test_fault(l);
	test_ds_base(l);
}
