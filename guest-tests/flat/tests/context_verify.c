// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A found `auto` context is used only if its block and its last record are still in memory as they were; else it goes,
 * without a write and without a fault. What cannot be read stays parked (2007-305).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

extern char ver_slwpcb[];

USER_CODE("ver_slwpcb: mov %rbx, (%rcx)\n"
	  "slwpcb %rax\n"
	  "user_exit\n");

static u64 elsewhere;

#define TABLE_VA (USER_BASE + 0x80000) /* a page table, as user memory */

/* Two records, then away from the address space. */
static void start(struct lwp *l)
{
	lwp_go(l, every_insn(), lwp_start);
	write_cr3(elsewhere);
}

/* Back again: is the context there? One more instruction shows whether something is written. */
static void expect_dropped(struct lwp *l, const char *what)
{
	u32 head = cb_head(l);

	report_eq(lwp_touch_in(l->cr3), 0, "%s: the context goes", what);
	lwp_run(l, lwp_nop_2);
	report(cb_head(l) == head && ring_untouched(l, 2), "%s: nothing is written", what);
	lwp_stop();
}

static void expect_kept(struct lwp *l, const char *what)
{
	report_eq(lwp_touch_in(l->cr3), CB_VA, "%s: the context is found", what);
	lwp_run(l, lwp_nop_2);
	expect_record(l, 2, (struct rec)REC_IRE(lwp_nop_2), "%s: and continues", what);
	lwp_stop();
}

static void test_changes(struct lwp *l)
{
	static const struct {
		const char *name;
		u32 offset;
	} constant[] = {
		{ "Flags", 0 },	     { "BufferSize", 5 }, { "Random", 7 },  { "BufferBase", 9 },
		{ "the head", 16 },  { "Threshold", 33 }, { "Filters", 39 }, { "BaseIP", 40 },
		{ "LimitIP", 48 },
	}, free_to_change[] = {
		{ "MissedEvents", 24 }, { "the tail", 64 }, { "a software field", 72 },
	};

	for (u32 i = 0; i < sizeof(constant) / sizeof(constant[0]); i++) {
		start(l);
		l->cb[constant[i].offset] ^= 0x40;
		expect_dropped(l, constant[i].name);
	}
	start(l);
	l->ring[RECORD_SIZE + 8] ^= 1;
	expect_dropped(l, "the last record");
	for (u32 i = 0; i < sizeof(free_to_change) / sizeof(free_to_change[0]); i++) {
		start(l);
		/* The tail becomes the head. */
		l->cb[free_to_change[i].offset] ^= 0x40;
		expect_kept(l, free_to_change[i].name);
	}
	start(l);
	l->ring[8] ^= 1;
	expect_kept(l, "an older record");
}

static void test_unreadable(struct lwp *l)
{
	start(l);
	as_protect(l->cr3, CB_VA, PAGE_NONE);
	report_eq(lwp_touch_in(l->cr3), 0, "block not there: LWP is off");
	lwp_try(l, lwp_nop_2);
	report(user_exited(&l->u), "block not there: user code runs without a fault");
	write_cr3(elsewhere);
	as_protect(l->cr3, CB_VA, PAGE_USER_RW);
	expect_kept(l, "block there at the next switch");

	start(l);
	as_protect(l->cr3, RING_VA, PAGE_NONE);
	report_eq(lwp_touch_in(l->cr3), 0, "ring not there: LWP is off");
	write_cr3(elsewhere);
	as_protect(l->cr3, RING_VA, PAGE_USER_RW);
	expect_kept(l, "ring there at the next switch");
}

/* The address space stays: its memory is looked at again when the program, or one of LWP's instructions, runs. */
static void test_readable_again(struct lwp *l)
{
	u64 *pte = as_pte(l->cr3, CB_VA), block;

	start(l);
	as_protect(l->cr3, CB_VA, PAGE_NONE);
	report_eq(lwp_touch_in(l->cr3), 0, "block not there: LWP is off");
	as_protect(l->cr3, CB_VA, PAGE_USER_RW);
	report_eq(lwp_touch(), CB_VA, "block there when the program runs again");
	lwp_run(l, lwp_nop_2);
	expect_record(l, 2, (struct rec)REC_IRE(lwp_nop_2), "and the context continues");
	lwp_stop();

	/* The program itself puts the entry back. */
	start(l);
	block = *pte;
	as_protect(l->cr3, CB_VA, PAGE_NONE);
	as_map(l->cr3, TABLE_VA, (u64)pte & PTE_ADDRESS, 1, PAGE_USER_RW);
	write_cr3(l->cr3);
	l->u.r.rip = (u64)ver_slwpcb;
	l->u.r.rbx = block;
	l->u.r.rcx = TABLE_VA + ((u64)pte & (PAGE_SIZE - 1));
	lwp_resume(l);
	report_eq(l->u.r.rax, CB_VA, "block there before SLWPCB, which finds the context");
	report_eq(lwp_touch(), CB_VA, "as does the program after it");
	lwp_stop();
}

/* The page tables were given to another program: same CR3, other memory. */
static void test_reused_cr3(struct lwp *l)
{
	u64 cb = *as_pte(l->cr3, CB_VA) & PTE_ADDRESS, other = phys_alloc(1, PAGE_SIZE);

	start(l);
	as_map(l->cr3, CB_VA, other, 1, PAGE_USER_RW);
	report_eq(lwp_touch_in(l->cr3), 0, "CR3 reused with other memory: the context goes");
	as_map(l->cr3, CB_VA, cb, 1, PAGE_USER_RW);
	write_cr3(elsewhere);
	report_eq(lwp_touch_in(l->cr3), 0, "and does not come back");
}

/* A record that has not been stored goes with its context, although the block is put right later. */
static void test_pending(struct lwp *l)
{
	start(l);
	lwp_touch_in(l->cr3);
	l->u.r.rip = (u64)lwp_nop_2;
	run_to_missing(l, RING_VA + 2 * RECORD_SIZE, (u64)lwp_nop_2 + 1, "a record is pending");
	write_cr3(elsewhere);
	as_protect(l->cr3, RING_VA, PAGE_USER_RW);
	l->cb[9] ^= 0x40;
	report_eq(lwp_touch_in(l->cr3), 0, "BufferBase: the context goes");
	l->cb[9] ^= 0x40;
	write_cr3(elsewhere);
	report_eq(lwp_touch_in(l->cr3), 0, "and does not come back");
	lwp_resume(l);
	report(cb_head(l) == 2 * RECORD_SIZE && ring_untouched(l, 2),
	       "its pending record is not stored");
}

LWP_TEST(context_verify)
{
	rule("43724-902 43724-903 43724-904", CHOICE);
	elsewhere = as_new();
	test_changes(l);
	test_unreadable(l);
	test_readable_again(l);
	test_pending(l);
	test_reused_cr3(l);
}
