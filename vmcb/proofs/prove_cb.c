// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The control block: whatever bytes a program has put there, LLWPCB reads none outside, takes
 * numbers that are in range, and writes back what it owns and no other byte.
 * Split: any_block_gives_numbers_in_range write_back_touches_only_its_fields
 *	what_was_written_back_is_taken_as_it_is
 * Soak: what_was_written_back_is_taken_as_it_is
 */
#include "any_caps.h"

#define BLOCK_BYTES_MAX (248 + LWP_MAX_EVENT_ID * LWP_CB_SLOT_SIZE)

static bool event_ok(const struct lwp_caps *caps, const struct lwp_cb *cb, u32 i)
{
	return cb->slot[i] < caps->max_events &&
	       cb->interval[i] >= lwp_rev_get(caps->rev)->min_interval &&
	       cb->interval[i] <= LWP_COUNTER_MAX && cb->counter[i] >= 0 &&
	       cb->counter[i] <= LWP_COUNTER_MAX;
}

static bool cb_ok(const struct lwp_caps *caps, u32 avail, const struct lwp_cb *cb)
{
	u32 slots = 0;

	if (cb->size % 32 || cb->size >= 0x10000000 || cb->head % 32 ||
	    (cb->head && cb->head >= cb->size))
		return false;
	if (cb->random > 15 || cb->filters & ~lwp_cb_filters(caps) || cb->flags & ~avail)
		return false;
	for (u32 i = 0; i < LWP_MAX_EVENT_ID; i++) {
		if (!cb->enabled[i] && cb->slot[i])
			return false;
		if (!cb->enabled[i])
			continue;
		if (!(avail & LWP_BIT(i + 1)) || !event_ok(caps, cb, i) ||
		    slots & LWP_BIT(cb->slot[i]))
			return false;
		slots |= LWP_BIT(cb->slot[i]);
	}
	return true;
}

/* Is byte `at` one that LLWPCB makes visible? */
static bool owned(const struct lwp_caps *caps, const struct lwp_cb *cb, u32 at)
{
	if (at < 4)
		return true;
	if (caps->rev == LWP_REV_2007)
		return false;
	if (at < 8 || (at >= 16 && at < 20) || (at >= 32 && at < 36))
		return true;
	for (u32 i = 0; i < LWP_MAX_EVENT_ID; i++)
		if (cb->enabled[i] && at - lwp_cb_slot_offset(caps, cb->slot[i]) < 8)
			return true;
	return false;
}

#define ANY_BLOCK                                                                        \
	struct lwp_caps caps = any_caps();                                               \
	u32 avail = any_avail(&caps), size = lwp_cb_slot_offset(&caps, caps.max_events); \
                                                                                         \
	assume(avail &LWP_F_AVAIL);                                                      \
	check("43724-402", size <= BLOCK_BYTES_MAX && size <= caps.cb_size);             \
	ANY_BYTES(block, size, BLOCK_BYTES_MAX)

/* Does a slot of 2007 select an event? */
static bool selects(const struct lwp_caps *caps, const u8 *block, u32 slot, u32 event_id)
{
	return block[lwp_cb_slot_offset(caps, slot) + 3] >> 2 == event_id;
}

PROPERTY(any_block_gives_numbers_in_range)
{
	ANY_BLOCK;
	ANY(u32, i);
	ANY(u32, slot);
	u32 events = 0, raw;
	struct lwp_cb cb;
	enum lwp_cb_verdict verdict = lwp_cb_decode(&caps, avail, block, &cb);

	check("43724-406", cb_ok(&caps, avail, &cb));
	check("43724-407",
	      (verdict == LWP_CB_RING_TOO_SMALL) == (cb.size < lwp_cb_min_ring(&caps)));
	if (verdict == LWP_CB_OK)
		check("43724-408", cb.size >= 32 && cb.head < cb.size);
	for (u32 n = 0; n < LWP_MAX_EVENT_ID; n++)
		events |= cb.enabled[n] ? LWP_BIT(n + 1) : 0;
	raw = lwp_get32(block + LWP_CB_THRESHOLD);
	check("43724-409", cb.threshold == (caps.rev == LWP_REV_2007 ? raw : raw - raw % 32));
	check("43724-404", caps.rev == LWP_REV_2007 || cb.flags == (lwp_get32(block) & avail));
	check("2007-405",
	      caps.rev == LWP_REV_43724 ||
		      cb.flags == (verdict == LWP_CB_OK ? events | 1 | (avail & LWP07_F_INT) : 0));
	check("2007-406", (verdict == LWP_CB_NO_EVENTS) == (caps.rev == LWP_REV_2007 && !events &&
							    cb.size >= lwp_cb_min_ring(&caps)));
	check("43724-418", !(cb.filters & LWP_FILTER_MIN_LATENCY) ||
				   lwp_caps_ecx_features(&caps) & LWP_ECX_CACHE_LATENCY);
	assume(i < LWP_MAX_EVENT_ID);
	check("2007-403", caps.rev == LWP_REV_43724 || !cb.enabled[i] || slot >= cb.slot[i] ||
				  !selects(&caps, block, slot, i + 1));
	check("2007-402", caps.rev == LWP_REV_43724 || !cb.enabled[i] ||
				  selects(&caps, block, cb.slot[i], i + 1));
	cover(verdict == LWP_CB_OK && cb.enabled[1] && cb.head);
	cover(verdict == LWP_CB_RING_TOO_SMALL);
}

/* Of any numbers that a decode can give. */
PROPERTY(write_back_touches_only_its_fields)
{
	ANY_BLOCK;
	ANY(struct lwp_cb, cb);
	ANY(u32, at);
	u8 before;

	for (u32 i = 0; i < LWP_MAX_EVENT_ID; i++) {
		ANY_BOOL(cb.enabled[i]);
		/* In 43724 slot n is EventId n. */
		assume(caps.rev == LWP_REV_2007 || !cb.enabled[i] || cb.slot[i] == i);
	}
	assume(cb_ok(&caps, avail, &cb) && at < size);
	before = block[at];
	lwp_cb_write_back(&caps, &cb, block);
	check("43724-421", block[at] == before || owned(&caps, &cb, at));
	/* Above the 26 bits of interval and counter. */
	check("43724-421", caps.rev == LWP_REV_2007 || at < caps.event_offset || at % 4 != 3 ||
				   (block[at] ^ before) < 4);
	cover(block[at] != before);
}

PROPERTY(what_was_written_back_is_taken_as_it_is)
{
	ANY_BLOCK;
	ANY(u32, i);
	struct lwp_cb cb, second;
	enum lwp_cb_verdict verdict = lwp_cb_decode(&caps, avail, block, &cb);

	lwp_cb_write_back(&caps, &cb, block);
	check("43724-404", lwp_cb_decode(&caps, avail, block, &second) == verdict);
	check("43724-404", cb.size == second.size && cb.head == second.head &&
				   cb.flags == second.flags && cb.threshold == second.threshold &&
				   cb.filters == second.filters && cb.base == second.base);
	assume(i < LWP_MAX_EVENT_ID);
	check("43724-410", cb.enabled[i] == second.enabled[i] && cb.slot[i] == second.slot[i] &&
				   cb.interval[i] == second.interval[i]);
	check("43724-411", cb.counter[i] == second.counter[i]);
	cover(verdict == LWP_CB_OK && cb.enabled[i] && cb.interval[i] == 100);
}
