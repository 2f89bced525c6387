// SPDX-License-Identifier: GPL-2.0-or-later
/* LLWPCB and the block of the 2007 proposal (2007-401 to 2007-417, 2007-601 to 2007-610). */
#include "fake_guest.h"

static void start_2007(void)
{
	start(LWP_REV_2007);
}

TestSuite(llwpcb_2007, .init = start_2007);

Test(llwpcb_2007, returns_the_previous_pointer) /* 2007-602, 2007-603 */
{
	set_event(BLOCK, 1, 9, 9);
	set_event(BLOCK2, 1, 9, 9);
	expect_result(llwpcb(BLOCK), 0);
	expect_result(llwpcb(BLOCK2), BLOCK);
	expect_result(llwpcb(0), BLOCK2);
	cr_expect(not(lwp_engine_on(&eng)));
}

Test(llwpcb_2007, flags_tell_what_is_profiled) /* 2007-405 */
{
	lwp_engine_write_cfg(&eng, 0x80000007); /* Enabled, IRE, BRE, INT */
	put32(BLOCK, 0x12345678);
	set_event(BLOCK, 1, 9, 9);
	set_event(BLOCK, 3, 9, 9); /* not allowed */
	enable(BLOCK);
	cr_expect(eq(u32, get32(BLOCK), 0x80000003));
}

Test(llwpcb_2007, only_flags_are_written) /* 43724-421, 2007-417 */
{
	set_event(BLOCK, 1, 9, 9);
	put32(BLOCK + 16, 2000);
	expect_exc(llwpcb(BLOCK), NONE);
	cr_expect(eq(int, guest.writes, 1));
	cr_expect(eq(u64, guest.highest_write, BLOCK + 3));
	cr_expect(eq(u32, get32(BLOCK + 16), 2000));
	cr_expect(eq(u32, eng.st.head, 0));
}

Test(llwpcb_2007, without_events_lwp_goes_off_and_flags_are_zero) /* 2007-406 */
{
	set_event(BLOCK2, 1, 9, 9);
	enable(BLOCK2);
	put32(BLOCK, 0xffffffff);
	expect_result(llwpcb(BLOCK), BLOCK2);
	cr_expect(not(lwp_engine_on(&eng)));
	cr_expect(eq(u32, get32(BLOCK), 0));
	expect_result(slwpcb(), 0);
	cr_expect(eq(u64, eng.stats.turned_off, 0));
}

Test(llwpcb_2007, a_ring_without_a_record_leaves_lwp_off) /* 2007-409 */
{
	set_event(BLOCK, 1, 9, 9);
	put32(BLOCK + 4, 31);
	put32(BLOCK, 0xffffffff);
	expect_exc(llwpcb(BLOCK), NONE);
	cr_expect(not(lwp_engine_on(&eng)));
	cr_expect(eq(u32, get32(BLOCK), 0));
	/* There is no other minimum. */
	put32(BLOCK + 4, 32);
	enable(BLOCK);
}

Test(llwpcb_2007, alignment_of_16_bytes_or_gp) /* 2007-411, 2007-611 */
{
	make_block(BLOCK + 8, RING);
	set_event(BLOCK + 8, 1, 9, 9);
	expect_exc(llwpcb(BLOCK + 8), GP);
	cr_expect(not(lwp_engine_on(&eng)));
	cr_expect(eq(int, guest.maps, 0));
	make_block(BLOCK + 16, RING);
	set_event(BLOCK + 16, 1, 9, 9);
	enable(BLOCK + 16);
}

Test(llwpcb_2007, buffer_base_is_linear_and_its_low_bits_are_ignored) /* 2007-408, 2007-419 */
{
	struct lwp_ds ds = { .base = 0x500000, .limit = 0x2fff };

	make_block(BLOCK, RING + 31);
	set_event(BLOCK, 1, 9, 9);
	/* Neither DS base nor limit apply to it. */
	expect_exc(llwpcb_in(&ds, 0x2000), NONE);
	cr_expect(eq(u64, eng.st.base, RING));
	make_block(BLOCK, 0xfffffffff0001000);
	set_event(BLOCK, 1, 9, 9);
	llwpcb_in(&ds, 0x2000);
	cr_expect(eq(u64, eng.st.base, 0xf0001000));
	make_block(BLOCK, 0xfffffc20);
	set_event(BLOCK, 1, 9, 9);
	expect_exc(llwpcb_in(&ds, 0x2000), GP);
}

