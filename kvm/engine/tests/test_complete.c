// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Nothing is lost: records + MissedEvents = floor((n + start) / (interval + 1)), where n instructions retired
 * and start is the interval less the initial counter (43724); every fault at every access is restartable.
 */
#include "fake_guest.h"

/* Records and MissedEvents. drain: the program empties the ring as it fills. */
static u64 delivered(u32 n, u32 interval, u32 counter, bool drain)
{
	u64 records = 0;
	u32 tail = 0;

	start(LWP_REV_43724);
	set_event(BLOCK, 2, interval, counter);
	profile(3, 0, 0);
	for (u32 i = 0; i < n; i++) {
		if (i % 3 == 1)
			branch(0x400000 + i, LWP_BRANCH_CONDITIONAL, i & 1, 0x400800);
		else
			step(0x400000 + i);
		while (tail != get32(BLOCK + 16)) {
			records += record(tail / 32).event_id == 2;
			tail = (tail + 32) % RING_SIZE;
		}
		if (drain)
			put32(BLOCK + 64, tail);
	}
	return records;
}

Test(complete, records_of_an_interval_are_floor_of_n_and_start) /* 43724-821 */
{
	cr_expect(eq(u64, delivered(1000, 9, 9, true), 100));
	cr_expect(eq(u64, delivered(999, 9, 9, true), 99));
	cr_expect(eq(u64, delivered(1000, 9, 3, true), 100)); /* (1000 + 6) / 10 */
	cr_expect(eq(u64, delivered(1000, 9, 0, true), 100)); /* (1000 + 9) / 10 */
	cr_expect(eq(u64, delivered(1011, 9, 0, true),
		     102)); /* no branch, so no other event is gathered */
	cr_expect(eq(u64, delivered(1000, 6, 2, true), 143)); /* (1000 + 4) / 7 */
	expect_missed(0);
}

Test(complete, with_a_full_ring_the_rest_is_missed_events)
{
	start_profile(LWP_REV_43724, 2, 6, 2);
	steps(0x400000, 1000);
	expect_ring(992, 143 - 31);
}

Test(complete, two_events_at_once_lose_nothing) /* 43724-711 */
{
	u32 ire = 0, bre = 0, tail = 0;

	/* Every instruction is a branch, both events have a period of 4: 2000 events each. */
	start(LWP_REV_43724);
	set_event(BLOCK, 2, 3, 3);
	profile(3, 3, 3);
	for (u32 i = 0; i < 2000; i++) {
		branch(0x400000, LWP_BRANCH_RELATIVE, true, 0x400000);
		for (; tail != get32(BLOCK + 16); tail = (tail + 32) % RING_SIZE)
			*(record(tail / 32).event_id == 2 ? &ire : &bre) += 1;
		put32(BLOCK + 64, tail);
	}
	cr_expect(eq(u32, ire, 500));
	cr_expect(ge(u32, bre, 499)); /* the last one may still be waiting */
	expect_missed(0);
}

/* ---- every access faults once ---- */

struct outcome {
	u8 mem[MEM_PAGES * PAGE];
	struct lwp_state st;
	bool cf;
	u64 old;
};

/* Repeat an instruction or boundary until it does not fault. At most one fault is injected. */
static u32 faults;

static bool again(void)
{
	if (exc.kind == LWP_EXC_NONE)
		return false;
	cr_assert(eq(int, exc.kind, guest.fail_again ? LWP_EXC_AGAIN : LWP_EXC_PF));
	/* Nothing is kept for a retry, which would come at the same instruction only. */
	cr_assert(not(guest.fail_again &&
		      (eng.st.flags & LWP_STATE_FAULTED || eng.load_faulted || eng.stats.faults)));
	faults++;
	cr_assert(le(u32, faults, 1));
	return true;
}

/* All kinds of records, a full ring, a state from outside, flushes, a switch of blocks, LWP off. */
static void program(u32 rev, int fail_map, bool fail_again, struct outcome *o)
{
	u32 ire = rev == LWP_REV_2007 ? 1 : 2;
	struct lwp_state st;

	start(rev);
	set_event(BLOCK, ire, 3, 2);
	set_event(BLOCK, ire + 1, 2, 1);
	set_event(BLOCK2, ire, 5, 1);
	if (rev == LWP_REV_43724) {
		set_event(BLOCK, 1, 1, 1);
		put32(BLOCK + 64, 256);
		filter_ip(LWP_FILTER_IPF, 0x400000, 0x5fffff);
	} else {
		put32(BLOCK + 20, 256);
	}
	faults = 0;
	guest.fail_map = fail_map;
	guest.fail_again = fail_again;
	do
		llwpcb(BLOCK);
	while (again());
	for (u32 i = 0; i < 24; i++) {
		struct lwp_retired r = { .address = 0x400000 + 4 * i,
					 .branch = i % 2 ? LWP_BRANCH_RELATIVE : LWP_BRANCH_NONE,
					 .taken = true,
					 .target = 0x400004 + 4 * i };
		bool wanted = lwp_retire(&eng, &r);

		while (wanted) {
			lwp_boundary(&eng, r.address + 4, true, &exc);
			wanted = again();
		}
		if (rev == LWP_REV_43724) {
			do
				lwpval(0x410000, i, i, 1);
			while (again());
			do
				lwpins(0x420000, i, i, 2);
			while (again());
		}
	}
	st = eng.st;
	lwp_engine_load(&eng, &st); /* the range of IPs is read again */
	do
		boundary(0x400060, true);
	while (again());
	do
		slwpcb();
	while (again());
	cr_assert(eq(u64, result, BLOCK));
	do
		llwpcb(BLOCK2);
	while (again());
	o->old = result;
	for (u32 i = 0; i < 2; i++) {
		struct lwp_retired r = { .address = 0x500000 + 4 * i };
		bool wanted = lwp_retire(&eng, &r);

		while (wanted) {
			lwp_boundary(&eng, r.address + 4, true, &exc);
			wanted = again();
		}
	}
	o->cf = cf;
	o->st = eng.st;
	do
		llwpcb(0);
	while (again());
	memcpy(o->mem, guest.mem, sizeof(o->mem));
}

static void every_access_fails(u32 rev, bool fail_again, int at_least)
{
	static struct outcome undisturbed, disturbed;
	int maps;

	program(rev, -1, false, &undisturbed);
	maps = guest.maps;
	cr_assert(eq(u32, faults, 0));
	cr_expect(ge(int, maps, at_least));
	for (int i = 0; i < maps; i++) {
		program(rev, i, fail_again, &disturbed);
		cr_expect(eq(u32, faults, 1));
		cr_expect(eq(int, memcmp(disturbed.mem, undisturbed.mem, sizeof(disturbed.mem)), 0),
			  "memory after a fault at access %d", i);
		cr_expect(eq(int, memcmp(&disturbed.st, &undisturbed.st, sizeof(disturbed.st)), 0),
			  "state after a fault at access %d", i);
		cr_expect(eq(int, disturbed.cf, undisturbed.cf));
		cr_expect(eq(u64, disturbed.old, undisturbed.old));
	}
}

Test(complete, every_access_of_43724_can_fault_once) /* 43724-821 */
{
	every_access_fails(LWP_REV_43724, false, 90);
}

Test(complete, every_access_of_2007_can_fault_once) /* 2007-706, 2007-807 */
{
	every_access_fails(LWP_REV_2007, false, 20);
}

Test(complete, every_access_can_wait_once) /* 43724-821, 2007-706 */
{
	every_access_fails(LWP_REV_43724, true, 90);
	every_access_fails(LWP_REV_2007, true, 20);
}
