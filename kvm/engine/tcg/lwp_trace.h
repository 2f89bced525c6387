/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Usual records, as an event source that executes the program itself stores them. */
#ifndef LWP_TRACE_H
#define LWP_TRACE_H

#include "lwp_engine.h"

/* What stays the same from one such record to the next. */
struct lwp_cursor {
	bool on, continuous, stamped;
	enum lwp_kind kind; /* that of the only event, LWP_KIND_IRE or LWP_KIND_BRE */
	u8 classes; /* a bit each: of enum lwp_branch_class, what counts */
	u16 interval; /* offset of EventInterval in the block */
	u32 first; /* EventId and CoreId, as a record begins with them */
};

/* Part of struct lwp_retired. Where instructions count, only the address is not zero. */
struct lwp_traced {
	u64 address, target;
	enum lwp_branch_class branch;
	bool taken;
};

/*
 * The cursor of an engine in its present state. It is on if instructions are all that counts, or
 * branches, and nothing is outstanding; and no record interrupts.
 */
void lwp_cursor_set(const struct lwp_engine *e, struct lwp_cursor *c);

/* lwp_record_encode() of a record whose first word is known */
static inline void lwp_traced_encode(u8 out[LWP_RECORD_SIZE], u64 first, const struct lwp_traced *r,
				     u64 now)
{
	lwp_put64(out, first);
	lwp_put64(out + LWP_RECORD_ADDRESS, r->address);
	lwp_put64(out + LWP_RECORD_DATA2, r->target);
	lwp_put64(out + LWP_RECORD_TIMESTAMP, now);
}

/*
 * The last of n events, at least 1, that the engine has not counted yet is due, and retires:
 * lwp_count(), lwp_retire() and lwp_boundary() in one step. The cursor is on and has been set since
 * the engine's state has changed by anything else than this. The block and the slot at the head lie
 * at these addresses of the engine's own. Returns in how many events the next one is due, at least
 * 1, or 0: nothing was done.
 */
static inline u32 lwp_trace(struct lwp_engine *e, const struct lwp_cursor *c, u8 *block, u8 *slot,
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
	lwp_traced_encode(slot, first, r, now);
	lwp_traced_encode(e->last_record, first, r, now);
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

#endif
