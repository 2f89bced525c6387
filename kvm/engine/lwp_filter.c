// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What may count: active events, and the filters on branches, addresses and data cache misses. All
 * of them apply before a counter is decremented (43724-722).
 *
 * Choices that no source decides:
 * - The IP filter regulates every counted event: IRE, BRE, DME, CNH, RNH and LWPVAL (which then has
 *   no effect at all, memory operand included). LWPINS is not counted, so it is not filtered. Both
 *   ends are inclusive; with IPI what lies outside passes. BaseIP > LimitIP is an empty range.
 * - No event source here knows whether a branch was predicted: PRD and PRV are 0 ("not available"),
 *   and NMB and NPB, which the leaf announces by ECX[28], filter nothing.
 * - A miss passes MinLatency if its latency is not below it ("minimum latency required"). With CLF
 *   a miss whose source is not known, such as one satisfied by L2, has no bit and does not pass.
 */
#include "lwp_internal.h"

#define MIN_LATENCY_CYCLES 16

/* The bit of Filters that drops a class; 0 = no bit does. */
static const u32 branch_filter[LWP_REVS][LWP_BRANCH_CLASSES] = {
	[LWP_REV_43724] = {
		[LWP_BRANCH_CONDITIONAL] = LWP_FILTER_NCB,
		[LWP_BRANCH_RELATIVE] = LWP_FILTER_NRB,
		[LWP_BRANCH_CALL_RELATIVE] = LWP_FILTER_NRB,
		[LWP_BRANCH_ABSOLUTE] = LWP_FILTER_NAB,
	},
	/* 2007-709: unconditional jumps relative to rIP; not calls, not returns. */
	[LWP_REV_2007] = {
		[LWP_BRANCH_RELATIVE] = LWP07_FILTER_NDB,
	},
};

bool lwp_event_active(const struct lwp_engine *e, enum lwp_kind kind)
{
	u32 id = e->rev->event_id[kind];

	return id && lwp_active(e) & LWP_BIT(id);
}

bool lwp_branch_passes(const struct lwp_engine *e, enum lwp_branch_class branch)
{
	return !(e->st.filters & branch_filter[e->rev->id][branch]);
}

bool lwp_branch_counted(const struct lwp_engine *e, enum lwp_branch_class branch)
{
	return branch != LWP_BRANCH_NONE && lwp_event_active(e, LWP_KIND_BRE) &&
	       lwp_branch_passes(e, branch);
}

bool lwp_ip_filtered(const struct lwp_engine *e)
{
	return lwp_state_on(&e->st) && lwp_ip_filter_on(e);
}

bool lwp_ip_passes(const struct lwp_engine *e, u64 address)
{
	bool inside = address >= e->base_ip && address <= e->limit_ip;

	if (!lwp_ip_filter_on(e))
		return true;
	return e->st.filters & LWP_FILTER_IPI ? !inside : inside;
}

/* A latency as the latency counter shows it: saturated, low bits rounded away (2007-712). */
static u32 latency_seen(const struct lwp_engine *e, u32 latency)
{
	u32 max = (u32)(((u64)1 << lwp_caps_latency_max(&e->caps)) - e->rev->latency_gap);

	if (latency > max)
		latency = max;
	return latency >> lwp_caps_latency_rnd(&e->caps) << lwp_caps_latency_rnd(&e->caps);
}

/* 43724-727, 2007-711 */
static bool latency_passes(const struct lwp_engine *e, u32 latency)
{
	u32 minimum = lwp_field_get(LWP_FILTER_MIN_LATENCY, e->st.filters) * MIN_LATENCY_CYCLES;

	/* A MinLatency above the counter's maximum means that maximum (2007). */
	return latency_seen(e, latency) >= latency_seen(e, minimum);
}

/* 43724-728 */
static bool level_passes(const struct lwp_engine *e, u8 source)
{
	if (!(e->st.filters & LWP_FILTER_CLF))
		return true;
	switch (source) {
	case LWP_SRC_LOCAL_L3:
		return e->st.filters & LWP_FILTER_NBC;
	case LWP_SRC_REMOTE:
		return e->st.filters & LWP_FILTER_RDC;
	case LWP_SRC_DRAM:
		return e->st.filters & LWP_FILTER_RAM;
	case LWP_SRC_OTHER:
		return e->st.filters & LWP_FILTER_OTH;
	}
	return false;
}

bool lwp_miss_counted(const struct lwp_engine *e, const struct lwp_miss *miss)
{
	return lwp_event_active(e, LWP_KIND_DME) && latency_passes(e, miss->latency) &&
	       level_passes(e, miss->source);
}

void lwp_miss_record(const struct lwp_engine *e, const struct lwp_miss *miss,
		     struct lwp_record *rec)
{
	rec->data1 = latency_seen(e, miss->latency);
	rec->flags = (u16)((miss->source & 7) << LWP_RECORD_SRC_SHIFT);
	if (lwp_caps_ecx_features(&e->caps) & LWP_ECX_DATA_ADDRESS) {
		rec->flags |= LWP_RECORD_DAV;
		rec->data2 = miss->address;
	}
}
