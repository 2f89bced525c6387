// SPDX-License-Identifier: GPL-2.0-or-later
/* The control block: decode and normalise as LLWPCB does, and write back what it makes visible. */
#include "lwp_cb.h"

_Static_assert(LWP_CB_LIMIT_IP + 16 == LWP_CB_TAIL, "the tail begins the second cache line");
_Static_assert(LWP_CB_TAIL + 24 == LWP_CB_FIXED_SIZE, "tail, reserved, two software quadwords");
_Static_assert(LWP07_CB_TAIL == LWP_CB_HEAD + 4 && LWP07_CB_TAIL + 4 == LWP_CB_MISSED,
	       "2007: head and tail share a quadword");
_Static_assert(LWP_CB_FILTERS + 4 == LWP07_CB_FIXED_SIZE, "2007: slots follow the filters");

u32 lwp_cb_filters(const struct lwp_caps *caps)
{
	u32 filters = lwp_rev_get(caps->rev)->filters_valid;
	u32 ecx = lwp_caps_ecx_features(caps);

	if (!(ecx & LWP_ECX_CACHE_LATENCY))
		filters &= ~LWP_FILTER_MIN_LATENCY;
	if (!(ecx & LWP_ECX_CACHE_LEVELS))
		filters &= ~(LWP_FILTER_CLF | LWP_FILTER_NBC | LWP_FILTER_RDC | LWP_FILTER_RAM |
			     LWP_FILTER_OTH);
	if (caps->rev == LWP_REV_2007)
		return filters;
	if (!(ecx & LWP_ECX_BRANCH_PREDICTION))
		filters &= ~(LWP_FILTER_NMB | LWP_FILTER_NPB);
	if (!(ecx & LWP_ECX_IP_FILTERING))
		filters &= ~(LWP_FILTER_IPI | LWP_FILTER_IPF);
	return filters;
}

u32 lwp_cb_min_ring(const struct lwp_caps *caps)
{
	u32 records = LWP_MIN_BUFFER_RECORDS * (u32)caps->min_buffer;

	return (records ? records : 1) * caps->event_size;
}

static u32 slot_interval_word(const struct lwp_caps *caps, const u8 *image, u32 slot)
{
	return lwp_get32(image + lwp_cb_slot_offset(caps, slot) + LWP_CB_SLOT_INTERVAL);
}

static u32 slot_counter_word(const struct lwp_caps *caps, const u8 *image, u32 slot)
{
	return lwp_get32(image + lwp_cb_slot_offset(caps, slot) + LWP_CB_SLOT_COUNTER);
}

int lwp_cb_selected_slot(const struct lwp_caps *caps, const u8 *image, u32 event_id)
{
	u32 slot;

	for (slot = 0; slot < caps->max_events; slot++)
		if (lwp_field_get(LWP07_SLOT_EVENT_ID, slot_interval_word(caps, image, slot)) ==
		    event_id)
			return (int)slot;
	return -1;
}

static u32 round_to_record(const struct lwp_caps *caps, u32 bytes)
{
	return bytes - bytes % caps->event_size;
}

/* 43724-406, 43724-408, 43724-409, 2007-407, 2007-408, 2007-410, 2007-804 */
static void decode_ring(const struct lwp_caps *caps, const u8 *image, struct lwp_cb *cb)
{
	const struct lwp_rev *rev = lwp_rev_get(caps->rev);
	u32 word = lwp_get32(image + LWP_CB_SIZE_RANDOM);

	cb->size = round_to_record(caps, lwp_field_get(LWP_CB_BUFFER_SIZE, word));
	cb->random = (u8)lwp_field_get(LWP_CB_RANDOM, word);
	cb->base = lwp_get64(image + LWP_CB_BASE) & ~(u64)rev->ring_base_ignored;
	cb->head = round_to_record(caps, lwp_get32(image + LWP_CB_HEAD));
	if (cb->head >= cb->size)
		cb->head = 0;
	cb->threshold = lwp_get32(image + LWP_CB_THRESHOLD);
	if (!rev->threshold_equals)
		cb->threshold = round_to_record(caps, cb->threshold);
}

