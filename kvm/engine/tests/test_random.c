// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random bits at reload (43724-706, 43724-709). The hash values were computed by another
 * program from the definition in lwp_random.c: LWPCB address 502000h, EventId, head, MissedEvents.
 */
#include "fake_guest.h"

static void with_random(u32 random, u32 interval)
{
	start(LWP_REV_43724);
	put32(BLOCK + 4, random << 28 | RING_SIZE);
	profile(2, interval, 0);
}

/* The first record reloads the counter with this. */
static void expect_reload(u32 random, u32 interval, s32 wanted)
{
	with_random(random, interval);
	expect_counter(step(0x400000), 2, wanted);
}

TestSuite(random, .init = start_43724);

Test(random, none_leaves_the_interval) /* 43724-706 */
{
	expect_reload(0, 0x12345, 0x12345);
}

Test(random, replaces_the_low_bits_by_the_hash) /* 43724-706 */
{
	/* (502000h, 2, 0, 0): a03f880978d02bbah */
	expect_reload(6, 0x12340, 0x1237a);
	expect_reload(15, 0x1ffffff, 0x1ffabba);
	expect_reload(4, 0, 0xa);
}

Test(random, depends_on_head_event_missed_and_block) /* 43724-709 */
{
	with_random(15, 0x8000);
	step(0x400000);
	eng.st.counter[1] = 0;
	expect_counter(step(0x400000), 2, 0x817f); /* head 32: ...017fh */
	with_random(15, 0x8000);
	put64(BLOCK + 24, 1); /* MissedEvents 1: ...7cf2h */
	expect_counter(step(0x400000), 2, 0xfcf2);
	start(LWP_REV_43724);
	put32(BLOCK + 4, 0xf0000000 | RING_SIZE);
	profile(3, 0x8000, 0);
	branch(0x400000, LWP_BRANCH_RELATIVE, true, 0x400100); /* event 3: ...2408h */
	cr_expect(eq(i32, eng.st.counter[2], 0xa408));
	put32(BLOCK2 + 4, 0xf0000000 | RING_SIZE);
	set_event(BLOCK2, 2, 0x8000, 0);
	enable(BLOCK2); /* 506000h: ...4b15h */
	expect_counter(step(0x400000), 2, 0xcb15);
}

Test(random, applies_to_lwpval) /* 43724-632 */
{
	put32(BLOCK + 4, 0x40000000 | RING_SIZE);
	profile(1, 0x100, 0);
	expect_exc(lwpval(0x400000, 1, 2, 3), NONE);
	cr_expect(ge(i32, eng.st.counter[0], 0x100));
	cr_expect(le(i32, eng.st.counter[0], 0x10f));
	cr_expect(ne(i32, eng.st.counter[0], 0x100));
}

Test(random, interval_0_with_6_bits_is_a_spacing_of_1_to_64) /* 43724-706 */
{
	bool seen[65] = { false };
	u32 last = 0, distinct = 0;

	with_random(6, 0);
	for (u32 i = 1; i <= 900; i++) {
		u32 before = get32(BLOCK + 16);

		put32(BLOCK + 64, before); /* never full */
		step(0x400000);
		if (get32(BLOCK + 16) == before)
			continue;
		cr_expect(le(u32, i - last, 64));
		distinct += !seen[i - last];
		seen[i - last] = true;
		last = i;
	}
	cr_expect(ge(u32, distinct, 12));
}

Test(random, the_first_count_is_the_counter_as_given) /* 43724-706 */
{
	put32(BLOCK + 4, 0xf0000000 | RING_SIZE);
	profile(2, 0x8000, 0x10);
	cr_expect(eq(i32, eng.st.counter[1], 0x10));
}

Test(random, never_below_the_minimum_of_2007) /* 2007-704, 2007-716 */
{
	start(LWP_REV_2007);
	put32(BLOCK + 4, 0x10000000 | RING_SIZE);
	profile(1, 1, 1);
	for (u32 i = 0; i < 200; i++) {
		put32(BLOCK + 20, get32(BLOCK + 16));
		step(0x400000);
		/* One random bit: 0 would be due before anything has been counted. */
		cr_expect(eq(i32, eng.st.counter[0], 1));
	}
}
