// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * After an instruction has retired, and between two: deferred load, BaseIP and LimitIP, the pending
 * record, and when each is tried again after a #PF. Source: docs/design.md#delivery.
 */
#include "lwp_internal.h"

/* Must the block be read before anything can count? */
static bool load_outstanding(const struct lwp_engine *e)
{
	return lwp_state_deferred(&e->st) || !e->ip_valid;
}

bool lwp_boundary_wanted(const struct lwp_engine *e, u64 rip, bool entered)
{
	const struct lwp_state *st = &e->st;

	if (!lwp_engine_on(e) || !lwp_engine_avail(e))
		return false;
	if (load_outstanding(e) && (!e->load_faulted || (entered && rip == e->load_rip)))
		return true;
	if (!st->pending.event_id)
		return false;
	if (!(st->flags & LWP_STATE_FAULTED))
		return true;
	/* A state from XRSTOR does not say where its store faulted: retry at any entry. */
	return entered && (rip == st->retry_rip || !st->retry_rip);
}

bool lwp_retire(struct lwp_engine *e, const struct lwp_retired *r)
{
	bool owes = lwp_owes(e);
	struct lwp_late_look look;

	if (owes)
		r = lwp_late_before(e, r, &look);
	lwp_count_retired(e, r);
	if (owes)
		lwp_late_after(e, &look);
	/* Nearly always there is nothing to store and nothing to read. */
	if (!e->st.pending.event_id && lwp_block_known(e))
		return false;
	return lwp_store_wanted(e) || lwp_boundary_wanted(e, 0, false);
}

/* A deferred block that is not valid turns LWP off (43724-311, 2007-605). */
static enum lwp_mem_result load_block(struct lwp_engine *e, struct lwp_fault *fault)
{
	enum lwp_block_verdict verdict = LWP_BLOCK_INVALID;
	enum lwp_mem_result result;

	if (!lwp_state_deferred(&e->st))
		return lwp_block_read_ip(e, fault);
	result = lwp_block_take(e, e->st.cb_addr, NULL, &verdict, fault);
	if (result != LWP_MEM_OK || verdict == LWP_BLOCK_ON)
		return result;
	e->stats.turned_off++;
	lwp_engine_off(e);
	return LWP_MEM_OK;
}

/* The pending record's store faulted at `rip`. It waits, so that a handler of the fault can run. */
static void wait_for_retry(struct lwp_engine *e, u64 rip)
{
	if (!e->st.pending.event_id)
		return;
	/* rip = 0 is not known: keep the one of an earlier fault. */
	if (rip || !(e->st.flags & LWP_STATE_FAULTED))
		e->st.retry_rip = lwp_canonical(rip, LWP_LINEAR_BITS) ? rip : 0;
	e->st.flags |= LWP_STATE_FAULTED;
}

/* 43724-310, 2007-302, 2007-303 */
static bool settle_load(struct lwp_engine *e, u64 rip, struct lwp_exc *exc)
{
	if (!load_outstanding(e))
		return true;
	lwp_access_done(e, load_block(e, &exc->fault), exc);
	if (exc->kind == LWP_EXC_NONE) {
		e->load_faulted = false;
		return true;
	}
	if (exc->kind == LWP_EXC_AGAIN)
		return false;
	if (rip || !e->load_faulted)
		e->load_rip = rip;
	e->load_faulted = true;
	wait_for_retry(e, rip);
	return false;
}

bool lwp_settle(struct lwp_engine *e, u64 rip, struct lwp_exc *exc)
{
	enum lwp_mem_result result;

	if (!settle_load(e, rip, exc))
		return false;
	if (!e->st.pending.event_id)
		return true;
	result = lwp_store_pending(e, &exc->fault);
	if (result == LWP_MEM_OK)
		return true;
	lwp_access_done(e, result, exc);
	if (exc->kind == LWP_EXC_NONE)
		return true;
	if (exc->kind == LWP_EXC_PF)
		wait_for_retry(e, rip);
	return false;
}

void lwp_boundary(struct lwp_engine *e, u64 rip, bool entered, struct lwp_exc *exc)
{
	memset(exc, 0, sizeof(*exc));
	if (lwp_store_wanted(e) || lwp_boundary_wanted(e, rip, entered))
		lwp_settle(e, rip, exc);
}
