// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What counts, to the event: nothing that passes is lost or counted twice, the event furthest below
 * its limit gets the record, and the record says what retired.
 * Soak: a_record_says_what_retired an_instruction_counts_once_for_each_event
 *	the_event_furthest_below_its_limit_gets_the_record
 */
#include "any_engine.h"

static struct lwp_engine before;

/* The limit at which an event is due, and the lowest that its counter falls (43724-703, 2007-702). */
static s32 limit(void)
{
	return is_2007() ? 0 : -1;
}

static s32 lower(s32 counter, u64 n)
{
	s32 lowest = is_2007() ? 0 : LWP_COUNTER_MIN;

	return counter < lowest || n > (u64)((s64)counter - lowest) ? lowest :
								      (s32)(counter - (s64)n);
}

/* Events of a kind that have passed: those that late branches wait for have not been counted yet. */
static u64 passed(const struct lwp_engine *x, enum lwp_kind kind)
{
	return x->stats.counted[kind] + (kind == LWP_KIND_BRE ? x->late.branches : 0);
}

/* How often an instruction counts for a kind. */
static u64 times_counted(const struct lwp_retired *r, enum lwp_kind kind)
{
	const u64 times[LWP_KINDS] = {
		[LWP_KIND_IRE] = 1,	    [LWP_KIND_BRE] = r->branch != LWP_BRANCH_NONE,
		[LWP_KIND_DME] = r->misses, [LWP_KIND_CNH] = r->cnh,
		[LWP_KIND_RNH] = r->rnh,
	};

	if (!lwp_event_active(&before, kind) || !lwp_ip_passes(&before, r->address) ||
	    (kind == LWP_KIND_BRE && !lwp_branch_passes(&before, r->branch)))
		return 0;
	return times[kind];
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
	      lwp_ip_passes(&e, address) == (is_2007() || !(e.st.filters & LWP_FILTER_IPF) ||
					     inside == !(e.st.filters & LWP_FILTER_IPI)));
	assume(class > LWP_BRANCH_NONE && class < LWP_BRANCH_CLASSES);
	if (is_2007())
		dropping = class == LWP_BRANCH_RELATIVE ? LWP07_FILTER_NDB : 0;
	else if (class == LWP_BRANCH_CONDITIONAL)
		dropping = LWP_FILTER_NCB;
	else if (class == LWP_BRANCH_RELATIVE || class == LWP_BRANCH_CALL_RELATIVE)
		dropping = LWP_FILTER_NRB;
	else if (class == LWP_BRANCH_ABSOLUTE)
		dropping = LWP_FILTER_NAB;
	check("43724-723", lwp_branch_passes(&e, class) == !(e.st.filters & dropping));
	cover(is_2007() && !lwp_branch_passes(&e, class));
	cover(!lwp_ip_passes(&e, address));
}

/* Events are active that the block asks for and LWP_CFG still allows, once the block has been read. */
PROPERTY(active_flags)
{
	ANY(u32, flag);
	u32 flags;

	any_engine();
	flags = e.st.cb_addr && e.st.size && e.ip_valid ? e.st.flags & lwp_engine_avail(&e) : 0;
	check("43724-208", lwp_active(&e) == flags);
	check("43724-208", lwp_flag_active(&e, flag) == !!(flags & flag));
	cover(flags & LWP_F_INT);
}

/* A latency as its counter of so many bits shows it. */
static u64 shown(u64 latency)
{
	u64 most = ((u64)1 << lwp_caps_latency_max(&e.caps)) - (is_2007() ? 16 : 1);
	u32 rounding = lwp_caps_latency_rnd(&e.caps);

	return (latency < most ? latency : most) >> rounding << rounding;
}

PROPERTY(misses_that_count)
{
	ANY(struct lwp_miss, miss);
	u32 filters, levels, least;

	any_engine();
	filters = e.st.filters;
	levels = miss.source == LWP_SRC_LOCAL_L3 ? LWP_FILTER_NBC :
		 miss.source == LWP_SRC_REMOTE	 ? LWP_FILTER_RDC :
		 miss.source == LWP_SRC_DRAM	 ? LWP_FILTER_RAM :
		 miss.source == LWP_SRC_OTHER	 ? LWP_FILTER_OTH :
						   0;
	least = lwp_field_get(LWP_FILTER_MIN_LATENCY, filters) * 16;
	check("43724-727",
	      lwp_miss_counted(&e, &miss) ==
		      (lwp_event_active(&e, LWP_KIND_DME) && shown(miss.latency) >= shown(least) &&
		       (!(filters & LWP_FILTER_CLF) || filters & levels)));
	cover(lwp_miss_counted(&e, &miss) && least > 100);
	cover(filters & LWP_FILTER_CLF && lwp_miss_counted(&e, &miss));
}

