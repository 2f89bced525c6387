// SPDX-License-Identifier: GPL-2.0-or-later
/* How exact shares are, and what is said of few samples. The numbers are those of the formulas. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>

#include "made_profile.h"

TestSuite(shares, .fini = forget);

/* A branch for each letter, at one of two addresses. */
static void add_window(const char *where, uint64_t weight, uint32_t flags)
{
	const struct lwpdata_window window = { .weight = weight, .flags = flags };
	uint8_t bytes[64 * LWP_RECORD_SIZE];
	uint32_t n = 0;

	for (; where[n]; n++) {
		const struct lwp_record record = { .event_id = 3,
						   .address = where[n] == 'a' ? 0x1010 : 0x1020 };

		lwp_record_encode(&record, bytes + n * LWP_RECORD_SIZE);
	}
	lwpdata_write_window(writer, &window, bytes, n * LWP_RECORD_SIZE, NULL, 0);
}

static void begin_windows(void)
{
	begin(2, 0, 0);
	add_object(0, "/object");
	add_map(0, 0x1000, 0x2000);
	add_thread(0, 0);
	event_id = 3;
}

static void expect_share(size_t i, double share, double low, double high)
{
	cr_expect(epsilon_eq(dbl, rows.list[i].share, share, 1e-9));
	cr_expect(epsilon_eq(dbl, rows.list[i].interval.low, low, 1e-5));
	cr_expect(epsilon_eq(dbl, rows.list[i].interval.high, high, 1e-5));
}

static void expect_advice(const char *text, bool filtered)
{
	const struct report report = { .profile = &profile,
				       .samples = &samples,
				       .filtered = filtered };
	char *advice = report_advice(&report, event_id);

	if (text)
		cr_expect(eq(str, advice ?: (char *)"none", (char *)text));
	else
		cr_expect(advice == NULL, "%s", advice);
	free(advice);
}

Test(shares, a_share_of_samples_has_wilsons_interval)
{
	begin_thread(99, 0);
	for (int i = 0; i < 2; i++) {
		add_records(0, 25, 0x1000);
		add_records(0, 25, 0x1001);
	}
	load_by("address");
	expect_share(0, 0.5, 0.403830, 0.596170);
}

Test(shares, shares_of_a_file_that_grows_are_of_what_records_stand_for)
{
	begin_thread(99, 0);
	add_records(0, 20, 0x1000);
	lwpdata_write_kept(writer, &(struct lwpdata_kept){ .event_id = 2, .bits = 1 });
	add_records(0, 20, 0x1001);
	load_by("address");
	cr_expect(epsilon_eq(dbl, rows.list[0].share, 2.0 / 3, 1e-9));
	cr_expect(epsilon_eq(dbl, rows.list[1].share, 1.0 / 3, 1e-9));
}

Test(shares, windows_count_by_what_they_stand_for)
{
	begin_windows();
	add_window("aaab", 100, 0);
	add_window("bb", 300, 0);
	load_by("address");
	cr_expect(eq(u64, rows.windows, 2));
	expect_row(0, 3, "object+0x20", NULL);
	cr_expect(epsilon_eq(dbl, rows.list[0].share, 0.8125, 1e-9)); /* (25 + 300) / 400 */
	cr_expect(eq(u64, rows.list[0].windows, 2));
	cr_expect(eq(u64, rows.list[1].windows, 1));
}

/*
 * 640 branches, all of a window alike: 80 samples. All 78 differences of differences are 1 or -1, so that the variance is
 * 0.99 * 80 / 6 / 80^2, which is that of 121.212 samples.
 */
Test(shares, branches_of_a_window_are_not_independent)
{
	begin_windows();
	for (int i = 0; i < 80; i++)
		add_window(i & 2 ? "aaaaaaaa" : "bbbbbbbb", 800, 0);
	load_by("address");
	cr_expect(eq(u64, rows.windows, 80));
	cr_expect(epsilon_eq(dbl, rows.list[0].effective, 121.212, 1e-3));
	expect_share(0, 0.5, 0.412365, 0.587635);
}

/* 0, 0, 1, 1, 2, 2 ... of 32: differences of differences are 1 or -1, so that the variance is 0.99 * 60 / 6 / 1920^2. */
Test(shares, what_changes_steadily_is_known_better)
{
	char window[33] = { 0 };

	begin_windows();
	for (int i = 0; i < 60; i++) {
		for (int k = 0; k < 32; k++)
			window[k] = k < i / 2 ? 'a' : 'b';
		add_window(window, 3200, 0);
	}
	load_by("address");
	cr_expect(epsilon_eq(dbl, rows.list[1].share, 870 / 1920., 1e-9));
	cr_expect(epsilon_eq(dbl, rows.list[1].effective, 92272.7, 0.1));
}

/* The variance is 0.99 * 10 / 9 / 2 * 2 / 10^2, that of 8.1818 samples; with 2 degrees of freedom t is 4.3027. */
Test(shares, a_row_of_one_window_is_known_as_by_three)
{
	begin_windows();
	for (int i = 0; i < 10; i++)
		add_window(i == 5 ? "aaaa" : "bbbb", 400, 0);
	load_by("address");
	cr_expect(epsilon_eq(dbl, rows.list[1].effective, 8.1818, 1e-3));
	expect_share(1, 0.1, 0.004083, 0.750720);
}

Test(shares, windows_that_continue_are_one)
{
	begin_windows();
	for (int i = 0; i < 4; i++)
		add_window("ab", 20, i & 1 ? LWPDATA_WINDOW_CONTINUES : 0);
	load_by("address");
	cr_expect(eq(u64, rows.windows, 2));
	cr_expect(eq(u64, report_nr_windows(&profile, &samples, 3), 2));
}

Test(shares, a_complete_trace_is_exact)
{
	begin_windows();
	add_window("aaab", 4, 0);
	add_window("bb", 2, LWPDATA_WINDOW_CONTINUES);
	load_by("address");
	expect_share(0, 0.5, 0.5, 0.5);
	cr_expect(eq(u64, report_nr_windows(&profile, &samples, 3), 0));
}

Test(shares, few_samples_have_advice)
{
	begin_thread(100003, 0);
	add_records(0, 12, 0x1000);
	load_by("address");
	/* 12 * 100004 events; 1200048 / 10000 - 1 of two digits */
	expect_advice("12 samples are few: about 1200048 instructions were counted; record with "
		      "--event=instructions:110",
		      false);
	expect_advice(NULL, true);
}

Test(shares, no_samples_have_a_reason)
{
	begin_thread(100003, 100003);
	end_thread(0, LWPDATA_THREAD_FLUSHED, 0, 80003);
	load_by("address");
	expect_advice("0 samples are few: about 20000 instructions were counted; record with "
		      "--event=instructions:1",
		      false);
	expect_advice("No samples: the options leave out all there are", true);
	begin(1, 100003, 0);
	load_by("address");
	expect_advice("No samples: LWP was not on in any thread", false);
}

Test(shares, nothing_counted_is_a_reason)
{
	begin_thread(99, 50);
	end_thread(0, LWPDATA_THREAD_FLUSHED, 0, 50);
	load_by("address");
	expect_advice(
		"No samples: no instructions were counted; the program had none, or this processor "
		"does not count them",
		false);
}

Test(shares, few_windows_have_advice)
{
	begin_windows();
	add_window("aaab", 1000000, 0);
	load_by("address");
	expect_advice("1 window is few: record with --windows=64:64", false);
}
