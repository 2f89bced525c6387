// SPDX-License-Identifier: GPL-2.0-or-later
/* Counting, budgets and gathering (43724-506 to 43724-511, 43724-703 to 43724-711). */
#include "fake_guest.h"

TestSuite(count, .init = start_43724);

Test(count, period_of_43724_is_interval_plus_one) /* 43724-506, 43724-704, 43724-710, 2007-505 */
{
	start_profile(LWP_REV_43724, 2, 4, 4);
	steps(0x400000, 20);
	expect_head(4 * 32);
	cr_expect(eq(u64, record(0).address, 0x400010)); /* instructions 5, 10, 15, 20 */
	cr_expect(eq(u64, record(1).address, 0x400024));
	cr_expect(eq(u64, record(2).address, 0x400038));
	cr_expect(eq(u64, record(3).address, 0x40004c));
	cr_expect(eq(i32, eng.st.counter[1], 4));
}

Test(count, period_of_2007_is_the_interval) /* 2007-702, 2007-703 */
{
	start_profile(LWP_REV_2007, 1, 4, 4);
	steps(0x400000, 9);
	expect_head(2 * 32);
	expect_record(0, 1, 0x40000c); /* instructions 4 and 8 */
	cr_expect(eq(u64, record(1).address, 0x40001c));
	cr_expect(eq(i32, eng.st.counter[0], 3));
}

Test(count, interval_0_records_every_instruction_in_43724_and_1_in_2007) /* 43724-704 */
{
	start_profile(LWP_REV_43724, 2, 0, 0);
	steps(0x400000, 5);
	expect_head(160);
	cr_expect(eq(u64, record(4).address, 0x400010));
	start_profile(LWP_REV_2007, 1, 1, 1);
	steps(0x400000, 5);
	expect_head(160);
	cr_expect(eq(u64, record(4).address, 0x400010));
}

Test(count, the_longest_period) /* 43724-413, 43724-704 */
{
	start_profile(LWP_REV_43724, 2, 0x1ffffff, 0x1ffffff);
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_IRE), 0x2000000));
	lwp_count(&eng, LWP_KIND_IRE, 0x1ffffff);
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_IRE), 1));
	step(0x400000);
	expect_head(32);
}

Test(count, budget_is_the_number_of_the_event_that_is_due) /* 43724-703 */
{
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_IRE), LWP_BUDGET_NEVER)); /* off */
	profile(2, 99, 4);
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_IRE), 5));
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_BRE), LWP_BUDGET_NEVER)); /* not active */
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_NONE), LWP_BUDGET_NEVER));
	lwp_count(&eng, LWP_KIND_IRE, 4);
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_IRE), 1));
	eng.st.counter[1] = -7; /* took no turn yet */
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_IRE), 1));
	start_profile(LWP_REV_2007, 1, 99, 4);
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_IRE), 4));
	eng.st.counter[0] = 0; /* frozen, its turn comes */
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_IRE), 1));
}

Test(count, more_than_the_budget_allows_is_dropped) /* 43724-822 */
{
	start_profile(LWP_REV_43724, 2, 99, 4);
	expect_counter(lwp_count(&eng, LWP_KIND_IRE, 5), 2, 0);
	expect_counter(lwp_count(&eng, LWP_KIND_IRE, ~(u64)0), 2, 0);
	expect_counter(lwp_count(&eng, LWP_KIND_BRE, 5), 3, 0);
}

Test(count, bulk_and_single_steps_agree) /* 43724-703 */
{
	start_profile(LWP_REV_43724, 2, 9, 9);
	lwp_count(&eng, LWP_KIND_IRE, 9);
	step(0x400024);
	lwp_count(&eng, LWP_KIND_IRE, 9);
	step(0x40004c);
	expect_head(64);
	cr_expect(eq(u64, record(1).address, 0x40004c));
}

