// SPDX-License-Identifier: GPL-2.0-or-later
/* What performance counters say, in events of LWP (docs/design.md#counting). */
#include "fake_guest.h"
#include "lwp_tally.h"

Test(tally, what_is_no_event_of_lwp_is_subtracted)
{
	cr_expect(eq(u64, lwp_tally(1000, 30, 0), 970));
}

Test(tally, what_the_counter_did_not_see_is_added)
{
	cr_expect(eq(u64, lwp_tally(1000, 0, 7), 1007));
	cr_expect(eq(u64, lwp_tally(1000, 1000, 7), 7));
}

Test(tally, more_to_subtract_than_was_counted_is_no_event)
{
	cr_expect(eq(u64, lwp_tally(1000, 1001, 0), 0));
	cr_expect(eq(u64, lwp_tally(0, ~(u64)0, 7), 7));
}

Test(tally, without_the_counter_of_far_transfers_no_branch_counts)
{
	cr_expect(eq(u64, lwp_tally_branches(20, 5, true, 0), 0));
	cr_expect(eq(u64, lwp_tally_branches(20, 0, true, 3), 3));
}

/* The counts of a lost counter: no record, no missed event, and the rate continues. */
Test(tally, a_lost_counter_makes_no_record)
{
	struct lwp_retired next = { .address = 0x401000 };

	start(LWP_REV_43724);
	start_engine(true, LWP_DELIVERY_PROMPT);
	profile(3, 19, 19);
	lwp_pass(&eng, LWP_KIND_BRE, lwp_tally_branches(15, 16, false, 0), &next);
	lwp_pass(&eng, LWP_KIND_BRE, lwp_tally_branches(500, 3, true, 0), &next);
	branch(0x401000, LWP_BRANCH_RELATIVE, true, 0x402000);
	expect_exc(boundary(0x402000, false), NONE);
	expect_ring(0, 0);
	cr_expect(eq(i32, eng.st.counter[2], 18));
}
