/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When lwprun looks at the rings again, and what is due then. Times are CLOCK_MONOTONIC in ns. */
#ifndef LWPRUN_ROUNDS_H
#define LWPRUN_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "lwprun_options.h"

#define ROUNDS_MS 1000000ull
/* Between looks at the rings: short when they fill fast, long when little happens. */
#define ROUNDS_PERIOD_MIN (1 * ROUNDS_MS)
#define ROUNDS_PERIOD_MAX (64 * ROUNDS_MS)
/* The interval is as short as lwprun begins with: a burst must not fill a ring. */
#define ROUNDS_PERIOD_MAX_SHORT (16 * ROUNDS_MS)

struct rounds {
	uint64_t period, period_max; /* between looks at the rings */
	unsigned int filled; /* the most that a ring has filled in the last round, percent */
	uint64_t live; /* between rounds that empty all rings into the file, 0: there are none */
	uint64_t live_at; /* when the next is due */
	bool live_due; /* this round is one */
	bool waited_for; /* threads wait at the guards of their rings */
};

/* Now. */
uint64_t rounds_now(void);

/* Before the first round. */
void rounds_init(struct rounds *r, const struct options *options);

/* A round begins: sets live_due, and when it is due again. */
void rounds_begin(struct rounds *r, uint64_t now);

/* It has ended. filled: the most that a ring has filled since the last one, percent. */
void rounds_end(struct rounds *r, unsigned int filled);

/* Time until the next round, from 1 to period_max. */
uint64_t rounds_until_next(const struct rounds *r, uint64_t now);

#endif