Test(count, of_two_due_events_the_one_furthest_below_its_limit) /* 43724-711 */
{
	set_event(BLOCK, 2, 99, 0);
	profile(3, 99, 0);
	eng.st.counter[2] = -1; /* due since the last branch */
	branch(0x400000, LWP_BRANCH_ABSOLUTE, true, 0x400800);
	expect_head(32);
	cr_expect(eq(u8, record(0).event_id, 3));
	cr_expect(eq(i32, eng.st.counter[2], 98)); /* -2 is one below -1 */
	/* The other event counted on and takes its next eligible instruction. */
	cr_expect(eq(i32, eng.st.counter[1], -1));
	step(0x400800);
	expect_record(1, 2, 0x400800);
	cr_expect(eq(i32, eng.st.counter[1], 98));
}

Test(count, ties_go_to_the_lowest_event_id) /* 43724-711 */
{
	set_event(BLOCK, 2, 99, 0);
	profile(3, 99, 0);
	branch(0x400000, LWP_BRANCH_ABSOLUTE, true, 0x400800);
	cr_expect(eq(u8, record(0).event_id, 2));
	expect_head(32);
	/* A plain instruction is not eligible for the branch event. */
	step(0x400800);
	expect_head(32);
	branch(0x400804, LWP_BRANCH_ABSOLUTE, true, 0x400900);
	expect_record(1, 3, 0x400804);
	cr_expect(eq(i32, eng.st.counter[2], 98));
}

Test(count, in_2007_the_others_wait_at_zero) /* 2007-705 */
{
	start(LWP_REV_2007);
	set_event(BLOCK, 1, 3, 1);
	profile(2, 9, 1);
	branch(0x400000, LWP_BRANCH_ABSOLUTE, true, 0x400800);
	cr_expect(eq(u8, record(0).event_id, 1));
	cr_expect(eq(i32, eng.st.counter[0], 3));
	cr_expect(eq(i32, eng.st.counter[1], 0));
	branch(0x400800, LWP_BRANCH_ABSOLUTE, true, 0x400900);
	expect_head(64);
	cr_expect(eq(u8, record(1).event_id, 2));
	cr_expect(eq(i32, eng.st.counter[1], 9));
	cr_expect(eq(i32, eng.st.counter[0], 2));
}

Test(count, overrun_is_subtracted_at_reload) /* 43724-707 */
{
	start_profile(LWP_REV_43724, 5, 9, 0);
	/* A clock event that passes its limit by 3. */
	expect_exc(retire(&(struct lwp_retired){ .address = 0x400000, .cnh = 4 }), NONE);
	cr_expect(eq(u8, record(0).event_id, 5));
	cr_expect(eq(i32, eng.st.counter[4], 6));
}

Test(count, an_overrun_beyond_the_interval_is_due_again_at_once) /* 43724-707 */
{
	struct lwp_retired r = { .address = 0x400000, .rnh = 8 };

	start_profile(LWP_REV_43724, 6, 2, 2);
	cr_expect(eq(int, retire(&r), LWP_EXC_NONE));
	cr_expect(eq(i32, eng.st.counter[5], -3)); /* 2 - 8 = -6: overrun 5; 2 - 5 */
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_RNH), 1));
	r.address = 0x400004;
	r.rnh = 1;
	cr_expect(eq(int, retire(&r), LWP_EXC_NONE));
	expect_head(64);
	cr_expect(eq(u8, record(1).event_id, 6));
	cr_expect(eq(i32, eng.st.counter[5], -1)); /* -4: overrun 3; 2 - 3 */
	expect_missed(0);
}

Test(count, counters_saturate) /* 43724-705 */
{
	struct lwp_retired r = { .address = 0x400000, .cnh = 0xffffffff };

	start_profile(LWP_REV_43724, 5, 9, 9);
	cr_expect(lwp_retire(&eng, &r));
	cr_expect(eq(i32, eng.st.counter[4], -0x2000000));
	cr_expect(lwp_retire(&eng, &r));
	cr_expect(eq(i32, eng.st.counter[4], -0x2000000));
	expect_exc(boundary(0x400004, false), NONE);
	cr_expect(eq(i32, eng.st.counter[4], 9 - 0x1ffffff));
}

