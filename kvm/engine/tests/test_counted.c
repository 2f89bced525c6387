// SPDX-License-Identifier: GPL-2.0-or-later
/* The statistic of all events that the counters have counted, whatever becomes of the block. */
#include "fake_guest.h"

#define counted(kind) eng.stats.counted[LWP_KIND_##kind]

Test(counted, each_event_once_with_a_record_and_without)
{
	start(LWP_REV_43724);
	set_event(BLOCK, 2, 4, 4);
	profile(3, 9, 9);
	steps(0x400000, 23); /* 4 records */
	branch(0x400100, LWP_BRANCH_RELATIVE, true, 0x400200);
	lwp_count(&eng, LWP_KIND_BRE, 7);
	expect_head(4 * 32);
	cr_expect(eq(u64, counted(IRE), 24)); /* the branch is an instruction */
	cr_expect(eq(u64, counted(BRE), 8));
	cr_expect(zero(u64, counted(DME)));
}

Test(counted, what_is_not_active_is_not_counted)
{
	start_profile(LWP_REV_43724, 3, 9, 9);
	steps(0x400000, 5);
	lwp_count(&eng, LWP_KIND_IRE, 3);
	cr_expect(zero(u64, counted(IRE)));
}

Test(counted, what_a_block_loses_stays_counted)
{
	start_profile(LWP_REV_43724, 2, 99, 99);
	steps(0x400000, 30);
	lwp_engine_write_cbaddr(&eng, 0); /* nothing is flushed */
	lwp_engine_reset(&eng, true, 0);
	enable(BLOCK);
	expect_counter(steps(0x400000, 12), 2, 87);
	cr_expect(eq(u64, counted(IRE), 42));
}

Test(counted, events_of_a_late_record_and_of_a_record_that_waits)
{
	struct lwp_retired next = { .address = 0x401000 };

	start(LWP_REV_43724);
	start_engine(true, LWP_DELIVERY_PROMPT);
	profile(2, 99, 99);
	lwp_pass(&eng, LWP_KIND_IRE, 350, &next); /* skips two periods */
	expect_exc(boundary(0x401000, false), NONE);
	cr_expect(eq(u64, counted(IRE), 350));
	set_permission(RING, 0);
	lwp_pass(&eng, LWP_KIND_IRE, 60, &next);
	lwp_pass(&eng, LWP_KIND_IRE, 200, &next); /* below the limit while the store faults */
	cr_expect(eq(u64, counted(IRE), 610));
}

Test(counted, a_counter_that_2007_freezes_goes_on)
{
	start_profile(LWP_REV_2007, 1, 4, 1);
	set_permission(RING, 0);
	expect_exc(try_step(0x400000), PF);
	retire_at(0x400000);
	retire_at(0x400000);
	cr_expect(zero(i32, eng.st.counter[0]));
	cr_expect(eq(u64, counted(IRE), 3));
}

Test(counted, an_lwpval_that_faults_is_counted_when_it_is_done)
{
	start_profile(LWP_REV_43724, 1, 7, 1);
	expect_exc(lwpval(0x400000, 1, 2, 3), NONE);
	cr_expect(eq(u64, counted(VAL), 1));
	set_permission(RING, 0);
	expect_exc(lwpval(0x400000, 1, 2, 3), PF);
	cr_expect(eq(u64, counted(VAL), 1));
	set_permission(RING, P_READ | P_WRITE);
	expect_exc(lwpval(0x400000, 1, 2, 3), NONE);
	cr_expect(eq(u64, counted(VAL), 2));
}
