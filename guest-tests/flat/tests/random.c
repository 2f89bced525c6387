// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random: a reload takes the interval with its low bits replaced by random ones, so that records of every instruction
 * stream lie between the bounds that follow, and the same program gives the same records.
 */
#include "lwp_fixture.h"
#include "test.h"

#define NOPS 2000u
#define RING_SLOTS 512u /* RING_PAGES */

extern char rnd_code[], rnd_first[];

USER_CODE("rnd_code: llwpcb %rax\n"
	  "rnd_first: .fill 2000, 1, 0x90\n"
	  "user_exit\n");

static u64 first[RING_SLOTS];

/* Distances of records lie in least..most; they vary; a second run gives the same. */
static void test_spacing(struct lwp *l, u32 random, u32 interval, u32 least, u32 most)
{
	struct block b = { .size = RING_SLOTS * RECORD_SIZE,
			   .random = random,
			   .event = { { EV_IRE, interval, 0 } } };
	bool in_bounds = true, varies = false, reached_low = false, reached_high = false;
	u32 records, quarter = (most - least) / 4;
	u64 distance, low = ~0ul;

	report_push("Random %u, interval %u", random, interval);
	lwp_go(l, &b, rnd_code);
	records = (u32)flushed(l);
	report(records >= NOPS / most && records <= NOPS / least + 1, "number of records: %u",
	       records);
	for (u32 i = 0; i < records; i++)
		first[i] = ring_record(l, i).address;
	report_eq(first[0], (u64)rnd_first, "the first is EventCounter's, not random");
	for (u32 i = 1; i < records; i++) {
		distance = first[i] - first[i - 1];
		low = distance < low ? distance : low;
		in_bounds &= distance >= least && distance <= most;
		varies |= distance != first[1] - first[0];
		reached_low |= distance <= least + quarter;
		reached_high |= distance >= most - quarter;
	}
	report(in_bounds, "distances lie between %u and %u", least, most);
	report(varies && reached_low && reached_high, "and are spread");

	lwp_go(l, &b, rnd_code);
	for (u32 i = 0; i < records; i++)
		in_bounds &= ring_record(l, i).address == first[i];
	report(in_bounds && cb_head(l) == records * RECORD_SIZE,
	       "a second run gives the same records");
	report_pop();
	if (!interval)
		ask("Q22", "43724-706", "the least distance with interval 0 and Random 6", "1",
		    text("%lu", low));
}

LWP_TEST(random)
{
	/* The low n bits of the interval become 0..2^n-1; the period is one more. */
	rule("43724-706 43724-709 43724-410", CHOICE);
	test_spacing(l, 6, 0, 1, 64);
	test_spacing(l, 4, 16, 17, 32);
	test_spacing(l, 4, 31, 17, 32);
	test_spacing(l, 1, 20, 21, 22);
}
