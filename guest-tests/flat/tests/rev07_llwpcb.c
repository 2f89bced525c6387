// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * 2007-602 to 2007-606, 2007-401 to 2007-411: LLWPCB returns the previous pointer in rAX, wants 16-byte alignment,
 * writes what is profiled into Flags, and leaves LWP off when nothing is (43724-612, 2007-609).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

extern char l07_two[], l07_ins[], l07_val[], l07_again[], l07_32[];

USER_CODE("l07_two: llwpcb %rax\n"
	  "mov %rax, %rcx\n"
	  "mov %rbx, %rax\n"
	  "llwpcb %rax\n"
	  "mov %rax, %rdx\n"
	  "slwpcb %rax\n"
	  "user_exit\n"
	  /* Off with 0, and on again with what that has returned. */
	  "l07_again: llwpcb %rax\n"
	  "nop\n"
	  "xor %eax, %eax\n"
	  "llwpcb %rax\n"
	  "nop\n"
	  "llwpcb %rax\n"
	  "nop\n"
	  "flush_exit\n"
	  ".code32\n"
	  "l07_32: llwpcb %eax\n"
	  "nop\n"
	  "slwpcb %ebx\n"
	  "user_exit\n"
	  ".code64\n"
	  "l07_ins: lwpins $1, %ecx, %rdx\n"
	  "l07_val: lwpval $1, %ecx, %rdx\n");

static const struct block ire = { .event = { { EV07_IRE, 100, 50 } } };

static void test_pointer(struct lwp *l)
{
	lwp_prepare(l, &ire, l07_two);
	block_write_at(l, SECOND, &ire);
	l->u.r.rbx = CB_VA + SECOND;
	lwp_resume(l);
	rule("2007-602 2007-603 2007-604", CERTAIN);
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
	lwp_prepare(l, &ire, lwp_one);
	block_write_at(l, 8, &ire);
	l->u.r.rax = CB_VA + 8;
	rule("2007-611", CHOICE);
	run_to_fault(l, VEC_GP, 0, (u64)lwp_one, "a block that is not 16-byte aligned: #GP(0)");
	report_eq(l->u.r.rax, CB_VA + 8, "rAX is kept");
	lwp_prepare(l, &ire, lwp_one);
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

	lwp_go(l, &both, lwp_one);
	rule("2007-402 2007-405", CERTAIN);
	report_eq(cb_flags(l), 0x7, "Flags: Enabled IRE BRE, in any slot");
	lwp_go(l, &ire, lwp_one);
	report_eq(cb_flags(l), 0x3, "Flags: Enabled IRE");
	lwp_go(l, &unknown, lwp_one);
	rule("2007-404 2007-406", CERTAIN);
	report_eq(cb_flags(l), 0, "no event that there is: Flags are 0");
	report_eq(rdmsr(LWP_MSR_CBADDR), 0, "and LWP is off");
}

static void test_again(struct lwp *l)
{
	lwp_go(l, &ire, l07_again);
	rule("2007-603", CERTAIN);
	report_eq(l->u.r.rbx, CB_VA, "LLWPCB of the returned address turns LWP on again");
	/* NOP and XOR; NOP. */
	report_eq(cb_counter(l, 1), 47, "and the counter continues where it was");
}

/* 2007-604, 2007-605, 2007-607: at CPL 0 the pointer is loaded, the block at CPL 3; no flag is changed. */
static void test_cpl0(struct lwp *l)
{
	u64 rax = CB_VA, flags;

	lwp_prepare(l, &ire, lwp_nop_1);
	as_protect(l->cr3, CB_VA, PAGE_NONE);
	asm volatile("stc\n"
		     "llwpcb %%rax\n"
		     "pushfq\n"
		     "pop %1\n"
		     : "+a"(rax), "=r"(flags)
		     :
		     : "memory", "cc");
	rule("2007-605 2007-607", CERTAIN);
	report_eq(rax, 0, "LLWPCB at CPL 0 of a block that is not there: no fault, returns 0");
	report(flags & RFLAGS_CF, "CF is kept");
	run_to_store_fault(l, PF_WRITE | PF_USER, CB_VA, (u64)lwp_nop_1, "#PF at CPL 3");
	as_protect(l->cr3, CB_VA, PAGE_USER_RW);
	report_eq(cb_flags(l), 0, "the block has not been touched");
	lwp_resume(l);
	report_eq(cb_flags(l), 0x3, "it is loaded there");
	asm volatile("slwpcb %%rax" : "=a"(rax) : : "memory");
	report_eq(rax, CB_VA, "SLWPCB at CPL 0 returns the block");
	report_eq(cb_counter(l, 1), 48, "and flushes: two NOPs");
	rax = CB_VA + SECOND;
	asm volatile("llwpcb %%rax" : "+a"(rax) : : "memory");
	report_eq(rax, CB_VA, "LLWPCB at CPL 0 returns the previous block");
	lwp_stop();
}

static void test_core_id(struct lwp *l)
{
	u64 cfg = rdmsr(LWP_MSR_CFG);

	wrmsr(LWP_MSR_CFG, cfg | 0xa5ul << LWP_CFG_COREID_SHIFT);
	lwp_go(l, every_insn(), lwp_one);
	rule("2007-204 2007-504", CHOICE);
	EXPECT_RECORDS(l, "CoreId of LWPMSR0 is in the record",
		       { EV07_IRE, .core = 0xa5, .address = (u64)lwp_one + 5 });
	lwp_stop();
	wrmsr(LWP_MSR_CFG, cfg);
}

/* 2007-408, 2007-610: BufferBase is linear; the block's address is an offset in DS, whose limit holds. */
static void test_ds(struct lwp *l)
{
	lwp_prepare32(l, every_insn(), l07_32);
	seg_set(USER_FREE_DS, CB_VA - 0x1000, 1, SEG_USER_DATA, SEG_32BIT_PAGES);
	l->u.ds = USER_FREE_DS;
	l->u.r.rax = 0x1000;
	lwp_resume(l);
	rule("2007-606 2007-610", RECALLED);
	report_eq(l->u.r.rbx, 0x1000, "DS base: SLWPCB returns the effective address");
	rule("2007-408", CHOICE);
	expect_record(l, 0, (struct rec)REC07_IRE(l07_32 + 5),
		      "BufferBase is linear: neither base nor limit of DS apply");
	lwp_prepare32(l, every_insn(), l07_32);
	l->u.ds = USER_FREE_DS;
	l->u.r.rax = 0x2000;
	rule("2007-610", RECALLED);
	run_to_fault(l, VEC_GP, 0, (u64)l07_32, "a block beyond the limit of DS: #GP(0)");
}

static void test_absent(struct lwp *l)
{
	lwp_prepare(l, &ire, l07_ins);
	rule("2007-601 2007-608", CERTAIN);
	run_to_fault(l, VEC_UD, 0, (u64)l07_ins, "2007 has no LWPINS: #UD");
	l->u.r.rip = (u64)l07_val;
	run_to_fault(l, VEC_UD, 0, (u64)l07_val, "2007 has no LWPVAL: #UD");
}

LWP_TEST(rev07_llwpcb)
{
	test_pointer(l);
	test_alignment(l);
	test_flags(l);
	test_absent(l);
	test_again(l);
	test_cpl0(l);
	test_core_id(l);
	test_ds(l);
}
