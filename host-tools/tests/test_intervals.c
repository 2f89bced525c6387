// SPDX-License-Identifier: GPL-2.0-or-later
/* How far shares may be from the true ones. The numbers are those of tables of Student's t, and of Wilson's formula. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#include "intervals.h"

static void expect(double share, double effective, uint64_t windows, double low, double high)
{
	struct interval i = share_interval(share, effective, windows);

	cr_expect(epsilon_eq(dbl, i.low, low, 1e-5));
	cr_expect(epsilon_eq(dbl, i.high, high, 1e-5));
}

/* With z = 1.96: (p + z^2/2n -+ z sqrt(p (1 - p) / n + z^2/4n^2)) / (1 + z^2/n) */
Test(intervals, wilsons_interval_holds_for_rare_and_for_sure_things)
{
	expect(0.5, 100, 0, 0.403830, 0.596170);
	expect(0.0002, 5000, 0, 0.000035, 0.001132);
	expect(0, 100, 0, 0, 0.036995);
	expect(1, 7, 0, 0.645661, 1);
}

Test(intervals, what_is_exact_has_no_width)
{
	expect(0.25, INFINITY, 0, 0.25, 0.25);
	expect(0.25, INFINITY, 1, 0.25, 0.25);
}

Test(intervals, one_window_tells_nothing)
{
	expect(0.25, 1, 1, 0, 1);
}

Test(intervals, below_30_windows_it_is_students_t)
{
	cr_expect(epsilon_eq(dbl, deviations(2), 12.7062, 1e-4));
	cr_expect(epsilon_eq(dbl, deviations(3), 4.3027, 1e-4));
	cr_expect(epsilon_eq(dbl, deviations(10), 2.2622, 1e-4));
	cr_expect(epsilon_eq(dbl, deviations(29), 2.0484, 1e-4));
	cr_expect(eq(dbl, deviations(30), 1.96));
	cr_expect(eq(dbl, deviations(0), 1.96));
	/* t = 2.7764 with 4 degrees: (0.5 + t^2/20 -+ t sqrt(0.25/10 + t^2/400)) / (1 + t^2/10) */
	expect(0.5, 10, 5, 0.170112, 0.829888);
}

Test(intervals, the_chance_is_that_of_both_tails)
{
	cr_expect(epsilon_eq(dbl, chance_of(1, 1), 0.5, 1e-9));
	cr_expect(epsilon_eq(dbl, chance_of(2.7764, 4), 0.05, 1e-5));
	cr_expect(epsilon_eq(dbl, chance_of(2.0484, 28), 0.05, 1e-5));
	cr_expect(epsilon_eq(dbl, chance_of(1.959964, 1000), 0.05, 1e-6));
}
