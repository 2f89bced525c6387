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
	if (lwp_active(e) & LWP_F_PTSC && e->ops->timestamp)
		rec->timestamp = e->ops->timestamp(e->vcpu);
}

/* The highest value of a counter at which its event is due. */
static s32 due_limit(const struct lwp_engine *e)
{
	return e->rev->freezes_at_zero ? 0 : -1;
}

/* The counter after n more events. */
static s32 count_down(const struct lwp_engine *e, s32 counter, u64 n)
{
	s32 lowest = e->rev->freezes_at_zero ? 0 : LWP_COUNTER_MIN;

	/* In 2007 a state from outside may have a negative counter. */
	if (counter < lowest || n > (u64)(counter - (s64)lowest))
		return lowest;
	return (s32)(counter - (s64)n);
}

/*
 * EventId of a kind that is being counted, else 0. Only lwp_val() counts LWPVAL.
 */
static u32 counted_id(const struct lwp_engine *e, enum lwp_kind kind)
{
	return kind != LWP_KIND_VAL && lwp_event_active(e, kind) ? e->rev->event_id[kind] : 0;
}

u64 lwp_budget(const struct lwp_engine *e, enum lwp_kind kind)
{
	u32 id = counted_id(e, kind);
	s32 counter;

	if (!id)
		return LWP_BUDGET_NEVER;
	counter = e->st.counter[id - 1];
	if (counter > due_limit(e))
		return (u64)(counter - due_limit(e));
	return e->st.pending.event_id ? LWP_BUDGET_NEVER : 1;
}

void lwp_count(struct lwp_engine *e, enum lwp_kind kind, u64 n)
{
	u32 id = counted_id(e, kind);
	u64 budget = lwp_budget(e, kind);

	if (!id)
		return;
	if (n >= budget)
		n = budget - 1;
	e->st.counter[id - 1] = count_down(e, e->st.counter[id - 1], n);
}

/*
 * Count n events. Returns true if the event is due. If it becomes due while a record is pending,
 * the store of that record is retried.
 */
static bool count_event(struct lwp_engine *e, u32 id, u64 n)
{
	s32 before = e->st.counter[id - 1];
	s32 after = count_down(e, before, n);

	e->st.counter[id - 1] = after;
	if (after > due_limit(e))
		return false;
	if (e->st.pending.event_id && before > due_limit(e)) {
		e->st.flags &= ~LWP_STATE_FAULTED;
		e->st.retry_rip = 0;
	}
	return true;
}

void lwp_count_unseen(struct lwp_engine *e, enum lwp_kind kind, u64 n)
{
	u32 id = counted_id(e, kind);

	if (id)
		count_event(e, id, n);
}

static void gather(struct lwp_engine *e, u32 id, const struct lwp_retired *r, bool late)
{
	struct lwp_record *rec = &e->st.pending;

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
	e->st.flags |= LWP_STATE_RELOAD;
	if (late)
		e->st.flags |= LWP_STATE_LATE;
}

/* How often an instruction counts for a kind. */
static u64 occurrences(const struct lwp_engine *e, enum lwp_kind kind, const struct lwp_retired *r)
{
	switch (kind) {
	case LWP_KIND_IRE:
		return 1;
	case LWP_KIND_BRE:
		return lwp_branch_counted(e, r->branch);
	case LWP_KIND_DME:
		return r->misses;
	case LWP_KIND_CNH:
		return r->cnh;
	case LWP_KIND_RNH:
		return r->rnh;
	case LWP_KIND_NONE:
	case LWP_KIND_VAL: /* counted by lwp_val() */
	case LWP_KINDS:
		break;
	}
	return 0;
}

bool lwp_retire(struct lwp_engine *e, const struct lwp_retired *r)
{
	u32 active = lwp_active(e);
	u32 chosen = 0;
	u32 id;

	if (!lwp_ip_passes(e, r->address))
		active = 0;
	for (id = 1; id <= e->rev->max_event_id; id++) {
		u64 n;

		if (!(active & LWP_BIT(id)))
			continue;
		n = occurrences(e, e->rev->kind[id], r);
		if (!n || !count_event(e, id, n))
			continue;
		/* Choose the event furthest below its limit; ties go to the lowest EventId. */
		if (!chosen || e->st.counter[id - 1] < e->st.counter[chosen - 1])
			chosen = id;
	}
	if (chosen && !e->st.pending.event_id)
		gather(e, chosen, r, false);
	return lwp_boundary_wanted(e, 0, false);
}

bool lwp_overshoots(const struct lwp_engine *e, enum lwp_kind kind)
{
	return e->delivery == LWP_DELIVERY_EXACT && (kind == LWP_KIND_IRE || kind == LWP_KIND_BRE);
}

bool lwp_retire_late(struct lwp_engine *e, enum lwp_kind kind, u64 n, const struct lwp_retired *r)
{
	u32 id = counted_id(e, kind);

	if (id && count_event(e, id, n) && !e->st.pending.event_id) {
		gather(e, id, r, true);
		if (lwp_overshoots(e, kind))
			e->stats.overshoots++;
	}
	return lwp_boundary_wanted(e, 0, false);
}
