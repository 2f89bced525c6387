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
