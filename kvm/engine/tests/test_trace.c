// SPDX-License-Identifier: GPL-2.0-or-later
/* Usual records: lwp_trace() does what lwp_count(), lwp_retire() and lwp_boundary() do, or nothing. */
#include "fake_guest.h"
#include "lwp_trace.h"

static const struct lwp_traced jump = {
	.address = 0x400000,
	.branch = LWP_BRANCH_CONDITIONAL,
	.taken = true,
	.target = 0x400100,
};

/* Branches (EventId 3) or instructions (2) make records. */
static void event(u32 id, u32 interval, u32 flags)
{
	start(LWP_REV_43724);
	lwp_engine_write_cfg(&eng, 0x00004200e000000cull); /* vector 42h, all modes */
	put32(BLOCK, flags);
	set_event(BLOCK, id, interval, interval);
	guest.direct = true;
}

/* A block whose constant fields are known, as they are after the first store. */
static void enable_and_store(void)
{
	enable(BLOCK);
	branch(0x400000, LWP_BRANCH_RELATIVE, true, 0x400200);
}

/* The last of n events is due: with a cursor of the present state. */
static u32 trace(const struct lwp_traced *r, u32 n)
{
	struct lwp_traced only = { .address = r->address };
	struct lwp_cursor cursor;

	lwp_cursor_set(&eng, &cursor);
	if (!cursor.on)
		return 0;
	return lwp_trace(&eng, &cursor, guest.mem + (BLOCK - MEM_BASE),
			 guest.mem + (eng.st.base + eng.st.head - MEM_BASE),
			 cursor.kind == LWP_KIND_IRE ? &only : r, n);
}

/* The general way. */
static struct lwp_retired general(const struct lwp_traced *r)
{
	return (struct lwp_retired){
		.address = r->address, .branch = r->branch, .taken = r->taken, .target = r->target
	};
}

/* Nothing is done for `r`. */
static void expect_left(const struct lwp_traced *r)
{
	static struct fake_guest memory;
	static struct lwp_engine before;

	memory = guest;
	before = eng;
	cr_expect(zero(u32, trace(r, 1)));
	cr_expect(zero(int, memcmp(memory.mem, guest.mem, sizeof(guest.mem))));
	cr_expect(zero(int, memcmp(&before, &eng, sizeof(eng))));
	cr_expect(eq(u32, memory.interrupts, guest.interrupts));
}

/* Of one way: passed are those of its events that the engine has not counted. */
struct way {
	bool at_once;
	u32 id, passed, stored;
};

static void count(struct way *way)
{
	lwp_count(&eng, eng.rev->kind[way->id], way->passed);
	way->passed = 0;
}

/* One branch; the program takes records now and then. */
static void one_branch(u32 i, struct way *way)
{
	struct lwp_retired all;
	struct lwp_traced r = jump;

	r.address += 16 * i;
	r.taken = i % 3;
	r.branch = LWP_BRANCH_CONDITIONAL + i % 4;
	guest.clock = 1000 + 7 * i;
	if (i % 41 == 40)
		put32(BLOCK + 64, get32(BLOCK + 16));
	if (i % 97 == 96)
		put32(BLOCK + 64, 32 * (i % 64) + 8); /* breaks the protocol */
	if (way->at_once && eng.st.counter[way->id - 1] > (s32)way->passed) {
		way->passed++;
	} else if (way->at_once && trace(&r, way->passed + 1)) {
		way->passed = 0;
		way->stored++;
	} else {
		count(way);
		all = general(&r);
		expect_exc(retire(&all), NONE);
	}
}

static void go(struct way *way, u32 interval, u32 flags, u32 threshold)
{
	event(way->id, interval, flags);
	put32(BLOCK + 32, threshold);
	enable(BLOCK);
	for (u32 i = 0; i < 500; i++)
		one_branch(i, way);
	count(way);
}

/* Both ways leave the same memory and the same engine. Returns how many were stored at once. */
static u32 compare(u32 id, u32 interval, u32 flags, u32 threshold)
{
	struct way general_way = { .id = id }, way = { .id = id, .at_once = true };
	static struct fake_guest other;
	static struct lwp_engine engine;

	go(&general_way, interval, flags, threshold);
	other = guest;
	engine = eng;
	go(&way, interval, flags, threshold);
	cr_expect(zero(int, memcmp(other.mem, guest.mem, sizeof(guest.mem))));
	cr_expect(zero(int, memcmp(&engine, &eng, sizeof(eng))));
	cr_expect(eq(u32, other.interrupts, guest.interrupts));
	return way.stored;
}

static void every_branch(void)
{
	event(3, 0, 0);
}

TestSuite(trace, .init = every_branch);

Test(trace, leaves_what_the_general_way_leaves)
{
	for (u32 id = 2; id <= 3; id++) {
		cr_expect(gt(u32, compare(id, 0, 0, 0), 250));
		cr_expect(gt(u64, get64(BLOCK + 24), 0));
		cr_expect(eq(u32, compare(id, 0, F_CONT, 0), 500));
		cr_expect(eq(u32, compare(id, 0, F_PTSC | F_CONT, 0), 500));
		cr_expect(eq(u32, compare(id, 6, 0, 0), 71));
	}
}

Test(trace, leaves_records_that_interrupt)
{
	cr_expect(eq(u32, compare(3, 0, F_INT | F_CONT, 320), 0));
	cr_expect(gt(u32, guest.interrupts, 0));
}

Test(trace, leaves_a_counter_that_is_not_due)
{
	profile(3, 0, 1);
	expect_left(&jump);
	branch(0x400000, LWP_BRANCH_RELATIVE, true, 0x400200);
	branch(0x400000, LWP_BRANCH_RELATIVE, true, 0x400200);
	cr_expect(eq(u32, trace(&jump, 1), 1));
}

Test(trace, leaves_other_events)
{
	set_event(BLOCK, 2, 1000, 1000);
	enable_and_store();
	eng.st.counter[1] = 0; /* either would be due */
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
