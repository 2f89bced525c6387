// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counting: budgets, retired instructions, and gathering a record into the one pending slot.
 * Touches no guest memory. Source: 43724-701 to 43724-715; docs/design.md#counting.
 *
 * An event is due when its counter has fallen below zero (43724) or to zero (2007). In 43724 the
 * counter counts on below zero until it is reloaded; in 2007 it stays at zero.
 *
 * While a record is pending nothing is gathered. An event that *becomes* due then clears
 * LWP_STATE_FAULTED, so the old record's store is tried once more at the boundary; the event takes
 * its next eligible instruction when the slot is free. An event that is due already does not clear
 * the flag again: otherwise a program that repairs the mapping in a SIGSEGV handler would fault in
 * each of the handler's instructions.
 */
#include "lwp_internal.h"

void lwp_record_begin(const struct lwp_engine *e, u8 event_id, u64 address, struct lwp_record *rec)
{
	memset(rec, 0, sizeof(*rec));
	rec->event_id = event_id;
	rec->core_id = lwp_cfg_core_id(e->st.cfg);
	rec->address = address;
	if (lwp_flag_active(e, LWP_F_PTSC) && e->ops->timestamp)
		rec->timestamp = e->ops->timestamp(e->vcpu);
}

/* The counter after n more events (43724-703, 43724-705). */
static s32 count_down(const struct lwp_engine *e, s32 counter, u64 n)
{
	s32 lowest = e->rev->freezes_at_zero ? 0 : LWP_COUNTER_MIN;

	/* In 2007 a state from outside may have a negative counter. */
	if (counter < lowest || n > (u64)(counter - (s64)lowest))
		return lowest;
	return (s32)(counter - (s64)n);
}

/* EventId of a kind that is being counted, else 0. Only lwp_val() counts LWPVAL. */
static u32 counted_id(const struct lwp_engine *e, enum lwp_kind kind)
{
	u32 id = kind != LWP_KIND_VAL ? e->rev->event_id[kind] : 0;

	return id && lwp_active(e) & LWP_BIT(id) ? id : 0;
}

/* lwp_budget() of an event that is being counted. */
static u64 budget_of(const struct lwp_engine *e, u32 id)
{
	s32 counter = e->st.counter[id - 1];

	if (counter > lwp_due_limit(e))
		return (u64)(counter - lwp_due_limit(e));
	return e->st.pending.event_id ? LWP_BUDGET_NEVER : 1;
}

u64 lwp_budget(const struct lwp_engine *e, enum lwp_kind kind)
{
	u32 id = counted_id(e, kind);

	return id ? budget_of(e, id) : LWP_BUDGET_NEVER;
}

void lwp_count(struct lwp_engine *e, enum lwp_kind kind, u64 n)
{
	u32 id = counted_id(e, kind);
	u64 budget;

	if (!id)
		return;
	budget = budget_of(e, id);
	if (n >= budget)
		n = budget - 1;
	e->stats.counted[kind] += n;
	e->st.counter[id - 1] = count_down(e, e->st.counter[id - 1], n);
}

/* See lwp_count_event() (43724-704, 43724-816, 2007-702). */
static inline bool count_event(struct lwp_engine *e, u32 id, u64 n)
{
	s32 before = e->st.counter[id - 1];
	s32 after = count_down(e, before, n);

	e->st.counter[id - 1] = after;
	e->stats.counted[e->rev->kind[id]] += n;
	if (after > lwp_due_limit(e))
		return false;
	if (e->st.pending.event_id && before > lwp_due_limit(e)) {
		e->st.flags &= ~LWP_STATE_FAULTED;
		e->st.retry_rip = 0;
	}
	return true;
}

bool lwp_count_event(struct lwp_engine *e, u32 id, u64 n)
{
	return count_event(e, id, n);
}

void lwp_record_of(const struct lwp_engine *e, u32 id, const struct lwp_retired *r,
		   struct lwp_record *rec)
{
	lwp_record_begin(e, (u8)id, r->address, rec);
	switch (e->rev->kind[id]) {
	case LWP_KIND_BRE:
		rec->flags = r->taken ? LWP_RECORD_TKN : 0;
		rec->data2 = r->target;
		break;
	case LWP_KIND_DME:
		lwp_miss_record(e, &r->miss, rec);
		break;
	default:
		break;
	}
}

void lwp_gather(struct lwp_engine *e, u32 id, const struct lwp_retired *r)
{
	lwp_record_of(e, id, r, &e->st.pending);
	e->st.flags |= LWP_STATE_RELOAD;
}

/* How often an instruction counts for a kind that is active (43724-722). */
static u64 occurrences(const struct lwp_engine *e, enum lwp_kind kind, const struct lwp_retired *r)
{
	switch (kind) {
	case LWP_KIND_IRE:
		return 1;
	case LWP_KIND_BRE:
		return r->branch != LWP_BRANCH_NONE && lwp_branch_passes(e, r->branch);
	case LWP_KIND_DME:
		return r->misses;
	case LWP_KIND_CNH:
		return r->cnh;
	case LWP_KIND_RNH:
		return r->rnh;
	default:
		return 0; /* LWP_KIND_VAL is counted by lwp_val() */
	}
}

/* The active events whose EventIds have a counter, a bit each. */
static inline u32 active_events(const struct lwp_engine *e)
{
	return lwp_active(e) & (LWP_BIT(e->rev->max_event_id + 1) - LWP_BIT(1));
}

void lwp_count_retired(struct lwp_engine *e, const struct lwp_retired *r)
{
	u32 left = active_events(e);
	u32 chosen = 0;

	if (lwp_ip_filter_on(e) && !lwp_ip_passes(e, r->address))
		return;
	/* From the lowest EventId on. */
	for (; left; left &= left - 1) {
		u32 id = (u32)__builtin_ctz(left);
		u64 n = occurrences(e, e->rev->kind[id], r);

		if (!n || !count_event(e, id, n))
			continue;
		/* Choose the event furthest below its limit; ties go to the lowest EventId. */
		if (!chosen || e->st.counter[id - 1] < e->st.counter[chosen - 1])
			chosen = id;
	}
	if (chosen && !e->st.pending.event_id)
		lwp_gather(e, chosen, r);
}

void lwp_retired_missed(struct lwp_engine *e, struct lwp_retired *r, const struct lwp_miss *miss)
{
	if (!lwp_miss_counted(e, miss) || !lwp_ip_passes(e, r->address))
		return;
	if (lwp_budget(e, LWP_KIND_DME) > 1)
		lwp_count(e, LWP_KIND_DME, 1);
	else if (!r->misses++)
		r->miss = *miss;
}
