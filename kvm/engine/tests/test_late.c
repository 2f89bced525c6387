// SPDX-License-Identifier: GPL-2.0-or-later
/* `prompt` delivery and overshoots (43724-823, 43724-824). */
#include "fake_guest.h"

static void late(u32 rev, enum lwp_delivery delivery, u32 interval, u32 counter)
{
	start(rev);
	start_engine(true, delivery);
	profile(rev == LWP_REV_2007 ? 1 : 2, interval, counter);
}

/* n instructions have passed, and the one at rip is next. Is the boundary wanted? */
static bool pass(u64 n, u64 rip)
{
	struct lwp_retired next = { .address = rip };

	lwp_pass(&eng, LWP_KIND_IRE, n, &next);
	return lwp_boundary_wanted(&eng, rip, false);
}

Test(late, the_record_names_the_instruction_at_the_exit) /* 43724-823 */
{
	late(LWP_REV_43724, LWP_DELIVERY_PROMPT, 99, 99);
	cr_expect(pass(103, 0x401000));
	expect_exc(boundary(0x401000, false), NONE);
	expect_record(0, 2, 0x401000);
	/* 103 events: 3 more than the period of 100. */
	cr_expect(eq(i32, eng.st.counter[1], 96));
	cr_expect(eq(u64, eng.stats.overshoots, 0));
	expect_missed(0);
}

Test(late, whole_periods_that_an_overrun_skipped_are_missed_events) /* 43724-823 */
{
	late(LWP_REV_43724, LWP_DELIVERY_PROMPT, 99, 99);
	put64(BLOCK + 24, 1000);
	cr_expect(pass(350, 0x401000)); /* 3 periods of 100, and 50 */
	expect_exc(boundary(0x401000, false), NONE);
	expect_ring(32, 1002);
	cr_expect(eq(i32, eng.st.counter[1], 49));
	cr_expect(eq(u64, eng.stats.skipped_periods, 2));
	cr_expect(eq(u64, eng.stats.missed, 2));
	cr_expect(eq(u64, eng.stats.records, 1));
}

Test(late, an_overrun_of_exactly_one_period) /* 43724-823 */
{
	late(LWP_REV_43724, LWP_DELIVERY_PROMPT, 99, 99);
	cr_expect(pass(199, 0x401000)); /* 99 over: still the first period */
	expect_exc(boundary(0x401000, false), NONE);
	cr_expect(eq(i32, eng.st.counter[1], 0));
	expect_missed(0);
	late(LWP_REV_43724, LWP_DELIVERY_PROMPT, 99, 99);
	cr_expect(pass(200, 0x401000));
	expect_exc(boundary(0x401000, false), NONE);
	cr_expect(eq(i32, eng.st.counter[1], 99));
	expect_missed(1);
}

Test(late, skipped_periods_are_added_even_if_the_ring_is_full) /* 43724-823 */
{
	late(LWP_REV_43724, LWP_DELIVERY_PROMPT, 99, 99);
	put32(BLOCK + 64, 32);
	cr_expect(pass(350, 0x401000));
	expect_exc(boundary(0x401000, false), NONE);
	expect_ring(0, 3);
}

Test(late, skipped_periods_are_added_once_if_the_ring_faults) /* 43724-823 */
{
	late(LWP_REV_43724, LWP_DELIVERY_PROMPT, 99, 99);
	set_permission(RING, 0);
	cr_expect(pass(350, 0x401000));
	expect_exc(boundary(0x401000, false), PF);
	expect_missed(2);
	set_permission(RING, P_READ | P_WRITE);
	expect_exc(boundary(0x401000, true), NONE);
	expect_missed(2);
	expect_head(32);
	cr_expect(eq(i32, eng.st.counter[1], 49));
	cr_expect(eq(u32, eng.st.flags, F_IRE));
}