/* A miss that counts is counted below the budget, else it waits for its instruction, the first to be told. */
PROPERTY(misses_of_an_instruction)
{
	ANY(struct lwp_miss, miss);
	struct lwp_retired r = any_retired();
	u64 n, first;
	bool counts, due;
	u32 told;

	any_engine();
	counts = lwp_miss_counted(&e, &miss) && lwp_ip_passes(&e, r.address);
	due = counts && lwp_budget(&e, LWP_KIND_DME) == 1;
	n = e.stats.counted[LWP_KIND_DME];
	told = r.misses;
	assume(told < 1000);
	first = told ? r.miss.address : miss.address;
	lwp_retired_missed(&e, &r, &miss);
	check("43724-719", e.stats.counted[LWP_KIND_DME] == n + (counts && !due));
	check("43724-719", r.misses == told + due);
	check("43724-511", !due || r.miss.address == first);
	cover(due && told);
}

PROPERTY(misses_that_have_passed)
{
	ANY(struct lwp_miss, miss);
	ANY(u64, n);
	ANY(u64, address);
	bool counts;

	any_engine();
	assume(!e.st.pending.event_id && n < (u64)1 << 31);
	before = e;
	counts = lwp_miss_counted(&e, &miss) && lwp_ip_passes(&e, address);
	lwp_pass_miss(&e, n, address, &miss);
	check("43724-823", e.stats.counted[LWP_KIND_DME] ==
				   before.stats.counted[LWP_KIND_DME] + (counts ? n : 0));
	check("43724-511", !e.st.pending.event_id ||
				   !(lwp_caps_ecx_features(&e.caps) & LWP_ECX_DATA_ADDRESS) ||
				   e.st.pending.data2 == miss.address);
	cover(e.st.pending.event_id);
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
	bool due = false;
	u32 chosen;

	any_engine();
	assume(id >= 1 && id <= e.rev->max_event_id && !e.late.branches);
	before = e;
	lwp_retire(&e, &r);
	chosen = e.st.pending.event_id;
	if (before.st.pending.event_id) {
		for (u32 i = 0; i < e.rev->max_event_id; i++)
			due |= before.st.counter[i] > limit() && e.st.counter[i] <= limit();
		check("43724-816", due == (e.st.flags != before.st.flags) ||
					   !(before.st.flags & LWP_STATE_FAULTED));
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

/* What a late counter tells of is counted, or waits for a branch; `exact` tells of a late record once. */
PROPERTY(what_has_passed_is_counted_or_waits)
{
	ANY(u8, kind);
	ANY(u64, n);
	ANY(u8, named);
	struct lwp_retired r = any_retired();
	u64 total, told;
	bool waits, gathered;

	any_engine();
	assume((kind == LWP_KIND_IRE || kind == LWP_KIND_BRE) && lwp_event_active(&e, kind));
	assume(n < (u64)1 << 31 && e.late.branches < (u64)1 << 31);
	before = e;
	total = n + (kind == LWP_KIND_BRE ? e.late.branches : 0);
	lwp_pass(&e, kind, n, named & 1 ? &r : NULL);
	waits = kind == LWP_KIND_BRE && named & 1;
	gathered = !waits && named & 1 && !before.st.pending.event_id;
	told = e.stats.overshoots - before.stats.overshoots;
	check("43724-823", passed(&e, kind) == passed(&before, kind) + n);
	if (total < lwp_budget(&before, kind)) {
		check("43724-824",
		      !told && !e.late.branches == (kind == LWP_KIND_BRE || !before.late.branches));
		return;
	}
	check("43724-823", !waits || e.late.branches == total);
	check("43724-823",
	      !gathered || (e.st.pending.address == r.address && e.st.flags & LWP_STATE_LATE));
	check("43724-824", !!(e.late.owed & LWP_BIT(kind)) ==
				   (waits ? !!(before.late.owed & LWP_BIT(kind)) :
					    !gathered && (e.delivery == LWP_DELIVERY_EXACT ||
							  before.late.owed & LWP_BIT(kind))));
	check("43724-824", told == (e.delivery == LWP_DELIVERY_EXACT && !waits &&
				    !(before.late.owed & LWP_BIT(kind))));
	check("43724-824",
	      !told || e.ops == &fewer_ops || overshoot == total - lwp_budget(&before, kind));
	cover(told && gathered);
	cover(e.late.branches > before.late.branches);
}
