// SPDX-License-Identifier: GPL-2.0-or-later
/* Storing a pending record: faults, retries, what each store reads (43724-813 to 43724-818). */
#include "fake_guest.h"

#define RIP 0x400000u

/* Event 2 is due with the instruction at RIP; `interval` follows. Returns what the boundary gave. */
static enum lwp_exc_kind first_record(u32 interval)
{
	profile(2, interval, 0);
	return try_step(RIP);
}

static enum lwp_exc_kind ring_faults(u32 interval)
{
	start(LWP_REV_43724);
	set_permission(RING, 0);
	return first_record(interval);
}

TestSuite(deliver, .init = start_43724);

Test(deliver, a_missing_ring_is_pf_at_the_next_instruction) /* 43724-813, 43724-815, 2007-806 */
{
	expect_pf(ring_faults(9), RING);
	cr_expect(eq(u32, exc.fault.error_code, 6)); /* user, write */
	cr_expect(eq(u8, eng.st.pending.event_id, 2));
	cr_expect(eq(u64, eng.st.retry_rip, RIP + 4));
	cr_expect(eq(u32, eng.st.flags, F_IRE | LWP_STATE_FAULTED));
	cr_expect(eq(u64, eng.stats.faults, 1));
	expect_head(0);
}

Test(deliver, a_record_that_came_without_bit_28_leaves_its_counter) /* 43724-302, 43724-708 */
{
	struct lwp_state st;

	start_profile(LWP_REV_43724, 2, 9, 9);
	st = eng.st;
	st.pending.event_id = 2;
	st.counter[1] = -1;
	lwp_engine_load(&eng, &st);
	expect_exc(boundary(RIP, false), NONE);
	expect_head(32);
	cr_expect(eq(i32, eng.st.counter[1], -1));
	step(RIP); /* is due at once */
	expect_head(64);
	cr_expect(eq(u64, record(1).address, RIP));
	cr_expect(eq(i32, eng.st.counter[1], 8));

	st.flags |= LWP_STATE_RELOAD;
	lwp_engine_load(&eng, &st);
	expect_exc(boundary(RIP, false), NONE);
	cr_expect(eq(i32, eng.st.counter[1], 9));
}

/* 43724-816, 43724-820 */
Test(deliver, it_is_tried_again_where_it_faulted_when_cpl_3_is_entered_there)
{
	expect_exc(ring_faults(9), PF);
	/* The handler runs: no retry at its instructions, nor when it is entered. */
	cr_expect(not(lwp_boundary_wanted(&eng, 0x600000, true)));
	cr_expect(not(lwp_boundary_wanted(&eng, RIP + 4, false)));
	lwp_boundary(&eng, 0x600000, true, &exc);
	cr_expect(eq(int, exc.kind, LWP_EXC_NONE));
	set_permission(RING, P_READ | P_WRITE);
	cr_expect(lwp_boundary_wanted(&eng, RIP + 4, true));
	expect_exc(boundary(RIP + 4, true), NONE);
	expect_head(32);
	cr_expect(eq(u64, record(0).address, RIP));
	cr_expect(eq(u8, eng.st.pending.event_id, 0));
	cr_expect(eq(u32, eng.st.flags, F_IRE));
	cr_expect(eq(u64, eng.st.retry_rip, 0));
}

Test(deliver, the_program_runs_and_counts_meanwhile) /* 43724-816 */
{
	expect_exc(ring_faults(9), PF);
	cr_expect(eq(i32, eng.st.counter[1], 9)); /* the reload stays done */
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_IRE), 10));
	expect_counter(steps(0x600000, 9), 2, 0);
	cr_expect(eq(u64, eng.stats.faults, 1));
}

Test(deliver, an_event_that_becomes_due_has_the_old_record_tried_again) /* 43724-816 */
{
	expect_exc(ring_faults(9), PF);
	steps(0x600000, 9);
	cr_expect(retire_at(0x600024));
	cr_expect(lwp_boundary_wanted(&eng, 0x600028, false));
	cr_expect(eq(u64, eng.st.pending.address, RIP)); /* nothing new is gathered */
	cr_expect(eq(i32, eng.st.counter[1], -1));
	expect_exc(boundary(0x600028, false), PF);
	cr_expect(eq(u64, eng.st.retry_rip, 0x600028));
	/* It is due already: no further attempts, or a handler could not run. */
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_IRE), LWP_BUDGET_NEVER));
	expect_counter(steps(0x600028, 20), 2, -21);
	expect_counter(lwp_count(&eng, LWP_KIND_IRE, 5), 2, -26);
	cr_expect(eq(u64, eng.stats.faults, 2));
	/* With the slot free again it takes the next eligible instruction, its overrun subtracted. */
	set_permission(RING, P_READ | P_WRITE);
	expect_exc(boundary(0x600028, true), NONE);
	cr_expect(eq(u64, record(0).address, RIP));
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_IRE), 1));
	step(0x700000);
	cr_expect(eq(u64, record(1).address, 0x700000));
	cr_expect(eq(i32, eng.st.counter[1], 9 - 26)); /* -27: 26 below -1 */
}

