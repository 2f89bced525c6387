// SPDX-License-Identifier: GPL-2.0-or-later
#include "rounds.h"

#define PERIOD_FIRST (8 * ROUNDS_MS)

void rounds_init(struct rounds *r, const struct options *options)
{
	*r = (struct rounds){
		.period = PERIOD_FIRST,
		.live = options->live,
		.windows = options->windows,
		.window_period = options->window_period,
		.window_random = options->seed,
	};
}

/*
 * Is it time for windows? The period varies from half to one and a half, so that no loop of the program
 * stays in step with it.
 */
static bool windows_due(struct rounds *r, uint64_t now)
{
	if (r->windows != WINDOWS_SAMPLED || now < r->window_at)
		return false;
	/* xorshift64*; its state must not be 0. */
	r->window_random = r->window_random ?: 1;
	r->window_random ^= r->window_random >> 12;
	r->window_random ^= r->window_random << 25;
	r->window_random ^= r->window_random >> 27;
	r->window_at = now + r->window_period / 2 +
		       (r->window_random * 0x2545f4914f6cdd1dull >> 1) % r->window_period;
	return true;
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
	r->windows_due = windows_due(r, now);
	r->live_due = live_due(r, now);
}

void rounds_end(struct rounds *r, unsigned int filled)
{
	r->filled = filled;
	if (filled >= 25 && r->period / 2 >= ROUNDS_PERIOD_MIN)
		r->period /= 2;
	else if (filled < 6 && r->period * 2 <= ROUNDS_PERIOD_MAX)
		r->period *= 2;
}

/* What rings need, or until a window is due. */
static uint64_t until_rings(const struct rounds *r, uint64_t now)
{
	/* A thread that has filled half of its ring since the last round may wait already. */
	if (r->windows == WINDOWS_ALL)
		return r->filled >= 50 ? 1 : ROUNDS_PERIOD_MIN;
	if (r->windows == WINDOWS_NONE)
		return r->period;
	if (r->window_at > now + ROUNDS_PERIOD_MAX)
		return ROUNDS_PERIOD_MAX;
	return r->window_at > now ? r->window_at - now : 1;
}

uint64_t rounds_until_next(const struct rounds *r, uint64_t now)
{
	uint64_t period = until_rings(r, now);

	if (!r->live || r->live_at > now + period)
		return period;
	return r->live_at > now ? r->live_at - now : 1;
}