Test(llwpcb_2007, the_earliest_of_duplicate_selectors_counts) /* 2007-403 */
{
	put32(BLOCK + 40, 2u << 26 | 100);
	put32(BLOCK + 44, 50);
	put32(BLOCK + 48, 1u << 26 | 200);
	put32(BLOCK + 52, 60);
	put32(BLOCK + 56, 1u << 26 | 300);
	put32(BLOCK + 60, 70);
	enable(BLOCK);
	cr_expect(eq(u32, get32(BLOCK), 7));
	cr_expect(eq(i32, eng.st.counter[0], 60));
	cr_expect(eq(i32, eng.st.counter[1], 50));
	cr_expect(eq(u32, get32(BLOCK + 56), 1u << 26 | 300));
	expect_counter(steps(0x400000, 60), 1, 200);
}

/* 2007-207, 2007-302, 2007-303, 2007-605 */
Test(llwpcb_2007, outside_cpl_3_only_the_pointer_is_loaded)
{
	set_event(BLOCK, 1, 9, 9);
	set_permission(BLOCK, 0);
	lwp_llwpcb(&eng, BLOCK, &flat, 0, &result, &exc);
	cr_expect(eq(int, exc.kind, LWP_EXC_NONE));
	cr_expect(eq(int, guest.maps, 0));
	cr_expect(lwp_state_deferred(&eng.st));
	/* The pointer can be read back, and replaced; there is nothing to flush. */
	lwp_slwpcb(&eng, &flat, &result, &exc);
	cr_expect(eq(u64, result, BLOCK));
	lwp_llwpcb(&eng, BLOCK2, &flat, 0, &result, &exc);
	cr_expect(eq(u64, result, BLOCK));
	cr_expect(eq(int, guest.maps, 0));
	lwp_llwpcb(&eng, BLOCK + 4, &flat, 0, &result, &exc);
	cr_expect(eq(int, exc.kind, LWP_EXC_GP));
	cr_expect(not(lwp_engine_on(&eng)));
}

Test(llwpcb_2007, outside_cpl_3_the_old_block_is_flushed_first) /* 2007-604 */
{
	start_profile(LWP_REV_2007, 1, 9, 9);
	steps(0x400000, 2);
	lwp_llwpcb(&eng, BLOCK2, &flat, 0, &result, &exc);
	cr_expect(eq(u64, result, BLOCK));
	cr_expect(eq(u32, get32(BLOCK + 44), 7));
	cr_expect(lwp_state_deferred(&eng.st));
}

/* 2007-602, 2007-609, 2007-612 */
Test(llwpcb_2007, a_fault_in_the_new_block_keeps_the_old_one_for_the_restart)
{
	set_event(BLOCK, 1, 9, 9);
	set_event(BLOCK2, 1, 9, 9);
	enable(BLOCK);
	steps(0x400000, 2);
	set_permission(BLOCK2, 0);
	expect_exc(llwpcb(BLOCK2), PF);
	cr_expect(eq(u64, result, 0));
	cr_expect(eq(u64, eng.st.cb_addr, BLOCK));
	cr_expect(eq(i32, eng.st.counter[0], 7));
	cr_expect(eq(u32, get32(BLOCK + 44), 7));
	set_permission(BLOCK2, P_READ | P_WRITE);
	expect_result(llwpcb(BLOCK2), BLOCK);
	cr_expect(eq(u64, eng.st.cb_addr, BLOCK2));
}

Test(llwpcb_2007, there_is_no_lwpins_and_no_lwpval) /* 2007-601, 2007-608 */
{
	start_profile(LWP_REV_2007, 1, 9, 9);
	cr_expect(not(lwp_ins_reads(&eng)));
	cr_expect(not(lwp_val_reads(&eng, 0x400000)));
	expect_exc(lwpins(0x400000, 1, 2, 3), UD);
	expect_exc(lwpval(0x400000, 1, 2, 3), UD);
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_VAL), LWP_BUDGET_NEVER));
}
