// SPDX-License-Identifier: GPL-2.0-or-later
/* How the margin follows the lateness of a counter's interrupts (lwp_margin.h). */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "lwp_margin.h"

static struct lwp_margin m;

static void late(u64 by, int times)
{
	while (times--)
		lwp_margin_seen(&m, by);
}

static void stepped(int times)
{
	while (times--)
		lwp_margin_stepped(&m);
}

static void usual_margin(void)
{
	lwp_margin_init(&m, 1000, 1, 8000);
}

TestSuite(margin, .init = usual_margin);

Test(margin, stays_for_a_whole_window)
{
	late(0, LWP_MARGIN_WINDOW - 1);
	cr_expect(eq(u32, m.now, 1000));
}

Test(margin, shrinks_by_at_most_a_quarter_a_window)
{
	late(0, LWP_MARGIN_WINDOW);
	cr_expect(eq(u32, m.now, 750));
	late(0, LWP_MARGIN_WINDOW);
	cr_expect(eq(u32, m.now, 562));
}

Test(margin, settles_at_five_quarters_of_the_worst) /* 43724-822 */
{
	late(400, 1);
	late(100, LWP_MARGIN_WINDOW - 1);
	cr_expect(eq(u32, m.now, 750)); /* on its way to 501 */
	late(500, 20 * LWP_MARGIN_WINDOW);
	cr_expect(eq(u32, m.now, 626)); /* 500 + 125 + 1 */
}

Test(margin, grows_within_its_bounds_when_interrupts_come_almost_too_late)
{
	late(999, LWP_MARGIN_WINDOW);
	cr_expect(eq(u32, m.now, 1249)); /* 999 + 249 + 1 */
	lwp_margin_init(&m, 1000, 1, 1100);
	late(999, LWP_MARGIN_WINDOW);
	cr_expect(eq(u32, m.now, 1100));
}

Test(margin, becomes_one_if_nothing_is_late)
{
	late(0, 100 * LWP_MARGIN_WINDOW);
	cr_expect(eq(u32, m.now, 1));
	lwp_margin_init(&m, 1000, 16, 8000);
	late(0, 100 * LWP_MARGIN_WINDOW);
	cr_expect(eq(u32, m.now, 16));
}

Test(margin, an_overshoot_raises_it_at_once) /* 43724-822 */
{
	late(1000, 1); /* exactly the margin is too late */
	cr_expect(eq(u32, m.now, 1251));
	late(1500, 1);
	cr_expect(eq(u32, m.now, 1876));
}

Test(margin, one_interrupt_in_very_many_does_not_spoil_it)
{
	late(86738, 1);
	cr_expect(eq(u32, m.now, 2000));
	late(~(u64)0, 1);
	cr_expect(eq(u32, m.now, 4000));
	late(1u << 31, 2);
	cr_expect(eq(u32, m.now, 8000));
}

/* A window that an overshoot interrupts begins again: what came before does not shrink the margin. */
Test(margin, an_overshoot_begins_a_window)
{
	late(0, LWP_MARGIN_WINDOW - 1);
	late(1000, 1);
	late(0, LWP_MARGIN_WINDOW - 1);
	cr_expect(eq(u32, m.now, 1251));
	late(0, 1);
	cr_expect(eq(u32, m.now, 938));
}

/* A period that is shorter than the margin is stepped and shows no interrupt. */
Test(margin, goes_back_to_what_was_enough_when_it_outgrows_the_period)
{
	late(86738, 2);
	cr_expect(eq(u32, m.now, 4000));
	stepped(LWP_MARGIN_WINDOW - 1);
	cr_expect(eq(u32, m.now, 4000));
	stepped(1);
	cr_expect(eq(u32, m.now, 3000));
	stepped(2 * LWP_MARGIN_WINDOW);
	cr_expect(eq(u32, m.now, 1688)); /* 3000, 2250, 1688 */
	stepped(2 * LWP_MARGIN_WINDOW);
	cr_expect(eq(u32, m.now, 1000));
}

Test(margin, never_goes_below_what_was_enough_without_seeing_an_interrupt)
{
	stepped(100 * LWP_MARGIN_WINDOW);
	cr_expect(eq(u32, m.now, 1000));
	late(800, LWP_MARGIN_WINDOW);
	cr_expect(eq(u32, m.now, 1001)); /* 800 + 200 + 1 */
	late(2000, 1);
	cr_expect(eq(u32, m.now, 2002)); /* twice */
	stepped(100 * LWP_MARGIN_WINDOW);
	cr_expect(eq(u32, m.now, 1001));
}
