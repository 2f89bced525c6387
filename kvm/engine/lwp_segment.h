/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Segments outside 64-bit code: which offsets are valid. */
#ifndef LWP_SEGMENT_H
#define LWP_SEGMENT_H

#include "lwp_types.h"

/* Attributes of a segment: bits 55:52 and 47:40 of its descriptor, as a VMCB has them. */
#define LWP_DESC_WRITABLE LWP_BIT(1) /* data; of code: readable */
#define LWP_DESC_EXPAND_DOWN LWP_BIT(2) /* data; of code: conforming */
#define LWP_DESC_CODE LWP_BIT(3)
#define LWP_DESC_PRESENT LWP_BIT(7) /* clear in a null segment, too */
#define LWP_DESC_BIG LWP_BIT(10)

/* The valid offsets of a segment outside 64-bit code; none if first > last. */
struct lwp_offsets {
	u64 first, last;
};

/*
 * Where data can be read or, if `write`, also written. limit: in bytes. APM Vol. 2, 4.7, 4.12: an
 * expand-down segment has the offsets above its limit.
 */
struct lwp_offsets lwp_seg_offsets(u16 attributes, u32 limit, bool write);

/* Are all offsets of [offset, offset + size) valid? offset < 2^32, size 1 to 2^32 */
static inline bool lwp_offsets_have(const struct lwp_offsets *o, u64 offset, u64 size)
{
	return offset >= o->first && offset + size - 1 <= o->last;
}

#endif