Test(count, only_clocks_that_passed_count) /* 43724-513, 43724-720 */
{
	set_event(BLOCK, 5, 9, 9);
	profile(6, 9, 9);
	steps(0x400000, 3);
	cr_expect(eq(i32, eng.st.counter[4], 9));
	cr_expect(eq(i32, eng.st.counter[5], 9));
	lwp_retire(&eng, &(struct lwp_retired){ .address = 0x40000c, .cnh = 3, .rnh = 6 });
	cr_expect(eq(i32, eng.st.counter[4], 6));
	cr_expect(eq(i32, eng.st.counter[5], 3));
}

Test(count, branch_records) /* 43724-507, 43724-510, 2007-506 */
{
	start_profile(LWP_REV_43724, 3, 0, 0);
	branch(0x400000, LWP_BRANCH_CONDITIONAL, true, 0x400100);
	branch(0x400100, LWP_BRANCH_CONDITIONAL, false, 0x400102);
	branch(0x400200, LWP_BRANCH_CALL_RELATIVE, true, 0x400300);
	step(0x400300); /* no branch, no record */
	expect_head(96);
	cr_expect(eq(u32, get32(RING), 0x80000003));
	cr_expect(eq(u64, record(0).address, 0x400000));
	cr_expect(eq(u64, record(0).data2, 0x400100));
	cr_expect(eq(u32, get32(RING + 4), 0));
	cr_expect(eq(u32, get32(RING + 32), 0x00000003));
	cr_expect(eq(u64, record(1).data2, 0x400102));
	cr_expect(eq(u32, get32(RING + 64), 0x80000003));
}

/* 43724-208, 43724-217, 43724-514, 2007-504 */
Test(count, records_carry_core_id_and_time_stamp)
{
	lwp_engine_write_cfg(&eng, 0x000000a740000004ull); /* COREID A7h, PTSC, IRE */
	put32(BLOCK, F_PTSC);
	profile(2, 0, 0);
	guest.clock = 0x1234567890;
	step(0x400000);
	cr_expect(eq(u32, get32(RING), 0x0000a702));
	cr_expect(eq(u64, get64(RING + 24), 0x1234567890));
	/* Not allowed any more, or not offered: zero. */
	lwp_engine_write_cfg(&eng, 0x000000a700000004ull);
	step(0x400000);
	cr_expect(eq(u64, get64(RING + 56), 0));
	lwp_engine_write_cfg(&eng, 0x40000004);
	{
		struct lwp_vcpu_ops no_clock = guest_ops;

		no_clock.timestamp = NULL;
		eng.ops = &no_clock;
		step(0x400000);
	}
	cr_expect(eq(u64, get64(RING + 88), 0));
}

Test(count, data_cache_miss_records) /* 43724-511, 43724-512, 43724-719, 2007-507, 2007-710 */
{
	struct lwp_retired r = { .address = 0x400000,
				 .misses = 2,
				 .miss = { 0x7000f8, 300, LWP_SRC_DRAM } };

	start_profile(LWP_REV_43724, 4, 9, 1);
	expect_exc(retire(&r), NONE);
	cr_expect(eq(u32, get32(RING), 0x70000004)); /* SRC 3, DAV */
	cr_expect(eq(u32, get32(RING + 4), 300));
	cr_expect(eq(u64, record(0).address, 0x400000));
	cr_expect(eq(u64, record(0).data2, 0x7000f8));
	expect_counter(step(0x400004), 4, 9); /* without a miss */
	caps.ecx_features &= ~LWP_ECX_DATA_ADDRESS;
	caps.latency_rnd = 4;
	start_engine(true, LWP_DELIVERY_EXACT);
	profile(4, 0, 0);
	expect_exc(retire(&r), NONE);
	cr_expect(eq(u32, get32(RING + 32), 0x60000004));
	cr_expect(eq(u32, get32(RING + 36), 288)); /* 300 rounded to 16 */
	cr_expect(eq(u64, get64(RING + 48), 0));
}

/* 2007-304, 2007-702 */
Test(count, a_2007_counter_that_is_negative_from_outside_is_due)
{
	start_profile(LWP_REV_2007, 1, 5, 5);
	eng.st.counter[0] = -4;
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_IRE), 1));
	lwp_count(&eng, LWP_KIND_IRE, 1);
	step(0x400000);
	cr_expect(eq(u64, record(0).address, 0x400000));
	cr_expect(eq(i32, eng.st.counter[0], 5));
}
