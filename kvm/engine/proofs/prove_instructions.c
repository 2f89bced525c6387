// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The four instructions, and the boundary between two, keep the invariant. What they call of the
 * two files that access memory is replaced by what prove_store.c and prove_block.c show of it.
 * Stands in for: lwp_store.c lwp_block.c Soak: boundary llwpcb lwpins settle slwpcb lwpval
 */
#include "any_engine.h"

/* Calls of the two files, and what the last store of a sample was given and gave. */
static u32 accesses, takes;
static u32 flushes; /* results of the accesses before a block is taken, as bits */
static enum lwp_block_verdict taken;
static struct lwp_record sample_stored;
static enum lwp_mem_result sample_result;
static bool sample_full, sample_stamped;
static s32 sample_counter;

static void begin(void)
{
	any_engine();
	accesses = takes = 0;
	flushes = 0;
	taken = LWP_BLOCK_ON;
}

/* What a store leaves as it was, beside what the invariant says. */
static void any_engine_after_a_store(void)
{
	u64 counted = e.stats.counted[LWP_KIND_VAL], load_rip = e.load_rip;
	u64 retry_rip = e.st.retry_rip, faulted = e.st.flags & LWP_STATE_FAULTED;
	bool load_faulted = e.load_faulted;

	any_engine_later();
	assume(e.stats.counted[LWP_KIND_VAL] == counted && e.load_rip == load_rip &&
	       e.load_faulted == load_faulted);
	assume(!e.st.pending.event_id ||
	       (e.st.retry_rip == retry_rip && (e.st.flags & LWP_STATE_FAULTED) == faulted));
}

enum lwp_mem_result lwp_store_pending(struct lwp_engine *x, struct lwp_fault *fault)
{
	enum lwp_mem_result result = any_result(fault);
	s32 counter = e.st.counter[0];

	accesses++;
	flushes |= LWP_BIT(result);
	check("43724-813", x == &e && e.st.pending.event_id && e.st.size && engine_ok());
	any_engine_after_a_store();
	assume(e.caps.rev == LWP_REV_2007 || e.st.counter[0] == counter);
	assume((result == LWP_MEM_OK) == !e.st.pending.event_id && e.st.size);
	return result;
}

enum lwp_mem_result lwp_store_sample(struct lwp_engine *x, const struct lwp_record *rec,
				     bool with_reload, s32 counter, bool *full,
				     struct lwp_fault *fault)
{
	enum lwp_mem_result result = any_result(fault);
	s32 old = e.st.counter[0];
	ANY(u8, any_full);

	accesses++;
	sample_stored = *rec;
	sample_stamped = lwp_flag_active(&e, LWP_F_PTSC);
	sample_result = result;
	sample_counter = counter;
	check("43724-636", x == &e && e.st.size && engine_ok() && rec->event_id);
	check("43724-635", !with_reload || (counter < 0 && counter >= LWP_COUNTER_MIN &&
					    rec->event_id <= e.rev->max_event_id));
	any_engine_after_a_store();
	assume(result != LWP_MEM_FAULT || e.st.counter[0] == old);
	*full = sample_full = any_full & 1;
	return result;
}

/* Does a segment of 32-bit code have the block, which does not wrap round? */
static bool inside(const struct lwp_ds *ds, u64 linear)
{
	u64 offset = (u32)(linear - ds->base);

	return offset >= ds->first && offset + e.caps.cb_size - 1 <= ds->limit &&
	       linear + e.caps.cb_size <= (u64)1 << 32;
}

enum lwp_mem_result lwp_block_take(struct lwp_engine *x, u64 linear, const struct lwp_ds *ds,
				   enum lwp_block_verdict *verdict, struct lwp_fault *fault)
{
	enum lwp_mem_result result = any_result(fault);
	ANY(u8, any_verdict);

	accesses++;
	takes++;
	check("43724-610",
	      !ds || (!(flushes & LWP_BIT(LWP_MEM_FAULT)) && (is_2007() || !lwp_engine_on(&e))));
	check("43724-612", x == &e && engine_ok() && linear && lwp_engine_avail(&e) &&
				   range_ok(linear, e.caps.cb_size));
	check("2007-611", !ds || e.caps.rev != LWP_REV_2007 || linear % 16 == 0);
	check("43724-612", !ds || ds->long_mode || inside(ds, linear));
	if (result != LWP_MEM_OK)
		return result;
	assume(any_verdict <= LWP_BLOCK_INVALID);
	*verdict = taken = any_verdict;
	if (*verdict == LWP_BLOCK_ON) {
		any_engine_later();
		assume(e.st.size && e.st.cb_addr == linear && !e.st.pending.event_id);
	}
	return result;
}

