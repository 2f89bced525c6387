// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `auto` contexts of the 2007 proposal (2007-305): address space and FS base select whose LWP runs. A switch parks one
 * with its counters, a record that is not stored yet among them, and resumes another; a block that has changed in
 * between ends it (2007-901, 2007-902).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define FS_ONE 0x1000ul
#define FS_TWO 0x2000ul

extern char c07_start[], c07_run[], c07_run_1[], c07_run_2[], c07_query[];

USER_CODE("c07_start: llwpcb %rax\n"
	  "user_exit\n"
	  "c07_run:\n"
	  "c07_run_1: nop\n"
	  "c07_run_2: nop\n"
	  "user_exit\n"
	  "c07_query: slwpcb %rbx\n"
	  "user_exit\n");

static const struct block every = { .event = { { EV07_IRE, 1, 1 } } };

/* LLWPCB returns what was there before. */
static u64 start(struct lwp *l, u64 block)
{
	l->u.r.rax = block;
	lwp_run(l, c07_start);
	return l->u.r.rax;
}

static void test_address_spaces(struct lwp *a, struct lwp *b)
{
	write_cr3(a->cr3);
	lwp_go(a, &every, c07_start);
	lwp_run(a, c07_run);
	write_cr3(b->cr3);
	lwp_prepare(b, &every, c07_start);
	lwp_run(b, c07_query);
	report_eq(b->u.r.rbx, 0, "another address space: SLWPCB returns 0");
	lwp_run(b, c07_run);
	expect_no_records(b, "nothing is recorded there");
	report_eq(start(b, CB_VA), 0, "LLWPCB returns 0 there, not the other's block");
	lwp_run(b, c07_run);
	write_cr3(a->cr3);
	report_eq(lwp_touch(), CB_VA, "back in the first: LWP is on again");
	lwp_run(a, c07_run);
	write_cr3(b->cr3);
	lwp_run(b, c07_run);
	EXPECT_IRE(b, "the second has its own records", c07_run_1, c07_run_2, c07_run_1, c07_run_2);
	lwp_stop();
	write_cr3(a->cr3);
	report_eq(lwp_touch(), CB_VA, "LWPMSR1 = 0 in the second leaves the first on");
	EXPECT_IRE(a, "the first has its own records", c07_run_1, c07_run_2, c07_run_1, c07_run_2);
	lwp_stop();
}

static void test_threads(struct lwp *a)
{
	static const struct block second = { .base = SECOND_RING, .event = { { EV07_IRE, 1, 1 } } };

	wrmsr(MSR_FS_BASE, FS_ONE);
	lwp_prepare(a, &every, c07_start);
	block_write_at(a, SECOND, &second);
	lwp_resume(a);
	lwp_run(a, c07_run);
	wrmsr(MSR_FS_BASE, FS_TWO);
	report_eq(lwp_touch(), 0, "another FS base: LWP is off there");
	report_eq(start(a, CB_VA + SECOND), 0, "LLWPCB returns 0 there");
	lwp_run(a, c07_run);
	lwp_run(a, c07_run);
	wrmsr(MSR_FS_BASE, FS_ONE);
	report_eq(lwp_touch(), CB_VA, "the first thread's LWP is on again");
	lwp_run(a, c07_run);
	wrmsr(MSR_FS_BASE, FS_TWO);
	report_eq(start(a, 0), CB_VA + SECOND, "LLWPCB 0 returns the second thread's block");
	report_eq(lwp_get32(a->cb + SECOND + LWP_CB_HEAD), 4 * RECORD_SIZE,
		  "the second thread has 4 records");
	report_eq(lwp_get64(a->ring + 2 * PAGE_SIZE + 8), (u64)c07_run_1, "in its own ring");
	EXPECT_IRE(a, "the first thread has 4", c07_run_1, c07_run_2, c07_run_1, c07_run_2);
	wrmsr(MSR_FS_BASE, FS_ONE);
	report_eq(lwp_touch(), CB_VA, "and is still on");
	lwp_stop();
	wrmsr(MSR_FS_BASE, 0);
}

/* 12 instructions by twos, with another address space and another thread in between. */
static void test_counts(struct lwp *a, struct lwp *b)
{
	static const struct block third = { .event = { { EV07_IRE, 3, 3 } } };

	lwp_go(a, &third, c07_start);
	for (u32 i = 0; i < 6; i++) {
		lwp_run(a, c07_run);
		write_cr3(b->cr3);
		lwp_run(b, c07_run);
		write_cr3(a->cr3);
		wrmsr(MSR_FS_BASE, FS_TWO);
		lwp_run(a, c07_run);
		wrmsr(MSR_FS_BASE, 0);
	}
	EXPECT_IRE(a, "interval 3: what runs in between does not count", c07_run_1, c07_run_2,
		   c07_run_1, c07_run_2);
	lwp_stop();
}

/* 2007-808: the counter is frozen at zero with its record, also while the context is parked. */
static void test_frozen(struct lwp *a, struct lwp *b)
{
	static const struct block second = { .event = { { EV07_IRE, 2, 1 } } };

	lwp_go(a, &second, c07_start);
	a->u.r.rip = (u64)c07_run;
	run_to_missing(a, RING_VA, (u64)c07_run_2, "a missing ring: #PF at the next instruction");
	write_cr3(b->cr3);
	lwp_run(b, c07_run);
	as_protect(a->cr3, RING_VA, PAGE_USER_RW);
	expect_no_records(a, "nothing is stored from elsewhere");
	write_cr3(a->cr3);
	lwp_resume(a);
	lwp_run(a, c07_run);
	/* The second NOP and the first of the next run make two. */
	EXPECT_IRE(a, "back there it is stored, and the counter is reloaded", c07_run_1, c07_run_1);
	lwp_stop();
}

/* What a program must not change while LWP is on, by offset, and what it may. */
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
		lwp_go(a, &every, c07_start);
		lwp_run(a, c07_run);
		write_cr3(b->cr3);
		a->cb[fields[i].offset] ^= 0x40;
		write_cr3(a->cr3);
		report_eq(lwp_touch(), fields[i].constant ? 0 : CB_VA,
			  "%s has changed: the context %s", fields[i].name,
			  fields[i].constant ? "goes" : "stays");
		if (fields[i].constant)
			report(ring_untouched(a, 2) && ring_untouched(a, 3),
			       "and nothing is written");
		lwp_stop();
	}
}

FLAT_TEST(rev07_context)
{
	struct lwp a, b;

	rule("2007-902", CHOICE);
	lwp_init(&a);
	lwp_map(&b, as_new());
	test_address_spaces(&a, &b);
	test_threads(&a);
	test_counts(&a, &b);
	test_frozen(&a, &b);
	test_changed(&a, &b);
}
