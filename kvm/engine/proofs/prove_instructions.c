// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The four instructions, and the boundary between two, keep the invariant. What they call of the
 * two files that access memory is replaced by what prove_store.c and prove_block.c show of it.
 * Stands in for: lwp_store.c lwp_block.c
 * Soak: boundary llwpcb lwpins settle slwpcb lwpval
 */
#include "any_engine.h"

/* Calls of the two files, and what the last store of a sample was given and gave. */
static u32 accesses;
static struct lwp_record sample_stored;
static enum lwp_mem_result sample_result;
static bool sample_full, sample_stamped;
static s32 sample_counter;

enum lwp_mem_result lwp_store_pending(struct lwp_engine *x, struct lwp_fault *fault)
{
	enum lwp_mem_result result = any_result(fault);
	s32 counter = e.st.counter[0];

	accesses++;
	check("43724-813", x == &e && e.st.pending.event_id && e.st.size && engine_ok());
	any_engine_later();
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
	any_engine_later();
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
	check("43724-612", x == &e && engine_ok() && linear && lwp_engine_avail(&e) &&
				   range_ok(linear, e.caps.cb_size));
	check("2007-411", !ds || e.caps.rev != LWP_REV_2007 || linear % 16 == 0);
	check("43724-612", !ds || ds->long_mode || inside(ds, linear));
	if (result != LWP_MEM_OK)
		return result;
	assume(any_verdict <= LWP_BLOCK_INVALID);
	*verdict = any_verdict;
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
	check("43724-621", x == &e && engine_ok() && e.st.size);
	return result;
}

enum lwp_mem_result lwp_block_read_ip(struct lwp_engine *x, struct lwp_fault *fault)
{
	enum lwp_mem_result result = any_result(fault);
	ANY(u64, base);
	ANY(u64, limit);

	accesses++;
	check("43724-310", x == &e && engine_ok() && e.st.cb_addr);
	if (result != LWP_MEM_OK)
		return result;
	e.base_ip = base;
	e.limit_ip = limit;
	e.ip_valid = true;
	return result;
}

PROPERTY(boundary)
{
	struct lwp_exc exc;
	ANY(u64, rip);
	ANY(u8, entered);
	bool wanted;

	any_engine();
	wanted = lwp_engine_on(&e) && lwp_engine_avail(&e) &&
		 (lwp_state_deferred(&e.st) || !e.ip_valid || e.st.pending.event_id);
	accesses = 0;
	lwp_boundary(&e, rip, entered & 1, &exc);
	check("43724-813", wanted || !accesses);
	check("43724-815", exc.kind == LWP_EXC_NONE || exc.kind == LWP_EXC_PF);
	check("43724-818", exc.kind == LWP_EXC_NONE || lwp_engine_on(&e));
	check("43724-420", engine_ok());
	cover(exc.kind == LWP_EXC_PF);
}

PROPERTY(llwpcb)
{
	struct lwp_ds ds = any_ds();
	struct lwp_exc exc;
	ANY(u64, ea);
	ANY(u8, cpl);
	u64 old, previous = 0;
	u32 avail;

	any_engine();
	avail = lwp_engine_avail(&e);
	if (e.caps.rev == LWP_REV_2007 && e.st.cb_addr)
		previous = ds.long_mode ? e.st.cb_addr : (u32)(e.st.cb_addr - ds.base);
	assume(cpl <= 3);
	lwp_llwpcb(&e, ea, &ds, cpl, &old, &exc);
	check("43724-606", (exc.kind == LWP_EXC_UD) == !avail);
	check("2007-604", old == (exc.kind == LWP_EXC_NONE ? previous : 0));
	check("43724-611", ea || exc.kind != LWP_EXC_NONE || !lwp_engine_on(&e));
	check("43724-614", exc.kind != LWP_EXC_GP || !lwp_engine_on(&e));
	check("43724-420", engine_ok());
	cover(ea && exc.kind == LWP_EXC_NONE && e.st.size);
	cover(exc.kind == LWP_EXC_GP);
}

PROPERTY(slwpcb)
{
	struct lwp_ds ds = any_ds();
	struct lwp_exc exc;
	u64 result;

	any_engine();
	lwp_slwpcb(&e, &ds, &result, &exc);
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

	any_engine();
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

	any_engine();
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
	bool counts;

	any_engine();
	counter = e.st.counter[0];
	counted = e.stats.counted[LWP_KIND_VAL];
	counts = lwp_event_active(&e, LWP_KIND_VAL) && lwp_ip_passes(&e, sample.address);
	accesses = 0;
	lwp_val(&e, &sample, &exc);
	check("43724-630", (counts && counter <= 0) || !accesses);
	check("43724-630", (counts && counter > 0) || accesses || e.st.counter[0] == counter);
	check("43724-631", !counts || counter <= 0 ||
				   (e.st.counter[0] == counter - 1 &&
				    e.stats.counted[LWP_KIND_VAL] == counted + 1));
	check("43724-635", exc.kind != LWP_EXC_PF || e.st.counter[0] == counter);
	check("43724-420", engine_ok());
	cover(exc.kind == LWP_EXC_PF);
}
