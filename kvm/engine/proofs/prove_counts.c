// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What counts, to the event: nothing that passes is lost or counted twice, the event furthest below
 * its limit gets the record, and the record says what retired.
 * Soak: an_instruction_counts_once_for_each_event
 */
#include "any_engine.h"

static struct lwp_engine before;

static bool freezes(void)
{
	return e.caps.rev == LWP_REV_2007;
}

/* The limit at which an event is due, and the lowest that its counter falls (43724-703, 2007-702). */
static s32 limit(void)
{
	return freezes() ? 0 : -1;
}

static s32 lower(s32 counter, u64 n)
{
	s32 lowest = freezes() ? 0 : LWP_COUNTER_MIN;

	return counter < lowest || n > (u64)((s64)counter - lowest) ? lowest :
								      (s32)(counter - (s64)n);
}

/* Events of a kind that have passed: those that late branches wait for have not been counted yet. */
static u64 passed(const struct lwp_engine *x, enum lwp_kind kind)
{
	return x->stats.counted[kind] + (kind == LWP_KIND_BRE ? x->late.branches : 0);
}

/* How often an instruction counts for a kind, filters aside. */
static u64 times(const struct lwp_retired *r, enum lwp_kind kind)
{
	switch (kind) {
	case LWP_KIND_IRE:
		return 1;
	case LWP_KIND_BRE:
		return r->branch != LWP_BRANCH_NONE;
	case LWP_KIND_DME:
		return r->misses;
	case LWP_KIND_CNH:
		return r->cnh;
	case LWP_KIND_RNH:
		return r->rnh;
	default:
		return 0;
	}
}

static u64 times_counted(const struct lwp_retired *r, enum lwp_kind kind)
{
	if (!lwp_event_active(&before, kind) || !lwp_ip_passes(&before, r->address) ||
	    (kind == LWP_KIND_BRE && !lwp_branch_passes(&before, r->branch)))
		return 0;
	return times(r, kind);
}

PROPERTY(filters)
{
	ANY(u64, address);
	ANY(u8, class);
	u32 dropping = 0;
	bool inside;

	any_engine();
	inside = e.base_ip <= address && address <= e.limit_ip;
	check("43724-725",
	      lwp_ip_passes(&e, address) == (freezes() || !(e.st.filters & LWP_FILTER_IPF) ||
					     inside == !(e.st.filters & LWP_FILTER_IPI)));
	assume(class > LWP_BRANCH_NONE && class < LWP_BRANCH_CLASSES);
	if (freezes())
		dropping = class == LWP_BRANCH_RELATIVE ? LWP07_FILTER_NDB : 0;
	else if (class == LWP_BRANCH_CONDITIONAL)
		dropping = LWP_FILTER_NCB;
	else if (class == LWP_BRANCH_RELATIVE || class == LWP_BRANCH_CALL_RELATIVE)
		dropping = LWP_FILTER_NRB;
	else if (class == LWP_BRANCH_ABSOLUTE)
		dropping = LWP_FILTER_NAB;
	check("43724-723", lwp_branch_passes(&e, class) == !(e.st.filters & dropping));
	cover(freezes() && !lwp_branch_passes(&e, class));
	cover(!lwp_ip_passes(&e, address));
}

/* The engine counts what is below the budget, and leaves the event that is due to an instruction. */
PROPERTY(a_count_stays_below_the_budget)
{
	ANY(u8, kind);
	ANY(u64, n);
	u64 budget = ~(u64)0;
	u32 id;

	any_engine();
	assume(kind < LWP_KINDS);
	before = e;
	id = kind != LWP_KIND_VAL && lwp_event_active(&e, kind) ? e.rev->event_id[kind] : 0;
	if (id && e.st.counter[id - 1] > limit())
		budget = (u64)(e.st.counter[id - 1] - limit());
	else if (id && !e.st.pending.event_id)
		budget = 1;
	check("43724-704", lwp_budget(&e, kind) == budget);
	lwp_count(&e, kind, n);
	if (n >= budget)
		n = budget - 1;
	if (!id)
		n = 0;
	check("43724-703", !id || e.st.counter[id - 1] == lower(before.st.counter[id - 1], n));
	check("43724-703", e.stats.counted[kind] == before.stats.counted[kind] + n);
	cover(n > 1000);
}

