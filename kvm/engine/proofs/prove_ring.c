// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a store makes of head, tail, threshold, MissedEvents, counter and interval: written a second
 * time from the rules. prove_store.c has that it is all or nothing. Split: commit_follows_the_ring
 * sample_reloads pending_reloads pending_is_reloaded_once Soak: sample_reloads pending_reloads
 */
#include "any_engine.h"

static bool active(u32 bit)
{
	return e.ip_valid && e.st.flags & lwp_engine_avail(&e) & bit;
}

PROPERTY(commit_follows_the_ring)
{
	ANY(struct lwp_record, record);
	ANY(struct lwp_txn, t);
	ANY(u32, at);
	u8 bytes[LWP_RECORD_SIZE];
	u32 word, limit, tail, head, next, used;
	bool full, is_full, interrupt;

	any_engine();
	assume(e.st.size && at < LWP_RECORD_SIZE);
	t.block = (struct lwp_span){ .len = e.caps.cb_size, .page = { true, BLOCK } };
	t.slot = (struct lwp_span){ .len = LWP_RECORD_SIZE, .page = { true, SLOT } };
	watch(0, LWP_CB_MISSED);
	watch(1, LWP_CB_MISSED + 4);
	word = lwp_get32(t.image + (is_2007() ? 20 : 64));
	limit = lwp_get32(t.image + LWP_CB_THRESHOLD);
	tail = word < e.st.size ? word & ~31u : 0;
	head = e.st.head;
	next = head + 32 < e.st.size ? head + 32 : 0;
	is_full = next == tail && !active(LWP_F_CONT);
	used = next >= tail ? next - tail : next + e.st.size - tail;
	interrupt = e.ops->interrupt && active(LWP_F_INT) &&
		    e.st.cfg >> LWP_CFG_VECTOR_SHIFT & 0xf0 &&
		    (is_2007() ? used == limit : used >= (limit & ~31u));
	t.missed = lwp_get64(t.image + LWP_CB_MISSED);
	lwp_commit(&e, &t, &record, &full);
	lwp_record_encode(&record, bytes);
	check("43724-501", in_slot[at] == bytes[at] && e.last_record[at] == bytes[at]);
	check("43724-904", e.last_stored && e.last_offset == head);
	check("43724-803", full == is_full && e.st.head == (is_full ? head : next));
	check("43724-808", interrupts == (!is_full && interrupt));
	check("43724-807", !is_full || ((u64)watched[1].now << 32 | watched[0].now) ==
					       lwp_get64(t.image + LWP_CB_MISSED) + 1);
	check("43724-421", is_full || lwp_get32(e.constant + LWP_CTX_CONST_HEAD) == e.st.head);
	cover(is_full);
	cover(interrupts);
}

/* Of the word of a slot (43724-410, 2007-415). */
static s32 interval_of(u32 word)
{
	s32 interval = (s32)(word << 6) >> 6;

	return interval < e.rev->min_interval ? e.rev->min_interval : interval;
}

/* An event that a slot selects alone: each of 43724's, the first slot of 2007. */
static u32 any_slot_of(u32 event)
{
	u32 slot = is_2007() ? 0 : event - 1;

	assume(e.st.size && !e.st.random && event && event <= e.rev->max_event_id);
	assume(watch_slot(slot));
	return slot;
}

PROPERTY(sample_reloads)
{
	ANY(struct lwp_record, record);
	ANY(s32, counter);
	struct lwp_fault fault;
	u32 slot, id = record.event_id;
	bool full;

	any_engine();
	slot = any_slot_of(id);
	assume(counter < 0 && counter >= LWP_COUNTER_MIN);
	if (lwp_store_sample(&e, &record, true, counter, &full, &fault) != LWP_MEM_OK)
		return;
	if (event_of(slot) == id)
		check("43724-707",
		      e.st.counter[id - 1] == interval_of(watched[0].was) + 1 + counter);
	else
		check("2007-808", e.caps.max_events > 1 || !(e.st.flags & LWP_BIT(id)));
	cover(event_of(slot) == id);
}

PROPERTY(pending_reloads)
{
	struct lwp_fault fault;
	s32 overrun, interval, left;
	u64 skipped;
	u32 slot, id;
	bool late;

	any_engine();
	id = e.st.pending.event_id;
	slot = any_slot_of(id);
	assume(e.st.flags & LWP_STATE_RELOAD);
	late = e.st.flags & LWP_STATE_LATE;
	skipped = e.stats.skipped_periods;
	overrun = e.st.counter[id - 1] < 0 ? -1 - e.st.counter[id - 1] : 0;
	if (lwp_store_pending(&e, &fault) != LWP_MEM_OK || event_of(slot) != id)
		return;
	interval = interval_of(watched[0].was);
	skipped = e.stats.skipped_periods - skipped;
	left = interval - e.st.counter[id - 1];
	check("43724-707", late || (!skipped && left == overrun));
	/* A product of both would be as good, and takes hours. */
	check("43724-823", !late || (left >= 0 && left <= interval && left <= overrun));
	check("43724-823", !late || !skipped == (overrun <= interval));
	cover(skipped > 1);
}

PROPERTY(pending_is_reloaded_once)
{
	struct lwp_fault fault;
	enum lwp_mem_result result;
	bool wanted, known;
	s32 counter;
	u64 lowest;
	u32 id;

	any_engine();
	id = e.st.pending.event_id;
	assume(e.st.size && id);
	watch(0, LWP_CB_SIZE_RANDOM);
	wanted = e.st.flags & LWP_STATE_RELOAD;
	known = lwp_constants_known(e.constant);
	counter = e.st.counter[id - 1];
	result = lwp_store_pending(&e, &fault);
	lowest = fault_at[BLOCK];
	if (mapped[SLOT] == LWP_MEM_FAULT && fault_at[SLOT] < lowest)
		lowest = fault_at[SLOT];
	if (mapped[BLOCK] == LWP_MEM_FAULT) {
		check("43724-818",
		      result == (mapped[SLOT] == LWP_MEM_OK ? LWP_MEM_FAULT : mapped[SLOT]));
		check("43724-815", result != LWP_MEM_FAULT || fault.addr == lowest);
	} else if (result == LWP_MEM_FAULT) {
		check("43724-815", fault.addr == fault_at[SLOT]);
		check("43724-708", is_2007() || !(e.st.flags & LWP_STATE_RELOAD));
		check("2007-808", !is_2007() || (e.st.counter[id - 1] == counter &&
						 !(e.st.flags & LWP_STATE_RELOAD) == !wanted));
	}
	check("43724-708", wanted || e.st.counter[id - 1] == counter);
	check("43724-904",
	      known || !heads ||
		      lwp_get32(e.constant + LWP_CTX_CONST_SIZE_RANDOM) == watched[0].was);
	cover(result == LWP_MEM_FAULT && mapped[BLOCK] == LWP_MEM_OK);
	cover(result == LWP_MEM_OK && !known && heads);
}
