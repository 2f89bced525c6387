// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lateness: a performance counter interrupts some events after the one that was due. The source
 * then says how many have passed, and the engine settles what it owes. Source: 43724-823,
 * 43724-824; docs/design.md#delivery.
 *
 * With `exact` delivery each record that is gathered late is an overshoot, which is counted once:
 * - An instruction can be named: its record is gathered now.
 * - Branches have passed: the record names the next branch, and `late.branches` waits for it. If a
 *   record of instructions is due with that branch and in time, it goes first, and the late record
 *   names the branch after it.
 * - No instruction can be named, because the vCPU has left CPL 3: the counter passes its limit, and
 *   the next eligible instruction gets the record. The kind is `owed` until then.
 * - That record is gathered, and more than a period had passed: the next one is late too. The kind
 *   is `behind` until its counter has caught up.
 * - A record in time that gives way to one that is owed is late as well.
 */
#include "lwp_internal.h"

/* More events than any counter of LWP holds. What passes beyond it changes nothing. */
#define PASSED_MAX ((u64)1 << 32)

static u64 bounded(u64 passed)
{
	return passed < PASSED_MAX ? passed : PASSED_MAX;
}

/* The kinds that can be owed; both revisions have them. */
static const enum lwp_kind kinds[2] = { LWP_KIND_IRE, LWP_KIND_BRE };

/* Only `exact` promises that a record is in time, and not for clocks. */
static bool overshoots(const struct lwp_engine *e, enum lwp_kind kind)
{
	return e->delivery == LWP_DELIVERY_EXACT && (kind == LWP_KIND_IRE || kind == LWP_KIND_BRE);
}

/* A record is `by` events late. */
static void count_overshoot(struct lwp_engine *e, enum lwp_kind kind, u64 address, u64 by)
{
	e->stats.overshoots++;
	if (e->ops->overshoot)
		e->ops->overshoot(e->vcpu, kind, address, by);
}

/* A record is due, and its instruction is not known yet. It is counted once. */
static void owe(struct lwp_engine *e, enum lwp_kind kind, u64 by)
{
	if (!overshoots(e, kind) || e->late.owed & LWP_BIT(kind))
		return;
	count_overshoot(e, kind, 0, by);
	e->late.owed |= LWP_BIT(kind);
}

/* n events have passed, at least the budget, and no record can be gathered now. */
static void pass_unnamed(struct lwp_engine *e, enum lwp_kind kind, u64 n)
{
	u64 due = lwp_budget(e, kind);

	lwp_count_event(e, e->rev->event_id[kind], n);
	owe(e, kind, n - due);
}

/* n events have passed, at least the budget: gather the record that was due. It names r. */
static void gather_late(struct lwp_engine *e, enum lwp_kind kind, u64 n,
			const struct lwp_retired *r)
{
	u64 due = lwp_budget(e, kind);
	u32 id = e->rev->event_id[kind];

	lwp_count_event(e, id, n);
	lwp_gather(e, id, r);
	e->st.flags |= LWP_STATE_LATE;
	if (overshoots(e, kind) && !(e->late.owed & LWP_BIT(kind)))
		count_overshoot(e, kind, r->address, n - due);
	/* The reload skips the periods that have passed: the counter catches up with it. */
	e->late.owed &= ~LWP_BIT(kind);
}

void lwp_pass(struct lwp_engine *e, enum lwp_kind kind, u64 n, const struct lwp_retired *next)
{
	n = bounded(n);
	if (kind == LWP_KIND_BRE) {
		n += e->late.branches;
		e->late.branches = 0;
	}
	if (n < lwp_budget(e, kind))
		lwp_count(e, kind, n);
	else if (next && kind == LWP_KIND_BRE)
		e->late.branches = bounded(n);
	else if (next && !e->st.pending.event_id)
		gather_late(e, kind, n, next);
	else
		pass_unnamed(e, kind, n);
}

void lwp_pass_miss(struct lwp_engine *e, u64 n, u64 address, const struct lwp_miss *miss)
{
	struct lwp_retired r = { .address = address, .miss = *miss };

	if (lwp_miss_counted(e, miss) && lwp_ip_passes(e, address))
		lwp_pass(e, LWP_KIND_DME, n, &r);
}

/* The branch r retires, for which late branches have waited. */
static void settle_branch(struct lwp_engine *e, const struct lwp_retired *r)
{
	u64 passed = e->late.branches + 1;

	e->late.branches = 0;
	if (passed < lwp_budget(e, LWP_KIND_BRE))
		lwp_count(e, LWP_KIND_BRE, passed);
	else if (e->st.pending.event_id)
		pass_unnamed(e, LWP_KIND_BRE, passed);
	else if (overshoots(e, LWP_KIND_BRE) && lwp_budget(e, LWP_KIND_IRE) == 1)
		e->late.branches = bounded(passed);
	else
		gather_late(e, LWP_KIND_BRE, passed, r);
}

/* Is a record of this kind due with the instruction r, and in time? */
static bool due_in_time(const struct lwp_engine *e, enum lwp_kind kind, const struct lwp_retired *r)
{
	if (!overshoots(e, kind) || (e->late.owed | e->late.behind) & LWP_BIT(kind))
		return false;
	return lwp_budget(e, kind) == 1 &&
	       (kind == LWP_KIND_IRE || lwp_branch_counted(e, r->branch));
}

/* The record of a kind that is owed or behind has been gathered with r. */
static void settle_record(struct lwp_engine *e, enum lwp_kind kind, const struct lwp_retired *r,
			  bool other_in_time)
{
	enum lwp_kind other = kind == LWP_KIND_IRE ? LWP_KIND_BRE : LWP_KIND_IRE;
	s32 counter = e->st.counter[e->rev->event_id[kind] - 1];

	if (e->late.behind & LWP_BIT(kind) && !(e->late.owed & LWP_BIT(kind)))
		count_overshoot(e, kind, r->address, (u64)(lwp_due_limit(e) - counter));
	e->late.owed &= ~LWP_BIT(kind);
	e->late.behind |= LWP_BIT(kind);
	if (other_in_time)
		owe(e, other, 0);
}

const struct lwp_retired *lwp_late_before(struct lwp_engine *e, const struct lwp_retired *r,
					  struct lwp_late_look *look)
{
	u32 i;

	look->r = *r;
	if (e->late.branches && lwp_branch_counted(e, r->branch) && lwp_ip_passes(e, r->address)) {
		settle_branch(e, r);
		look->r.branch = LWP_BRANCH_NONE;
	}
	look->free = !e->st.pending.event_id;
	for (i = 0; i < 2; i++) {
		u32 id = e->rev->event_id[kinds[i]];

		look->in_time[i] = due_in_time(e, kinds[i], &look->r);
		look->caught_up[i] = e->st.counter[id - 1] > lwp_due_limit(e);
	}
	return &look->r;
}

/* 43724-824 */
void lwp_late_after(struct lwp_engine *e, const struct lwp_late_look *look)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		u32 id = e->rev->event_id[kinds[i]];

		if (!((e->late.owed | e->late.behind) & LWP_BIT(kinds[i])))
			continue;
		if (look->caught_up[i]) {
			e->late.owed &= ~LWP_BIT(kinds[i]);
			e->late.behind &= ~LWP_BIT(kinds[i]);
		} else if (look->free && e->st.pending.event_id == id) {
			settle_record(e, kinds[i], &look->r, look->in_time[1 - i]);
			break;
		}
	}
}
