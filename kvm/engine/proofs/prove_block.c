// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Taking a block over, flushing into it, and reading its address range again keep the invariant.
 * Split: block_take block_begins block_flush block_flush_head Soak: block_begins block_flush_head
 */
#include "any_engine.h"

/* Of a segment of 32-bit code: does it have the whole ring, which does not wrap round? */
static bool ring_inside(const struct lwp_ds *ds)
{
	u64 offset = (u32)(e.st.base - ds->base);

	if (ds->long_mode)
		return true;
	return e.st.base + e.st.size <= (u64)1 << 32 &&
	       (is_2007() || (offset >= ds->first && offset + e.st.size - 1 <= ds->limit));
}

/* LWP_CB_SIZE_RANDOM is watched: is the ring that it asks for large enough? */
static bool ring_fits(u32 word)
{
	return (word & 0x0fffffe0) >= lwp_cb_min_ring(&e.caps);
}

/* Any word that LLWPCB makes visible in each block. */
static u32 any_shown(void)
{
	ANY(u32, at);

	assume(at == LWP_CB_FLAGS || (!is_2007() && (at == LWP_CB_HEAD || at == LWP_CB_THRESHOLD ||
						     at == LWP_CB_SIZE_RANDOM)));
	return at;
}

PROPERTY(block_take)
{
	struct lwp_ds ds = any_ds();
	ANY(u8, flat);
	ANY(u64, linear);
	enum lwp_block_verdict verdict;
	enum lwp_mem_result result;
	struct lwp_fault fault;

	any_engine();
	assume(linear && range_ok(linear, e.caps.cb_size) && lwp_engine_avail(&e));
	watch(0, LWP_CB_SIZE_RANDOM);
	watch(1, any_shown());
	result = lwp_block_take(&e, linear, flat & 1 ? NULL : &ds, &verdict, &fault);
	check("43724-613", !records && !misses);
	if (result == LWP_MEM_OK) {
		check("43724-407",
		      ring_fits(watched[0].was) ||
			      verdict == (is_2007() ? LWP_BLOCK_OFF : LWP_BLOCK_INVALID));
		check("43724-421", watched[1].written == (verdict != LWP_BLOCK_INVALID));
	}
	if (result == LWP_MEM_OK && verdict == LWP_BLOCK_ON) {
		check("43724-617", e.st.size && e.st.cb_addr == linear);
		check("43724-616", !e.st.pending.event_id && !lwp_owes(&e));
		check("43724-616", e.st.random == watched[0].was >> 28);
		check("43724-612", flat & 1 || ring_inside(&ds));
	}
	check("43724-420", engine_ok());
	cover(result == LWP_MEM_OK && verdict == LWP_BLOCK_ON);
	cover(result == LWP_MEM_OK && verdict != LWP_BLOCK_ON);
}

/* What counter an event of the slot that is watched begins with: the program's, but not below 0. */
PROPERTY(block_begins)
{
	ANY(u64, linear);
	ANY(u32, slot);
	enum lwp_block_verdict verdict = LWP_BLOCK_INVALID;
	enum lwp_mem_result result;
	struct lwp_fault fault;
	u32 event, counter;

	any_engine();
	assume(watch_slot(slot) && (!is_2007() || !slot));
	assume(linear && range_ok(linear, e.caps.cb_size) && lwp_engine_avail(&e));
	result = lwp_block_take(&e, linear, NULL, &verdict, &fault);
	event = event_of(slot);
	counter = watched[1].was & 0x03ffffff;
	if (result == LWP_MEM_OK && verdict == LWP_BLOCK_ON && event && event <= LWP_MAX_EVENT_ID &&
	    lwp_event_active(&e, e.rev->kind[event]))
		check("43724-616", (u32)e.st.counter[event - 1] == (counter >> 25 ? 0 : counter));
	cover(result == LWP_MEM_OK && verdict == LWP_BLOCK_ON && e.st.counter[0]);
}

PROPERTY(block_flush)
{
	ANY(u32, slot);
	struct lwp_fault fault;
	enum lwp_mem_result result;
	u32 event;
	bool active;

	any_engine();
	assume(e.st.size && watch_slot(slot));
	result = lwp_block_flush(&e, &fault);
	event = event_of(slot);
	active = event && event <= e.rev->max_event_id && e.st.flags & LWP_BIT(event);
	check("43724-621", !records && !misses && heads <= 1);
	check("43724-621", result != LWP_MEM_OK || heads == 1);
	check("43724-621", active || !watched[1].written);
	check("43724-621",
	      !active || result != LWP_MEM_OK || watched[1].written || (is_2007() && slot));
	check("43724-422", !watched[0].written);
	check("43724-422", !watched[1].written || watched[1].now >> 26 == watched[1].was >> 26);
	check("43724-621",
	      !watched[1].written ||
		      (watched[1].now & 0x03ffffff) == ((u32)e.st.counter[event - 1] & 0x03ffffff));
	check("43724-420", engine_ok());
	cover(result == LWP_MEM_OK);
	cover(watched[1].written);
}

/* The head that a flush writes. */
PROPERTY(block_flush_head)
{
	struct lwp_fault fault;

	any_engine();
	assume(e.st.size);
	watch(0, LWP_CB_HEAD);
	watch(1, LWP_CB_HEAD);
	lwp_block_flush(&e, &fault);
	check("43724-621", !watched[0].written || watched[0].now == e.st.head);
	cover(watched[0].written);
}

PROPERTY(block_read_ip)
{
	struct lwp_fault fault;
	enum lwp_mem_result result;
	bool valid;

	any_engine();
	assume(e.st.cb_addr);
	valid = e.ip_valid;
	result = lwp_block_read_ip(&e, &fault);
	check("43724-310", e.ip_valid == (valid || result == LWP_MEM_OK));
	check("43724-310", !records && !misses && !heads);
	check("43724-420", engine_ok());
}
