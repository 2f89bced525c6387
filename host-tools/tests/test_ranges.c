// SPDX-License-Identifier: GPL-2.0-or-later
/* Address ranges that overlap. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "ranges.h"

/* Items of the ranges that hold an address, as one decimal number. */
static unsigned int items(const struct ranges *ranges, uint64_t address)
{
	const struct range *range;
	size_t place = SIZE_MAX;
	unsigned int digits = 0;

	while ((range = ranges_next(ranges, address, &place)))
		digits = digits * 10 + (unsigned int)range->item;
	return digits;
}

Test(ranges, the_highest_start_comes_first)
{
	struct ranges ranges = { 0 };

	ranges_add(&ranges, 30, 40, 3);
	ranges_add(&ranges, 10, 100, 1);
	ranges_add(&ranges, 20, 35, 2);
	ranges_add(&ranges, 20, 21, 4);
	ranges_sort(&ranges);
	cr_expect(eq(uint, items(&ranges, 9), 0));
	cr_expect(eq(uint, items(&ranges, 10), 1));
	cr_expect(eq(uint, items(&ranges, 20), 421));
	cr_expect(eq(uint, items(&ranges, 21), 21));
	cr_expect(eq(uint, items(&ranges, 34), 321));
	cr_expect(eq(uint, items(&ranges, 39), 31));
	cr_expect(eq(uint, items(&ranges, 99), 1));
	cr_expect(eq(uint, items(&ranges, 100), 0));
	ranges_free(&ranges);
}

Test(ranges, none_hold_nothing)
{
	struct ranges ranges = { 0 };

	ranges_sort(&ranges);
	cr_expect(eq(uint, items(&ranges, 0), 0));
	ranges_free(&ranges);
}
