/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address ranges that may overlap, and which of them hold an address. */
#include <stdlib.h>

#include "memory.h"
#include "ranges.h"

void ranges_add(struct ranges *ranges, uint64_t start, uint64_t end, size_t item)
{
	ranges->list = grow(ranges->list, ranges->nr, &ranges->room, sizeof(*ranges->list));
	ranges->list[ranges->nr] =
		(struct range){ .start = start, .end = end, .item = item, .order = ranges->nr };
	ranges->nr++;
}

static int compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return ORDER(x->start, y->start) ?: ORDER(x->order, y->order);
}

void ranges_sort(struct ranges *ranges)
{
	uint64_t highest = 0;

	sort_list(ranges->list, ranges->nr, sizeof(*ranges->list), compare);
	for (size_t i = 0; i < ranges->nr; i++) {
		if (ranges->list[i].end > highest)
			highest = ranges->list[i].end;
		ranges->list[i].highest = highest;
	}
}

/* Number of ranges that start at or below `address`. */
static size_t count_up_to(const struct ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->list[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct range *ranges_next(const struct ranges *ranges, uint64_t address, size_t *place)
{
	size_t i = *place == SIZE_MAX ? count_up_to(ranges, address) : *place;

	while (i-- > 0) {
		const struct range *range = &ranges->list[i];

		if (range->highest <= address)
			break;
		if (address < range->end) {
			*place = i;
			return range;
		}
	}
	*place = 0;
	return NULL;
}

void ranges_free(struct ranges *ranges)
{
	free(ranges->list);
}
