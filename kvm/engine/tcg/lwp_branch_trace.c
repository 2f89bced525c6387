// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of all branches. Whatever is unusual is left to lwp_retire() and lwp_boundary(), which do
 * the same for all events; this is only fast. Source: lwp_store.c, lwp_count.c.
 */
#include "lwp_branch_trace.h"
#include "lwp_internal.h"

#define EVENT_MASK(e) (LWP_BIT((e)->rev->max_event_id + 1) - LWP_BIT(1))

/* Is each branch due, are branches all that counts, and is nothing outstanding? */
static bool ready(const struct lwp_engine *e, u32 id, const struct lwp_retired *r)
{
	const struct lwp_state *st = &e->st;

	return (lwp_active(e) & EVENT_MASK(e)) == LWP_BIT(id) && !st->counter[id - 1] &&
	       !st->pending.event_id && !(st->flags & LWP_STATE_BITS) && !st->random &&
	       !lwp_owes(e) && !lwp_ip_filter_on(e) && lwp_constants_known(e->constant) &&
	       lwp_branch_passes(e, r->branch);
}

/* Map block and slot where the engine can access them; nothing else has been done if it cannot. */
static bool open_direct(struct lwp_engine *e, struct lwp_txn *t)
{
	struct lwp_fault fault;

	return lwp_map(e, &t->block, e->st.cb_addr, e->caps.cb_size, true, &fault) == LWP_MEM_OK &&
	       t->block.direct && lwp_map_slot(e, t, &fault) == LWP_MEM_OK && t->slot.direct;
}

static u32 copy_word(struct lwp_txn *t, u32 offset)
{
	memcpy(t->image + offset, t->block.direct + offset, sizeof(u32));
	return lwp_get32(t->image + offset);
}

bool lwp_trace_branch(struct lwp_engine *e, const struct lwp_retired *r)
{
	u32 id = e->rev->event_id[LWP_KIND_BRE];
	struct lwp_txn t lwp_uninitialized;
	struct lwp_record rec;
	u32 interval;
	bool full;

	if (!ready(e, id, r) || !open_direct(e, &t))
		return false;
	interval = lwp_cb_slot_offset(&e->caps, id - 1) + LWP_CB_SLOT_INTERVAL;
	if (lwp_cb_interval(&e->caps, copy_word(&t, interval)))
		return false;
	copy_word(&t, e->rev->cb_tail_offset);
	copy_word(&t, LWP_CB_THRESHOLD);
	t.missed = lwp_get64(t.block.direct + LWP_CB_MISSED);
	lwp_record_of(e, id, r, &rec);
	lwp_commit(e, &t, &rec, &full);
	e->stats.counted[LWP_KIND_BRE]++;
	return true;
}
