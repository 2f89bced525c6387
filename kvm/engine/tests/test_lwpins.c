// SPDX-License-Identifier: GPL-2.0-or-later
/* LWPINS and LWPVAL (43724-624 to 43724-637). */
#include "fake_guest.h"

TestSuite(lwpins, .init = start_43724);

Test(lwpins, off_clears_cf_and_nothing_else) /* 43724-626 */
{
	cr_expect(not(lwp_ins_reads(&eng)));
	expect_exc(lwpins(0x400000, 1, 2, 3), NONE);
	cr_expect(not(cf));
	cr_expect(eq(int, guest.maps, 0));
}

Test(lwpins, stores_a_record_without_counter_or_enable_bit) /* 43724-505, 43724-624 */
{
	lwp_engine_write_cfg(&eng, 0x0000000500000004ull); /* COREID 5, IRE */
	profile(2, 9, 9);
	cr_expect(lwp_ins_reads(&eng));
	expect_exc(lwpins(0x401234, 0x1122334455667788ull, 0xaabbccdd, 0x9876), NONE);
	cr_expect(not(cf));
	cr_expect(eq(u32, get32(RING), 0x987605ff));
	cr_expect(eq(u32, get32(RING + 4), 0xaabbccdd));
	cr_expect(eq(u64, get64(RING + 8), 0x401234));
	cr_expect(eq(u64, get64(RING + 16), 0x1122334455667788ull));
	cr_expect(eq(u64, get64(RING + 24), 0));
	expect_head(32);
	/* Its own retirement is counted by whoever executes it. */
	cr_expect(eq(i32, eng.st.counter[1], 9));
}

Test(lwpins, full_ring_overwrites_the_head_slot_and_sets_cf) /* 43724-625, 43724-803 */
{
	enable(BLOCK);
	for (u32 i = 0; i < 31; i++) {
		expect_exc(lwpins(0x400000, i, 0, 0), NONE);
		cr_expect(not(cf));
	}
	expect_head(992);
	expect_exc(lwpins(0x400000, 31, 0, 0), NONE);
	cr_expect(cf);
	expect_exc(lwpins(0x400000, 32, 0, 0), NONE);
	cr_expect(cf);
	expect_ring(992, 2);
	cr_expect(eq(u64, record(30).data2, 30));
	cr_expect(eq(u64, record(31).data2, 32));
	cr_expect(eq(u64, record(0).data2, 0));
}

Test(lwpins, a_fault_is_restartable) /* 43724-629 */
{
	enable(BLOCK);
	set_permission(RING, 0);
	expect_pf(lwpins(0x400000, 1, 2, 3), RING);
	cr_expect(not(cf));
	expect_head(0);
	cr_expect(eq(u8, eng.st.pending.event_id, 0));
	set_permission(RING, P_READ | P_WRITE);
	set_permission(BLOCK, P_READ);
	expect_pf(lwpins(0x400000, 1, 2, 3), BLOCK);
	cr_expect(eq(u32, get32(RING), 0));
	set_permission(BLOCK, P_READ | P_WRITE);
	expect_exc(lwpins(0x400000, 1, 2, 3), NONE);
	expect_head(32);
	cr_expect(eq(u64, eng.stats.faults, 2));
	cr_expect(eq(u64, eng.stats.records, 1));
}

Test(lwpins, a_pending_record_goes_first) /* 43724-636 */
{
	start_profile(LWP_REV_43724, 2, 9, 0);
	set_permission(RING, 0);
	expect_exc(try_step(0x400000), PF);
	expect_exc(lwpins(0x400100, 1, 2, 3), PF);
	cr_expect(eq(u8, eng.st.pending.event_id, 2));
	set_permission(RING, P_READ | P_WRITE);
	expect_exc(lwpins(0x400100, 1, 2, 3), NONE);
	cr_expect(eq(u8, record(0).event_id, 2));
	cr_expect(eq(u8, record(1).event_id, 255));
	expect_head(64);
	cr_expect(eq(u8, eng.st.pending.event_id, 0));
}

Test(lwpins, a_pending_record_goes_before_the_operand) /* 43724-636 */
{
	start_profile(LWP_REV_43724, 2, 9, 0);
	cr_expect(lwp_sample_settle(&eng, 0x400100, &exc));
	set_permission(RING, 0);
	expect_exc(try_step(0x400000), PF);
	cr_expect(not(lwp_sample_settle(&eng, 0x400100, &exc)));
	cr_expect(eq(int, exc.kind, LWP_EXC_PF));
	set_permission(RING, P_READ | P_WRITE);
	cr_expect(lwp_sample_settle(&eng, 0x400100, &exc));
	cr_expect(eq(int, exc.kind, LWP_EXC_NONE));
	cr_expect(eq(u8, record(0).event_id, 2));
	cr_expect(eq(u8, eng.st.pending.event_id, 0));
}

Test(lwpins, a_ring_that_is_not_ram_switches_off) /* 43724-818 */
{
	enable(BLOCK);
	set_permission(RING, P_READ | P_WRITE | P_ROM);
	expect_exc(lwpins(0x400000, 1, 2, 3), NONE);
	cr_expect(not(cf));
	expect_turned_off(1);
}

