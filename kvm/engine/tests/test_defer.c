// SPDX-License-Identifier: GPL-2.0-or-later
/* Blocks and filter addresses that are read at the next CPL-3 moment (2007-605, 43724-310). */
#include "fake_guest.h"

static void deferred(u32 rev)
{
	start(rev);
	set_event(BLOCK, rev == LWP_REV_2007 ? 1 : 2, 9, 5);
	lwp_engine_defer(&eng, BLOCK);
}

Test(defer, the_block_is_loaded_before_anything_counts) /* 43724-311, 2007-605 */
{
	deferred(LWP_REV_2007);
	cr_expect(lwp_engine_on(&eng));
	cr_expect(eq(int, guest.maps, 0));
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_IRE), LWP_BUDGET_NEVER));
	cr_expect(lwp_boundary_wanted(&eng, 0x400000, false));
	cr_expect(retire_at(0x400000));
	expect_exc(boundary(0x400000, true), NONE);
	cr_expect(eq(u32, get32(BLOCK), 3));
	cr_expect(eq(i32, eng.st.counter[0], 5));
	cr_expect(not(lwp_boundary_wanted(&eng, 0x400000, true)));
	steps(0x400000, 5);
	expect_head(32);
}

Test(defer, a_missing_block_is_pf_at_cpl_3) /* 43724-816, 2007-302, 2007-303, 2007-605 */
{
	deferred(LWP_REV_2007);
	set_permission(BLOCK, 0);
	expect_pf(boundary(0x400000, true), BLOCK);
	cr_expect(eq(u32, exc.fault.error_code, 6));
	cr_expect(lwp_engine_on(&eng));
	/* A handler of the fault can run; nothing counts. */
	cr_expect(not(lwp_boundary_wanted(&eng, 0x600000, true)));
	cr_expect(not(lwp_boundary_wanted(&eng, 0x400000, false)));
	steps(0x600000, 3);
	set_permission(BLOCK, P_READ | P_WRITE);
	expect_exc(boundary(0x400000, true), NONE);
	cr_expect(eq(i32, eng.st.counter[0], 5));
}

Test(defer, a_block_that_is_not_valid_switches_off) /* 2007-605 */
{
	deferred(LWP_REV_43724);
	put32(BLOCK + 4, 1000);
	expect_exc(boundary(0x400000, true), NONE);
	expect_turned_off(1);
	deferred(LWP_REV_43724);
	put64(BLOCK + 8, 0x0200000000000000ull);
	expect_exc(boundary(0x400000, true), NONE);
	cr_expect(not(lwp_engine_on(&eng)));
	deferred(LWP_REV_2007);
	put32(BLOCK + 40, 0); /* no events */
	expect_exc(boundary(0x400000, true), NONE);
	cr_expect(not(lwp_engine_on(&eng)));
	deferred(LWP_REV_43724);
	set_permission(BLOCK, P_READ | P_WRITE | P_ROM);
	expect_exc(boundary(0x400000, true), NONE);
	expect_turned_off(1);
}

Test(defer, buffer_base_is_taken_as_linear) /* 43724-423, 2007-408 */
{
	deferred(LWP_REV_43724);
	put64(BLOCK + 8, 0xfffffffff0001000);
	expect_exc(boundary(0x400000, true), NONE);
	cr_expect(eq(u64, eng.st.base, 0xfffffffff0001000));
	deferred(LWP_REV_43724);
	expect_exc(boundary(0x400000, true), NONE);
	steps(0x400000, 6);
	expect_head(32);
}

Test(defer, a_new_pointer_replaces_what_ran_without_a_flush) /* 2007-605 */
{
	deferred(LWP_REV_43724);
	expect_exc(boundary(0x400000, true), NONE);
	step(0x400000);
	lwp_engine_defer(&eng, BLOCK2);
	cr_expect(eq(u32, get32(BLOCK + 140), 5));
	expect_exc(boundary(0x400000, true), NONE);
	cr_expect(eq(u64, eng.st.cb_addr, BLOCK2));
	cr_expect(eq(u32, eng.st.flags, 0));
}

