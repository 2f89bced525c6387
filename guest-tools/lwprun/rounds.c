// SPDX-License-Identifier: GPL-2.0-or-later
#include <time.h>

#include "rounds.h"

#define PERIOD_FIRST (8 * ROUNDS_MS)

uint64_t rounds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

void rounds_init(struct rounds *r, const struct options *options)
{
	*r = (struct rounds){
		.period = PERIOD_FIRST,
		.period_max = options->thinned ? ROUNDS_PERIOD_MAX_SHORT : ROUNDS_PERIOD_MAX,
		.live = options->live,
		.waited_for = options->windows != WINDOWS_NONE || options->stacks,
	};
}

/* Is it time to show what was recorded to those who read the file while it grows? */
static bool live_due(struct rounds *r, uint64_t now)
{
	if (!r->live || now < r->live_at)
		return false;
	r->live_at = now + r->live;
	return true;
}

void rounds_begin(struct rounds *r, uint64_t now)
{
	r->live_due = live_due(r, now);
}

void rounds_end(struct rounds *r, unsigned int filled)
{
	r->filled = filled;
	if (filled >= 25 && r->period / 2 >= ROUNDS_PERIOD_MIN)
		r->period /= 2;
	else if (filled < 6 && r->period * 2 <= r->period_max)
		r->period *= 2;
}

/* What rings need. */
static uint64_t until_rings(const struct rounds *r)
{
	/* A thread that has filled half of its ring since the last round may wait already. */
	if (r->waited_for)
		return r->filled >= 50 ? 1 : ROUNDS_PERIOD_MIN;
	return r->period;
}

uint64_t rounds_until_next(const struct rounds *r, uint64_t now)
{
	uint64_t period = until_rings(r);

	if (!r->live || r->live_at > now + period)
		return period;
	return r->live_at > now ? r->live_at - now : 1;
}