Test(late, an_overshoot_in_exact_is_counted_and_delivered_as_prompt) /* 43724-824 */
{
	late(LWP_REV_43724, LWP_DELIVERY_EXACT, 99, 99);
	cr_expect(pass(350, 0x401000));
	expect_exc(boundary(0x401000, false), NONE);
	expect_missed(2);
	cr_expect(eq(u64, eng.stats.overshoots, 1));
	cr_expect(eq(u32, guest.overshoots, 1));
	cr_expect(eq(int, guest.overshot[0].kind, LWP_KIND_IRE));
	cr_expect(eq(u64, guest.overshot[0].address, 0x401000));
	cr_expect(eq(u64, guest.overshot[0].by, 250)); /* the 350th instead of the 100th */
}

static void clocks(enum lwp_delivery delivery)
{
	struct lwp_retired next = { .address = 0x401000 };

	start(LWP_REV_43724);
	start_engine(true, delivery);
	set_event(BLOCK, 5, 99, 99);
	profile(6, 199, 199);
	lwp_pass(&eng, LWP_KIND_CNH, 103, &next);
	expect_exc(boundary(0x401000, false), NONE);
	lwp_pass(&eng, LWP_KIND_RNH, 206, &next);
	expect_exc(boundary(0x401000, false), NONE);
	expect_head(64);
	cr_expect(eq(u8, record(0).event_id, 5));
	expect_record(1, 6, 0x401000);
	cr_expect(eq(i32, eng.st.counter[4], 96));
	cr_expect(eq(i32, eng.st.counter[5], 193));
	cr_expect(eq(u64, eng.stats.overshoots, 0));
}

Test(late, a_clock_record_is_no_overshoot_in_exact) /* 43724-513, 43724-824 */
{
	clocks(LWP_DELIVERY_EXACT);
	clocks(LWP_DELIVERY_PROMPT);
}

Test(late, what_is_not_due_yet_only_counts)
{
	late(LWP_REV_43724, LWP_DELIVERY_EXACT, 99, 99);
	cr_expect(not(pass(99, 0x401000)));
	cr_expect(eq(i32, eng.st.counter[1], 0));
	cr_expect(eq(u64, eng.stats.overshoots, 0));
	lwp_pass(&eng, LWP_KIND_BRE, 5, &(struct lwp_retired){ 0 });
	cr_expect(eq(u8, eng.st.pending.event_id, 0));
	cr_expect(not(lwp_awaits_branch(&eng)));
}

Test(late, beside_a_pending_record_it_has_that_one_tried_again) /* 43724-816 */
{
	late(LWP_REV_43724, LWP_DELIVERY_PROMPT, 99, 99);
	set_permission(RING, 0);
	cr_expect(pass(100, 0x401000));
	expect_exc(boundary(0x401000, false), PF);
	cr_expect(pass(150, 0x402000));
	cr_expect(eq(u64, eng.st.pending.address, 0x401000));
	cr_expect(eq(i32, eng.st.counter[1], -51));
	set_permission(RING, P_READ | P_WRITE);
	expect_exc(boundary(0x402000, false), NONE);
	cr_expect(eq(u64, record(0).address, 0x401000));
}

Test(late, the_random_interval_is_the_period_that_is_skipped) /* 43724-823 */
{
	late(LWP_REV_43724, LWP_DELIVERY_PROMPT, 0x40, 0x40);
	put32(BLOCK + 4, 0x60000000 | RING_SIZE);
	enable(BLOCK);
	/* Reloaded interval 40h | 3Ah = 122, period 123; 65 + 300 events: overrun 300 = 2 * 123 + 54. */
	cr_expect(pass(365, 0x401000));
	expect_exc(boundary(0x401000, false), NONE);
	expect_missed(2);
	cr_expect(eq(i32, eng.st.counter[1], 68));
}

Test(late, in_2007_nothing_passes_zero) /* 2007-702, 2007-808 */
{
	late(LWP_REV_2007, LWP_DELIVERY_PROMPT, 100, 100);
	cr_expect(pass(350, 0x401000));
	cr_expect(eq(i32, eng.st.counter[0], 0));
	expect_exc(boundary(0x401000, false), NONE);
	expect_missed(0);
	expect_head(32);
	cr_expect(eq(i32, eng.st.counter[0], 100));
}
