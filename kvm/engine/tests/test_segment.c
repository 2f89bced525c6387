// SPDX-License-Identifier: GPL-2.0-or-later
/* Which offsets of a segment are valid, by its attributes and limit. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include "lwp_segment.h"

/* Attributes as in a VMCB: type, S, DPL 3, P; AVL, L, D/B, G. */
#define DATA32 0x4f3 /* D/B, writable */
#define DATA16 0x0f3
#define READ_ONLY 0x4f1
#define EXPAND_DOWN 0x4f7
#define EXPAND_DOWN16 0x0f7
#define EXPAND_DOWN_READ_ONLY 0x4f5
#define CODE_READABLE 0x4fb
#define CODE_EXECUTE_ONLY 0x4f9
#define CONFORMING 0x4ff
#define NOT_PRESENT 0x473
#define NULL_SEGMENT 0

Test(segment, offsets_by_attributes_and_limit) /* 43724-612, 2007-610 */
{
	static const struct {
		u16 attributes;
		u32 limit;
		bool write;
		u64 first, last;
	} cases[] = {
		{ DATA32, 0x1fff, true, 0, 0x1fff },
		{ DATA16, 0x1fff, true, 0, 0x1fff },
		{ DATA32, ~(u32)0, true, 0, 0xffffffff },
		{ READ_ONLY, 0x1fff, false, 0, 0x1fff },
		{ READ_ONLY, 0x1fff, true, 1, 0 },
		{ EXPAND_DOWN, 0x1fff, true, 0x2000, 0xffffffff },
		{ EXPAND_DOWN16, 0x1fff, true, 0x2000, 0xffff },
		{ EXPAND_DOWN_READ_ONLY, 0x1fff, false, 0x2000, 0xffffffff },
		{ EXPAND_DOWN_READ_ONLY, 0x1fff, true, 1, 0 },
		{ EXPAND_DOWN, ~(u32)0, true, 0x100000000, 0xffffffff },
		{ CODE_READABLE, 0x1fff, false, 0, 0x1fff },
		{ CODE_READABLE, 0x1fff, true, 1, 0 },
		{ CODE_EXECUTE_ONLY, 0x1fff, false, 1, 0 },
		{ CONFORMING, 0x1fff, false, 0, 0x1fff },
		{ NOT_PRESENT, 0x1fff, false, 1, 0 },
		{ NULL_SEGMENT, ~(u32)0, false, 1, 0 },
		{ NULL_SEGMENT, ~(u32)0, true, 1, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct lwp_offsets o =
			lwp_seg_offsets(cases[i].attributes, cases[i].limit, cases[i].write);

		cr_expect(eq(u64, o.first, cases[i].first), "case %zu", i);
		cr_expect(eq(u64, o.last, cases[i].last), "case %zu", i);
	}
}

Test(segment, a_range_is_within_the_offsets_or_not)
{
	struct lwp_offsets o = { .first = 0x2000, .last = 0x2fff };
	struct lwp_offsets none = { .first = 1, .last = 0 };

	cr_expect(lwp_offsets_have(&o, 0x2000, 0x1000));
	cr_expect(not(lwp_offsets_have(&o, 0x1fff, 0x1000)));
	cr_expect(not(lwp_offsets_have(&o, 0x2001, 0x1000)));
	cr_expect(lwp_offsets_have(&o, 0x2fff, 1));
	cr_expect(not(lwp_offsets_have(&o, 0xffffffff, 0x100000000)));
	cr_expect(not(lwp_offsets_have(&none, 0, 1)));
	cr_expect(not(lwp_offsets_have(&none, 1, 1)));
}
