/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples grouped by what the user asked for: symbol, object, thread ... */
#ifndef LWPCTL_ROWS_H
#define LWPCTL_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "intervals.h"
#include "resolve.h"
#include "tally.h"

enum key {
	KEY_SYMBOL,
	KEY_OBJECT,
	KEY_THREAD,
	KEY_PROCESS,
	KEY_PROGRAM, /* all processes of a name */
	KEY_LINE,
	KEY_ADDRESS,
	KEY_TARGET, /* of a branch */
	KEY_VARIABLE, /* that a data cache miss wanted */
	KEY_DATA, /* the section or mapping of it */
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
bool grouping_has(const struct grouping *grouping, enum key key);

struct row {
	uint64_t samples;
	double weight; /* what they stand for */
	uint64_t windows; /* that it is in, if samples are in windows */
	double share; /* by weight */
	double effective; /* of how many independent samples the share would be as exact */
	struct interval interval; /* in which the true share lies in 95 of 100 profiles */
	size_t number; /* in which order rows were made */
	struct detail detail;
	const char *labels[NR_KEYS]; /* in the grouping's order */
	/* The source line of the row with most samples, if rows have symbols. */
	const char *file;
	int line;
	double line_weight;
};

struct rows {
	struct row *list;
	size_t nr, room;
	uint64_t samples; /* in all rows */
	double weight;
	uint64_t
		windows; /* in which samples are, 0: in none; those that continue another are one with it */
};

/* One counted address and what it was resolved to; resolving all of a tally once serves every grouping. */
struct located {
	const struct count *count;
	struct place place;
};

/* The samples of a tally that a filter wants, resolved. */
struct samples {
	struct located *list;
	size_t nr;
	const struct tally *tally;
	const struct filter *filter; /* of those that were counted */
	size_t *index; /* of the list plus 1, by the place in the tally's list */
	uint64_t per_event[256]; /* by EventId */
	double weight_per_event[256];
};
void samples_locate(struct samples *samples, struct resolver *resolver, const struct tally *tally,
		    const struct filter *filter);
/* Where a record lies; NULL if it is not wanted. */
const struct located *samples_find(const struct samples *samples, const struct tally *tally,
				   const struct count *key);
void samples_free(struct samples *samples);

enum order {
	ORDER_SAMPLES, /* most first */
	ORDER_NAME, /* by the labels, column after column */
};

/* Group the samples of one EventId. */
void rows_make(struct rows *rows, struct resolver *resolver, const struct samples *samples,
	       const struct grouping *grouping, uint8_t event_id, enum order order);

void rows_free(struct rows *rows);

#endif
