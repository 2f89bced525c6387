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

/* The margin after some interrupts or steps. */
#define expect_margin(seen, margin)                \
	do {                                       \
		seen;                              \
		cr_expect(eq(u32, m.now, margin)); \
	} while (0)

Test(margin, stays_for_a_whole_window)
{
	expect_margin(late(0, LWP_MARGIN_WINDOW - 1), 1000);
}

Test(margin, shrinks_by_at_most_a_quarter_a_window)
{
	expect_margin(late(0, LWP_MARGIN_WINDOW), 750);
	expect_margin(late(0, LWP_MARGIN_WINDOW), 562);
}

Test(margin, settles_at_five_quarters_of_the_worst) /* 43724-822 */
{
	late(400, 1);
	expect_margin(late(100, LWP_MARGIN_WINDOW - 1), 750); /* on its way to 501 */
	expect_margin(late(500, 20 * LWP_MARGIN_WINDOW), 626); /* 500 + 125 + 1 */
}

Test(margin, grows_within_its_bounds_when_interrupts_come_almost_too_late)
{
	expect_margin(late(999, LWP_MARGIN_WINDOW), 1249); /* 999 + 249 + 1 */
	lwp_margin_init(&m, 1000, 1, 1100);
	expect_margin(late(999, LWP_MARGIN_WINDOW), 1100);
}

Test(margin, becomes_one_if_nothing_is_late)
{
	expect_margin(late(0, 100 * LWP_MARGIN_WINDOW), 1);
	lwp_margin_init(&m, 1000, 16, 8000);
	expect_margin(late(0, 100 * LWP_MARGIN_WINDOW), 16);
}

Test(margin, an_overshoot_raises_it_at_once) /* 43724-822 */
{
	expect_margin(late(1000, 1), 1251); /* exactly the margin is too late */
	expect_margin(late(1500, 1), 1876);
}

Test(margin, one_interrupt_in_very_many_does_not_spoil_it)
{
	expect_margin(late(86738, 1), 2000);
	expect_margin(late(~(u64)0, 1), 4000);
	expect_margin(late(1u << 31, 2), 8000);
}

/* A window that an overshoot interrupts begins again: what came before does not shrink the margin. */
Test(margin, an_overshoot_begins_a_window)
{
	late(0, LWP_MARGIN_WINDOW - 1);
	late(1000, 1);
	expect_margin(late(0, LWP_MARGIN_WINDOW - 1), 1251);
	expect_margin(late(0, 1), 938);
}

/* A period that is shorter than the margin is stepped and shows no interrupt. */
Test(margin, goes_back_to_what_was_enough_when_it_outgrows_the_period)
{
	expect_margin(late(86738, 2), 4000);
	expect_margin(stepped(LWP_MARGIN_WINDOW - 1), 4000);
	expect_margin(stepped(1), 3000);
	expect_margin(stepped(2 * LWP_MARGIN_WINDOW), 1688); /* 3000, 2250, 1688 */
	expect_margin(stepped(2 * LWP_MARGIN_WINDOW), 1000);
}

Test(margin, never_goes_below_what_was_enough_without_seeing_an_interrupt)
{
	expect_margin(stepped(100 * LWP_MARGIN_WINDOW), 1000);
	expect_margin(late(800, LWP_MARGIN_WINDOW), 1001); /* 800 + 200 + 1 */
	expect_margin(late(2000, 1), 2002); /* twice */
	expect_margin(stepped(100 * LWP_MARGIN_WINDOW), 1001);
}
