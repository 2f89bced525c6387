/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which samples of a profile are wanted. */
#ifndef LWPCTL_FILTER_H
#define LWPCTL_FILTER_H

#include <stdbool.h>

#include "profile.h"

/* Each name is a pattern as of shells; NULL: all. */
struct filter {
	const char *process; /* name or pid */
	const char *thread; /* name or tid */
	const char *object; /* path, or its last part */
	const char *symbol;
	uint64_t from, until; /* ns since the start, [from, until); until 0: no end */
};

/* Does it leave anything out? */
bool filter_any(const struct filter *filter);

bool filter_thread(const struct filter *filter, const struct profile *profile, uint32_t thread);
bool filter_time(const struct filter *filter, const struct profile *profile, uint64_t time);

/* Records that were taken from the ring together and have no time of their own. */
bool filter_batch(const struct filter *filter, const struct profile *profile,
		  const struct profile_batch *batch);

bool filter_place(const struct filter *filter, const char *object, const char *symbol);

/* "1.5" seconds as ns. False if it is no number from 0 to 10^9. */
bool filter_seconds(const char *text, uint64_t *ns);

#endif
