// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Several events due at one instruction (43724): one record, of the event furthest below its limit, ties to
 * the lowest EventId; the others keep counting and take their next eligible instruction; at the reload
 * the overrun is subtracted (43724-705, 43724-707, 43724-711).
 */
#include "lwp_fixture.h"
#include "test.h"

extern char sim_code[], sim_1[], sim_2[], sim_3[], sim_4[], sim_5[], sim_6[], sim_7[];

/* Three instructions and a branch, twice; the branches go to the next instruction. */
USER_CODE("sim_code: llwpcb %rax\n"
	  "sim_1: nop\n"
	  "sim_2: nop\n"
	  "sim_3: .byte 0xeb, 0\n" /* JMP +0 */
	  "sim_4: nop\n"
	  "sim_5: .byte 0xeb, 0\n"
	  "sim_6: nop\n"
	  "sim_7: .byte 0xeb, 0\n"
	  "flush_exit\n");

LWP_TEST(simultaneous)
{
	/* At sim_3 both events pass their limit by one. */
	static const struct block tie = { .event = { { EV_IRE, 100, 2 }, { EV_BRE, 100, 0 } } };
	/* Every instruction and every branch. */
	static const struct block every = { .event = { { EV_IRE, 0, 0 }, { EV_BRE, 0, 0 } } };

	rule("43724-711", CHOICE);
	lwp_go(l, &tie, sim_code);
	EXPECT_RECORDS(l, "a tie goes to the lowest EventId, the other takes its next instruction",
		       REC_IRE(sim_3), REC_BRE(sim_5, sim_6, true));
	ask("Q24", "43724-711", "EventIds 2 and 3 due at once are stored as", "2",
	    ring_record(l, 1).address == (u64)sim_3 ?
		    text("%u %u", ring_record(l, 0).id, ring_record(l, 1).id) :
		    text("%u", ring_record(l, 0).id));
	/* 100 at sim_3, then sim_4 .. sim_7. */
	report_eq(cb_counter(l, EV_IRE), 96, "the one that was first is reloaded at its record");
	/* 0 -1 (sim_3) -2 (sim_5): one beyond the limit, 100 - 1; sim_7. */
	report_eq(cb_counter(l, EV_BRE), 98, "the overrun of the one that waited is subtracted");

	lwp_go(l, &every, sim_code);
	/*
	 * sim_3: both at -1, IRE wins. sim_4: IRE. sim_5: IRE at -1, BRE at -2: BRE is further below;
	 * IRE waits. sim_6: IRE, at -2. sim_7: IRE reloaded to -1 is at -2, BRE reloaded to -1 is at
	 * -2: a tie.
	 */
	EXPECT_RECORDS(l, "the event furthest below its limit is taken", REC_IRE(sim_1),
		       REC_IRE(sim_2), REC_IRE(sim_3), REC_IRE(sim_4), REC_BRE(sim_5, sim_6, true),
		       REC_IRE(sim_6), REC_IRE(sim_7), REC_IRE(sim_7 + 2));
}