Test(deliver, another_events_limit_has_it_tried_again_too) /* 43724-816 */
{
	set_permission(RING, 0);
	set_event(BLOCK, 3, 5, 1);
	expect_exc(first_record(1000), PF);
	branch(0x600000, LWP_BRANCH_ABSOLUTE, true, 0x600100);
	set_permission(RING, P_READ | P_WRITE);
	branch(0x600100, LWP_BRANCH_ABSOLUTE, true, 0x600200);
	/* The second branch was due: it is not gathered, but the first record is stored. */
	expect_head(32);
	cr_expect(eq(u64, record(0).address, RIP));
	cr_expect(eq(i32, eng.st.counter[2], -1));
	branch(0x600200, LWP_BRANCH_ABSOLUTE, true, 0x600300);
	cr_expect(eq(u64, record(1).address, 0x600200));
	cr_expect(eq(i32, eng.st.counter[2], 4));
}

Test(deliver, llwpcb_slwpcb_and_lwpins_try_it_first) /* 43724-817 */
{
	expect_exc(ring_faults(9), PF);
	expect_exc(slwpcb(), PF);
	expect_exc(lwpins(0x600000, 1, 2, 3), PF);
	expect_pf(llwpcb(0), RING);
	/* An instruction without a known rIP keeps the rIP of the retry. */
	cr_expect(eq(u64, eng.st.retry_rip, 0x600000));
	set_permission(RING, P_READ | P_WRITE);
	expect_exc(slwpcb(), NONE);
	expect_head(32);
}

Test(deliver, a_missing_block_leaves_the_reload_to_be_done) /* 43724-708, 43724-816 */
{
	start_profile(LWP_REV_43724, 2, 9, 0);
	set_permission(BLOCK, P_READ);
	expect_pf(try_step(RIP), BLOCK);
	cr_expect(eq(u32, exc.fault.error_code, 7));
	cr_expect(eq(i32, eng.st.counter[1], -1));
	cr_expect(eq(u32, eng.st.flags, F_IRE | LWP_STATE_FAULTED | LWP_STATE_RELOAD));
	/* Its record has to wait, but it still counts. */
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_IRE), LWP_BUDGET_NEVER));
	steps(0x600000, 3);
	expect_counter(lwp_count(&eng, LWP_KIND_IRE, 2), 2, -6);
	cr_expect(eq(u64, eng.stats.faults, 1));
	set_permission(BLOCK, P_READ | P_WRITE);
	expect_exc(boundary(RIP + 4, true), NONE);
	expect_head(32);
	cr_expect(eq(i32, eng.st.counter[1], 4)); /* 9 less the 5 that passed */
}

Test(deliver, cr2_is_the_lowest_missing_byte_of_block_and_record) /* 43724-814, 43724-815 */
{
	start_profile(LWP_REV_43724, 2, 9, 0);
	set_permission(BLOCK, 0);
	set_permission(RING, 0);
	expect_pf(try_step(RIP), BLOCK);
	/* The ring below the block. */
	start(LWP_REV_43724);
	make_block(BLOCK2, RING);
	set_event(BLOCK2, 2, 9, 0);
	enable(BLOCK2);
	set_permission(BLOCK2, P_READ);
	set_permission(RING, 0);
	expect_pf(try_step(RIP), RING);
	cr_expect(eq(u32, exc.fault.error_code, 6));
}

/* 43724-814, 43724-815 */
Test(deliver, cr2_is_looked_for_again_where_the_ring_has_to_be_waited_for)
{
	start_profile(LWP_REV_43724, 2, 9, 0);
	set_permission(BLOCK, 0);
	guest.fail_map = guest.maps + 1;
	guest.fail_again = true;
	expect_exc(try_step(RIP), AGAIN);
	expect_pf(boundary(RIP + 4, false), BLOCK);
}

