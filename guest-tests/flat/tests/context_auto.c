// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `auto` contexts on one processor (docs/design.md#contexts): address space (CR3) and thread (FS base)
 * select whose LWP runs; a switch parks one with its counters, a record that is not stored yet among them, and resumes
 * another; nothing of it touches guest memory (43724-212, 43724-820, 43724-902, 43724-907, 2007-305, 2007-901,
 * 2007-902). In 2007 a block that has changed in between ends it.
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define FS_ONE 0x1000ul
#define FS_TWO 0x2000ul

extern char ctx_fs[], ctx_gs[], ctx_mov_fs[], ctx_mov_gs[];

/* A program whose first thread has RAX as base (or selector), and its second RDX, and a block at RBX. */
USER_CODE(".macro green code, base, one, two\n"
	  "\\code: \\two\n" /* of five bytes */
	  "slwpcb %rcx\n"
	  "llwpcb %rbx\n"
	  "rd\\base\\()base %rsi\n" /* at 15 */
	  "\\one\n" /* at 20 */
	  "nop\n" /* at 25 */
	  "\\two\n" /* at 26 */
	  "nop\n" /* at 31 */
	  "user_exit\n"
	  ".endm\n"
	  ".irp base, fs, gs\n"
	  "green ctx_\\base, \\base, \"wr\\base\\()base %rax\", \"wr\\base\\()base %rdx\"\n"
	  "green ctx_mov_\\base, \\base, \".byte 0x2e, 0x2e, 0x2e; mov %eax, %\\base\", "
	  "\".byte 0x2e, 0x2e, 0x2e; mov %edx, %\\base\"\n"
	  ".endr\n");

/* In 2007 LLWPCB returns what was there before. */
static u64 start(struct lwp *l, u64 block)
{
	l->u.r.rax = block;
	lwp_run(l, lwp_on);
	return l->u.r.rax;
}

static void test_address_spaces(struct lwp *a, struct lwp *b)
{
	write_cr3(a->cr3);
	lwp_go(a, every_insn(), lwp_on);
	lwp_run(a, lwp_nop_1);
	report_eq(lwp_touch_in(b->cr3), 0, "another address space: LWP is off there");
	lwp_prepare(b, every_insn(), lwp_nop_1);
	report_eq(lwp_query(b), 0, "SLWPCB says so too");
	lwp_run(b, lwp_nop_1);
	expect_no_records(b, "nothing is recorded there");
	report_eq(start(b, CB_VA), rev07() ? 0 : CB_VA, "LLWPCB does not see the other's block");
	lwp_run(b, lwp_nop_1);
	report_eq(lwp_touch_in(a->cr3), CB_VA, "back in the first: LWP is on again");
	lwp_run(a, lwp_nop_1);
	report_eq(lwp_touch_in(b->cr3), CB_VA, "back in the second: on");
	lwp_run(b, lwp_nop_1);
	EXPECT_IRE(a, "the first has its own records", lwp_nop_1, lwp_nop_2, lwp_nop_1, lwp_nop_2);
	EXPECT_IRE(b, "the second has its own records", lwp_nop_1, lwp_nop_2, lwp_nop_1, lwp_nop_2);
	lwp_stop();
	report_eq(lwp_touch_in(a->cr3), CB_VA, "LWP_CBADDR = 0 in the second leaves the first on");
	lwp_stop();
	report_eq(lwp_touch_in(b->cr3), 0, "the second stays off");
	write_cr3(a->cr3);
}

/* Low bits of CR3 (PCD, PWT) are not part of the key. */
static void test_cr3_bits(struct lwp *a)
{
	lwp_go(a, every_insn(), lwp_on);
	report_eq(lwp_touch_in(a->cr3 | PTE_PCD), CB_VA, "CR3 bits 11:0 do not select a context");
	write_cr3(a->cr3);
	lwp_stop();
}

