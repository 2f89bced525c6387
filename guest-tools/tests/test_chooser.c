// SPDX-License-Identifier: GPL-2.0-or-later
/* Which branches are in sampled windows. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "chooser.h"

#define WINDOW 8
#define EVERY 40
#define BRANCHES 400
#define SEEDS 20000

static bool chosen[BRANCHES];
static uint64_t weight, windows;

/* A thread of so many branches, of which lwprun sees `batch` at once. */
static void choose(uint64_t seed, uint64_t branches, uint64_t batch)
{
	struct chooser c;
	uint64_t at = 0, pass, take;

	memset(chosen, 0, sizeof(chosen));
	weight = windows = 0;
	chooser_begin(&c, WINDOW, EVERY, seed, 3);
	while (at < branches) {
		uint64_t left = branches - at < batch ? branches - at : batch;

		while (left) {
			chooser_step(&c, left, &pass, &take);
			cr_assert(gt(u64, pass + take, 0));
			cr_assert(le(u64, pass + take, left));
			cr_assert(le(u64, take, WINDOW));
			memset(chosen + at + pass, true, take);
			weight += chooser_weight(&c, take);
			windows += take != 0;
			at += pass + take;
			left -= pass + take;
		}
	}
}

Test(chooser, there_is_a_window_in_each_stretch)
{
	choose(1, BRANCHES, BRANCHES);
	/* 10 stretches, of which the first begins 7 branches before the thread, so that an eleventh has begun. */
	cr_expect(ge(u64, windows, 9));
	cr_expect(le(u64, windows, 11));
	for (uint64_t at = 0, longest = 0, none = 0; at < BRANCHES; at++) {
		none = chosen[at] ? 0 : none + 1;
		longest = none > longest ? none : longest;
		cr_assert(lt(u64, longest, 2 * EVERY));
	}
}

/* The mean of 20000 draws of 8 in 40 is 4000 with a deviation of 57; 5 of them. */
Test(chooser, each_branch_has_the_same_chance_the_first_and_the_last_too)
{
	static uint64_t times[BRANCHES];

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		choose(seed, BRANCHES, BRANCHES);
		for (int i = 0; i < BRANCHES; i++)
			times[i] += chosen[i];
	}
	for (int i = 0; i < 40; i++)
		cr_expect(lt(u64, times[i] > 4000 ? times[i] - 4000 : 4000 - times[i], 285),
			  "%d: %lu", i, (unsigned long)times[i]);
	cr_expect(lt(u64, times[399] > 4000 ? times[399] - 4000 : 4000 - times[399], 285));
}

/* A thread of 5 branches: the weights are 5 on average, though no window of it is whole. */
Test(chooser, weights_of_short_threads_are_right_on_average)
{
	uint64_t sum = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		choose(seed, 5, 5);
		sum += weight;
	}
	cr_expect(epsilon_eq(dbl, (double)sum / SEEDS, 5, 0.3));
}

Test(chooser, it_does_not_matter_when_rings_are_emptied)
{
	bool once[BRANCHES];

	choose(7, BRANCHES, BRANCHES);
	memcpy(once, chosen, sizeof(once));
	for (uint64_t batch = 1; batch < 50; batch++) {
		choose(7, BRANCHES, batch);
		cr_assert(not(memcmp(once, chosen, sizeof(once))));
	}
}

Test(chooser, seeds_and_threads_draw_other_windows)
{
	struct chooser a, b;

	chooser_begin(&a, WINDOW, EVERY, 1, 0);
	chooser_begin(&b, WINDOW, EVERY, 1, 1);
	cr_expect(ne(u64, a.seed, b.seed));
	chooser_begin(&b, WINDOW, EVERY, 2, 0);
	cr_expect(ne(u64, a.seed, b.seed));
}
