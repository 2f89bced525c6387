// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * 2007-602 to 2007-606, 2007-401 to 2007-411: LLWPCB returns the previous pointer in rAX, wants 16-byte
 * alignment, writes what is profiled into Flags, and leaves LWP off when nothing is.
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define SECOND 0x800u

extern char l07_two[], l07_first[], l07_second[], l07_ins[], l07_val[], l07_one[];

USER_CODE("l07_two:\n"
	  "l07_first: llwpcb %rax\n"
	  "mov %rax, %rcx\n"
	  "mov %rbx, %rax\n"
	  "l07_second: llwpcb %rax\n"
	  "mov %rax, %rdx\n"
	  "slwpcb %rax\n"
	  "user_exit\n"
	  "l07_one: llwpcb %rax\n"
	  "nop\n"
	  "user_exit\n"
	  "l07_ins: lwpins $1, %ecx, %rdx\n"
	  "l07_val: lwpval $1, %ecx, %rdx\n");

static const struct block ire = { .event = { { EV07_IRE, 100, 50 } } };

static void test_pointer(struct lwp *l)
{
	lwp_prepare(l, &ire, l07_two);
	block_write_at(l, SECOND, &ire);
	l->u.r.rbx = CB_VA + SECOND;
	lwp_resume(l);
	report_eq(l->u.r.rcx, 0, "the first LLWPCB returns 0");
	report_eq(l->u.r.rdx, CB_VA, "the second returns the first block");
	report_eq(l->u.r.rax, CB_VA + SECOND, "SLWPCB returns the second");
	/* Two MOVs. */
	report_eq(cb_counter(l, 1), 48, "the first block was flushed");

	lwp_prepare(l, &ire, l07_two);
	l->u.r.rbx = 0;
	lwp_resume(l);
	report_eq(l->u.r.rdx, CB_VA, "LLWPCB 0 returns the block");
	report_eq(l->u.r.rax, 0, "and turns LWP off");
}

static void test_alignment(struct lwp *l)
{
	lwp_prepare(l, &ire, l07_one);
	block_write_at(l, 8, &ire);
	l->u.r.rax = CB_VA + 8;
	user_run(&l->u);
	expect_fault(l, VEC_GP, 0, (u64)l07_one, "a block that is not 16-byte aligned: #GP(0)");
	report_eq(l->u.r.rax, CB_VA + 8, "rAX is kept");
	lwp_prepare(l, &ire, l07_one);
	block_write_at(l, 16, &ire);
	l->u.r.rax = CB_VA + 16;
	lwp_resume(l);
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA + 16, "16-byte alignment is enough");
}

static void test_flags(struct lwp *l)
{
	static const struct block both = { .event = { { EV07_BRE, 9, 9 }, { EV07_IRE, 9, 9 } } };
	static const struct block unknown = { .flags = 0xff,
					      .event = { { 9, 9, 9 }, { 3, 9, 9 } } };

	lwp_go(l, &both, l07_one);
	report_eq(cb_flags(l), 0x7, "Flags: Enabled IRE BRE, in any slot");
	lwp_go(l, &ire, l07_one);
	report_eq(cb_flags(l), 0x3, "Flags: Enabled IRE");
	lwp_go(l, &unknown, l07_one);
	report_eq(cb_flags(l), 0, "no event that there is: Flags are 0");
	report_eq(rdmsr(LWP_MSR_CBADDR), 0, "and LWP is off");
}

static void test_absent(struct lwp *l)
{
	lwp_prepare(l, &ire, l07_ins);
	user_run(&l->u);
	expect_fault(l, VEC_UD, 0, (u64)l07_ins, "2007 has no LWPINS: #UD");
	l->u.r.rip = (u64)l07_val;
	user_run(&l->u);
	expect_fault(l, VEC_UD, 0, (u64)l07_val, "2007 has no LWPVAL: #UD");
}

FLAT_TEST(rev07_llwpcb)
{
	struct lwp l;

	lwp_init(&l);
	test_pointer(&l);
	test_alignment(&l);
	test_flags(&l);
	test_absent(&l);
}
