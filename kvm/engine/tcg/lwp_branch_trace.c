// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of all branches. Whatever is unusual, a full ring included, is left to lwp_retire() and
 * lwp_boundary(), which do the same for all events; this is only fast. Source: lwp_store.c,
 * lwp_count.c.
 */
#include "lwp_branch_trace.h"
#include "lwp_internal.h"

#define EVENT_MASK(e) (LWP_BIT((e)->rev->max_event_id + 1) - LWP_BIT(1))

/* Is each branch due, are branches all that counts, and is nothing outstanding? */
static bool ready(const struct lwp_engine *e, u32 id)
{
	const struct lwp_state *st = &e->st;

	return (lwp_active(e) & EVENT_MASK(e)) == LWP_BIT(id) && !st->counter[id - 1] &&
	       !st->pending.event_id && !(st->flags & LWP_STATE_BITS) && !st->random &&
	       !lwp_owes(e) && !lwp_ip_filter_on(e) && lwp_constants_known(e->constant) &&
	       !e->rev->min_interval && !lwp_flag_active(e, LWP_F_INT);
}

void lwp_branch_cursor_set(const struct lwp_engine *e, struct lwp_branch_cursor *c)
{
	u32 id = e->rev->event_id[LWP_KIND_BRE], class;

	c->on = ready(e, id);
	if (!c->on)
		return;
	c->continuous = lwp_flag_active(e, LWP_F_CONT);
	c->stamped = lwp_flag_active(e, LWP_F_PTSC) && e->ops->timestamp;
	c->classes = 0;
	for (class = LWP_BRANCH_CONDITIONAL; class < LWP_BRANCH_CLASSES; class ++)
		if (lwp_branch_passes(e, class))
			c->classes |= (u8)(1 << class);
	c->interval = (u16)(lwp_cb_slot_offset(&e->caps, id - 1) + LWP_CB_SLOT_INTERVAL);
	c->id = id | (u32)lwp_cfg_core_id(e->st.cfg) << 8;
}

/* lwp_record_encode() */
static inline void encode(u8 out[LWP_RECORD_SIZE], u64 first, const struct lwp_retired_branch *r, u64 now)
{
	lwp_put64(out, first);
	lwp_put64(out + LWP_RECORD_ADDRESS, r->address);
	lwp_put64(out + LWP_RECORD_DATA2, r->target);
	lwp_put64(out + LWP_RECORD_TIMESTAMP, now);
}

bool lwp_trace_branch(struct lwp_engine *e, const struct lwp_branch_cursor *c, u8 *block, u8 *slot,
		      const struct lwp_retired_branch *r)
{
	u32 head = e->st.head, next = head + LWP_RECORD_SIZE;
	u64 now = 0, first = c->id | (r->taken ? (u32)LWP_RECORD_TKN << 16 : 0);

	if (next >= e->st.size)
		next = 0;
	if (!(c->classes >> r->branch & 1) || lwp_sext26(lwp_get32(block + c->interval)) > 0 ||
	    (!c->continuous && next == lwp_ring_tail(e, block)))
		return false;
	if (c->stamped)
		now = e->ops->timestamp(e->vcpu);
	encode(slot, first, r, now);
	encode(e->last_record, first, r, now);
	e->last_stored = true;
	e->last_offset = head;
	e->stats.records++;
	e->stats.counted[LWP_KIND_BRE]++;
	e->st.head = next;
	lwp_put32(e->constant + LWP_CTX_CONST_HEAD, next);
	/* A reader that sees the new head sees the record. */
	lwp_wmb();
	lwp_write_direct(block + LWP_CB_HEAD, &next, sizeof(next));
	return true;
}
