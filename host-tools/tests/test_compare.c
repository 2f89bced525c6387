// SPDX-License-Identifier: GPL-2.0-or-later
/* What has another share in a second profile. The numbers are computed by hand from the test of two proportions. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "compare.h"

#define ROW(symbol, object, number) \
	((struct row){ .labels = { symbol, object }, .samples = number })

static struct changes changes;

static uint64_t windows;

static struct rows rows_of(struct row *list, size_t nr)
{
	struct rows rows = { .list = list, .nr = nr, .windows = windows };

	for (size_t i = 0; i < nr; i++)
		rows.samples += list[i].samples;
	for (size_t i = 0; i < nr; i++) {
		list[i].share = (double)list[i].samples / (double)rows.samples;
		list[i].effective = (double)rows.samples;
	}
	return rows;
}

static void make(struct row *before, size_t nr_before, struct row *after, size_t nr_after)
{
	struct rows x = rows_of(before, nr_before), y = rows_of(after, nr_after);

	changes_free(&changes);
	changes_make(&changes, &x, &y);
}

static void tear_down(void)
{
	changes_free(&changes);
}

TestSuite(compare, .fini = tear_down);

/* Each sample is a window of its own. */
Test(compare, few_windows_tell_less_than_as_many_samples)
{
	struct row before[] = { ROW("f", "prog", 2), ROW("g", "prog", 8) };
	struct row after[] = { ROW("f", "prog", 8), ROW("g", "prog", 2) };

	windows = 10;
	make(before, 2, after, 2);
	/* z = 0.6 / sqrt(0.25 * 2 / 10) = 2.6833; with 18 degrees 2 * 0.0076 lie beyond */
	cr_expect(epsilon_eq(dbl, changes.list[0].p, 0.01518, 1e-4));
	/* 2.1009 of 18 degrees * sqrt(2 * 0.2 * 0.8 / 10) */
	cr_expect(epsilon_eq(dbl, changes.list[0].error, 0.37582, 1e-4));
	windows = 0;
	make(before, 2, after, 2);
	cr_expect(epsilon_eq(dbl, changes.list[0].p, 0.00729, 1e-4));
}

Test(compare, a_difference_has_its_error_and_its_chance)
{
	struct row before[] = { ROW("f", "/a/prog", 500), ROW("g", "/a/prog", 500) };
	struct row after[] = { ROW("f", "/b/prog", 600), ROW("g", "/b/prog", 400) };

	make(before, 2, after, 2);
	cr_assert(eq(sz, changes.nr, 2));
	cr_expect(eq(str, (char *)changes.list[0].symbol, (char *)"f"));
	cr_expect(epsilon_eq(dbl, changes.list[0].share[1] - changes.list[0].share[0], 0.1, 1e-9));
	/* 1.96 * sqrt(0.5 * 0.5 / 1000 + 0.6 * 0.4 / 1000) */
	cr_expect(epsilon_eq(dbl, changes.list[0].error, 0.043387, 1e-5));
	/* z = 0.1 / sqrt(0.55 * 0.45 * 2 / 1000) = 4.4947; twice the tail beyond it */
	cr_expect(epsilon_eq(dbl, changes.list[0].p, 6.97e-6, 2e-8));
	cr_expect(change_significant(&changes.list[0], changes.nr));
}

Test(compare, what_few_samples_tell_is_chance)
{
	struct row before[] = { ROW("f", "prog", 5), ROW("g", "prog", 5) };
	struct row after[] = { ROW("f", "prog", 6), ROW("g", "prog", 4) };

	make(before, 2, after, 2);
	cr_expect(not(change_significant(&changes.list[0], changes.nr)));
}

Test(compare, many_rows_need_more_than_one)
{
	const struct change change = { .p = 0.01 };

	cr_expect(change_significant(&change, 4));
	cr_expect(not(change_significant(&change, 5)));
}

Test(compare, a_function_that_is_only_in_one_has_no_samples_in_the_other)
{
	struct row before[] = { ROW("old", "prog", 100), ROW("f", "prog", 100) };
	struct row after[] = { ROW("new", "prog", 100), ROW("f", "prog", 100) };

	make(before, 2, after, 2);
	cr_assert(eq(sz, changes.nr, 3));
	cr_expect(eq(str, (char *)changes.list[0].symbol, (char *)"new"));
	cr_expect(eq(dbl, changes.list[0].share[0], 0));
	cr_expect(eq(dbl, changes.list[1].share[1], 0));
	cr_expect(eq(str, (char *)changes.list[2].symbol, (char *)"f"));
	cr_expect(eq(dbl, changes.list[2].p, 1));
}

Test(compare, an_empty_profile_compares_to_nothing)
{
	struct row before[] = { ROW("f", "prog", 100) };

	make(before, 1, NULL, 0);
	cr_assert(eq(sz, changes.nr, 1));
	cr_expect(not(change_significant(&changes.list[0], 1)));
}
