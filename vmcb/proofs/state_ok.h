/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a legal state is, written a second time: from docs/design.md#volatile-state and the rules, not
 * from lwp_state.c.
 */
#ifndef STATE_OK_H
#define STATE_OK_H

#include "lwp_cb.h"
#include "lwp_state.h"

/* Canonical with 57 bits of linear address. */
static inline bool half(u64 addr)
{
	return addr <= 0x00ffffffffffffff || addr >= 0xff00000000000000;
}

static inline bool range_ok(u64 from, u32 len)
{
	return half(from) && half(from + len - 1) && from + len - 1 >= from;
}

static inline bool same_record(const struct lwp_record *a, const struct lwp_record *b)
{
	return a->event_id == b->event_id && a->core_id == b->core_id && a->flags == b->flags &&
	       a->data1 == b->data1 && a->address == b->address && a->data2 == b->data2 &&
	       a->timestamp == b->timestamp;
}

static inline bool no_record(const struct lwp_record *r)
{
	static const struct lwp_record none;

	return same_record(r, &none);
}

static inline bool counters_ok(const struct lwp_caps *caps, const struct lwp_state *st)
{
	for (u32 i = 0; i < LWP_MAX_EVENT_ID; i++) {
		if (st->counter[i] < -0x02000000 || st->counter[i] > 0x01ffffff)
			return false;
		if (st->counter[i] && (!st->cb_addr || !st->size))
			return false;
		if (st->counter[i] && i + 1 > lwp_rev_get(caps->rev)->max_event_id)
			return false;
	}
	return true;
}

static inline bool ring_ok(const struct lwp_caps *caps, const struct lwp_state *st)
{
	return st->size % 32 == 0 && st->size < 0x10000000 && st->size >= lwp_cb_min_ring(caps) &&
	       st->head % 32 == 0 && st->head < st->size && st->random <= 15 &&
	       range_ok(st->base, st->size) && (caps->rev != LWP_REV_2007 || st->base % 32 == 0);
}

static inline bool pending_ok(const struct lwp_caps *caps, const struct lwp_state *st)
{
	const struct lwp_rev *rev = lwp_rev_get(caps->rev);
	u8 id = st->pending.event_id;

	if (!id)
		return !(st->flags & LWP_STATE_BITS) && !st->retry_rip && no_record(&st->pending);
	return id <= rev->max_event_id && caps->features & LWP_BIT(id) &&
	       rev->kind[id] != LWP_KIND_VAL && half(st->retry_rip) &&
	       (!st->retry_rip || st->flags & LWP_STATE_FAULTED);
}

/* Off, deferred (only the address), or on. LWP_CFG is not looked at. */
static inline bool state_ok(const struct lwp_caps *caps, const struct lwp_state *st)
{
	if (!counters_ok(caps, st))
		return false;
	if (st->cb_addr && !range_ok(st->cb_addr, caps->cb_size))
		return false;
	if (!st->cb_addr || !st->size)
		return !st->size && !st->flags && !st->head && !st->base && !st->random &&
		       !st->filters && !st->retry_rip && no_record(&st->pending);
	return ring_ok(caps, st) && !(st->filters & ~lwp_cb_filters(caps)) &&
	       !(st->flags & ~(caps->features | LWP_F_AVAIL | LWP_STATE_BITS)) &&
	       pending_ok(caps, st);
}

#endif
