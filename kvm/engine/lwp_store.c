// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Storing a record: the ring, the transaction, the reload, threshold and MissedEvents. Source:
 * 43724-705 to 43724-709, 43724-801 to 43724-818; docs/design.md#delivery.
 *
 * The order of a store, which stores the whole record or nothing of it:
 *	map the whole block for writing; copy it, once
 *	43724: reload the counter, unless an earlier try has done so (a fault of the ring keeps it)
 *	map the slot at the head for writing
 *	2007: reload the counter, which has been frozen since
 *	write the record; barrier; write the head, or MissedEvents if the ring is full
 *	threshold interrupt, if the head has advanced
 *
 * Choices that no source decides:
 * - A tail that breaks the protocol (outside the ring, or inside a record) is read as LLWPCB reads
 *   such a head: 0 if outside, else rounded down.
 * - Continuous mode: the head always advances and MissedEvents stays; the threshold works as usual.
 * - A full ring does not interrupt (again): only an advanced head does.
 * - A vector below 16 is one that no local APIC accepts: there is no interrupt.
 * - 2007: an event whose EventId has vanished from the block's slots stops counting.
 */
#include "lwp_internal.h"

/*
 * Map the block, and copy it once. The fields before the tail of 2007 are known: LWP wrote the
 * head, and the others are constant. They are only copied if they are to be remembered for
 * contexts.
 */
static enum lwp_mem_result copy_block(struct lwp_engine *e, struct lwp_txn *t,
				      struct lwp_fault *fault)
{
	u32 from = lwp_constants_known(e->constant) ? LWP_CB_HEAD + sizeof(u32) : 0;
	enum lwp_mem_result result;

	result = lwp_map(e, &t->block, e->st.cb_addr, e->caps.cb_size, true, fault);
	if (result != LWP_MEM_OK)
		return result;
	return lwp_read(e, &t->block, from, t->image + from, lwp_block_bytes(&e->caps) - from);
}

/*
 * Map and copy the block. CR2 of a #PF is the lowest missing byte of block and slot (43724-814,
 * 43724-815).
 */
static enum lwp_mem_result open_block(struct lwp_engine *e, struct lwp_txn *t,
				      struct lwp_fault *fault)
{
	enum lwp_mem_result result, slot;
	struct lwp_fault other;

	result = copy_block(e, t, fault);
	if (result == LWP_MEM_OK)
		t->missed = lwp_get64(t->image + LWP_CB_MISSED);
	if (result != LWP_MEM_FAULT)
		return result;
	slot = lwp_map_slot(e, t, &other);
	if (slot == LWP_MEM_NOT_RAM || slot == LWP_MEM_AGAIN)
		return slot;
	if (slot == LWP_MEM_FAULT && other.addr < fault->addr)
		*fault = other;
	return result;
}

/* 43724-803, 43724-807 */
static void add_missed(struct lwp_engine *e, struct lwp_txn *t, u32 n)
{
	u8 bytes[8];

	t->missed += n;
	e->stats.missed += n;
	lwp_put64(bytes, t->missed);
	lwp_write(e, &t->block, LWP_CB_MISSED, bytes, sizeof(bytes));
}

/*
 * Reload the counter of an event that was due with `counter`: interval less overrun, so that the
 * mean rate is kept (43724-707). A record gathered late stands for one period; whole further
 * periods are added to MissedEvents instead of being due one after another (43724-304, 43724-420,
 * 43724-823, 2007-418, 2007-704, 2007-713).
 */
static void reload(struct lwp_engine *e, struct lwp_txn *t, u32 id, s32 counter, bool late)
{
	int slot = lwp_cb_find_slot(&e->caps, t->image, id);
	s32 overrun = counter < 0 ? -1 - counter : 0;
	s32 interval, period;
	u32 skipped;

	e->st.flags &= ~LWP_STATE_RELOAD;
	if (slot < 0) {
		e->st.flags &= ~LWP_BIT(id);
		return;
	}
	interval = lwp_cb_interval(&e->caps,
				   lwp_get32(t->image + lwp_cb_slot_offset(&e->caps, (u32)slot) +
					     LWP_CB_SLOT_INTERVAL));
	if (e->st.random)
		interval = lwp_randomise(e, id, t->missed, interval);
	period = interval + 1;
	e->st.counter[id - 1] = interval - overrun;
	if (!late || overrun < period)
		return;
	skipped = (u32)(overrun / period);
	e->st.counter[id - 1] = interval - overrun % period;
	e->stats.skipped_periods += skipped;
	add_missed(e, t, skipped);
}

