// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Usual records. Whatever is unusual, a full ring included, is left to lwp_retire() and
 * lwp_boundary(), which do the same for all events; this is only fast. Source: lwp_store.c,
 * lwp_count.c.
 */
#include "lwp_trace.h"
#include "lwp_internal.h"

#define EVENT_MASK(e) (LWP_BIT((e)->rev->max_event_id + 1) - LWP_BIT(1))

/* Is this event all that counts, and is nothing outstanding? */
static bool ready(const struct lwp_engine *e, u32 id)
{
	const struct lwp_state *st = &e->st;

	return (lwp_active(e) & EVENT_MASK(e)) == LWP_BIT(id) && !st->pending.event_id &&
	       !(st->flags & LWP_STATE_BITS) && !st->random && !lwp_owes(e) &&
	       !lwp_ip_filter_on(e) && lwp_constants_known(e->constant) &&
	       !e->rev->freezes_at_zero && !lwp_flag_active(e, LWP_F_INT);
}

/* The classes of branches that count. */
static u8 passing(const struct lwp_engine *e)
{
	u32 branch, classes = 0;

	for (branch = LWP_BRANCH_CONDITIONAL; branch < LWP_BRANCH_CLASSES; branch++)
		if (lwp_branch_passes(e, branch))
			classes |= 1u << branch;
	return (u8)classes;
}

void lwp_cursor_set(const struct lwp_engine *e, struct lwp_cursor *c)
{
	u32 ire = e->rev->event_id[LWP_KIND_IRE], id;

	c->kind = lwp_active(e) & LWP_BIT(ire) ? LWP_KIND_IRE : LWP_KIND_BRE;
	id = e->rev->event_id[c->kind];
	c->on = ready(e, id);
	if (!c->on)
		return;
	c->continuous = lwp_flag_active(e, LWP_F_CONT);
	c->stamped = lwp_flag_active(e, LWP_F_PTSC) && e->ops->timestamp;
	c->classes = c->kind == LWP_KIND_IRE ? 1 << LWP_BRANCH_NONE : passing(e);
	c->interval = (u16)(lwp_cb_slot_offset(&e->caps, id - 1) + LWP_CB_SLOT_INTERVAL);
	c->first = id | (u32)lwp_cfg_core_id(e->st.cfg) << 8;
}

/* lwp_record_encode() of a record whose first word is known */
static inline void encode(u8 out[LWP_RECORD_SIZE], u64 first, const struct lwp_traced *r, u64 now)
{
	lwp_put64(out, first);
	lwp_put64(out + LWP_RECORD_ADDRESS, r->address);
	lwp_put64(out + LWP_RECORD_DATA2, r->target);
	lwp_put64(out + LWP_RECORD_TIMESTAMP, now);
}

u32 lwp_trace(struct lwp_engine *e, const struct lwp_cursor *c, u8 *block, u8 *slot,
	      const struct lwp_traced *r, u32 n)
{
	s32 *counter = &e->st.counter[(c->first & 0xff) - 1];
	u32 head = e->st.head, next = head + LWP_RECORD_SIZE;
	u64 now = 0, first = c->first | (r->taken ? (u32)LWP_RECORD_TKN << 16 : 0);

	if (next >= e->st.size)
		next = 0;
	if (!(c->classes >> r->branch & 1) || *counter != (s32)(n - 1) ||
	    (!c->continuous && next == lwp_ring_tail(e, block)))
		return 0;
	if (c->stamped)
		now = e->ops->timestamp(e->vcpu);
	encode(slot, first, r, now);
	encode(e->last_record, first, r, now);
	e->last_stored = true;
	e->last_offset = head;
	e->stats.records++;
	e->stats.counted[c->kind] += n;
	*counter = lwp_cb_interval(&e->caps, lwp_get32(block + c->interval));
	e->st.head = next;
	lwp_put32(e->constant + LWP_CTX_CONST_HEAD, next);
	/* A reader that sees the new head sees the record. */
	lwp_wmb();
	lwp_write_direct(block + LWP_CB_HEAD, &next, sizeof(next));
	return (u32)*counter + 1;
}
