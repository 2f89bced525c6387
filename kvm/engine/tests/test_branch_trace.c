// SPDX-License-Identifier: GPL-2.0-or-later
/* Records of all branches: lwp_trace_branch() does what lwp_retire() and lwp_boundary() do, or nothing. */
#include "fake_guest.h"
#include "lwp_branch_trace.h"

static const struct lwp_retired_branch jump = {
	.address = 0x400000,
	.branch = LWP_BRANCH_CONDITIONAL,
	.taken = true,
	.target = 0x400100,
};

/* Each branch makes a record. */
static void every_branch(u32 flags)
{
	start(LWP_REV_43724);
	lwp_engine_write_cfg(&eng, 0x00004200e000000cull); /* vector 42h, all modes */
	put32(BLOCK, flags);
	set_event(BLOCK, 3, 0, 0);
	guest.direct = true;
}

/* A block whose constant fields are known, as they are after the first store. */
static void enable_and_store(void)
{
	enable(BLOCK);
	branch(0x400000, LWP_BRANCH_RELATIVE, true, 0x400200);
}

/* With a cursor of the present state. */
static bool trace(const struct lwp_retired_branch *r)
{
	struct lwp_branch_cursor cursor;

	lwp_branch_cursor_set(&eng, &cursor);
	return cursor.on && lwp_trace_branch(&eng, &cursor, guest.mem + (BLOCK - MEM_BASE),
					     guest.mem + (eng.st.base + eng.st.head - MEM_BASE), r);
}

/* The general way. */
static struct lwp_retired general(const struct lwp_retired_branch *r)
{
	return (struct lwp_retired){
		.address = r->address, .branch = r->branch, .taken = r->taken, .target = r->target
	};
}

/* Nothing is done for `r`. */
static void expect_left(const struct lwp_retired_branch *r)
{
	static struct fake_guest memory;
	static struct lwp_engine before;

	memory = guest;
	before = eng;
	cr_expect(not(trace(r)));
	cr_expect(zero(int, memcmp(memory.mem, guest.mem, sizeof(guest.mem))));
	cr_expect(zero(int, memcmp(&before, &eng, sizeof(eng))));
	cr_expect(eq(u32, memory.interrupts, guest.interrupts));
}

/* One of both ways; the program takes records now and then. */
static void one_branch(u32 i, bool at_once, u32 *stored)
{
	struct lwp_retired_branch r = jump;

	r.address += 16 * i;
	r.taken = i % 3;
	r.branch = LWP_BRANCH_CONDITIONAL + i % 4;
	guest.clock = 1000 + 7 * i;
	if (i % 41 == 40)
		put32(BLOCK + 64, get32(BLOCK + 16));
	if (i % 97 == 96)
		put32(BLOCK + 64, 32 * (i % 64) + 8); /* breaks the protocol */
	if (at_once && trace(&r)) {
		++*stored;
	} else {
		struct lwp_retired all = general(&r);

		expect_exc(retire(&all), NONE);
	}
}

/* Both ways leave the same memory and the same engine. Returns how many were stored at once. */
static u32 compare(u32 flags, u32 threshold)
{
	static struct fake_guest other;
	static struct lwp_engine engine;
	u32 stored = 0;

	every_branch(flags);
	put32(BLOCK + 32, threshold);
	enable(BLOCK);
	for (u32 i = 0; i < 500; i++)
		one_branch(i, false, NULL);
	other = guest;
	engine = eng;

	every_branch(flags);
	put32(BLOCK + 32, threshold);
	enable(BLOCK);
	for (u32 i = 0; i < 500; i++)
		one_branch(i, true, &stored);
	cr_expect(zero(int, memcmp(other.mem, guest.mem, sizeof(guest.mem))));
	cr_expect(zero(int, memcmp(&engine, &eng, sizeof(eng))));
	cr_expect(eq(u32, other.interrupts, guest.interrupts));
	return stored;
}

static void every_branch_0(void)
{
	every_branch(0);
}

TestSuite(trace, .init = every_branch_0);

Test(trace, leaves_what_the_general_way_leaves)
{
	cr_expect(gt(u32, compare(0, 0), 250));
	cr_expect(gt(u64, get64(BLOCK + 24), 0));
	cr_expect(eq(u32, compare(F_CONT, 0), 500));
	cr_expect(eq(u32, compare(F_PTSC | F_CONT, 0), 500));
}

Test(trace, leaves_records_that_interrupt)
{
	cr_expect(eq(u32, compare(F_INT | F_CONT, 320), 0));
	cr_expect(gt(u32, guest.interrupts, 0));
}

Test(trace, leaves_an_interval)
{
	enable_and_store();
	set_event(BLOCK, 3, 1, 0);
	expect_left(&jump);
}

Test(trace, leaves_a_counter_that_is_not_due)
{
	profile(3, 0, 1);
	expect_left(&jump);
	branch(0x400000, LWP_BRANCH_RELATIVE, true, 0x400200);
	branch(0x400000, LWP_BRANCH_RELATIVE, true, 0x400200);
	cr_expect(trace(&jump));
}

Test(trace, leaves_other_events)
{
	set_event(BLOCK, 2, 1000, 1000);
	enable_and_store();
	expect_left(&jump);
}

Test(trace, leaves_a_filtered_branch)
{
	put32(BLOCK + 36, LWP_FILTER_NCB);
	enable_and_store();
	expect_left(&jump);
}

Test(trace, leaves_an_ip_filter)
{
	filter_ip(LWP_FILTER_IPF, 0, ~0ull);
	enable_and_store();
	expect_left(&jump);
}

Test(trace, leaves_random_intervals)
{
	put32(BLOCK + 4, RING_SIZE | 1u << 28);
	enable_and_store();
	expect_left(&jump);
}

Test(trace, leaves_a_pending_record)
{
	struct lwp_retired r;

	enable_and_store();
	r = general(&jump);
	lwp_retire(&eng, &r);
	expect_left(&jump);
	/* A restored record of LWPINS reloads no counter, and leaves no other mark than itself. */
	enable_and_store();
	eng.st.pending.event_id = LWP_EVENT_ID_INS;
	expect_left(&jump);
}

/* An interval of 2007 is at least 1, also if restored state has a counter of zero. */
Test(trace, leaves_2007)
{
	start(LWP_REV_2007);
	set_event(BLOCK, 2, 0, 0);
	guest.direct = true;
	enable_and_store();
	eng.st.counter[1] = 0;
	expect_left(&jump);
}
