/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address ranges that may overlap, and which of them hold an address. */
#ifndef LWPCTL_RANGES_H
#define LWPCTL_RANGES_H

#include <stddef.h>
#include <stdint.h>

struct range {
	uint64_t start, end; /* [start, end) */
	uint64_t highest; /* end of this one and all before it; kept by ranges_sort() */
	size_t item; /* the user's */
	size_t order; /* in which they were added */
};

struct ranges {
	struct range *list;
	size_t nr, room;
};

/* Add [start, end), at any time. Call ranges_sort() before looking anything up. */
void ranges_add(struct ranges *ranges, uint64_t start, uint64_t end, size_t item);

/* Sort by start; equal starts keep the order in which they were added. */
void ranges_sort(struct ranges *ranges);

/*
 * Ranges that hold `address`, the one with the highest start first: begin with *place = SIZE_MAX; NULL after the last.
 */
const struct range *ranges_next(const struct ranges *ranges, uint64_t address, size_t *place);

void ranges_free(struct ranges *ranges);

#endif