Test(deliver, a_block_across_two_pages_names_the_missing_one) /* 43724-815 */
{
	make_block(BLOCK + 0xf90, RING);
	set_event(BLOCK + 0xf90, 2, 9, 0);
	enable(BLOCK + 0xf90);
	set_permission(BLOCK + PAGE, 0);
	expect_pf(try_step(RIP), BLOCK + PAGE);
	set_permission(BLOCK, 0);
	expect_pf(boundary(RIP + 4, true), BLOCK + 0xf90);
}

Test(deliver, a_block_or_ring_that_is_not_ram_switches_off) /* 43724-818 */
{
	set_permission(RING, P_READ | P_WRITE | P_ROM);
	expect_exc(first_record(9), NONE);
	expect_turned_off(1);
	cr_expect(eq(u8, eng.st.pending.event_id, 0));
	profile(2, 9, 0);
	set_permission(BLOCK, P_READ | P_WRITE | P_ROM);
	expect_exc(try_step(RIP), NONE);
	cr_expect(not(lwp_engine_on(&eng)));
	/* The ring is not RAM, so LWP goes off even if the block is missing. */
	set_permission(BLOCK, P_READ | P_WRITE);
	enable(BLOCK);
	eng.st.counter[1] = 0;
	set_permission(BLOCK, 0);
	expect_exc(try_step(RIP), NONE);
	expect_turned_off(3);
}

Test(deliver, the_interval_is_read_at_each_reload) /* 43724-304, 43724-419, 43724-420, 2007-418 */
{
	expect_exc(first_record(9), NONE);
	put32(BLOCK + 136, 3);
	expect_counter(steps(0x600000, 10), 2, 3);
	put32(BLOCK + 136, 0x03fffff0); /* negative: the minimum */
	expect_counter(steps(0x600000, 4), 2, 0);
}

Test(deliver, nothing_is_stored_in_a_shadow) /* 43724-715 */
{
	/* MOV SS counts and is gathered; the source leaves the boundary out. */
	start_profile(LWP_REV_43724, 2, 0, 0);
	cr_expect(retire_at(RIP));
	cr_expect(retire_at(RIP + 4));
	cr_expect(eq(u64, eng.st.pending.address, RIP));
	expect_exc(boundary(RIP + 8, false), NONE);
	expect_head(32);
	cr_expect(eq(i32, eng.st.counter[1], -1)); /* -2: 0 less 1 */
	step(RIP + 8);
	expect_head(64);
	cr_expect(eq(u64, record(1).address, RIP + 8));
}

Test(deliver, a_pending_record_travels) /* 43724-821, 43724-912 */
{
	u8 image[LWP_IMAGE_SIZE];
	struct lwp_state st;

	expect_exc(ring_faults(9), PF);
	lwp_state_encode(&eng.st, &caps, image);
	start_engine(true, LWP_DELIVERY_EXACT);
	cr_expect(lwp_state_decode(image, &caps, &st) == NULL);
	lwp_engine_load(&eng, &st);
	set_permission(RING, P_READ | P_WRITE);
	cr_expect(not(lwp_boundary_wanted(&eng, 0x600000, true)));
	expect_exc(boundary(RIP + 4, true), NONE);
	cr_expect(eq(u64, record(0).address, RIP));
	expect_head(32);
	cr_expect(eq(i32, eng.st.counter[1], 9));
}

Test(deliver, after_xrstor_the_place_of_the_retry_is_any_entry) /* 43724-825 */
{
	u8 image[LWP_IMAGE_SIZE];

	expect_exc(ring_faults(9), PF);
	lwp_state_encode_xsave(&eng.st, image);
	cr_expect(lwp_state_decode_xsave(image, &caps, lwp_engine_avail(&eng), &eng.st) == NULL);
	cr_expect(not(lwp_boundary_wanted(&eng, 0x600000, false)));
	cr_expect(lwp_boundary_wanted(&eng, 0x600000, true));
}

Test(deliver, a_rip_that_no_image_can_hold_is_not_kept) /* 43724-816 */
{
	set_permission(RING, 0);
	profile(2, 9, 0);
	cr_expect(retire_at(RIP));
	/* SYSRET to an address that is not canonical. */
	expect_exc(boundary(0x8000000000000000ull, true), PF);
	cr_expect(eq(u64, eng.st.retry_rip, 0));
	cr_expect(eq(u32, eng.st.flags & LWP_STATE_FAULTED, LWP_STATE_FAULTED));
}

