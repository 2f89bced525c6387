// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Late records whose instruction is not known at once: of branches, and of events that passed where no record
 * can be gathered (43724-823, 43724-824; docs/design.md#delivery). Instructions (EventId 2) have a period of 100,
 * branches (EventId 3) one of 20.
 */
#include "fake_contexts.h"

#define RIP 0x401000u

static const struct lwp_ctx_key key_a = { .cr3 = 0x1000, .thread = 1 };
static const struct lwp_ctx_key key_b = { .cr3 = 0x1000, .thread = 2 };

static void begin(enum lwp_delivery delivery)
{
	start(LWP_REV_43724);
	start_engine(true, delivery);
	set_event(BLOCK, 2, 99, 99);
	set_event(BLOCK, 3, 19, 19);
	set_event(BLOCK2, 2, 99, 99);
	enable(BLOCK);
}

/* n events have passed; the vCPU is at CPL 3, and the instruction at RIP is next. */
static void pass_here(enum lwp_kind kind, u64 n)
{
	struct lwp_retired next = { .address = RIP };

	lwp_pass(&eng, kind, n, &next);
	expect_exc(boundary(RIP, false), NONE);
}

static void jump(u64 rip)
{
	branch(rip, LWP_BRANCH_RELATIVE, true, rip + 100);
}

static void expect_overshoot(u32 index, enum lwp_kind kind, u64 address, u64 by)
{
	cr_expect(lt(u32, index, guest.overshoots));
	cr_expect(eq(int, guest.overshot[index].kind, kind), "overshoot %u", index);
	cr_expect(eq(u64, guest.overshot[index].address, address), "overshoot %u", index);
	cr_expect(eq(u64, guest.overshot[index].by, by), "overshoot %u", index);
}

/* The statistic and the trace have the same number. */
static void expect_overshoots(u32 n)
{
	cr_expect(eq(u64, eng.stats.overshoots, n));
	cr_expect(eq(u32, guest.overshoots, n));
}

/* So many, and this is the last of them. */
static void expect_latest(u32 n, enum lwp_kind kind, u64 address, u64 by)
{
	expect_overshoots(n);
	expect_overshoot(n - 1, kind, address, by);
}

static void begin_exact(void)
{
	begin(LWP_DELIVERY_EXACT);
}

TestSuite(owed, .init = begin_exact);

/* ---- branches ---- */

Test(owed, a_late_branch_record_names_the_next_branch) /* 43724-823 */
{
	begin(LWP_DELIVERY_PROMPT);
	pass_here(LWP_KIND_BRE, 22);
	cr_expect(lwp_awaits_branch(&eng));
	step(RIP);
	expect_head(0);
	jump(RIP + 4);
	expect_head(32);
	cr_expect(eq(u32, get32(RING), 0x80000003)); /* TKN */
	cr_expect(eq(u64, record(0).address, RIP + 4));
	cr_expect(eq(u64, record(0).data2, RIP + 104));
	cr_expect(not(lwp_awaits_branch(&eng)));
	cr_expect(eq(i32, eng.st.counter[2], 16)); /* 23 branches: 3 of the next 20 */
	cr_expect(eq(i32, eng.st.counter[1], 97)); /* both instructions count */
	expect_overshoots(0);
}

Test(owed, a_late_branch_in_exact_is_an_overshoot_of_that_branch) /* 43724-824 */
{
	pass_here(LWP_KIND_BRE, 22);
	expect_overshoots(0);
	jump(RIP);
	expect_latest(1, LWP_KIND_BRE, RIP, 3);
}

Test(owed, whole_periods_of_branches_are_missed_events)
{
	begin(LWP_DELIVERY_PROMPT);
	pass_here(LWP_KIND_BRE, 70);
	jump(RIP);
	expect_missed(2); /* 71 branches: 3 periods and 11 */
	cr_expect(eq(i32, eng.st.counter[2], 8));
}

Test(owed, a_filtered_branch_takes_no_late_record)
{
	begin(LWP_DELIVERY_PROMPT);
	put32(BLOCK + LWP_CB_FILTERS, LWP_FILTER_NAB);
	enable(BLOCK);
	pass_here(LWP_KIND_BRE, 20);
	branch(RIP, LWP_BRANCH_ABSOLUTE, true, RIP);
	expect_head(0);
	cr_expect(lwp_awaits_branch(&eng));
	jump(RIP + 4);
	expect_record(0, 3, RIP + 4);
}

Test(owed, a_branch_outside_the_ip_range_takes_no_late_record)
{
	begin(LWP_DELIVERY_PROMPT);
	filter_ip(LWP_FILTER_IPF, RIP + 4, RIP + 4);
	enable(BLOCK);
	pass_here(LWP_KIND_BRE, 20);
	jump(RIP);
	expect_head(0);
	jump(RIP + 4);
	expect_record(0, 3, RIP + 4);
}

Test(owed, an_instruction_in_time_goes_before_a_late_branch)
{
	lwp_count(&eng, LWP_KIND_IRE, 99);
	pass_here(LWP_KIND_BRE, 24);
	jump(RIP); /* the 100th instruction */
	expect_record(0, 2, RIP);
	cr_expect(lwp_awaits_branch(&eng));
	jump(RIP + 4);
	expect_record(1, 3, RIP + 4);
	cr_expect(eq(i32, eng.st.counter[2], 13)); /* 26 branches */
	expect_latest(1, LWP_KIND_BRE, RIP + 4, 6);
}

Test(owed, in_prompt_a_late_branch_goes_first)
{
	begin(LWP_DELIVERY_PROMPT);
	lwp_count(&eng, LWP_KIND_IRE, 99);
	pass_here(LWP_KIND_BRE, 24);
	jump(RIP);
	expect_record(0, 3, RIP);
	step(RIP + 4);
	expect_record(1, 2, RIP + 4);
	cr_expect(eq(i32, eng.st.counter[1], 98)); /* 101 instructions */
}

/* The ring cannot be written: a record is pending when the branch comes, which therefore gets none. */
Test(owed, a_branch_beside_a_pending_record_leaves_the_late_one_to_another)
{
	struct lwp_retired next = { .address = RIP };
	struct lwp_retired r = { RIP, LWP_BRANCH_RELATIVE, true, RIP };

	set_permission(RING, 0);
	lwp_pass(&eng, LWP_KIND_IRE, 100, &next);
	lwp_pass(&eng, LWP_KIND_BRE, 24, &next);
	expect_exc(boundary(RIP, false), PF);
	lwp_retire(&eng, &r);
	cr_expect(not(lwp_awaits_branch(&eng)));
	cr_expect(eq(i32, eng.st.counter[2], -6)); /* 25 branches */
	expect_latest(2, LWP_KIND_BRE, 0, 5);
	set_permission(RING, P_READ | P_WRITE);
	expect_exc(boundary(RIP + 4, false), NONE);
	jump(RIP + 4);
	expect_record(1, 3, RIP + 4);
	expect_overshoots(2);
}

Test(owed, the_wait_for_a_branch_ends_before_a_state_is_saved)
{
	pass_here(LWP_KIND_BRE, 24);
	lwp_pass(&eng, LWP_KIND_BRE, 0, NULL);
	cr_expect(not(lwp_awaits_branch(&eng)));
	cr_expect(eq(i32, eng.st.counter[2], -5));
	expect_latest(1, LWP_KIND_BRE, 0, 4);
	jump(RIP);
	expect_record(0, 3, RIP);
	expect_overshoots(1);
}

Test(owed, later_branches_add_to_those_that_wait)
{
	begin(LWP_DELIVERY_PROMPT);
	pass_here(LWP_KIND_BRE, 21);
	pass_here(LWP_KIND_BRE, 1);
	jump(RIP);
	expect_head(32);
	cr_expect(eq(i32, eng.st.counter[2], 16)); /* 23 branches */
}

/* ---- where no instruction can be named ---- */

Test(owed, what_passed_unseen_makes_the_next_instruction_due)
{
	lwp_pass(&eng, LWP_KIND_IRE, 103, NULL);
	cr_expect(eq(i32, eng.st.counter[1], -4));
	cr_expect(eq(u8, eng.st.pending.event_id, 0));
	expect_latest(1, LWP_KIND_IRE, 0, 3);
	step(RIP);
	expect_record(0, 2, RIP);
	cr_expect(eq(i32, eng.st.counter[1], 95)); /* 104 instructions */
	expect_overshoots(1);
	steps(RIP + 4, 200);
	expect_head(96);
	expect_overshoots(1); /* those after it are in time */
}

Test(owed, in_prompt_nothing_unseen_is_an_overshoot)
{
	begin(LWP_DELIVERY_PROMPT);
	lwp_pass(&eng, LWP_KIND_IRE, 250, NULL);
	lwp_pass(&eng, LWP_KIND_BRE, 50, NULL);
	steps(RIP, 3);
	jump(RIP + 12);
	expect_overshoots(0);
}

Test(owed, what_is_not_due_passes_unseen_in_time)
{
	lwp_pass(&eng, LWP_KIND_IRE, 99, NULL);
	cr_expect(eq(i32, eng.st.counter[1], 0));
	step(RIP);
	expect_record(0, 2, RIP);
	expect_overshoots(0);
}

/* 250 instructions: the records of the 100th and the 200th are late, and no period is skipped. */
Test(owed, each_period_that_passed_unseen_gives_a_late_record) /* 43724-824 */
{
	lwp_pass(&eng, LWP_KIND_IRE, 250, NULL);
	steps(RIP, 2);
	expect_record(0, 2, RIP);
	expect_record(1, 2, RIP + 4);
	expect_missed(0);
	expect_overshoots(2);
	expect_overshoot(0, LWP_KIND_IRE, 0, 150);
	expect_overshoot(1, LWP_KIND_IRE, RIP + 4, 52); /* the 252nd instead of the 200th */
	steps(RIP + 8, 48);
	expect_record(2, 2, RIP + 8 + 47 * 4); /* the 300th, in time */
	expect_overshoots(2);
}

Test(owed, an_event_that_is_owed_is_counted_once) /* 43724-824 */
{
	lwp_pass(&eng, LWP_KIND_IRE, 100, NULL);
	lwp_pass(&eng, LWP_KIND_IRE, 5, NULL);
	expect_overshoots(1);
	pass_here(LWP_KIND_IRE, 1);
	expect_record(0, 2, RIP);
	expect_overshoots(1);
}

/* The branch is the 101st instruction, of which the record is owed, and the 20th branch. */
Test(owed, what_gives_way_to_a_record_that_is_owed_is_late) /* 43724-824 */
{
	lwp_count(&eng, LWP_KIND_BRE, 19);
	lwp_pass(&eng, LWP_KIND_IRE, 105, NULL);
	jump(RIP);
	expect_record(0, 2, RIP);
	expect_latest(2, LWP_KIND_BRE, 0, 0);
	jump(RIP + 4);
	expect_record(1, 3, RIP + 4);
	expect_overshoots(2);
}

Test(owed, what_does_not_become_due_with_it_is_not_late)
{
	lwp_count(&eng, LWP_KIND_BRE, 19);
	lwp_pass(&eng, LWP_KIND_IRE, 105, NULL);
	step(RIP); /* no branch */
	jump(RIP + 4);
	expect_record(0, 2, RIP);
	expect_record(1, 3, RIP + 4);
	expect_overshoots(1);
}

/* The record of instructions was late, and its counter has caught up. Later it waits for a branch, in time. */
Test(owed, what_gives_way_after_it_has_caught_up_is_in_time)
{
	lwp_pass(&eng, LWP_KIND_IRE, 100, NULL);
	steps(RIP, 2);
	eng.st.counter[1] = 0;
	eng.st.counter[2] = -1;
	jump(RIP + 8);
	step(RIP + 12);
	expect_record(1, 3, RIP + 8);
	expect_record(2, 2, RIP + 12);
	expect_overshoots(1);
}

/* The counter is past its limit already when more instructions pass unseen. */
Test(owed, a_record_that_is_owed_again_is_counted_once)
{
	lwp_pass(&eng, LWP_KIND_IRE, 250, NULL);
	step(RIP);
	lwp_pass(&eng, LWP_KIND_IRE, 30, NULL);
	expect_overshoots(2);
	step(RIP + 4);
	expect_record(1, 2, RIP + 4);
	expect_overshoots(2);
}

/* Branches are behind when a record of instructions is owed: they are late anyway, and counted when they are named. */
Test(owed, what_is_late_anyway_is_not_late_by_giving_way)
{
	lwp_pass(&eng, LWP_KIND_BRE, 65, NULL);
	lwp_pass(&eng, LWP_KIND_IRE, 160, NULL);
	jump(RIP); /* instructions: -62, reloaded with 38; branches: -47 */
	jump(RIP + 4); /* branches: -48, reloaded with -28 */
	lwp_pass(&eng, LWP_KIND_IRE, 100, NULL); /* 37 - 100 */
	jump(RIP + 8);
	expect_record(0, 2, RIP);
	expect_record(1, 3, RIP + 4);
	expect_record(2, 2, RIP + 8);
	expect_overshoots(3);
	jump(RIP + 12); /* branches: -30 */
	expect_record(3, 3, RIP + 12);
	expect_latest(4, LWP_KIND_BRE, RIP + 12, 29);
}

/* The ring cannot be written; meanwhile more than a period passes unseen. */
Test(owed, a_record_that_is_pending_already_settles_nothing)
{
	lwp_count(&eng, LWP_KIND_IRE, 99);
	set_permission(RING, 0);
	expect_exc(try_step(RIP), PF);
	lwp_pass(&eng, LWP_KIND_IRE, 250, NULL);
	retire_at(RIP);
	expect_overshoots(1);
	set_permission(RING, P_READ | P_WRITE);
	expect_exc(boundary(RIP, true), NONE);
	steps(RIP + 4, 2);
	expect_head(96);
	expect_latest(2, LWP_KIND_IRE, RIP + 8, 53);
}

/* Both have passed unseen; the branch is further below its limit and goes first. */
Test(owed, both_kinds_are_owed)
{
	lwp_pass(&eng, LWP_KIND_IRE, 101, NULL);
	lwp_pass(&eng, LWP_KIND_BRE, 45, NULL);
	jump(RIP);
	jump(RIP + 4);
	jump(RIP + 8);
	expect_record(0, 3, RIP);
	expect_record(1, 3, RIP + 4);
	expect_record(2, 2, RIP + 8);
	/* The second record of branches: the 47th instead of the 40th. */
	expect_latest(3, LWP_KIND_BRE, RIP + 4, 7);
}

Test(owed, in_2007_the_counter_waits_at_zero)
{
	start(LWP_REV_2007);
	set_event(BLOCK, 1, 100, 100);
	profile(2, 20, 20);
	lwp_count(&eng, LWP_KIND_BRE, 19);
	lwp_pass(&eng, LWP_KIND_IRE, 250, NULL);
	cr_expect(eq(i32, eng.st.counter[0], 0));
	jump(RIP);
	expect_record(0, 1, RIP);
	jump(RIP + 4);
	expect_record(1, 2, RIP + 4);
	expect_latest(2, LWP_KIND_BRE, 0, 0);
	steps(RIP + 8, 98);
	expect_head(64);
	steps(RIP + 8 + 98 * 4, 1);
	expect_record(2, 1, RIP + 8 + 98 * 4);
	expect_overshoots(2);
}

Test(owed, what_is_not_counted_does_not_pass)
{
	start(LWP_REV_43724);
	set_event(BLOCK, 2, 99, 99);
	lwp_pass(&eng, LWP_KIND_IRE, 350, NULL); /* LWP is off */
	enable(BLOCK);
	lwp_pass(&eng, LWP_KIND_BRE, 103, NULL);
	lwp_pass(&eng, LWP_KIND_BRE, 103, &(struct lwp_retired){ .address = RIP });
	cr_expect(eq(i32, eng.st.counter[1], 99));
	cr_expect(eq(i32, eng.st.counter[2], 0));
	cr_expect(not(lwp_awaits_branch(&eng)));
	expect_overshoots(0);
}

Test(owed, any_number_may_pass)
{
	lwp_pass(&eng, LWP_KIND_IRE, ~(u64)0, NULL);
	cr_expect(eq(i32, eng.st.counter[1], LWP_COUNTER_MIN));
	pass_here(LWP_KIND_BRE, 22);
	pass_here(LWP_KIND_BRE, ~(u64)20); /* a sum that would wrap round */
	cr_expect(lwp_awaits_branch(&eng));
	jump(RIP);
	cr_expect(eq(u8, record(0).event_id,
		     2)); /* in `exact` it is due, and goes before the branch */
	lwp_pass(&eng, LWP_KIND_BRE, ~(u64)0, NULL);
	cr_expect(eq(i32, eng.st.counter[2], LWP_COUNTER_MIN));
}

Test(owed, without_a_callback_the_statistic_still_counts)
{
	static struct lwp_vcpu_ops ops;

	ops = guest_ops;
	ops.overshoot = NULL;
	eng.ops = &ops;
	lwp_pass(&eng, LWP_KIND_IRE, 103, NULL);
	cr_expect(eq(u64, eng.stats.overshoots, 1));
}

/* ---- what is owed belongs to the context ---- */

/* Context A is parked with two records of instructions owed. */
static void park_a(void)
{
	begin(LWP_DELIVERY_EXACT);
	empty_table(2);
	cr_assert(lwp_ctx_create(&table, &eng, 0, &key_a));
	lwp_pass(&eng, LWP_KIND_IRE, 250, NULL);
	lwp_ctx_park(&table, &eng, 0, 0);
	expect_overshoots(1);
}

Test(owed, the_next_context_owes_nothing) /* 43724-824 */
{
	park_a();
	cr_assert(create(BLOCK2, 0, &key_b));
	/* As if an event had given way: due, and not late. */
	eng.st.counter[1] = -101;
	steps(RIP, 2);
	cr_expect(eq(u64, eng.stats.records, 2));
	expect_overshoots(1);
}

Test(owed, a_context_owes_the_same_when_it_is_found_again) /* 43724-824 */
{
	park_a();
	cr_assert(eq(int, find(0, &key_a), LWP_CTX_RESUMED));
	steps(RIP, 2);
	expect_record(1, 2, RIP + 4);
	expect_latest(2, LWP_KIND_IRE, RIP + 4, 52);
}

Test(owed, a_state_from_outside_owes_nothing)
{
	struct lwp_state st;

	lwp_pass(&eng, LWP_KIND_IRE, 250, NULL);
	pass_here(LWP_KIND_BRE, 30);
	st = eng.st;
	lwp_engine_load(&eng, &st);
	cr_expect(not(lwp_awaits_branch(&eng)));
	expect_exc(boundary(RIP, false), NONE);
	steps(RIP, 2);
	cr_expect(eq(u64, eng.stats.records, 2));
	expect_overshoots(1);
}

Test(owed, llwpcb_and_reset_forget_it)
{
	pass_here(LWP_KIND_BRE, 30);
	enable(BLOCK);
	cr_expect(not(lwp_awaits_branch(&eng)));
	pass_here(LWP_KIND_BRE, 30);
	lwp_engine_reset(&eng, true, 0);
	cr_expect(not(lwp_awaits_branch(&eng)));
	expect_overshoots(0);
}
