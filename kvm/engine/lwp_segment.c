// SPDX-License-Identifier: GPL-2.0-or-later
/* See lwp_segment.h. */
#include "lwp_segment.h"

struct lwp_offsets lwp_seg_offsets(u16 attributes, u32 limit, bool write)
{
	const struct lwp_offsets none = { .first = 1, .last = 0 };
	bool code = attributes & LWP_DESC_CODE;

	if (!(attributes & LWP_DESC_PRESENT))
		return none;
	if (!(attributes & LWP_DESC_WRITABLE) && (code || write))
		return none;
	if (code && write)
		return none;
	if (code || !(attributes & LWP_DESC_EXPAND_DOWN))
		return (struct lwp_offsets){ .first = 0, .last = limit };
	return (struct lwp_offsets){
		.first = (u64)limit + 1,
		.last = attributes & LWP_DESC_BIG ? (u32)~0u : (u16)~0u,
	};
}
