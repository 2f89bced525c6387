// SPDX-License-Identifier: GPL-2.0-or-later
/* The four instructions. Source: 43724-606 to 43724-637; 2007-601 to 2007-610. */
#include "lwp_internal.h"

/* 43724-606, 2007-608 */
static bool undefined(const struct lwp_engine *e, struct lwp_exc *exc)
{
	memset(exc, 0, sizeof(*exc));
	if (!lwp_engine_avail(e))
		exc->kind = LWP_EXC_UD;
	return exc->kind == LWP_EXC_UD;
}

/* ---- LLWPCB, SLWPCB ---- */

/* 43724-622 */
static u64 block_effective(const struct lwp_engine *e, const struct lwp_ds *ds)
{
	if (!lwp_engine_on(e))
		return 0;
	return ds->long_mode ? e->st.cb_addr : (u32)(e->st.cb_addr - ds->base);
}

/*
 * Store the pending record, then counters and head. A block that has not been read yet has nothing
 * to flush (43724-610, 43724-621, 43724-638, 2007-604).
 */
static bool flush(struct lwp_engine *e, struct lwp_exc *exc)
{
	if (!lwp_engine_on(e) || lwp_state_deferred(&e->st))
		return true;
	if (!lwp_settle(e, 0, exc))
		return false;
	if (!lwp_engine_on(e))
		return true;
	if (lwp_access_done(e, lwp_block_flush(e, &exc->fault), exc))
		return true;
	return exc->kind == LWP_EXC_NONE;
}

/*
 * Linear address of the block; false = #GP(0): outside the segment, not canonical, or not aligned.
 * One that would wrap round the end of a 32-bit address space is refused like one outside the
 * limit (43724-416, 43724-612, 2007-411, 2007-610,
 * 2007-611).
 */
static bool block_linear(const struct lwp_engine *e, u64 ea, const struct lwp_ds *ds, u64 *linear)
{
	u32 size = e->caps.cb_size;

	*linear = ds->long_mode ? ea : (u32)(ds->base + ea);
	if (*linear % e->rev->cb_alignment)
		return false;
	if (ds->long_mode)
		return lwp_canonical_range(ea, size, ds->va_bits);
	return ea <= (u32)~0u && ea >= ds->first && ea + size - 1 <= ds->limit &&
	       *linear + size - 1 <= (u32)~0u;
}

/*
 * A new block (43724-612 to 43724-618). Linear address 0 means off, so no block can lie there
 * (2007-605).
 */
static void load(struct lwp_engine *e, u64 ea, const struct lwp_ds *ds, u8 cpl, struct lwp_exc *exc)
{
	enum lwp_block_verdict verdict = LWP_BLOCK_OFF;
	u64 linear;

	if (!block_linear(e, ea, ds, &linear) || !linear) {
		lwp_engine_off(e);
		exc->kind = LWP_EXC_GP;
		return;
	}
	if (e->rev->llwpcb_deferred && cpl != 3) {
		lwp_engine_defer(e, linear);
		return;
	}
	if (!lwp_access_done(e, lwp_block_take(e, linear, ds, &verdict, &exc->fault), exc))
		return;
	if (verdict == LWP_BLOCK_ON)
		return;
	lwp_engine_off(e);
	if (verdict == LWP_BLOCK_INVALID)
		exc->kind = LWP_EXC_GP;
}

void lwp_llwpcb(struct lwp_engine *e, u64 ea, const struct lwp_ds *ds, u8 cpl, u64 *old,
		struct lwp_exc *exc)
{
	u64 previous = 0;

	*old = 0;
	if (undefined(e, exc))
		return;
	if (e->rev->llwpcb_returns_old)
		previous = block_effective(e, ds);
	if (!flush(e, exc))
		return;
	/*
	 * LLWPCB of 2007 returns the old pointer: the old block stays until no #PF can come any
	 * more, see lwp_llwpcb().
	 */
	if (!ea || !e->rev->llwpcb_returns_old)
		lwp_engine_off(e);
	if (ea)
		load(e, ea, ds, cpl, exc);
	if (exc->kind == LWP_EXC_NONE)
		*old = previous;
}

void lwp_slwpcb(struct lwp_engine *e, const struct lwp_ds *ds, u64 *result, struct lwp_exc *exc)
{
	*result = 0;
	if (!undefined(e, exc) && flush(e, exc))
		*result = block_effective(e, ds);
}

/* ---- LWPINS, LWPVAL ---- */

/* 2007 has neither instruction (2007-601). */
static bool sample_undefined(const struct lwp_engine *e, struct lwp_exc *exc)
{
	if (!undefined(e, exc) && !e->rev->event_id[LWP_KIND_VAL])
		exc->kind = LWP_EXC_UD;
	return exc->kind == LWP_EXC_UD;
}

/* 43724-505 */
static void sample_record(const struct lwp_engine *e, u8 event_id, const struct lwp_sample *s,
			  struct lwp_record *rec)
{
	lwp_record_begin(e, event_id, s->address, rec);
	rec->flags = s->flags;
	rec->data1 = s->data1;
	rec->data2 = s->data2;
}

bool lwp_sample_settle(struct lwp_engine *e, u64 address, struct lwp_exc *exc)
{
	memset(exc, 0, sizeof(*exc));
	return lwp_settle(e, address, exc) && lwp_engine_on(e);
}

bool lwp_ins_reads(const struct lwp_engine *e)
{
	return lwp_engine_on(e) && lwp_engine_avail(e) && e->rev->event_id[LWP_KIND_VAL];
}

void lwp_ins(struct lwp_engine *e, const struct lwp_sample *s, bool *cf, struct lwp_exc *exc)
{
	struct lwp_record rec;
	bool full = false;

	*cf = false;
	if (sample_undefined(e, exc) || !lwp_engine_on(e))
		return;
	if (!lwp_settle(e, s->address, exc) || !lwp_engine_on(e))
		return;
	sample_record(e, LWP_EVENT_ID_INS, s, &rec);
	if (lwp_access_done(e, lwp_store_sample(e, &rec, false, 0, &full, &exc->fault), exc))
		*cf = full;
}

/* EventId of LWPVAL if an LWPVAL at `address` counts, else 0 (43724-630, 43724-726). */
static u32 val_counted(const struct lwp_engine *e, u64 address)
{
	u32 id = e->rev->event_id[LWP_KIND_VAL];

	return id && lwp_active(e) & LWP_BIT(id) && lwp_ip_passes(e, address) ? id : 0;
}

/* 43724-631 */
bool lwp_val_reads(const struct lwp_engine *e, u64 address)
{
	u32 id = val_counted(e, address);

	return id && e->st.counter[id - 1] <= 0;
}

void lwp_val(struct lwp_engine *e, const struct lwp_sample *s, struct lwp_exc *exc)
{
	struct lwp_record rec;
	s32 counter;
	bool full;
	u32 id;

	if (sample_undefined(e, exc))
		return;
	id = val_counted(e, s->address);
	if (!id)
		return;
	if (e->st.counter[id - 1] > 0) {
		e->st.counter[id - 1]--;
		e->stats.counted[LWP_KIND_VAL]++;
		return;
	}
	if (!lwp_settle(e, s->address, exc) || !lwp_engine_on(e))
		return;
	counter = e->st.counter[id - 1];
	if (counter > LWP_COUNTER_MIN)
		counter--;
	sample_record(e, (u8)id, s, &rec);
	if (lwp_access_done(e, lwp_store_sample(e, &rec, true, counter, &full, &exc->fault), exc))
		e->stats.counted[LWP_KIND_VAL]++;
}