PROPERTY(an_instruction_counts_once_for_each_event)
{
	struct lwp_retired r = any_retired();
	ANY(u8, id);
	enum lwp_kind kind;
	u64 n;

	any_engine();
	assume(id >= 1 && id <= e.rev->max_event_id && e.late.branches < (u64)1 << 32);
	before = e;
	lwp_retire(&e, &r);
	kind = e.rev->kind[id];
	n = times_counted(&r, kind);
	check("43724-722", passed(&e, kind) == passed(&before, kind) + n);
	if (kind != LWP_KIND_BRE || !before.late.branches)
		check("43724-703",
		      e.st.counter[id - 1] == (n ? lower(before.st.counter[id - 1], n) :
						   before.st.counter[id - 1]));
	cover(n > 1);
}

PROPERTY(the_event_furthest_below_its_limit_gets_the_record)
{
	struct lwp_retired r = any_retired();
	ANY(u8, id);
	u32 chosen;

	any_engine();
	assume(id >= 1 && id <= e.rev->max_event_id && !e.late.branches);
	before = e;
	lwp_retire(&e, &r);
	chosen = e.st.pending.event_id;
	if (before.st.pending.event_id) {
		check("43724-711", same_record(&e.st.pending, &before.st.pending));
		return;
	}
	if (times_counted(&r, e.rev->kind[id]) && e.st.counter[id - 1] <= limit()) {
		check("43724-704", chosen);
		check("43724-711",
		      e.st.counter[chosen - 1] < e.st.counter[id - 1] ||
			      (e.st.counter[chosen - 1] == e.st.counter[id - 1] && chosen <= id));
	} else {
		check("43724-704", chosen != id);
	}
	cover(chosen && chosen != id);
	cover(chosen == id && id == 3);
}

PROPERTY(a_record_says_what_retired)
{
	struct lwp_retired r = any_retired();
	const struct lwp_record *rec = &e.st.pending;
	enum lwp_kind kind;

	any_engine();
	assume(!e.st.pending.event_id);
	lwp_retire(&e, &r);
	assume(rec->event_id);
	kind = e.rev->kind[rec->event_id];
	check("43724-501", rec->address == r.address && rec->core_id == lwp_cfg_core_id(e.st.cfg));
	check("43724-514", !rec->timestamp || lwp_flag_active(&e, LWP_F_PTSC));
	check("43724-506", kind != LWP_KIND_IRE || !(rec->flags | rec->data1 | rec->data2));
	check("43724-507", kind != LWP_KIND_BRE || rec->data2 == r.target);
	check("43724-508", kind != LWP_KIND_BRE || rec->flags == (r.taken ? LWP_RECORD_TKN : 0));
	check("43724-511", kind != LWP_KIND_DME ||
				   !(lwp_caps_ecx_features(&e.caps) & LWP_ECX_DATA_ADDRESS) ||
				   (rec->flags & LWP_RECORD_DAV && rec->data2 == r.miss.address));
	check("43724-707", e.st.flags & LWP_STATE_RELOAD);
	cover(kind == LWP_KIND_BRE);
	cover(kind == LWP_KIND_DME && rec->data2);
}

/* What a late counter tells of passes as well; a record that is late is told once, and only of `exact`. */
PROPERTY(what_has_passed_is_counted_or_waits)
{
	ANY(u8, kind);
	ANY(u64, n);
	ANY(u8, named);
	struct lwp_retired r = any_retired();

	any_engine();
	assume((kind == LWP_KIND_IRE || kind == LWP_KIND_BRE) && lwp_event_active(&e, kind));
	assume(n < (u64)1 << 31 && e.late.branches < (u64)1 << 31);
	before = e;
	lwp_pass(&e, kind, n, named & 1 ? &r : NULL);
	if (n < lwp_budget(&before, kind) || e.st.flags & LWP_STATE_LATE || e.late.owed)
		check("43724-823", passed(&e, kind) == passed(&before, kind) + n);
	check("43724-824", e.stats.overshoots - before.stats.overshoots <= 1);
	check("43724-824",
	      e.delivery == LWP_DELIVERY_EXACT || e.stats.overshoots == before.stats.overshoots);
	check("43724-824",
	      e.stats.overshoots == before.stats.overshoots || !(before.late.owed & LWP_BIT(kind)));
	cover(e.stats.overshoots != before.stats.overshoots);
	cover(e.late.branches > before.late.branches);
}