static void test_threads(struct lwp *a)
{
	struct block second = *every_insn();

	second.base = SECOND_RING;
	wrmsr(MSR_FS_BASE, FS_ONE);
	lwp_prepare(a, every_insn(), lwp_on);
	block_write_at(a, SECOND, &second);
	lwp_resume(a);
	lwp_run(a, lwp_nop_1);
	wrmsr(MSR_FS_BASE, FS_TWO);
	report_eq(lwp_touch(), 0, "another FS base: LWP is off there");
	report_eq(start(a, CB_VA + SECOND), rev07() ? 0 : CB_VA + SECOND, "nor does LLWPCB see it");
	lwp_run(a, lwp_nop_1);
	lwp_run(a, lwp_nop_1);
	wrmsr(MSR_FS_BASE, FS_ONE);
	report_eq(lwp_touch(), CB_VA, "the first thread's LWP is on again");
	lwp_run(a, lwp_nop_1);
	wrmsr(MSR_FS_BASE, FS_TWO);
	report_eq(lwp_touch(), CB_VA + SECOND, "the second thread's too");
	report_eq(lwp_query(a), CB_VA + SECOND, "SLWPCB gives the second block");
	report_eq(lwp_get32(a->cb + SECOND + LWP_CB_HEAD), 5 * RECORD_SIZE,
		  "the second thread has 5 records");
	report_eq(lwp_get64(a->ring + 2 * PAGE_SIZE + 8), (u64)lwp_nop_1, "in its own ring");
	EXPECT_IRE(a, "the first thread has 4", lwp_nop_1, lwp_nop_2, lwp_nop_1, lwp_nop_2);
	report_eq(start(a, 0), rev07() ? CB_VA + SECOND : 0, "LLWPCB 0 ends the second");
	wrmsr(MSR_FS_BASE, FS_ONE);
	report_eq(lwp_touch(), CB_VA, "and leaves the first on");
	lwp_stop();
	wrmsr(MSR_FS_BASE, 0);
}

/* A program, and then its kernel, switches its threads. The instruction that does is of the thread that executes it. */
static void test_green(struct lwp *a, bool gs, char *code, u64 one, u64 two)
{
	struct block block = { .base = SECOND_RING, .event = { { EV_IRE, 0, 0 } } };
	struct lwp second = *a;

	second.cb += SECOND;
	second.ring += 2 * PAGE_SIZE;
	lwp_prepare(a, every_insn(), lwp_on);
	block_write_at(a, SECOND, &block);
	lwp_resume(a);
	a->u.r.rax = one;
	a->u.r.rbx = CB_VA + SECOND;
	a->u.r.rdx = two;
	lwp_run(a, code);
	report_eq(a->u.r.rcx, 0, "the program writes another base: LWP is off there");
	report_eq(a->u.r.rsi, FS_TWO, "it reads its base");
	EXPECT_IRE(&second, "the second has its own records", code + 15, code + 20, code + 31);
	lwp_stop();
	if (gs)
		asm volatile("wrgsbase %0" : : "r"(0ul) : "memory");
	else
		asm volatile("wrfsbase %0" : : "r"(0ul) : "memory");
	lwp_stop();
	EXPECT_IRE(a, "the first, too", code, code + 25, code + 26);
}

/* The context of 32-bit code: FS base is that of a null selector, which counts as 0. */
static void test_code32(struct lwp *a, struct lwp *b)
{
	lwp_go32(a, every_insn(), lwp_on32);
	wrmsr(MSR_FS_BASE, FS_ONE);
	report_eq(lwp_touch(), CB_VA,
		  "32-bit code: the base of a null selector does not select a context");
	wrmsr(MSR_FS_BASE, 0);
	report_eq(lwp_touch_in(b->cr3), 0, "32-bit code: CR3 does");
	write_cr3(a->cr3);
	lwp_prepare32(a, every_insn(), lwp_on32);
	lwp_resume(a);
	lwp_stop();
}