/* 43724-409, 43724-801, 43724-808 to 43724-810, 43724-812, 2007-803, 2007-804 */
static void threshold(struct lwp_engine *e, const struct lwp_txn *t, u32 tail)
{
	u32 limit = lwp_get32(t->image + LWP_CB_THRESHOLD);
	u32 used = e->st.head >= tail ? e->st.head - tail : e->st.head - tail + e->st.size;

	if (!lwp_flag_active(e, LWP_F_INT) || !e->ops->interrupt ||
	    lwp_cfg_vector(e->st.cfg) < LWP_VECTOR_MIN)
		return;
	/*
	 * == fires once when the threshold is crossed, and never for 0: at least one record is
	 * used.
	 */
	if (e->rev->threshold_equals ? used == limit : used >= limit - limit % LWP_RECORD_SIZE) {
		e->stats.interrupts++;
		e->ops->interrupt(e->vcpu, lwp_cfg_vector(e->st.cfg));
	}
}

static void write_record(struct lwp_engine *e, const struct lwp_txn *t,
			 const struct lwp_record *rec)
{
	u8 bytes[LWP_RECORD_SIZE];

	if (t->slot.direct) {
		lwp_record_encode(rec, t->slot.direct);
		return;
	}
	lwp_record_encode(rec, bytes);
	lwp_write(e, &t->slot, 0, bytes, sizeof(bytes));
}

void lwp_commit(struct lwp_engine *e, struct lwp_txn *t, const struct lwp_record *rec, bool *full)
{
	u32 next = e->st.head + LWP_RECORD_SIZE;
	u32 tail = lwp_ring_tail(e, t->image);

	if (next >= e->st.size)
		next = 0;
	*full = next == tail && !lwp_flag_active(e, LWP_F_CONT);
	write_record(e, t, rec);
	e->stats.records++;
	lwp_record_encode(rec, e->last_record);
	e->last_stored = true;
	e->last_offset = e->st.head;
	/* A reader that sees the new head sees the record. */
	lwp_wmb();
	if (*full) {
		add_missed(e, t, 1);
		return;
	}
	e->st.head = next;
	lwp_write_head(e, &t->block, t->image);
	threshold(e, t, tail);
}

/* 43724-708, 2007-808 */
static void reload_pending(struct lwp_engine *e, struct lwp_txn *t)
{
	u32 id = e->st.pending.event_id;

	if (e->st.flags & LWP_STATE_RELOAD)
		reload(e, t, id, e->st.counter[id - 1], e->st.flags & LWP_STATE_LATE);
}

enum lwp_mem_result lwp_store_pending(struct lwp_engine *e, struct lwp_fault *fault)
{
	enum lwp_mem_result result;
	struct lwp_txn t lwp_uninitialized;
	bool full;

	result = open_block(e, &t, fault);
	if (result == LWP_MEM_OK && !e->rev->freezes_at_zero)
		reload_pending(e, &t);
	if (result == LWP_MEM_OK)
		result = lwp_map_slot(e, &t, fault);
	if (result != LWP_MEM_OK)
		return result;
	if (e->rev->freezes_at_zero)
		reload_pending(e, &t);
	lwp_commit(e, &t, &e->st.pending, &full);
	memset(&e->st.pending, 0, sizeof(e->st.pending));
	e->st.flags &= ~LWP_STATE_BITS;
	e->st.retry_rip = 0;
	return LWP_MEM_OK;
}

enum lwp_mem_result lwp_store_sample(struct lwp_engine *e, const struct lwp_record *rec,
				     bool with_reload, s32 counter, bool *full,
				     struct lwp_fault *fault)
{
	enum lwp_mem_result result;
	struct lwp_txn t lwp_uninitialized;

	result = open_block(e, &t, fault);
	if (result == LWP_MEM_OK)
		result = lwp_map_slot(e, &t, fault);
	if (result != LWP_MEM_OK)
		return result;
	if (with_reload)
		reload(e, &t, rec->event_id, counter, false);
	lwp_commit(e, &t, rec, full);
	return LWP_MEM_OK;
}