/* Returns the flag bits of the events that were granted (43724-411, 2007-416). */
static u32 decode_events(const struct lwp_caps *caps, u32 granted, const u8 *image,
			 struct lwp_cb *cb)
{
	u32 events = 0;
	u32 id;

	for (id = 1; id <= LWP_MAX_EVENT_ID; id++) {
		int slot = lwp_cb_find_slot(caps, image, id);
		s32 counter;

		if (slot < 0 || !(granted & LWP_BIT(id)))
			continue;
		counter = lwp_sext26(slot_counter_word(caps, image, (u32)slot));
		cb->enabled[id - 1] = true;
		cb->slot[id - 1] = (u8)slot;
		cb->interval[id - 1] =
			lwp_cb_interval(caps, slot_interval_word(caps, image, (u32)slot));
		cb->counter[id - 1] = counter < 0 ? 0 : counter;
		events |= LWP_BIT(id);
	}
	return events;
}

enum lwp_cb_verdict lwp_cb_decode(const struct lwp_caps *caps, u32 avail, const u8 *image,
				  struct lwp_cb *cb)
{
	const struct lwp_rev *rev = lwp_rev_get(caps->rev);
	enum lwp_cb_verdict verdict = LWP_CB_OK;
	u32 events;

	memset(cb, 0, sizeof(*cb));
	decode_ring(caps, image, cb);
	cb->filters = lwp_get32(image + LWP_CB_FILTERS) & lwp_cb_filters(caps);
	if (rev->has_ip_filter) {
		cb->base_ip = lwp_get64(image + LWP_CB_BASE_IP);
		cb->limit_ip = lwp_get64(image + LWP_CB_LIMIT_IP);
	}
	if (rev->flags_are_input) {
		cb->flags = lwp_get32(image + LWP_CB_FLAGS) & avail;
		events = decode_events(caps, cb->flags, image, cb);
	} else {
		events = decode_events(caps, avail, image, cb);
		cb->flags = events | LWP07_F_ENABLED | (avail & LWP07_F_INT);
	}
	if (cb->size < lwp_cb_min_ring(caps))
		verdict = LWP_CB_RING_TOO_SMALL;
	else if (!events && rev->off_without_events)
		verdict = LWP_CB_NO_EVENTS;
	/* Output-only flags tell that LWP stays off. */
	if (verdict != LWP_CB_OK && !rev->flags_are_input)
		cb->flags = 0;
	return verdict;
}

static void put_counter_bits(u8 *at, s32 number)
{
	lwp_put32(at, (lwp_get32(at) & ~LWP_COUNTER_MASK) | ((u32)number & LWP_COUNTER_MASK));
}

void lwp_cb_write_back(const struct lwp_caps *caps, const struct lwp_cb *cb, u8 *image)
{
	u32 i;

	lwp_put32(image + LWP_CB_FLAGS, cb->flags);
	if (!lwp_rev_get(caps->rev)->flags_are_input)
		return;
	lwp_put32(image + LWP_CB_SIZE_RANDOM, lwp_field_put(LWP_CB_BUFFER_SIZE, cb->size) |
						      lwp_field_put(LWP_CB_RANDOM, cb->random));
	lwp_put32(image + LWP_CB_HEAD, cb->head);
	lwp_put32(image + LWP_CB_THRESHOLD, cb->threshold);
	for (i = 0; i < LWP_MAX_EVENT_ID; i++) {
		u8 *slot = image + lwp_cb_slot_offset(caps, cb->slot[i]);

		if (!cb->enabled[i])
			continue;
		put_counter_bits(slot + LWP_CB_SLOT_INTERVAL, cb->interval[i]);
		put_counter_bits(slot + LWP_CB_SLOT_COUNTER, cb->counter[i]);
	}
}
