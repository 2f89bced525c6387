// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * 2007-402, 2007-502, 2007-702, 2007-709: EventId 1 instructions, 2 branches; any event in any slot; the period is
 * EventInterval; a counter stops at zero until its record is stored; NDB leaves out unconditional direct jumps only
 * (43724-506, 2007-412, 2007-413, 2007-606, 2007-704).
 */
#include "lwp_fixture.h"
#include "test.h"

#define NDB (1u << 31)

extern char ire_seq[], ire_1[], ire_2[], ire_3[], ire_4[], ire_5[]; /* ire.c */
extern char e07_br[], e07_jcc[], e07_jmp[], e07_call[], e07_ind[], e07_f[], e07_ret[], e07_end[];
extern char e07_sim[], e07_s1[], e07_s2[], e07_s3[], e07_s4[], e07_s5[];

USER_CODE("e07_br: llwpcb %rax\n"
	  "lea e07_end(%rip), %rbx\n"
	  "cmp %eax, %ebx\n"
	  "e07_jcc: jz e07_br\n"
	  "e07_jmp: jmp e07_call\n"
	  "ud2\n"
	  "e07_call: call e07_f\n"
	  "e07_ind: jmp *%rbx\n"
	  "e07_f: nop\n"
	  "e07_ret: ret\n"
	  "e07_end: user_exit\n"
	  "e07_sim: llwpcb %rax\n"
	  "e07_s1: nop\n"
	  "e07_s2: .byte 0xeb, 0\n" /* JMP +0 */
	  "e07_s3: nop\n"
	  "e07_s4: .byte 0xeb, 0\n"
	  "e07_s5: nop\n"
	  "slwpcb %rax\n"
	  "user_exit\n");

static void run(struct lwp *l, u32 interval, u32 counter)
{
	lwp_go(l, EVENT(EV07_IRE, interval, counter), ire_seq);
}

static void test_period(struct lwp *l)
{
	rule("2007-401 2007-416 2007-501 2007-502 2007-505 2007-702 2007-703", RECALLED);
	run(l, 1, 1);
	EXPECT_IRE(l, "interval 1: every instruction", ire_1, ire_2, ire_3, ire_4, ire_3, ire_4,
		   ire_3, ire_4, ire_5);
	run(l, 2, 2);
	EXPECT_IRE(l, "interval 2: every second", ire_2, ire_4, ire_4, ire_4);
	run(l, 3, 1);
	EXPECT_IRE(l, "counter 1: the first, then by the interval", ire_1, ire_4, ire_3);
	run(l, 7, 8);
	EXPECT_IRE(l, "counter 8: the eighth", ire_4);
	rule("2007-416 2007-702", CERTAIN);
	for (u32 counter = 1; counter < 9; counter++) {
		run(l, 1000, counter);
		expect_head(l, RECORD_SIZE, "counter %u, nine instructions: one record", counter);
	}
	run(l, 7, 10);
	expect_no_records(l, "counter 10: none of nine");
}

static void test_slots(struct lwp *l)
{
	static const struct block duplicate = { .event = { { EV07_IRE, 100, 2 },
							   { EV07_IRE, 100, 1 } } };
	static const struct block second = { .event = { { 9, 1, 1 }, { EV07_IRE, 100, 2 } } };

	rule("2007-402 2007-403", RECALLED);
	lwp_go(l, &duplicate, ire_seq);
	EXPECT_IRE(l, "an event in two slots: the earliest counts", ire_2);
	lwp_go(l, &second, ire_seq);
	EXPECT_IRE(l, "an event in the second slot", ire_2);
	rule("2007-404 2007-417", CERTAIN);
	report_eq(cb_interval(l, 1), 1 | 9u << 26, "a slot of an unknown event is left as it was");
}

static void test_branches(struct lwp *l)
{
	static const struct block ndb = { .filters = NDB, .event = { { EV07_BRE, 1, 1 } } };
	static const struct block second = { .filters = NDB, .event = { { EV07_BRE, 1000, 2 } } };

	rule("2007-506 2007-707 2007-709", RECALLED);
	lwp_go(l, EVENT(EV07_BRE, 1, 1), e07_br);
	EXPECT_RECORDS(l, "branches have EventId 2", REC07_BRE(e07_jcc, e07_jmp, false),
		       REC07_BRE(e07_jmp, e07_call, true), REC07_BRE(e07_call, e07_f, true),
		       REC07_BRE(e07_ret, e07_ind, true), REC07_BRE(e07_ind, e07_end, true));
	lwp_go(l, &ndb, e07_br);
	EXPECT_RECORDS(l, "NDB: no direct JMP; Jcc, CALL, RET and indirect JMP are counted",
		       REC07_BRE(e07_jcc, e07_jmp, false), REC07_BRE(e07_call, e07_f, true),
		       REC07_BRE(e07_ret, e07_ind, true), REC07_BRE(e07_ind, e07_end, true));
	rule("2007-702 2007-709", CERTAIN);
	lwp_go(l, &second, ire_seq);
	expect_head(l, RECORD_SIZE, "NDB: of three Jcc the second is due");
	lwp_go(l, &second, e07_sim);
	expect_no_records(l, "NDB: of two direct JMP none is");
}

static void test_freeze(struct lwp *l)
{
	static const struct block every = { .event = { { EV07_IRE, 1, 1 }, { EV07_BRE, 100, 1 } } };
	static const struct block tie = { .event = { { EV07_IRE, 100, 2 }, { EV07_BRE, 100, 1 } } };

	rule("2007-705", CHOICE);
	lwp_go(l, &tie, e07_sim);
	EXPECT_RECORDS(l,
		       "two events at zero: the lowest EventId, the other at its next instruction",
		       REC07_IRE(e07_s2), REC07_BRE(e07_s4, e07_s5, true));
	/* 100 when stored, after s2; s3 s4 s5. */
	report_eq(cb_counter(l, 1), 97, "the counter starts from the interval");
	report_eq(cb_counter(l, 2), 100, "what waited at zero has no overrun");

	/* Branches wait at zero from s2 on, level with instructions at s4: never further below. */
	lwp_go(l, &every, e07_sim);
	EXPECT_IRE(l, "an event that waits stays at zero", e07_s1, e07_s2, e07_s3, e07_s4, e07_s5,
		   e07_s5 + 1);
	report_eq(cb_counter(l, 2), 0, "and is flushed as zero");
}

static void test_ring_base(struct lwp *l)
{
	static const struct block b = { .base = RING_VA + 31, .event = { { EV07_IRE, 100, 1 } } };

	rule("2007-408", RECALLED);
	lwp_go(l, &b, ire_seq);
	EXPECT_IRE(l, "the low 5 bits of BufferBase are ignored", ire_1);
}

LWP_TEST(rev07_events)
{
	test_period(l);
	test_slots(l);
	test_branches(l);
	test_freeze(l);
	test_ring_base(l);
}