Test(lwpins, a_pending_record_that_switches_off_ends_it) /* 43724-636 */
{
	set_event(BLOCK, 1, 0, 0);
	profile(2, 9, 0);
	cr_expect(retire_at(0x400000));
	set_permission(RING, P_READ | P_WRITE | P_ROM);
	expect_exc(lwpins(0x400004, 1, 2, 3), NONE);
	cr_expect(not(cf));
	cr_expect(not(lwp_engine_on(&eng)));
	set_permission(RING, P_READ | P_WRITE);
	enable(BLOCK);
	eng.st.counter[0] = 0;
	eng.st.counter[1] = 0;
	cr_expect(retire_at(0x400000));
	set_permission(RING, P_READ | P_WRITE | P_ROM);
	expect_exc(lwpval(0x400004, 1, 2, 3), NONE);
	expect_turned_off(2);
}

/* ---- LWPVAL ---- */

Test(lwpval, off_or_not_enabled_does_nothing) /* 43724-630 */
{
	start(LWP_REV_43724);
	cr_expect(not(lwp_val_reads(&eng, 0x400000)));
	expect_exc(lwpval(0x400000, 1, 2, 3), NONE);
	enable(BLOCK);
	cr_expect(not(lwp_val_reads(&eng, 0x400000)));
	expect_exc(lwpval(0x400000, 1, 2, 3), NONE);
	cr_expect(eq(int, guest.maps, 0));
	expect_head(0);
}

Test(lwpval, the_kth_samples_when_the_interval_is_k_less_one) /* 43724-631, 43724-632 */
{
	start_profile(LWP_REV_43724, 1, 2, 2);
	for (u32 i = 1; i <= 9; i++) {
		/* The memory operand is read by the one that samples, and by no other. */
		cr_expect(eq(int, lwp_val_reads(&eng, 0x400000), i % 3 == 0));
		expect_exc(lwpval(0x400000 + i, i, 0xdd, 0x8001), NONE);
	}
	expect_head(96);
	cr_expect(eq(u32, get32(RING), 0x80010001));
	cr_expect(eq(u32, get32(RING + 4), 0xdd));
	cr_expect(eq(u64, record(0).address, 0x400003));
	cr_expect(eq(u64, record(0).data2, 3));
	cr_expect(eq(u64, record(1).data2, 6));
	cr_expect(eq(u64, record(2).data2, 9));
	cr_expect(eq(int, guest.maps, 6)); /* block and slot, three times */
}

Test(lwpval, a_fault_leaves_the_counter_as_it_was) /* 43724-635 */
{
	start_profile(LWP_REV_43724, 1, 7, 0);
	set_permission(RING, 0);
	expect_exc(lwpval(0x400000, 1, 2, 3), PF);
	cr_expect(eq(i32, eng.st.counter[0], 0));
	cr_expect(lwp_val_reads(&eng, 0x400000));
	set_permission(RING, P_READ | P_WRITE);
	expect_exc(lwpval(0x400000, 1, 2, 3), NONE);
	cr_expect(eq(i32, eng.st.counter[0], 7));
	expect_head(32);
}

Test(lwpval, a_full_ring_counts_a_missed_event_and_reloads) /* 43724-633, 43724-803 */
{
	start(LWP_REV_43724);
	set_event(BLOCK, 1, 7, 0);
	put32(BLOCK + 64, 32); /* tail one ahead of the head */
	enable(BLOCK);
	expect_exc(lwpval(0x400000, 1, 2, 3), NONE);
	expect_ring(0, 1);
	cr_expect(eq(u8, record(0).event_id, 1));
	cr_expect(eq(i32, eng.st.counter[0], 7));
}

Test(lwpval, one_that_is_not_due_leaves_a_pending_record_alone) /* 43724-631, 43724-817 */
{
	start(LWP_REV_43724);
	set_event(BLOCK, 1, 7, 1);
	profile(2, 9, 0);
	set_permission(RING, 0);
	expect_exc(try_step(0x400000), PF);
	expect_exc(lwpval(0x400100, 1, 2, 3), NONE);
	cr_expect(eq(i32, eng.st.counter[0], 0));
	expect_exc(lwpval(0x400100, 1, 2, 3), PF); /* this one is */
	cr_expect(eq(i32, eng.st.counter[0], 0));
	set_permission(RING, P_READ | P_WRITE);
	expect_exc(lwpval(0x400100, 1, 2, 3), NONE);
	cr_expect(eq(u8, record(0).event_id, 2));
	cr_expect(eq(u8, record(1).event_id, 1));
}

Test(lwpval, a_counter_below_zero_is_owed_as_overrun) /* 43724-632, 43724-705, 43724-707 */
{
	start_profile(LWP_REV_43724, 1, 7, 0);
	eng.st.counter[0] = -2; /* from outside */
	expect_exc(lwpval(0x400000, 1, 2, 3), NONE);
	cr_expect(eq(i32, eng.st.counter[0], 5)); /* -3 is 2 below -1 */
	eng.st.counter[0] = LWP_COUNTER_MIN;
	expect_exc(lwpval(0x400000, 1, 2, 3), NONE);
	cr_expect(eq(i32, eng.st.counter[0], 7 - 0x1ffffff));
}

Test(lwpval, is_counted_by_nothing_else)
{
	struct lwp_retired r = { .address = 0x400000 };

	start_profile(LWP_REV_43724, 1, 7, 3);
	steps(0x400000, 5);
	lwp_count(&eng, LWP_KIND_VAL, 2);
	lwp_pass(&eng, LWP_KIND_VAL, 9, &r);
	lwp_pass(&eng, LWP_KIND_VAL, 9, NULL);
	cr_expect(eq(u8, eng.st.pending.event_id, 0));
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_VAL), LWP_BUDGET_NEVER));
	cr_expect(eq(i32, eng.st.counter[0], 3));
}