static void prepare(u32 rev)
{
	u32 ire = rev == LWP_REV_2007 ? 1 : 2;

	start(rev);
	set_event(BLOCK, ire, 9, 0);
	if (rev == LWP_REV_43724)
		set_event(BLOCK, 1, 0, 0);
}

/* LLWPCB, a record, a missed one with skipped periods, LWPVAL, SLWPCB: does LWP go off? */
static bool run_until_off(u32 rev)
{
	struct lwp_retired r = { .address = RIP };

	expect_exc(llwpcb(BLOCK), NONE);
	if (!lwp_engine_on(&eng))
		return true;
	expect_exc(retire(&r), NONE);
	put32(BLOCK + eng.rev->cb_tail_offset, 64);
	lwp_pass(&eng, LWP_KIND_IRE, 35, &r);
	expect_exc(boundary(RIP, false), NONE);
	if (rev == LWP_REV_43724)
		expect_exc(lwpval(RIP, 1, 2, 3), NONE);
	expect_exc(slwpcb(), NONE);
	cr_expect(eq(u64, result, lwp_engine_on(&eng) ? BLOCK : 0));
	return !lwp_engine_on(&eng);
}

Test(deliver, memory_that_goes_away_after_it_was_mapped_switches_off) /* 43724-814 */
{
	int reads;

	for (u32 rev = 0; rev < LWP_REVS; rev++) {
		prepare(rev);
		cr_expect(not(run_until_off(rev)));
		reads = guest.reads;
		cr_expect(ge(int, reads, 3));
		for (int i = 0; i < reads; i++) {
			prepare(rev);
			guest.fail_read = i;
			cr_expect(run_until_off(rev), "read %d", i);
			cr_expect(eq(u64, eng.stats.turned_off, 1));
		}
	}
}

/* ---- 2007 ---- */

Test(deliver, in_2007_the_counter_is_frozen_until_the_record_is_stored) /* 2007-702, 2007-808 */
{
	start(LWP_REV_2007);
	set_event(BLOCK, 1, 9, 1);
	set_event(BLOCK, 2, 9, 9);
	set_permission(RING, 0);
	enable(BLOCK);
	expect_exc(try_step(RIP), PF);
	cr_expect(eq(i32, eng.st.counter[0], 0));
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_IRE), LWP_BUDGET_NEVER));
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_BRE), 9));
	steps(0x600000, 20);
	expect_counter(lwp_count(&eng, LWP_KIND_IRE, 7), 1, 0);
	set_permission(RING, P_READ | P_WRITE);
	expect_exc(boundary(RIP + 4, true), NONE);
	cr_expect(eq(i32, eng.st.counter[0], 9));
	expect_head(32);
}

Test(deliver, in_2007_an_event_that_reaches_zero_has_the_old_record_tried_again) /* 43724-816 */
{
	struct lwp_retired r = { .address = RIP };

	start(LWP_REV_2007);
	set_event(BLOCK, 1, 99, 1);
	set_event(BLOCK, 2, 9, 2);
	set_permission(RING, 0);
	enable(BLOCK);
	expect_exc(retire(&r), PF);
	branch(0x600000, LWP_BRANCH_ABSOLUTE, true, 0x600100);
	r = (struct lwp_retired){ 0x600100, LWP_BRANCH_ABSOLUTE, true, 0x600200 };
	expect_exc(retire(&r), PF);
	cr_expect(eq(u64, eng.stats.faults, 2));
	r.address = 0x600200;
	expect_exc(retire(&r), NONE); /* at zero already */
	cr_expect(eq(u64, eng.stats.faults, 2));
	set_permission(RING, P_READ | P_WRITE);
	expect_exc(boundary(0x600104, true), NONE);
	branch(0x700000, LWP_BRANCH_ABSOLUTE, true, 0x700100);
	expect_record(1, 2, 0x700000);
}

Test(deliver, in_2007_an_event_whose_selector_has_gone_stops) /* 2007-414, 2007-713 */
{
	start(LWP_REV_2007);
	set_event(BLOCK, 1, 9, 3);
	profile(2, 9, 9);
	put32(BLOCK + 40, 9); /* EventId 0 */
	steps(0x400000, 5);
	expect_head(32); /* what was due is stored */
	cr_expect(eq(u32, eng.st.flags, 0x5));
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_IRE), LWP_BUDGET_NEVER));
}
