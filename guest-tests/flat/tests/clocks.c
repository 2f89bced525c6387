// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Clocks not halted (EventIds 5 and 6): records name an instruction of the program, come at the rate of the
 * interval, are only taken at CPL 3, and with TCG the core clock advances by one per instruction, the
 * reference clock by two (43724-513, 43724-720, 43724-721).
 */
#include "lwp_fixture.h"
#include "test.h"

extern char clk_code[], clk_first[], clk_end[], clk_two[], clk_two_2[];

/* esi times two instructions. */
USER_CODE("clk_code: llwpcb %rax\n"
	  "clk_first:\n"
	  "1: dec %esi\n"
	  "jnz 1b\n"
	  "clk_end: user_exit\n"
	  "clk_two: llwpcb %rax\n"
	  "nop\n"
	  "clk_two_2: nop\n"
	  "nop\n"
	  "flush_exit\n");

static bool in_code(const struct lwp *l, u32 records, u8 id)
{
	for (u32 i = 0; i < records; i++) {
		struct rec r = ring_record(l, i);

		if (r.id != id || r.address < (u64)clk_first || r.address >= (u64)clk_end ||
		    r.flags || r.data1 || r.data2)
			return false;
	}
	return true;
}

/* 43724-725: clocks that pass outside the range are not counted. */
static void test_filter(struct lwp *l)
{
	struct block b = { .filters = 1u << 31,
			   .base_ip = (u64)clk_two_2,
			   .limit_ip = (u64)clk_two_2,
			   .event = { { EV_CNH, 100, 50 }, { EV_RNH, 100, 50 } } };

	lwp_go(l, &b, clk_two);
	rule("43724-721 43724-725", CHOICE);
	report_eq(cb_counter(l, EV_CNH), 49, "IP filter: one core clock of three passed in it");
	report_eq(cb_counter(l, EV_RNH), 48, "and two reference clocks");
}

LWP_TEST(clocks)
{
	lwp_go_rsi(l, EVENT(EV_CNH, 99, 99), clk_code, 1000);
	rule("43724-720 43724-721", CHOICE);
	expect_head(l, 20 * RECORD_SIZE, "2000 instructions, interval 99: 20 core clock records");
	ask("Q29", "43724-513", "a record of clocks has, beside its address", "nothing",
	    in_code(l, (u32)flushed(l), EV_CNH) ? "nothing" : "more");
	expect_record(l, 0, (struct rec){ EV_CNH, .address = (u64)clk_first + 2 },
		      "the first is the 100th instruction, a JNZ");

	lwp_go_rsi(l, EVENT(EV_RNH, 99, 99), clk_code, 3000);
	report(cb_head(l) >= RECORD_SIZE && in_code(l, cb_head(l) / RECORD_SIZE, EV_RNH),
	       "reference clock records, each in the loop");
	expect_record(l, 0, (struct rec){ EV_RNH, .address = (u64)clk_first + 2 },
		      "two a core clock: the 100th comes with the 50th instruction, a JNZ");
	test_filter(l);
}