/* 12 instructions by twos, with another address space and another thread in between. */
static void test_counts(struct lwp *a, struct lwp *b)
{
	struct block third = in_revision(*EVENT(EV_IRE, 2, 2));

	lwp_go(a, &third, lwp_on);
	for (u32 i = 0; i < 6; i++) {
		lwp_run(a, lwp_nop_1);
		write_cr3(b->cr3);
		lwp_run(b, lwp_nop_1);
		write_cr3(a->cr3);
		wrmsr(MSR_FS_BASE, FS_TWO);
		lwp_run(a, lwp_nop_1);
		wrmsr(MSR_FS_BASE, 0);
	}
	EXPECT_IRE(a, "every third of 12 instructions: what runs in between does not count",
		   lwp_nop_1, lwp_nop_2, lwp_nop_1, lwp_nop_2);
	lwp_stop();
}

/* A pending record that could not be stored goes along. 2007-808: its counter is frozen at zero meanwhile. */
static void test_pending(struct lwp *a, struct lwp *b)
{
	struct block second = in_revision(*EVENT(EV_IRE, 1, 0));

	lwp_go(a, &second, lwp_on);
	a->u.r.rip = (u64)lwp_nop_1;
	run_to_missing(a, RING_VA, (u64)lwp_nop_2, "a record cannot be stored");
	write_cr3(b->cr3);
	as_protect(a->cr3, RING_VA, PAGE_USER_RW);
	lwp_prepare(b, every_insn(), lwp_nop_1);
	lwp_resume(b);
	expect_no_records(b, "it is not stored in another address space");
	write_cr3(a->cr3);
	lwp_resume(a);
	EXPECT_IRE(a, "it is stored back in its own", lwp_nop_1);
	/* The second NOP and the first of the next run make two. */
	lwp_run(a, lwp_nop_1);
	EXPECT_IRE(a, "and the counter has continued", lwp_nop_1, lwp_nop_1);
	lwp_stop();
}

/* What a program of 2007 must not change while LWP is on, by offset, and what it may. */
static void test_changed(struct lwp *a, struct lwp *b)
{
	static const struct {
		const char *name;
		u32 offset;
		bool constant;
	} fields[] = {
		{ "BufferSize", 4, true }, { "BufferBase", 9, true }, { "the head", 16, true },
		{ "Filters", 36, true },   { "MissedEvents", 24 },    { "a software field", 0xc0 },
	};

	for (u32 i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		lwp_go(a, every_insn(), lwp_start);
		write_cr3(b->cr3);
		a->cb[fields[i].offset] ^= 0x40;
		report_eq(lwp_touch_in(a->cr3), fields[i].constant ? 0 : CB_VA,
			  "%s has changed: the context %s", fields[i].name,
			  fields[i].constant ? "goes" : "stays");
		if (fields[i].constant)
			report(ring_untouched(a, 2) && ring_untouched(a, 3),
			       "and nothing is written");
		lwp_stop();
	}
}

FLAT_TEST(context_auto)
{
	struct lwp a, b;

	rule(rev07() ? "2007-902" : "43724-902 43724-903 43724-904 43724-907", CHOICE);
	lwp_init(&a);
	lwp_map(&b, as_new());
	test_address_spaces(&a, &b);
	test_cr3_bits(&a);
	test_threads(&a);
	test_code32(&a, &b);
	test_counts(&a, &b);
	test_pending(&a, &b);
	if (rev07()) {
		test_changed(&a, &b);
	} else if (fsgsbase_on()) {
		test_green(&a, false, ctx_fs, 0, FS_TWO);
		test_green(&a, true, ctx_gs, 0, FS_TWO);
	}
	if (option_given("segments")) { /* KVM does not notice that they are loaded */
		seg_set(USER_FREE_DS, FS_TWO, 0xfffff, SEG_USER_DATA, SEG_32BIT_PAGES);
		test_green(&a, false, ctx_mov_fs, USER_DS, USER_FREE_DS);
		test_green(&a, true, ctx_mov_gs, USER_DS, USER_FREE_DS);
	}
}
