// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The invariant of the engine is kept by each function of its interface: lwp_engine.h but for the
 * instructions and the boundary, which prove_instructions.c has, and lwp_context.h.
 */
#include "any_engine.h"

PROPERTY(init)
{
	struct lwp_caps caps = any_caps();
	ANY(u8, auto_context);

	lwp_engine_init(&e, &caps, auto_context & 1, LWP_DELIVERY_EXACT, &any_ops, NULL);
	check("43724-214", engine_ok() && !lwp_engine_on(&e));
}

/* Of what was before nothing is left. */
PROPERTY(load_of_a_state)
{
	ANY(struct lwp_state, st);

	any_engine();
	assume(state_ok(&e.caps, &st) && lwp_cfg_valid(&e.caps, st.cfg));
	lwp_engine_load(&e, &st);
	check("43724-420", engine_ok());
	check("43724-310", e.ip_valid == !(e.st.cb_addr && e.caps.rev == LWP_REV_43724 &&
					   e.st.filters & LWP_FILTER_IPF));
	check("43724-310",
	      e.ip_valid || lwp_boundary_wanted(&e, 0, false) || !lwp_engine_avail(&e));
	check("43724-824", !lwp_owes(&e) && !e.last_stored && !e.last_hash && !e.load_faulted);
	cover(e.st.pending.event_id);
}

PROPERTY(reset)
{
	ANY(u32, apic_id);
	ANY(u8, preset);

	any_engine();
	lwp_engine_reset(&e, preset & 1, apic_id);
	check("43724-214", engine_ok() && !lwp_engine_on(&e));
	check("43724-207", preset & 1 ? lwp_cfg_core_id(e.st.cfg) == (u8)apic_id : !e.st.cfg);
}

PROPERTY(write_of_cfg)
{
	ANY(u64, value);
	u64 cfg;

	any_engine();
	cfg = e.st.cfg;
	if (!lwp_engine_write_cfg(&e, value))
		check("43724-202", e.st.cfg == cfg);
	check("43724-209", engine_ok());
	cover(e.st.cfg != cfg);
}

PROPERTY(write_of_cbaddr)
{
	ANY(u64, value);
	ANY(u8, kind);
	u64 counted;

	any_engine();
	assume(kind < LWP_KINDS);
	counted = e.stats.counted[kind];
	check("43724-211", lwp_engine_write_cbaddr(&e, value) == !value);
	check("43724-212", value || !lwp_engine_on(&e));
	check("43724-212", engine_ok() && e.stats.counted[kind] == counted);
}

PROPERTY(a_failed_access_is_told)
{
	struct lwp_exc exc = { LWP_EXC_NONE };
	enum lwp_mem_result result = any_result(&exc.fault);
	u64 faults, turned_off;

	any_engine();
	faults = e.stats.faults;
	turned_off = e.stats.turned_off;
	check("43724-814", lwp_access_done(&e, result, &exc) == (result == LWP_MEM_OK));
	check("43724-815", (exc.kind == LWP_EXC_PF) == (result == LWP_MEM_FAULT));
	check("43724-814", (exc.kind == LWP_EXC_AGAIN) == (result == LWP_MEM_AGAIN));
	check("43724-815", e.stats.faults == faults + (result == LWP_MEM_FAULT));
	check("43724-818", e.stats.turned_off == turned_off + (result == LWP_MEM_NOT_RAM));
	check("43724-818", result != LWP_MEM_NOT_RAM || !lwp_engine_on(&e));
	check("43724-818", engine_ok());
}

PROPERTY(defer)
{
	ANY(u64, linear);

	any_engine();
	assume(linear && range_ok(linear, e.caps.cb_size));
	lwp_engine_defer(&e, linear);
	check("2007-207", engine_ok() && lwp_state_deferred(&e.st));
}

PROPERTY(count)
{
	ANY(u8, kind);
	ANY(u64, n);

	any_engine();
	assume(kind < LWP_KINDS);
	check("43724-704", lwp_budget(&e, kind) >= 1);
	lwp_count(&e, kind, n);
	check("43724-703", engine_ok());
	cover(n > 1000 && e.stats.counted[kind]);
}

PROPERTY(retire)
{
	struct lwp_retired r = any_retired();
	bool pending, wanted;

	any_engine();
	pending = e.st.pending.event_id;
	wanted = lwp_retire(&e, &r);
	check("43724-711", engine_ok());
	check("43724-813", wanted || pending || !e.st.pending.event_id);
	check("43724-816", !wanted || !(e.st.flags & LWP_STATE_FAULTED) || !e.ip_valid);
	cover(!pending && e.st.pending.event_id == LWP_KIND_BRE);
}

PROPERTY(missed)
{
	struct lwp_retired r = any_retired();
	ANY(struct lwp_miss, miss);

	any_engine();
	assume(r.misses < 0xffffffff);
	lwp_retired_missed(&e, &r, &miss);
	check("43724-719", engine_ok());
}

PROPERTY(pass)
{
	ANY(u8, kind);
	ANY(u64, n);
	ANY(u8, named);
	struct lwp_retired r = any_retired();

	any_engine();
	assume(kind < LWP_KINDS && kind != LWP_KIND_NONE);
	lwp_pass(&e, kind, n, named & 1 ? &r : NULL);
	check("43724-823", engine_ok());
	cover(e.st.flags & LWP_STATE_LATE && e.st.pending.address == r.address);
}

PROPERTY(pass_miss)
{
	ANY(u64, n);
	ANY(u64, address);
	ANY(struct lwp_miss, miss);

	any_engine();
	lwp_pass_miss(&e, n, address, &miss);
	check("43724-719", engine_ok());
}
