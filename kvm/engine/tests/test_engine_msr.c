// SPDX-License-Identifier: GPL-2.0-or-later
/* Reset, LWP_CFG, LWP_CBADDR and what is available (43724-108, 43724-201 to 43724-214). */
#include "fake_guest.h"

Test(engine_msr, reset_in_auto_presets_all_but_int_and_the_core_id) /* 43724-207 */
{
	start(LWP_REV_43724);
	lwp_engine_reset(&eng, true, 0x1305);
	/* CONT, PTSC, RNH..VAL; COREID = low byte of the APIC id; no INT, no vector */
	cr_expect(eq(u64, eng.st.cfg, 0x000000056000007eull));
	cr_expect(eq(u32, lwp_engine_avail(&eng), 0x6000007f));
}

Test(engine_msr, reset_without_the_preset_leaves_lwp_to_wrmsr) /* 43724-207 */
{
	start(LWP_REV_43724);
	lwp_engine_reset(&eng, false, 5);
	cr_expect(eq(u64, eng.st.cfg, 0));
	cr_expect(eq(u32, lwp_engine_avail(&eng), 0));
	cr_expect(lwp_engine_write_cfg(&eng, 0x0000000500000004));
	cr_expect(eq(u32, lwp_engine_avail(&eng), 5));
}

Test(engine_msr, reset_in_os_leaves_nothing_available) /* 43724-108 */
{
	start(LWP_REV_43724);
	start_engine(false, LWP_DELIVERY_EXACT);
	cr_expect(eq(u64, eng.st.cfg, 0));
	cr_expect(eq(u32, lwp_engine_avail(&eng), 0));
	eng.xcr0_lwp = true;
	cr_expect(eq(u32, lwp_engine_avail(&eng), 1));
	cr_expect(lwp_engine_write_cfg(&eng, 0x80000004));
	cr_expect(eq(u32, lwp_engine_avail(&eng), 0x80000005));
}

Test(engine_msr, a_cleared_cfg_bit_stops_its_event_at_once) /* 43724-208 */
{
	start_profile(LWP_REV_43724, 2, 9, 9);
	expect_counter(steps(0x400000, 3), 2, 6);
	cr_expect(lwp_engine_write_cfg(&eng, F_BRE));
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_IRE), LWP_BUDGET_NEVER));
	expect_counter(steps(0x400000, 20), 2, 6);
	cr_expect(lwp_engine_write_cfg(&eng, F_BRE | F_IRE));
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_IRE), 7));
	steps(0x400000, 7);
	expect_head(32);
}

Test(engine_msr, lwp_is_suspended_while_nothing_is_available) /* 43724-208 */
{
	start_profile(LWP_REV_43724, 2, 9, 0);
	cr_expect(retire_at(0x400000));
	cr_expect(lwp_engine_write_cfg(&eng, 0));
	cr_expect(not(lwp_boundary_wanted(&eng, 0x400004, true)));
	lwp_boundary(&eng, 0x400004, true, &exc);
	cr_expect(eq(int, exc.kind, LWP_EXC_NONE));
	cr_expect(eq(int, guest.maps, 0));
	expect_exc(llwpcb(0), UD);
	expect_exc(slwpcb(), UD);
	expect_exc(lwpins(0x400004, 1, 2, 3), UD);
	expect_exc(lwpval(0x400004, 1, 2, 3), UD);
	cr_expect(not(lwp_ins_reads(&eng)));
	cr_expect(lwp_engine_on(&eng));
	/* LWP continues where it stopped. */
	cr_expect(lwp_engine_write_cfg(&eng, F_IRE));
	expect_exc(boundary(0x400004, false), NONE);
	cr_expect(eq(u64, record(0).address, 0x400000));
	expect_head(32);
}

Test(engine_msr, cbaddr_zero_discards_without_a_flush) /* 43724-211, 43724-212 */
{
	start_profile(LWP_REV_43724, 2, 9, 0);
	cr_expect(retire_at(0x400000));
	cr_expect(not(lwp_engine_write_cbaddr(&eng, BLOCK)));
	cr_expect(lwp_engine_on(&eng));
	cr_expect(lwp_engine_write_cbaddr(&eng, 0));
	cr_expect(not(lwp_engine_on(&eng)));
	cr_expect(eq(int, guest.maps, 0));
	expect_exc(boundary(0x400004, true), NONE);
	expect_head(0);
	/* LWP_CFG stays. */
	cr_expect(eq(u64, eng.st.cfg, 0x6000007e));
}

Test(engine_msr, the_enable_bit_of_2007) /* 2007-203, 2007-608 */
{
	start(LWP_REV_2007);
	/* auto: Enabled, IRE, BRE, DME */
	cr_expect(eq(u64, eng.st.cfg, 0x0f));
	cr_expect(lwp_engine_write_cfg(&eng, 0x0e));
	cr_expect(eq(u32, lwp_engine_avail(&eng), 0));
	cr_expect(lwp_engine_write_cfg(&eng, 0x03));
	cr_expect(eq(u32, lwp_engine_avail(&eng), 3));
}
