/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control block (LWPCB): where its fields lie in each revision, and how LLWPCB reads, checks
 * and normalises one. Source: 43724-401 to 43724-422; 2007-401 to 2007-418.
 */
#ifndef LWP_CB_H
#define LWP_CB_H

#include "lwp_cpuid.h"

/* Both revisions */
#define LWP_CB_FLAGS 0 /* u32 */
#define LWP_CB_SIZE_RANDOM 4 /* u32: BufferSize 27:0, Random 31:28 */
#define LWP_CB_BASE 8 /* u64 */
#define LWP_CB_HEAD 16 /* u32 */
#define LWP_CB_MISSED 24 /* u64 */
#define LWP_CB_THRESHOLD 32 /* u32 */
#define LWP_CB_FILTERS 36 /* u32 */
/* 43724 */
#define LWP_CB_BASE_IP 40 /* u64 */
#define LWP_CB_LIMIT_IP 48 /* u64 */
#define LWP_CB_TAIL 64 /* u32; in a cache line of its own */
#define LWP_CB_FIXED_SIZE 88
#define LWP_CB_EVENT_OFFSET 128 /* LwpEventOffset that we offer, as on silicon */
/* 2007 */
#define LWP07_CB_TAIL 20 /* u32 */
#define LWP07_CB_FIXED_SIZE 40

#define LWP_CB_BUFFER_SIZE LWP_MASK(27, 0)
#define LWP_CB_RANDOM LWP_MASK(31, 28)

/* An event slot is a quadword (43724-413). */
#define LWP_CB_SLOT_SIZE 8
#define LWP_CB_SLOT_INTERVAL 0 /* u32: 25:0 EventInterval; 2007: 31:26 EventId */
#define LWP_CB_SLOT_COUNTER 4 /* u32: 25:0 EventCounter */
#define LWP07_SLOT_EVENT_ID LWP_MASK(31, 26)

/* The largest block a leaf can describe (43724: 255 quadwords). */
#define LWP_CB_MAX_SIZE 2040

/* Filters */
#define LWP_FILTER_MIN_LATENCY LWP_MASK(7, 0) /* x16 cycles */
#define LWP_FILTER_CLF LWP_BIT(8)
#define LWP_FILTER_NBC LWP_BIT(9)
#define LWP_FILTER_RDC LWP_BIT(10)
#define LWP_FILTER_RAM LWP_BIT(11)
#define LWP_FILTER_OTH LWP_BIT(12)
#define LWP_FILTER_NMB LWP_BIT(25) /* no mispredicted branches */
#define LWP_FILTER_NPB LWP_BIT(26) /* no predicted branches */
#define LWP_FILTER_NRB LWP_BIT(27) /* no unconditional relative branches */
#define LWP_FILTER_NCB LWP_BIT(28) /* no conditional branches */
#define LWP_FILTER_NAB LWP_BIT(29) /* no absolute or indirect branches */
#define LWP_FILTER_IPI LWP_BIT(30) /* invert the IP filter */
#define LWP_FILTER_IPF LWP_BIT(31) /* IP filter on */
#define LWP07_FILTER_NDB LWP_BIT(31) /* 2007: no unconditional relative branches */

/* Units of LwpMinBufferSize: 32 records. */
#define LWP_MIN_BUFFER_RECORDS 32

/* What LLWPCB takes from a block: all fields, numbers normalised, addresses still effective. */
struct lwp_cb {
	u32 flags; /* as LLWPCB grants and writes back them */
	u32 size; /* bytes, multiple of the record size */
	u8 random; /* 0..15 */
	u64 base; /* effective address of the ring */
	u32 head; /* < size, multiple of the record size */
	u32 threshold; /* multiple of the record size (43724) */
	u32 filters; /* only what the leaf announces */
	u64 base_ip, limit_ip;
	/* Index EventId - 1. */
	bool enabled[LWP_MAX_EVENT_ID]; /* granted events */
	u8 slot[LWP_MAX_EVENT_ID]; /* in which slot of the block the event lies */
	s32 interval[LWP_MAX_EVENT_ID]; /* raised to the minimum */
	s32 counter[LWP_MAX_EVENT_ID]; /* >= 0 */
};

enum lwp_cb_verdict {
	LWP_CB_OK,
	LWP_CB_RING_TOO_SMALL, /* #GP(0) in 43724; LWP stays off in 2007 */
	LWP_CB_NO_EVENTS, /* 2007 only: LWP goes off, Flags = 0 */
};

/*
 * Bits of Filters that are honoured: defined by the revision and announced by the leaf (43724-417,
 * 43724-418, 2007-412, 2007-413).
 */
u32 lwp_cb_filters(const struct lwp_caps *caps);

/* Smallest ring in bytes, at least one record (43724-407). */
u32 lwp_cb_min_ring(const struct lwp_caps *caps);

/* Byte offset of event slot `slot` (0-based) in the block (43724-402, 2007-401, 2007-402). */
static inline u32 lwp_cb_slot_offset(const struct lwp_caps *caps, u32 slot)
{
	u32 first = caps->rev == LWP_REV_2007 ? LWP07_CB_FIXED_SIZE : caps->event_offset;

	return first + slot * LWP_CB_SLOT_SIZE;
}

/* The earliest slot that selects an EventId, where slots do (2007); -1 if none does. */
int lwp_cb_selected_slot(const struct lwp_caps *caps, const u8 *image, u32 event_id);

/*
 * Slot of an EventId in a block image of caps->cb_size bytes: EventId - 1 in 43724; the earliest
 * slot that selects it in 2007. Returns -1 if no slot has it (43724-402, 2007-401 to 2007-403).
 */
static inline int lwp_cb_find_slot(const struct lwp_caps *caps, const u8 *image, u32 event_id)
{
	const struct lwp_rev *rev = lwp_rev_get(caps->rev);

	if (!event_id || event_id > rev->max_event_id)
		return -1;
	if (rev->slot_selects_event)
		return lwp_cb_selected_slot(caps, image, event_id);
	return event_id <= caps->max_events ? (int)event_id - 1 : -1;
}

/*
 * Decode and normalise a block of caps->cb_size bytes as LLWPCB does (43724-404 to 43724-412):
 * sizes rounded down, a head outside the ring becomes 0, intervals raised to the minimum,
 * negative counters 0, flags masked with `avail` (EAX of the leaf). *cb is complete also when the
 * verdict is not LWP_CB_OK (43724-401, 43724-403, 43724-414, 43724-415, 2007-404 to 2007-406).
 */
enum lwp_cb_verdict lwp_cb_decode(const struct lwp_caps *caps, u32 avail, const u8 *image,
				  struct lwp_cb *cb);

/* Sign-extends the 26-bit number in bits 25:0. */
static inline s32 lwp_sext26(u32 word)
{
	return (s32)(word << 6) / 64;
}

/*
 * EventInterval of a slot: signed 26 bit, raised to the revision's minimum (43724-410, 2007-415,
 * 2007-716).
 */
static inline s32 lwp_cb_interval(const struct lwp_caps *caps, u32 interval_word)
{
	s32 interval = lwp_sext26(interval_word), least = lwp_rev_get(caps->rev)->min_interval;

	return interval < least ? least : interval;
}

/*
 * Write back what LLWPCB makes visible: Flags and, in 43724, normalised size, head, threshold,
 * intervals and counters of the enabled events. Reserved and software fields keep their bytes
 * (43724-403, 43724-404, 43724-412, 2007-405, 2007-417).
 */
void lwp_cb_write_back(const struct lwp_caps *caps, const struct lwp_cb *cb, u8 *image);

#endif