Test(defer, lwpins_loads_the_block_first)
{
	deferred(LWP_REV_43724);
	cr_expect(not(lwp_val_reads(&eng, 0x400000)));
	expect_exc(lwpval(0x400000, 1, 2, 3), NONE);
	cr_expect(eq(int, guest.maps, 0));
	expect_exc(lwpins(0x400000, 1, 2, 3), NONE);
	expect_head(32);
	cr_expect(eq(u32, eng.st.size, RING_SIZE));
}

/* ---- BaseIP and LimitIP of a state that came from outside ---- */

static void ip_filtered_from_outside(void)
{
	u8 image[LWP_IMAGE_SIZE];
	struct lwp_state st;

	start(LWP_REV_43724);
	filter_ip(1u << 31, 0x400100, 0x4001ff);
	profile(2, 9, 5);
	lwp_state_encode(&eng.st, &caps, image);
	start_engine(true, LWP_DELIVERY_EXACT);
	cr_expect(lwp_state_decode(image, &caps, &st) == NULL);
	lwp_engine_load(&eng, &st);
}

Test(defer, base_ip_and_limit_ip_are_read_again_before_anything_counts) /* 43724-304, 43724-310 */
{
	ip_filtered_from_outside();
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_IRE), LWP_BUDGET_NEVER));
	/* The source forgot the boundary: not counted, but loaded by it now. */
	expect_counter(step(0x400100), 2, 5);
	cr_expect(eng.ip_valid);
	step(0x400000);
	expect_counter(step(0x400200), 2, 5);
	expect_counter(step(0x400100), 2, 4);
	cr_expect(eq(int, guest.writes, 0));
}

Test(defer, reading_them_needs_no_write_access) /* 43724-310 */
{
	ip_filtered_from_outside();
	set_permission(BLOCK, P_READ);
	expect_exc(boundary(0x400000, true), NONE);
	cr_expect(eng.ip_valid);
}

Test(defer, a_fault_reading_them_lets_a_handler_run) /* 43724-310 */
{
	ip_filtered_from_outside();
	lwp_record_decode((const u8[32]){ 2 }, &eng.st.pending);
	set_permission(BLOCK, 0);
	expect_pf(boundary(0x400100, true), BLOCK);
	cr_expect(eq(u32, exc.fault.error_code, 4)); /* user, read */
	cr_expect(not(lwp_boundary_wanted(&eng, 0x600000, true)));
	cr_expect(not(lwp_boundary_wanted(&eng, 0x600000, false)));
	set_permission(BLOCK, P_READ | P_WRITE);
	expect_exc(boundary(0x400100, true), NONE);
	expect_head(32); /* the pending record as well */
	cr_expect(eng.ip_valid);
}

Test(defer, slwpcb_does_not_move_the_place_of_the_retry)
{
	ip_filtered_from_outside();
	set_permission(BLOCK, 0);
	expect_exc(boundary(0x400100, true), PF);
	expect_exc(slwpcb(), PF); /* it tries too */
	cr_expect(not(lwp_boundary_wanted(&eng, 0x600000, true)));
	cr_expect(not(lwp_boundary_wanted(&eng, 0, true)));
	cr_expect(lwp_boundary_wanted(&eng, 0x400100, true));
	set_permission(BLOCK, P_READ | P_WRITE);
	expect_exc(slwpcb(), NONE);
	cr_expect(eng.ip_valid);
	cr_expect(not(lwp_boundary_wanted(&eng, 0x400100, true)));
}

Test(defer, a_block_that_is_not_ram_any_more_switches_off)
{
	ip_filtered_from_outside();
	set_permission(BLOCK, P_READ | P_ROM);
	expect_exc(boundary(0x400100, true), NONE);
	expect_turned_off(1);
}
