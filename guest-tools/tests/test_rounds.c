// SPDX-License-Identifier: GPL-2.0-or-later
/* When lwprun looks at the rings, and what is due then. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "rounds.h"

#define MS ROUNDS_MS
#define NOW (1000 * MS)

static struct rounds r;

static void start(enum windows windows, uint64_t live)
{
	rounds_init(&r, &(struct options){ .windows = windows, .live = live });
}

/* A round in which a ring was found filled by so many percent. */
static void round_at(uint64_t now, unsigned int filled)
{
	rounds_begin(&r, now);
	rounds_end(&r, filled);
}

Test(rounds, come_seldom_while_little_happens)
{
	start(WINDOWS_NONE, 0);
	for (int i = 0; i < 20; i++)
		round_at(NOW, 5);
	cr_expect(eq(u64, rounds_until_next(&r, NOW), 64 * MS));
}

Test(rounds, come_often_where_the_interval_is_short)
{
	rounds_init(&r, &(struct options){ .thinned = 1 });
	for (int i = 0; i < 20; i++)
		round_at(NOW, 5);
	cr_expect(eq(u64, rounds_until_next(&r, NOW), 16 * MS));
}

Test(rounds, come_often_while_rings_fill_fast)
{
	start(WINDOWS_NONE, 0);
	for (int i = 0; i < 20; i++)
		round_at(NOW, 25);
	cr_expect(eq(u64, rounds_until_next(&r, NOW), 1 * MS));
}

Test(rounds, stay_as_they_are_in_between)
{
	uint64_t first;

	start(WINDOWS_NONE, 0);
	first = rounds_until_next(&r, NOW);
	round_at(NOW, 6);
	round_at(NOW, 24);
	cr_expect(eq(u64, rounds_until_next(&r, NOW), first));
}

/* Rounds that rings need are 64 ms apart here. */
Test(rounds, live_records_come_within_the_period)
{
	start(WINDOWS_NONE, 2 * MS);
	for (int i = 0; i < 20; i++)
		round_at(NOW, 0);
	cr_expect(eq(u64, rounds_until_next(&r, NOW), 2 * MS));
	cr_expect(eq(u64, rounds_until_next(&r, NOW + MS), 1 * MS));
	rounds_begin(&r, NOW + MS);
	cr_expect(not(r.live_due));
	rounds_begin(&r, NOW + 2 * MS);
	cr_expect(r.live_due);
	/* A round that came late is followed by one a period later, not by several at once. */
	rounds_begin(&r, NOW + 7 * MS);
	cr_expect(r.live_due);
	cr_expect(eq(u64, rounds_until_next(&r, NOW + 7 * MS), 2 * MS));
	/* What is overdue comes at once. */
	cr_expect(eq(u64, rounds_until_next(&r, NOW + 20 * MS), 1));
}

Test(rounds, without_live_records_none_is_for_them)
{
	start(WINDOWS_NONE, 0);
	rounds_begin(&r, NOW);
	cr_expect(not(r.live_due));
}

Test(rounds, a_live_period_longer_than_the_rings_changes_nothing)
{
	start(WINDOWS_NONE, 500 * MS);
	round_at(NOW, 25);
	cr_expect(eq(u64, rounds_until_next(&r, NOW), 4 * MS));
}

/* Nothing is missing between windows if rings are emptied before they are full. */
Test(rounds, rings_of_all_windows_are_emptied_at_once_when_half_full)
{
	start(WINDOWS_ALL, 0);
	round_at(NOW, 49);
	cr_expect(eq(u64, rounds_until_next(&r, NOW), 1 * MS));
	round_at(NOW, 50);
	cr_expect(eq(u64, rounds_until_next(&r, NOW), 1));
}
