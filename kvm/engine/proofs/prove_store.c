// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A store: all or nothing. The head stays a multiple of 32 and inside; no byte outside block and
 * ring is accessed; the head or MissedEvents is written, and never both.
 * Split: store_of_the_pending_record store_of_a_sample
 */
#include "any_engine.h"

/* What was before the call. */
static struct lwp_state old;
static u64 old_records, old_counted, old_load_rip;
static bool old_load_faulted;

static void begin(void)
{
	any_engine();
	assume(e.st.size);
	old = e.st;
	old_records = e.stats.records;
	old_counted = e.stats.counted[LWP_KIND_VAL];
	old_load_rip = e.load_rip;
	old_load_faulted = e.load_faulted;
}

/* stored: the result was LWP_MEM_OK. */
static void stored_or_not(bool stored)
{
	check("43724-814", records <= 1 && heads <= 1 && misses <= 2);
	check("43724-420", e.st.size == old.size && e.st.base == old.base);
	check("43724-631", e.stats.counted[LWP_KIND_VAL] == old_counted);
	check("43724-816", e.load_rip == old_load_rip && e.load_faulted == old_load_faulted);
	check("43724-816",
	      !e.st.pending.event_id || (e.st.retry_rip == old.retry_rip &&
					 !((e.st.flags ^ old.flags) & LWP_STATE_FAULTED)));
	check("43724-802", e.st.head == old.head || e.st.head == old.head + LWP_RECORD_SIZE ||
				   (!e.st.head && old.head + LWP_RECORD_SIZE == old.size));
	if (stored) {
		check("43724-814", records == 1);
		check("43724-803", (e.st.head != old.head) == (heads == 1) || old.size == 32);
	}
}

PROPERTY(store_of_the_pending_record)
{
	struct lwp_fault fault;
	enum lwp_mem_result result;

	begin();
	assume(e.st.pending.event_id);
	result = lwp_store_pending(&e, &fault);
	stored_or_not(result == LWP_MEM_OK);
	check("43724-630", e.caps.rev == LWP_REV_2007 || e.st.counter[0] == old.counter[0]);
	if (result == LWP_MEM_OK)
		check("43724-814", !e.st.pending.event_id && e.stats.records == old_records + 1);
	else
		check("43724-814", same_record(&e.st.pending, &old.pending));
	if (result != LWP_MEM_OK)
		check("43724-814", !records && !heads && e.st.head == old.head);
	check("43724-420", engine_ok());
	cover(result == LWP_MEM_OK && e.st.head == old.head + LWP_RECORD_SIZE);
	cover(result == LWP_MEM_OK && e.st.head == old.head && old.size > 32);
}

PROPERTY(store_of_a_sample)
{
	ANY(struct lwp_record, record);
	ANY(u8, reload);
	ANY(s32, counter);
	struct lwp_fault fault;
	enum lwp_mem_result result;
	bool full;

	begin();
	assume(record.event_id);
	assume(!(reload & 1) || (counter < 0 && counter >= LWP_COUNTER_MIN &&
				 record.event_id <= e.rev->max_event_id));
	result = lwp_store_sample(&e, &record, reload & 1, counter, &full, &fault);
	stored_or_not(result == LWP_MEM_OK);
	if (result == LWP_MEM_OK) {
		check("43724-625", e.st.size == 32 || full == (e.st.head == old.head));
		check("43724-633", full == (misses == 1) && full == !heads);
	}
	if (result != LWP_MEM_OK)
		check("43724-635", !records && !heads && e.st.head == old.head &&
					   e.st.counter[0] == old.counter[0]);
	check("43724-636", same_record(&e.st.pending, &old.pending));
	check("43724-420", engine_ok());
	cover(result == LWP_MEM_OK && full && old.size > 32);
	cover(result == LWP_MEM_OK && !full && (reload & 1));
}

/* Where span->direct leads: a record has 32 bytes there, and the head follows it. */
PROPERTY(a_direct_record_fills_its_slot)
{
	ANY(struct lwp_record, record);
	ANY(struct lwp_txn, t);
	u8 slot[LWP_RECORD_SIZE], bytes[LWP_RECORD_SIZE];
	ANY(u32, at);
	bool full;

	begin();
	t.block = (struct lwp_span){ .len = e.caps.cb_size, .page = { true, BLOCK } };
	t.slot = (struct lwp_span){ .len = LWP_RECORD_SIZE, .direct = slot };
	lwp_commit(&e, &t, &record, &full);
	lwp_record_encode(&record, bytes);
	assume(at < LWP_RECORD_SIZE);
	check("43724-501", slot[at] == bytes[at] && e.last_record[at] == bytes[at]);
	check("43724-814", !records && heads + misses == 1 && full == !heads);
	check("43724-420", engine_ok());
	cover(full);
}

/* The words of a block: of the lengths that any_write() allows. */
PROPERTY(a_direct_write_is_the_same)
{
	ANY_BYTES(block, 48, 48);
	ANY_BYTES(bytes, 8, 8);
	ANY(u32, offset);
	ANY(u32, at);
	ANY(u8, narrow);
	struct lwp_span span = { .direct = block };
	u32 len = narrow & 1 ? 4 : 8;
	u8 was;

	assume(offset <= 48 - len && at < 48);
	was = block[at];
	if (narrow & 1)
		lwp_write(&e, &span, offset, bytes, 4);
	else
		lwp_write(&e, &span, offset, bytes, 8);
	check("43724-421", block[at] == (at - offset < len ? bytes[at - offset] : was));
	cover(len == 8 && at == offset);
	cover(len == 4 && at == offset + 3);
}
