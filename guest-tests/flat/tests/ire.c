// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Instructions retired (EventId 2) on known code: the period is EventInterval + 1, the first record comes when
 * EventCounter goes below zero, LLWPCB is not counted, INT n is not counted (43724-703, 43724-712).
 */
#include "lwp_fixture.h"
#include "test.h"

extern char ire_seq[], ire_1[], ire_2[], ire_3[], ire_4[], ire_5[];
extern char ire32[], ire32_1[], ire32_2[], ire32_3[];

/* 9 instructions: 1 2 3 4 3 4 3 4 5. */
USER_CODE(".globl ire_seq, ire_1, ire_2, ire_3, ire_4, ire_5\n"
	  "ire_seq: llwpcb %rax\n"
	  "ire_1: nop\n"
	  "ire_2: mov $3, %ecx\n"
	  "ire_3: dec %ecx\n"
	  "ire_4: jnz ire_3\n"
	  "ire_5: lea 1(%rcx), %rdx\n"
	  "user_exit\n"
	  ".code32\n"
	  "ire32: llwpcb %eax\n"
	  "ire32_1: push %eax\n"
	  "ire32_2: inc %ecx\n"
	  "ire32_3: pop %edx\n"
	  "user_exit\n"
	  ".code64\n");

static void run(struct lwp *l, u32 interval, u32 counter)
{
	lwp_go(l, EVENT(EV_IRE, interval, counter), ire_seq);
}

LWP_TEST(ire)
{
	rule("43724-411 43724-616 43724-704", CERTAIN);
	for (u32 counter = 0; counter < 8; counter++) {
		run(l, 1000, counter);
		expect_head(l, RECORD_SIZE, "counter %u, nine instructions: one record", counter);
	}
	run(l, 0, 9);
	expect_no_records(l, "counter 9: none of nine");
	rule("43724-704 43724-410", CHOICE);
	run(l, 0, 0);
	EXPECT_IRE(l, "interval 0: every instruction", ire_1, ire_2, ire_3, ire_4, ire_3, ire_4,
		   ire_3, ire_4, ire_5);
	run(l, 1, 1);
	EXPECT_IRE(l, "interval 1: every second", ire_2, ire_4, ire_4, ire_4);
	run(l, 2, 2);
	EXPECT_IRE(l, "interval 2: every third", ire_3, ire_4, ire_5);
	run(l, 7, 7);
	EXPECT_IRE(l, "interval 7: the eighth", ire_4);
	run(l, 2, 0);
	EXPECT_IRE(l, "counter 0: the first, then by the interval", ire_1, ire_4, ire_3);
	run(l, 0, 8);
	EXPECT_IRE(l, "counter 8: the ninth", ire_5);
	rule("43724-403", CERTAIN);
	lwp_go(l, NO_EVENT, ire_seq);
	expect_no_records(l, "event 2 not in Flags: none");

	rule("43724-704 43724-410", CHOICE);
	lwp_go32(l, every_insn(), ire32);
	EXPECT_IRE(l, "32-bit code", ire32_1, ire32_2, ire32_3);
	run(l, 1000, 0);
	ask("Q23", "43724-813", "a record is stored", "at once", cb_head(l) ? "at once" : "later");
}
