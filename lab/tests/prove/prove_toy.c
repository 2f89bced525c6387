// SPDX-License-Identifier: GPL-2.0-or-later
/* Properties that do not hold, for test_disproved.py. */
#include "prove.h"

struct pair {
	u8 kind;
	u32 number;
};

PROPERTY(wrong)
{
	ANY(u16, first);
	ANY(struct pair, pair);

	assume(first == 0x1234);
	check("43724-101", pair.kind != 7 || pair.number != 0x89abcdef);
}

PROPERTY(outside)
{
	ANY(u8, at);
	ANY_BYTES(bytes, 3, 8);

	assume(at <= 3);
	check("43724-101", bytes[at] <= 255);
}

PROPERTY(empty)
{
	ANY(u8, n);

	assume(n < 5 && n > 5);
	check("43724-101", n < 6);
}

PROPERTY(unreached)
{
	ANY(u8, n);

	assume(n < 5);
	check("43724-101", n < 6);
	cover(n == 4);
	cover(n == 5);
}