enum lwp_mem_result lwp_block_flush(struct lwp_engine *x, struct lwp_fault *fault)
{
	enum lwp_mem_result result = any_result(fault);

	accesses++;
	flushes |= LWP_BIT(result);
	check("43724-621", x == &e && engine_ok() && e.st.size);
	check("43724-610", !e.st.pending.event_id);
	return result;
}

enum lwp_mem_result lwp_block_read_ip(struct lwp_engine *x, struct lwp_fault *fault)
{
	enum lwp_mem_result result = any_result(fault);
	ANY(u64, base);
	ANY(u64, limit);

	accesses++;
	flushes |= LWP_BIT(result);
	check("43724-310", x == &e && engine_ok() && e.st.cb_addr);
	if (result != LWP_MEM_OK)
		return result;
	e.base_ip = base;
	e.limit_ip = limit;
	e.ip_valid = true;
	return result;
}

/* Is what is to be read of the block, or the pending record, due now? (43724-310, 43724-816) */
static bool due(u64 rip, bool entered)
{
	const struct lwp_state *st = &e.st;

	if (!lwp_engine_on(&e) || !lwp_engine_avail(&e))
		return false;
	if ((lwp_state_deferred(st) || !e.ip_valid) &&
	    (!e.load_faulted || (entered && rip == e.load_rip)))
		return true;
	return st->pending.event_id && (!(st->flags & LWP_STATE_FAULTED) ||
					(entered && (rip == st->retry_rip || !st->retry_rip)));
}

PROPERTY(boundary)
{
	struct lwp_exc exc;
	ANY(u64, rip);
	ANY(u8, entered);
	bool wanted;

	begin();
	wanted = due(rip, entered & 1);
	assume(half(rip));
	lwp_boundary(&e, rip, entered & 1, &exc);
	check("43724-816", wanted == !!accesses);
	check("43724-815", exc.kind != LWP_EXC_UD && exc.kind != LWP_EXC_GP);
	check("43724-818", exc.kind == LWP_EXC_NONE || lwp_engine_on(&e));
	check("43724-816", exc.kind != LWP_EXC_PF || !e.st.pending.event_id || !rip ||
				   (e.st.flags & LWP_STATE_FAULTED && e.st.retry_rip == rip));
	check("43724-420", engine_ok());
	cover(exc.kind == LWP_EXC_PF);
}

/* May LLWPCB take the block at this address, for all that address and segment say? */
static bool fits(const struct lwp_ds *ds, u64 ea)
{
	u64 linear = (u32)(ds->base + ea);

	return !ds->long_mode && linear && ea <= 0xffffffff && linear % e.rev->cb_alignment == 0 &&
	       inside(ds, linear);
}

PROPERTY(llwpcb)
{
	struct lwp_ds ds = any_ds();
	struct lwp_exc exc;
	ANY(u64, ea);
	ANY(u8, cpl);
	u64 old, previous = 0, load_rip, retry_rip;
	bool on, deferred, waits;
	u32 avail;

	begin();
	avail = lwp_engine_avail(&e);
	on = lwp_engine_on(&e);
	deferred = lwp_state_deferred(&e.st);
	waits = e.st.flags & LWP_STATE_FAULTED && e.load_faulted;
	load_rip = e.load_rip;
	retry_rip = e.st.retry_rip;
	if (e.caps.rev == LWP_REV_2007 && e.st.cb_addr)
		previous = ds.long_mode ? e.st.cb_addr : (u32)(e.st.cb_addr - ds.base);
	assume(cpl <= 3);
	lwp_llwpcb(&e, ea, &ds, cpl, &old, &exc);
	check("43724-606", (exc.kind == LWP_EXC_UD) == !avail);
	check("2007-604", old == (exc.kind == LWP_EXC_NONE ? previous : 0));
	check("43724-611", ea || exc.kind != LWP_EXC_NONE || !lwp_engine_on(&e));
	check("43724-614", exc.kind != LWP_EXC_GP || !lwp_engine_on(&e));
	check("43724-610", !avail || !on || deferred || flushes);
	check("43724-638",
	      !(flushes & LWP_BIT(LWP_MEM_FAULT)) || (exc.kind == LWP_EXC_PF && lwp_engine_on(&e)));
	check("2007-604", !is_2007() || exc.kind != LWP_EXC_PF ||
				  flushes & LWP_BIT(LWP_MEM_NOT_RAM) || lwp_engine_on(&e) == on);
	if (flushes & LWP_BIT(LWP_MEM_FAULT) && waits)
		check("43724-816", e.load_rip == load_rip &&
					   (!e.st.pending.event_id || e.st.retry_rip == retry_rip));
	check("43724-621", !deferred || ea || !accesses);
	check("43724-612", exc.kind != LWP_EXC_GP || takes || !fits(&ds, ea));
	check("43724-617", taken != LWP_BLOCK_INVALID || exc.kind == LWP_EXC_GP);
	check("2007-605", !is_2007() || cpl == 3 || !takes);
	check("43724-420", engine_ok());
	cover(ea && exc.kind == LWP_EXC_NONE && e.st.size);
	cover(exc.kind == LWP_EXC_GP);
}

