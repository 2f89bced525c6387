/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which branches of a thread are in sampled windows. Its way is cut into stretches of equal length, and in each one
 * window begins at a place that is drawn: each branch has the same chance to be in a window, however long it took. The
 * first branches too: the count begins so that windows may have begun before the thread.
 */
#ifndef LWPRUN_CHOOSER_H
#define LWPRUN_CHOOSER_H

#include "splitmix64.h"

struct chooser {
	uint64_t seed; /* of this thread */
	uint32_t window, every; /* branches of a window, and of a stretch */
	uint64_t stretch; /* in which the present or next window begins */
	uint64_t start; /* of that */
	uint64_t at; /* the branch that comes next */
};

static inline void chooser_next(struct chooser *c)
{
	uint64_t end = c->start + c->window;

	c->stretch++;
	c->start = c->stretch * c->every + splitmix64(c->seed ^ splitmix64(c->stretch)) % c->every;
	if (c->start < end)
		c->start = end;
}

static inline void chooser_begin(struct chooser *c, uint32_t window, uint32_t every, uint64_t seed,
				 uint32_t thread)
{
	*c = (struct chooser){ .window = window,
			       .every = every,
			       .seed = splitmix64(seed ^ splitmix64(thread)),
			       .at = window - 1 };
	c->start = splitmix64(c->seed ^ splitmix64(0)) % every;
}

/* Of the next `left` branches: how many are passed over, and then how many are taken, of one window. */
static inline void chooser_step(struct chooser *c, uint64_t left, uint64_t *pass, uint64_t *take)
{
	uint64_t end;

	while (c->at >= c->start + c->window)
		chooser_next(c);
	end = c->start + c->window;
	*pass = c->start > c->at ? c->start - c->at : 0;
	*pass = *pass < left ? *pass : left;
	*take = end - c->at - *pass;
	*take = *take < left - *pass ? *take : left - *pass;
	c->at += *pass + *take;
}

/* Of how many branches so many that were taken are the sample. */
static inline uint64_t chooser_weight(const struct chooser *c, uint64_t taken)
{
	return (taken * c->every + c->window / 2) / c->window;
}

#endif
