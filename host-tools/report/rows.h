/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples grouped by what the user asked for: symbol, object, thread ... */
#ifndef LWPCTL_ROWS_H
#define LWPCTL_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resolve.h"
#include "tally.h"

enum key {
	KEY_SYMBOL,
	KEY_OBJECT,
	KEY_THREAD,
	KEY_PROCESS,
	KEY_LINE,
	KEY_ADDRESS,
	NR_KEYS,
};
extern const char *const key_names[NR_KEYS];

/* Which keys rows are grouped by, in the order of the columns. */
struct grouping {
	enum key keys[NR_KEYS];
	size_t nr;
};

/* "symbol,thread" and the like. False for an unknown or repeated name. */
bool grouping_parse(struct grouping *grouping, const char *text);

struct row {
	uint64_t samples;
	struct misses misses;
	const char *labels[NR_KEYS]; /* in the grouping's order */
	/* The source line of the row with most samples, if rows have symbols. */
	const char *file;
	int line;
	uint64_t line_samples;
};

struct rows {
	struct row *list;
	size_t nr, room;
	uint64_t samples; /* in all rows */
};

/*
 * One counted address and what it was resolved to; resolving all of a tally once serves every
 * grouping.
 */
struct located {
	const struct count *count;
	struct place place;
};
struct located *locate_all(struct resolver *resolver, const struct tally *tally);

enum order {
	ORDER_SAMPLES, /* most first */
	ORDER_NAME, /* by the labels, column after column */
};

/* Group the samples of one EventId. `located` has tally->nr items. */
void rows_make(struct rows *rows, struct resolver *resolver, const struct tally *tally,
	       const struct located *located, const struct grouping *grouping, uint8_t event_id,
	       enum order order);

void rows_free(struct rows *rows);

#endif
