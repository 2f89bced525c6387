// SPDX-License-Identifier: GPL-2.0-or-later
/* What lwpctl reads from a profile: mappings, and how many events its records stand for (docs/lwpdata.md). */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "made_profile.h"

TestSuite(profile, .fini = forget);

/* The object in whose mapping the n-th batch's address lies. */
static void expect_object(size_t batch, uint64_t address, const char *name)
{
	size_t map = profile_find_map(&profile, 0, profile.batches[batch].section, address);
	const char *found = map == SIZE_MAX ? "none" :
					      profile.objects[profile.maps[map].object].path;

	cr_expect(eq(str, (char *)found, (char *)name));
}

struct made {
	uint32_t interval, random, kept; /* as begin() and lwpdata_kept have it */
	uint32_t initial, final, flags; /* counters and end of the thread */
	unsigned int records, missed;
};

/* Its records stand for so many events. */
static void expect_events(double events, bool exact, struct made m)
{
	struct estimate estimate;

	begin(1, m.interval, m.random);
	if (m.kept)
		lwpdata_write_kept(writer, &(struct lwpdata_kept){ .event_id = 2, .bits = m.kept });
	add_thread(0, m.initial);
	add_records(0, m.records, 0x1000);
	end_thread(0, m.flags, m.missed, m.final);
	load();
	estimate = report_estimate(&profile, 0);
	cr_expect(eq(dbl, estimate.events, events));
	cr_expect(estimate.exact == exact);
}
#define FLUSHED .flags = LWPDATA_THREAD_FLUSHED

Test(profile, windows_keep_their_order_and_count_as_records)
{
	const struct lwpdata_window window = { .thread = 0, .time = 9, .weight = 50, .flags = 1 };
	const struct lwp_record record = { .event_id = 3, .address = 0x1800 };
	uint8_t bytes[2 * LWP_RECORD_SIZE];

	lwp_record_encode(&record, bytes);
	lwp_record_encode(&record, bytes + LWP_RECORD_SIZE);
	begin(2, 0, 0);
	add_thread(0, 0);
	add_records(0, 1, 0x1800);
	lwpdata_write_window(writer, &window, bytes, sizeof(bytes), NULL, 0);
	add_records(0, 1, 0x1800);
	load();
	cr_assert(eq(sz, profile.nr_windows, 1));
	cr_assert(eq(sz, profile.nr_batches, 2));
	cr_expect(lt(u64, profile.batches[0].section, profile.windows[0].section));
	cr_expect(lt(u64, profile.windows[0].section, profile.batches[1].section));
	cr_expect(eq(u32, profile.windows[0].count, 2));
	cr_expect(eq(u64, profile.windows[0].weight, 50));
	cr_expect(eq(u64, profile.windows[0].time, 9));
	cr_expect(eq(u32, profile.windows[0].flags, LWPDATA_WINDOW_CONTINUES));
	cr_expect(eq(int, memcmp(profile.windows[0].data, bytes, sizeof(bytes)), 0));
	cr_expect(eq(u64, profile.threads[0].windows, 1));
	cr_expect(eq(u64, profile.threads[0].records, 4));
	cr_expect(eq(u64, profile.threads[0].per_event[1], 2));
}

Test(profile, an_address_belongs_to_what_was_mapped_then)
{
	begin_in("/first");
	add_object(1, "/second");
	add_records(0, 1, 0x1800);
	add_unmap(0x1000, 0x2000);
	add_map(1, 0x1000, 0x3000);
	add_records(0, 1, 0x1800);
	load();
	expect_object(0, 0x1800, "/first");
	expect_object(1, 0x1800, "/second");
	/* The end is not part of it. */
	expect_object(0, 0x1fff, "/first");
	expect_object(1, 0x3000, "none");
}

Test(profile, what_was_noticed_late_counts_from_before)
{
	begin_thread(99, 0);
	add_object(0, "/late");
	add_object(1, "/later");
	add_records(0, 1, 0x1800);
	add_map(0, 0x1000, 0x2000);
	add_unmap(0x1000, 0x2000);
	add_records(0, 1, 0x1800);
	add_map(1, 0x1000, 0x2000);
	add_unmap(0x1000, 0x2000);
	add_records(0, 1, 0x1800);
	load();
	expect_object(0, 0x1800, "/late");
	expect_object(1, 0x1800, "/later");
	/* And what nothing comes after belongs to the last. */
	expect_object(2, 0x1800, "/later");
}

Test(profile, events_are_known_exactly_from_flushed_counters)
{
	/* (3 + 2) * 100 + 49 - 19 */
	expect_events(530, true,
		      (struct made){ 99, .initial = 49, .final = 19, FLUSHED, .records = 3,
				     .missed = 2 });
	cr_expect(eq(u64, profile_missed(&profile), 2));
	/* -5 in 26 bits: due since 5 events, not stored yet. */
	expect_events(5, true, (struct made){ 99, .final = 0x3fffffb, FLUSHED });
}

Test(profile, without_the_last_counters_or_with_random_bits_it_is_an_estimate)
{
	expect_events(300, false, (struct made){ 99, .initial = 49, .final = 7, .records = 3 });
	/* 1000 = 11_1110_1000b; 4 random bits: 992 + 0..15, 999.5 on average, + 1. */
	expect_events(2001, false, (struct made){ 1000, 4, FLUSHED, .records = 2 });
}

Test(profile, a_record_stands_for_those_that_were_not_kept)
{
	/* 3 * 8 + 8 records of 100, and 49 - 19 */
	expect_events(3230, false,
		      (struct made){ 99, 0, 3, 49, 19, FLUSHED, .records = 3, .missed = 8 });
	cr_expect(eq(dbl, report_period(&profile, 0), 800));
	cr_expect(eq(dbl, report_missed_share(&profile), 0.25));
}

Test(profile, a_damaged_file_is_not_loaded)
{
	FILE *file;

	begin(1, 99, 0);
	cr_assert(eq(int, lwpdata_finish(writer), 0));
	file = fopen(path, "r+");
	fseek(file, 20, SEEK_SET);
	fputc(0x55, file);
	fclose(file);
	cr_expect(not(profile_load(&profile, path)));
	profile_free(&profile);
	unlink(path);
	cr_expect(not(profile_load(&profile, path)));
}

Test(profile, missed_events_are_a_share_of_all)
{
	begin_thread(99, 0);
	add_records(0, 3, 0x1000);
	end_thread(0, 0, 9, 0);
	load();
	cr_expect(eq(dbl, report_missed_share(&profile), 0.75));
}