PROPERTY(slwpcb)
{
	struct lwp_ds ds = any_ds();
	struct lwp_exc exc;
	bool has_nothing;
	u64 result;

	begin();
	has_nothing = !lwp_engine_avail(&e) || !lwp_engine_on(&e) || lwp_state_deferred(&e.st);
	lwp_slwpcb(&e, &ds, &result, &exc);
	check("43724-621", has_nothing || flushes);
	check("43724-623", exc.kind != LWP_EXC_GP);
	check("43724-620", exc.kind != LWP_EXC_NONE || lwp_engine_on(&e) || !result);
	check("43724-420", engine_ok());
	cover(result);
}

PROPERTY(settle)
{
	struct lwp_exc exc;
	ANY(u64, address);
	bool settled;

	begin();
	assume(lwp_ins_reads(&e) || lwp_val_reads(&e, address));
	settled = lwp_sample_settle(&e, address, &exc);
	check("43724-636", !settled || (!e.st.pending.event_id && e.st.size));
	check("43724-420", engine_ok());
	cover(settled);
	cover(exc.kind == LWP_EXC_PF);
}

static bool same_sample(const struct lwp_sample *s)
{
	return sample_stored.core_id == lwp_cfg_core_id(e.st.cfg) &&
	       (!sample_stored.timestamp || sample_stamped) &&
	       sample_stored.address == s->address && sample_stored.flags == s->flags &&
	       sample_stored.data1 == s->data1 && sample_stored.data2 == s->data2;
}

PROPERTY(lwpins)
{
	ANY(struct lwp_sample, sample);
	struct lwp_exc exc;
	bool cf;

	begin();
	lwp_ins(&e, &sample, &cf, &exc);
	check("43724-625", exc.kind == LWP_EXC_NONE || !cf);
	check("43724-629", exc.kind != LWP_EXC_GP);
	check("43724-625", !cf || (sample_result == LWP_MEM_OK && sample_full));
	check("43724-505", !cf || same_sample(&sample));
	check("43724-420", engine_ok());
	cover(cf);
}

PROPERTY(lwpval)
{
	ANY(struct lwp_sample, sample);
	struct lwp_exc exc;
	u64 counted;
	s32 counter;
	bool counts, reads, undefined;

	begin();
	undefined = is_2007() || !lwp_engine_avail(&e);
	sample_result = LWP_MEM_NOT_RAM;
	reads = lwp_val_reads(&e, sample.address);
	counter = e.st.counter[0];
	counted = e.stats.counted[LWP_KIND_VAL];
	counts = lwp_event_active(&e, LWP_KIND_VAL) && lwp_ip_passes(&e, sample.address);
	lwp_val(&e, &sample, &exc);
	check("2007-601", (exc.kind == LWP_EXC_UD) == undefined);
	check("43724-630", (counts && counter <= 0) || !accesses);
	check("43724-631", reads == (counts && counter <= 0));
	check("43724-631", !reads || e.stats.counted[LWP_KIND_VAL] ==
					     counted + (accesses && sample_result == LWP_MEM_OK));
	check("43724-630", (counts && counter > 0) || accesses || e.st.counter[0] == counter);
	check("43724-631", !counts || counter <= 0 ||
				   (e.st.counter[0] == counter - 1 &&
				    e.stats.counted[LWP_KIND_VAL] == counted + 1));
	check("43724-635", exc.kind != LWP_EXC_PF || e.st.counter[0] == counter);
	check("43724-420", engine_ok());
	cover(exc.kind == LWP_EXC_PF);
}
