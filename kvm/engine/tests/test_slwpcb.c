// SPDX-License-Identifier: GPL-2.0-or-later
/* SLWPCB: flush and query (43724-620 to 43724-623). */
#include "fake_guest.h"

Test(slwpcb, stores_counters_of_active_events_and_the_head) /* 43724-621 */
{
	start(LWP_REV_43724);
	set_event(BLOCK, 2, 9, 9);
	set_event(BLOCK, 3, 9, 4);
	put32(BLOCK + 156, 77); /* event 4 is not active */
	enable(BLOCK);
	put32(BLOCK + 16, 999); /* a program that writes what it must not */
	put64(BLOCK + 24, 3);
	put32(BLOCK + 64, 96);
	steps(0x400000, 3);
	branch(0x400100, LWP_BRANCH_ABSOLUTE, true, 0x400200);
	expect_result(slwpcb(), BLOCK);
	cr_expect(eq(u32, get32(BLOCK + 140), 5));
	cr_expect(eq(u32, get32(BLOCK + 148), 3));
	cr_expect(eq(u32, get32(BLOCK + 156), 77));
	expect_ring(0, 3);
	cr_expect(eq(u32, get32(BLOCK + 64), 96));
	/* LWP keeps running. */
	cr_expect(eq(i32, eng.st.counter[1], 5));
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_IRE), 6));
}

Test(slwpcb, a_pending_record_goes_to_the_ring_first) /* 43724-621 */
{
	start_profile(LWP_REV_43724, 2, 9, 0);
	cr_expect(retire_at(0x400000));
	expect_exc(slwpcb(), NONE);
	cr_expect(eq(u64, record(0).address, 0x400000));
	expect_head(32);
	cr_expect(eq(u32, get32(BLOCK + 140), 9)); /* reloaded, then flushed */
	cr_expect(not(lwp_boundary_wanted(&eng, 0x400004, true)));
}

Test(slwpcb, a_negative_counter_is_26_bits) /* 43724-422, 43724-621 */
{
	start_profile(LWP_REV_43724, 2, 9, 9);
	eng.st.counter[1] = -3;
	expect_exc(slwpcb(), NONE);
	cr_expect(eq(u32, get32(BLOCK + 140), 0x03fffffd));
	put32(BLOCK + 140, 0xfc000000); /* reserved bits */
	expect_exc(slwpcb(), NONE);
	cr_expect(eq(u32, get32(BLOCK + 140), 0xfffffffd));
}

Test(slwpcb, a_block_that_is_not_writable_is_pf) /* 43724-623 */
{
	start_profile(LWP_REV_43724, 2, 9, 9);
	step(0x400000);
	set_permission(BLOCK, P_READ);
	expect_pf(slwpcb(), BLOCK);
	cr_expect(eq(u64, result, 0));
	cr_expect(eq(u32, get32(BLOCK + 140), 9));
	cr_expect(eq(i32, eng.st.counter[1], 8));
	set_permission(BLOCK, P_READ | P_WRITE);
	expect_result(slwpcb(), BLOCK);
	cr_expect(eq(u32, get32(BLOCK + 140), 8));
}

Test(slwpcb, a_block_that_is_not_ram_reads_as_off) /* 43724-623 */
{
	start(LWP_REV_43724);
	enable(BLOCK);
	set_permission(BLOCK, P_READ | P_WRITE | P_ROM);
	expect_result(slwpcb(), 0);
	expect_turned_off(1);
}

Test(slwpcb, the_slots_of_2007_are_found_by_event_id) /* 2007-606, 2007-713 */
{
	start(LWP_REV_2007);
	put32(BLOCK + 40, 2u << 26 | 100);
	put32(BLOCK + 44, 50);
	put32(BLOCK + 48, 1u << 26 | 200);
	put32(BLOCK + 52, 60);
	enable(BLOCK);
	steps(0x400000, 5);
	expect_exc(slwpcb(), NONE);
	cr_expect(eq(u32, get32(BLOCK + 44), 50));
	cr_expect(eq(u32, get32(BLOCK + 52), 55));
	/* A selector that has gone meanwhile: nothing to write to. */
	put32(BLOCK + 48, 0);
	step(0x400000);
	expect_exc(slwpcb(), NONE);
	cr_expect(eq(u32, get32(BLOCK + 52), 55));
	cr_expect(eq(u32, get32(BLOCK + 36), 0)); /* what lies before the slots */
}
