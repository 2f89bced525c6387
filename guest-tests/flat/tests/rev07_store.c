// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ring, reload and faults of the 2007 proposal: fields that are not well formed, a full ring, Random, a counter that is
 * frozen at zero while the ring is missing, a slot that has gone; and the special instructions (2007-408, 2007-414,
 * 2007-706).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define RING (32 * (u32)RECORD_SIZE)
#define SLOT_1 40 /* of the block: interval and EventId */

extern char s07_nops[], s07_first[], s07_one[], s07_o1[], s07_o2[], s07_o3[];
extern char s07_gone[], s07_g1[], s07_special[], s07_rep[], s07_after[];

USER_CODE("s07_nops: llwpcb %rax\n"
	  "s07_first: .fill 40, 1, 0x90\n"
	  "user_exit\n"
	  "s07_one: llwpcb %rax\n"
	  "s07_o1: nop\n"
	  "s07_o2: nop\n"
	  "s07_o3: nop\n"
	  "user_exit\n"
	  "s07_gone: llwpcb %rax\n"
	  "s07_g1: movl $1, 40(%rbx)\n" /* EventId 0 in slot 1 */
	  "nop\n"
	  "nop\n"
	  "slwpcb %rax\n"
	  "user_exit\n"
	  "s07_special: llwpcb %rax\n"
	  "mov $5, %ecx\n"
	  "s07_rep: rep lodsb\n"
	  "s07_after: mov %ss, %r8d\n"
	  "mov %r8d, %ss\n"
	  "xor %eax, %eax\n"
	  "cpuid\n"
	  "slwpcb %rax\n"
	  "user_exit\n");

static struct rec nop(u32 n)
{
	return (struct rec)REC07_IRE(s07_first + n);
}

static void test_full(struct lwp *l)
{
	static const struct block b = { .size = RING + 31, .event = { { EV07_IRE, 1, 1 } } };

	lwp_go(l, &b, s07_nops);
	rule("2007-407 2007-801 2007-802", RECALLED);
	expect_head(l, 31 * RECORD_SIZE, "40 records, ring of 32 and a part: 31 fit");
	expect_missed(l, 9, "the others are missed");
	expect_record(l, 30, nop(30), "the last that fits");
	expect_record(l, 31, nop(39), "the slot at the head has the last of all");
	report(ring_untouched(l, 32), "nothing is written after the ring");
	report_eq(lwp_get32(l->cb + LWP_CB_SIZE_RANDOM), RING + 31, "BufferSize is not rewritten");
}

/* Each of three instructions has a record. */
static void go(struct lwp *l, struct block b)
{
	b.event[0] = every_insn()->event[0];
	lwp_go(l, &b, s07_one);
}

static void test_fields(struct lwp *l)
{
	rule("2007-409 2007-410 2007-716", CHOICE);
	go(l, (struct block){ .size = RING, .head = RING });
	EXPECT_IRE(l, "a head at the end of the ring is 0", s07_o1, s07_o2, s07_o3);
	go(l, (struct block){ .size = RING, .head = 3 * 32 + 1, .tail = 6 * 32 + 7 });
	expect_record(l, 3, (struct rec)REC07_IRE(s07_o1), "a head in slot 3 begins with slot 3");
	expect_head(l, 5 * RECORD_SIZE, "a tail in slot 6: full before it");
	expect_missed(l, 1, "two fit");
	go(l, (struct block){ .size = RECORD_SIZE });
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "a ring of one record is accepted");
	expect_missed(l, 3, "and only misses");
	go(l, (struct block){ .size = RECORD_SIZE - 1 });
	report_eq(cb_flags(l), 0, "a ring without a record: Flags are 0");
	report_eq(rdmsr(LWP_MSR_CBADDR), 0, "and LWP is off");
	lwp_go(l, EVENT(EV07_IRE, 0, 0), s07_one);
	expect_head(l, 3 * RECORD_SIZE, "an interval of 0 counts as 1");
}

/* The distances of records lie in the interval with its low bits replaced, and differ. */
static void test_random(struct lwp *l)
{
	static const struct block b = { .random = 2, .event = { { EV07_IRE, 4, 1 } } };
	u32 i, distance, seen = 0;
	bool ok = true;

	lwp_go(l, &b, s07_nops);
	for (i = 1; i < cb_head(l) / RECORD_SIZE; i++) {
		distance = (u32)(ring_record(l, i).address - ring_record(l, i - 1).address);
		ok &= distance >= 4 && distance <= 7;
		seen |= 1u << distance;
	}
	rule("2007-704", RECALLED);
	report(ok && i > 4, "Random 2, interval 4: distances of 4 to 7");
	report(seen & (seen - 1), "not all the same");
}

/* 2007-808: the counter stays at zero until the record is stored, so the handler's instructions do not count. */
static void test_frozen(struct lwp *l)
{
	u32 before;
	bool waits;

	lwp_prepare(l, EVENT(EV07_IRE, 100, 1), s07_one);
	rule("2007-807 2007-808", CHOICE);
	waits = run_to_missing(l, RING_VA, (u64)s07_o2,
			       "ring not there: #PF before the next instruction");
	expect_head(l, 0, "the head is not moved");
	lwp_try(l, s07_first);
	report(user_exited(&l->u), "the program runs meanwhile");
	before = cb_missed(l);
	as_protect(l->cr3, RING_VA, PAGE_USER_RW);
	lwp_run(l, lwp_slwpcb);
	waits &= EXPECT_IRE(l, "then the record is stored", s07_o1);
	if (waits) /* that is how this processor does it */
		rule("2007-808", CERTAIN);
	report_eq(cb_counter(l, 1), 100,
		  "and the counter is the interval: nothing was counted at zero");
	expect_missed(l, before, "nothing is missed");
}

static void test_gone(struct lwp *l)
{
	lwp_prepare(l, every_insn(), s07_gone);
	l->u.r.rbx = CB_VA;
	lwp_resume(l);
	rule("2007-713", CHOICE);
	EXPECT_IRE(l, "an EventId that has gone from its slot: none after the record", s07_g1);
	report_eq(l->u.r.rax, CB_VA, "LWP is on all the same");
}

static void test_special(struct lwp *l)
{
	lwp_go_rsi(l, EVENT(EV07_IRE, 1000, 100), s07_special, DATA_VA);
	/* MOV REP MOV MOV-SS XOR CPUID */
	rule("2007-714", RECALLED);
	report_eq(cb_counter(l, 1), 94,
		  "REP LODSB, MOV SS and CPUID count once, LLWPCB and SLWPCB not yet");
	lwp_go_rsi(l, every_insn(), s07_special, DATA_VA);
	expect_record(l, 1, (struct rec)REC07_IRE(s07_rep), "REP LODSB has one record");
	expect_record(l, 2, (struct rec)REC07_IRE(s07_after), "and the next has the next");
}

LWP_TEST(rev07_store)
{
	test_full(l);
	test_fields(l);
	test_random(l);
	test_frozen(l);
	test_gone(l);
	test_special(l);
}
