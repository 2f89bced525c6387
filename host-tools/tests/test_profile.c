// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What lwpctl makes of a profile: which mapping an address belongs to, how samples are grouped, how many
 * events they stand for (docs/lwpdata.md).
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lwp_record.h"
#include "profile.h"
#include "lwpctl_report.h"
#include "rows.h"

#define TEXT(literal) ((struct lwpdata_bytes){ (const uint8_t *)(literal), sizeof(literal) - 1 })

static char path[] = "/tmp/test_profile.XXXXXX";
static struct lwpdata_writer *writer;
static struct profile profile;

static void begin(uint32_t nr_events, uint32_t interval, uint32_t random)
{
	const struct lwpdata_config config = {
		.nr_events = nr_events,
		.events = { { 2, interval }, { 3, interval } },
		.random = random,
		.ring_size = 4096,
		.tool = TEXT("test"),
	};
	const struct lwpdata_process process = { 0, LWPDATA_NONE, 100,		LWPDATA_BY_EXEC,
						 0, TEXT("prog"), TEXT("/prog") };

	close(mkstemp(path));
	writer = lwpdata_create(path);
	cr_assert(writer != NULL);
	lwpdata_write_config(writer, &config);
	lwpdata_write_process(writer, &process);
}

static void add_object(uint32_t id, const char *name)
{
	const struct lwpdata_object object = { .id = id,
					       .path = { (const uint8_t *)name, strlen(name) } };

	lwpdata_write_object(writer, &object);
}

static void add_map(uint32_t object, uint64_t start, uint64_t end)
{
	const struct lwpdata_map map = { 0, object, 0, start, end, 0 };

	lwpdata_write_map(writer, &map);
}

static void add_unmap(uint64_t start, uint64_t end)
{
	const struct lwpdata_unmap unmap = { 0, 0, start, end };

	lwpdata_write_unmap(writer, &unmap);
}

static void add_thread(uint32_t id, uint32_t initial)
{
	const struct lwpdata_thread thread = { id, 0, 100 + id, 0, { initial }, TEXT("worker") };

	lwpdata_write_thread(writer, &thread, 1);
}

static void end_thread(uint32_t id, uint32_t flags, uint64_t missed, uint32_t final)
{
	const struct lwpdata_thread_end end = {
		id, flags, 0, 0, missed, { final }, TEXT("worker")
	};

	lwpdata_write_thread_end(writer, &end, 1);
}

static void add_records(uint32_t thread, unsigned int n, uint64_t address)
{
	uint8_t bytes[64 * LWP_RECORD_SIZE];
	const struct lwp_record record = { .event_id = 2, .address = address };

	for (unsigned int i = 0; i < n; i++)
		lwp_record_encode(&record, bytes + i * LWP_RECORD_SIZE);
	lwpdata_write_records(writer, thread, 0, bytes, n * LWP_RECORD_SIZE, NULL, 0);
}

static void load(void)
{
	cr_assert(eq(int, lwpdata_finish(writer), 0));
	cr_assert(profile_load(&profile, path));
	unlink(path);
}

/* Path of the object in whose mapping the n-th batch's address lies. */
static const char *object_of(size_t batch, uint64_t address)
{
	size_t map = profile_find_map(&profile, 0, profile.batches[batch].section, address);

	return map == SIZE_MAX ? "none" : profile.objects[profile.maps[map].object].path;
}

static void expect_object(size_t batch, uint64_t address, const char *name)
{
	cr_expect(eq(str, (char *)object_of(batch, address), (char *)name));
}

/* ---- Windows -------------------------------------------------------------------------------- */

Test(profile, windows_keep_their_order_and_count_as_records)
{
	const struct lwpdata_window window = { .thread = 0, .time = 9, .weight = 50, .flags = 1 };
	const struct lwp_record record = { .event_id = 3, .address = 0x1800 };
	uint8_t bytes[2 * LWP_RECORD_SIZE];

	lwp_record_encode(&record, bytes);
	lwp_record_encode(&record, bytes + LWP_RECORD_SIZE);
	begin(2, 0, 0);
	lwpdata_write_thread(writer, &(struct lwpdata_thread){ .comm = TEXT("t") }, 2);
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
	profile_free(&profile);
}

/* ---- Mappings in time ----------------------------------------------------------------------- */

Test(profile, an_address_belongs_to_what_was_mapped_then)
{
	begin(1, 99, 0);
	add_object(0, "/first");
	add_object(1, "/second");
	add_thread(0, 0);
	add_map(0, 0x1000, 0x2000);
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
	profile_free(&profile);
}

Test(profile, what_was_noticed_late_counts_from_before)
{
	begin(1, 99, 0);
	add_object(0, "/late");
	add_object(1, "/later");
	add_thread(0, 0);
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
	profile_free(&profile);
}

/* ---- Numbers -------------------------------------------------------------------------------- */

Test(profile, events_are_known_exactly_from_flushed_counters)
{
	struct estimate estimate;

	begin(1, 99, 0);
	add_thread(0, 49);
	add_records(0, 3, 0x1000);
	end_thread(0, LWPDATA_THREAD_FLUSHED, 2, 19);
	load();
	estimate = report_estimate(&profile, 0);
	/* (3 + 2) * 100 + 49 - 19 */
	cr_expect(estimate.exact);
	cr_expect(eq(dbl, estimate.events, 530));
	cr_expect(eq(u64, profile_missed(&profile), 2));
	profile_free(&profile);
}

Test(profile, a_counter_below_zero_is_signed)
{
	struct estimate estimate;

	begin(1, 99, 0);
	add_thread(0, 0);
	/* -5 in 26 bits: due since 5 events, not stored yet. */
	end_thread(0, LWPDATA_THREAD_FLUSHED, 0, 0x3fffffb);
	load();
	estimate = report_estimate(&profile, 0);
	cr_expect(eq(dbl, estimate.events, 5));
	profile_free(&profile);
}

Test(profile, without_the_last_counters_it_is_an_estimate)
{
	struct estimate estimate;

	begin(1, 99, 0);
	add_thread(0, 49);
	add_records(0, 3, 0x1000);
	end_thread(0, 0, 0, 7);
	load();
	estimate = report_estimate(&profile, 0);
	cr_expect(not(estimate.exact));
	cr_expect(eq(dbl, estimate.events, 300));
	profile_free(&profile);
}

Test(profile, random_bits_make_a_mean_interval)
{
	struct estimate estimate;

	/* 1000 = 11_1110_1000b; 4 random bits: 992 + 0..15, 999.5 on average, + 1. */
	begin(1, 1000, 4);
	add_thread(0, 0);
	add_records(0, 2, 0x1000);
	end_thread(0, LWPDATA_THREAD_FLUSHED, 0, 0);
	load();
	estimate = report_estimate(&profile, 0);
	cr_expect(not(estimate.exact));
	cr_expect(eq(dbl, estimate.events, 2001));
	profile_free(&profile);
}

Test(profile, a_record_stands_for_those_that_were_not_kept)
{
	struct estimate estimate;

	begin(1, 99, 0);
	lwpdata_write_kept(writer, &(struct lwpdata_kept){ .event_id = 2, .bits = 3 });
	add_thread(0, 49);
	add_records(0, 3, 0x1000);
	end_thread(0, LWPDATA_THREAD_FLUSHED, 8, 19);
	load();
	estimate = report_estimate(&profile, 0);
	/* 3 * 8 + 8 records of 100, and 49 - 19 */
	cr_expect(eq(dbl, estimate.events, 3230));
	cr_expect(not(estimate.exact));
	cr_expect(eq(dbl, report_period(&profile, 0), 800));
	cr_expect(eq(dbl, report_missed_share(&profile), 0.25));
	profile_free(&profile);
}

/* ---- Groups --------------------------------------------------------------------------------- */

static struct rows rows;
static struct resolver resolver;
static struct tally tally;
static struct samples samples;

static struct filter filter;
static uint8_t event_id = 2;

static void group_in(const char *by, enum order order)
{
	struct grouping grouping;

	cr_assert(grouping_parse(&grouping, by));
	resolver_init(&resolver, &profile, "", true);
	tally_profile(&tally, &profile, &filter, grouping_has(&grouping, KEY_TARGET), &resolver);
	samples_locate(&samples, &resolver, &tally, &filter);
	rows_make(&rows, &resolver, &samples, &grouping, event_id, order);
}

static void group(const char *by)
{
	group_in(by, ORDER_SAMPLES);
}

static void ungroup(void)
{
	rows_free(&rows);
	samples_free(&samples);
	resolver_free(&resolver);
	tally_free(&tally);
	profile_free(&profile);
}

static void expect_row(size_t i, uint64_t number, const char *first, const char *second)
{
	cr_assert(lt(sz, i, rows.nr));
	cr_expect(eq(u64, rows.list[i].samples, number));
	cr_expect(eq(str, (char *)rows.list[i].labels[0], (char *)first));
	if (second)
		cr_expect(eq(str, (char *)rows.list[i].labels[1], (char *)second));
}

static void make_groups(void)
{
	const struct lwpdata_perf_map jit = { 0, 0, TEXT("5000 100 compiled\n") };

	begin(1, 99, 0);
	add_object(0, "/nonexistent/object");
	add_map(0, 0x1000, 0x2000);
	add_map(LWPDATA_NONE, 0x5000, 0x6000);
	add_thread(0, 0);
	add_thread(1, 0);
	add_records(0, 10, 0x1800);
	add_records(1, 5, 0x1900);
	add_records(1, 7, 0x5010);
	add_records(1, 2, 0x5800);
	add_records(0, 1, 0x9000);
	lwpdata_write_perf_map(writer, &jit);
	load();
}

Test(profile, samples_are_grouped_by_object_and_symbol)
{
	make_groups();
	group("object,symbol");
	cr_expect(eq(sz, rows.nr, 4));
	cr_expect(eq(u64, rows.samples, 25));
	expect_row(0, 15, "/nonexistent/object", "[no symbol]");
	expect_row(1, 7, "[jit]", "compiled");
	expect_row(2, 2, "[anon]", "[no symbol]");
	expect_row(3, 1, "[unmapped]", "[no symbol]");
	cr_expect(eq(str, (char *)resolver_problem(&resolver, 0),
		     (char *)"No such file or directory"));
	ungroup();
}

Test(profile, samples_without_symbols_are_counted_and_their_object_is_named)
{
	struct report report = { .profile = &profile };
	struct unnamed unnamed;

	make_groups();
	group("object");
	report.samples = &samples;
	unnamed = report_unnamed(&report);
	cr_expect(eq(u64, unnamed.samples, 18));
	cr_expect(eq(u64, unnamed.total, 25));
	cr_expect(eq(str, (char *)unnamed.object, (char *)"/nonexistent/object"));
	ungroup();
}

Test(profile, samples_without_symbols_that_lie_in_no_object_name_none)
{
	struct report report = { .profile = &profile };
	struct unnamed unnamed;

	begin(1, 99, 0);
	add_map(LWPDATA_NONE, 0x5000, 0x6000);
	add_thread(0, 0);
	add_records(0, 3, 0x5800);
	load();
	group("object");
	report.samples = &samples;
	unnamed = report_unnamed(&report);
	cr_expect(eq(u64, unnamed.samples, 3));
	cr_expect(unnamed.object == NULL);
	ungroup();
}

Test(profile, samples_are_grouped_by_thread_and_address)
{
	make_groups();
	group("thread");
	cr_expect(eq(sz, rows.nr, 2));
	expect_row(0, 14, "worker 100/101", NULL);
	expect_row(1, 11, "worker 100/100", NULL);
	ungroup();
	strcpy(path, "/tmp/test_profile.XXXXXX");
	make_groups();
	group("address,process");
	cr_expect(eq(sz, rows.nr, 5));
	expect_row(0, 10, "object+0x800", "prog 100");
	expect_row(4, 1, "0x9000", "prog 100");
	ungroup();
}

Test(profile, rows_can_be_in_the_order_of_names)
{
	make_groups();
	group_in("object", ORDER_NAME);
	expect_row(0, 15, "/nonexistent/object", NULL);
	expect_row(1, 2, "[anon]", NULL);
	expect_row(2, 7, "[jit]", NULL);
	expect_row(3, 1, "[unmapped]", NULL);
	ungroup();
}

Test(profile, groupings_are_lists_of_different_keys)
{
	struct grouping by;

	cr_expect(grouping_parse(&by,
				 "symbol,object,thread,process,line,address,target,variable,data"));
	cr_expect(eq(sz, by.nr, 9));
	cr_expect(not(grouping_parse(&by, "")));
	cr_expect(not(grouping_parse(&by, "symbol,")));
	cr_expect(not(grouping_parse(&by, "symbol,symbol")));
	cr_expect(not(grouping_parse(&by, "symbols")));
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
	profile_free(&profile);
}

/* ---- Names of the guest --------------------------------------------------------------------- */

#define ESCAPE "\x1b[31m"

Test(profile, text_of_the_guest_cannot_act_on_a_terminal)
{
	const struct lwpdata_perf_map jit = { 0, 0, TEXT("5000 100 a" ESCAPE "b\xff\n") };

	begin(1, 99, 0);
	add_object(0, "/bad\n" ESCAPE "object");
	add_map(0, 0x1000, 0x2000);
	add_map(LWPDATA_NONE, 0x5000, 0x6000);
	add_thread(0, 0);
	add_records(0, 2, 0x1800);
	add_records(0, 1, 0x5010);
	lwpdata_write_perf_map(writer, &jit);
	load();
	group("object,symbol");
	expect_row(0, 2, "/bad\\x0a\\x1b[31mobject", "[no symbol]");
	expect_row(1, 1, "[jit]", "a\\x1b[31mb\\xff");
	ungroup();
}

/* ---- Filters -------------------------------------------------------------------------------- */

static void expect_filtered(uint64_t wanted)
{
	make_groups();
	group("object");
	cr_expect(eq(u64, rows.samples, wanted));
	cr_expect(eq(u64, samples.per_event[2], wanted));
	ungroup();
	strcpy(path, "/tmp/test_profile.XXXXXX");
	filter = (struct filter){ 0 };
}

Test(profile, samples_are_filtered_by_process_thread_object_and_symbol)
{
	filter.thread = "101";
	expect_filtered(14);
	filter.thread = "work*";
	expect_filtered(25);
	filter.process = "prog";
	expect_filtered(25);
	filter.process = "101";
	expect_filtered(0);
	filter.object = "object";
	expect_filtered(15);
	filter.object = "/nonexistent/object";
	expect_filtered(15);
	filter.symbol = "comp?led";
	expect_filtered(7);
	filter.symbol = "compile";
	expect_filtered(0);
}

Test(profile, samples_are_filtered_by_the_time_at_which_they_were_taken)
{
	uint8_t bytes[LWP_RECORD_SIZE];
	const struct lwp_record record = { .event_id = 2, .address = 0x1000 };

	begin(1, 99, 0);
	add_thread(0, 0);
	lwp_record_encode(&record, bytes);
	for (uint64_t time = 1; time <= 4; time++)
		lwpdata_write_records(writer, 0, time * 500000000, bytes, sizeof(bytes), NULL, 0);
	load();
	cr_expect(filter_seconds("1", &filter.from));
	cr_expect(filter_seconds("2", &filter.until));
	cr_expect(eq(u64, filter.until, 2000000000));
	group("object");
	cr_expect(eq(u64, rows.samples, 2)); /* 1.0 and 1.5 s */
	ungroup();
	cr_expect(not(filter_seconds("-1", &filter.from)));
	cr_expect(not(filter_seconds("1s", &filter.from)));
	cr_expect(not(filter_seconds("nan", &filter.from)));
	cr_expect(not(filter_seconds("", &filter.from)));
}

/* ---- Data ----------------------------------------------------------------------------------- */

static void add_data_map(uint32_t object, uint64_t start, uint64_t end, const char *name)
{
	const struct lwpdata_data_map map = { { 0, object, 0, start, end, 0 },
					      { (const uint8_t *)name, strlen(name) } };

	lwpdata_write_data_map(writer, &map);
}

static void add_miss(uint64_t data, uint16_t flags)
{
	uint8_t bytes[LWP_RECORD_SIZE];
	const struct lwp_record record = {
		.event_id = 4, .address = 0x1010, .data2 = data, .flags = flags
	};

	lwp_record_encode(&record, bytes);
	lwpdata_write_records(writer, 0, 0, bytes, sizeof(bytes), NULL, 0);
}

Test(profile, misses_are_grouped_by_what_the_data_lies_in)
{
	begin(1, 99, 0);
	add_object(0, "/nonexistent/object");
	add_map(LWPDATA_NONE, 0x1000, 0x1100);
	add_map(0, 0x1100, 0x2000);
	add_data_map(0, 0x2000, 0x3000, "");
	add_data_map(LWPDATA_NONE, 0x5000, 0x6000, "[heap]");
	add_data_map(LWPDATA_NONE, 0x7000, 0x8000, "");
	add_thread(0, 0);
	for (int i = 0; i < 5; i++)
		add_miss(0x5000 + 64 * i, LWP_RECORD_DAV);
	for (int i = 0; i < 4; i++)
		add_miss(0x7000 + 64 * i, LWP_RECORD_DAV);
	for (int i = 0; i < 3; i++)
		add_miss(0x2000 + 64 * i, LWP_RECORD_DAV);
	/* Constants beside code; what was never mapped; a record that has no data address. */
	add_miss(0x1800, LWP_RECORD_DAV);
	add_miss(0x1840, LWP_RECORD_DAV);
	add_miss(0x9000, LWP_RECORD_DAV);
	add_miss(0x5000, 0);
	load();
	cr_expect(profile.has_data);
	event_id = 4;
	group("data,variable");
	cr_expect(eq(sz, rows.nr, 5));
	expect_row(0, 5, "/nonexistent/object", "-");
	expect_row(1, 5, "[heap]", "-");
	expect_row(2, 4, "[anon]", "-");
	expect_row(3, 1, "-", "-");
	expect_row(4, 1, "[unmapped]", "-");
	/* Five addresses in the heap are one count: what tells records apart is what is shown. */
	cr_expect(eq(sz, tally.nr, 5));
	/* The file was not looked into for code. */
	cr_expect(resolver_problem(&resolver, 0) == NULL);
	ungroup();
}

Test(profile, data_belongs_to_what_was_mapped_then)
{
	const struct lwpdata_unmap unmap = { 0, 0, 0x5000, 0x6000 };

	begin(1, 99, 0);
	add_object(0, "/nonexistent/object");
	add_thread(0, 0);
	add_data_map(LWPDATA_NONE, 0x5000, 0x6000, "[heap]");
	add_miss(0x5000, LWP_RECORD_DAV);
	lwpdata_write_data_unmap(writer, &unmap);
	add_map(0, 0x5000, 0x6000);
	add_miss(0x5000, LWP_RECORD_DAV);
	add_unmap(0x5000, 0x6000);
	add_data_map(LWPDATA_NONE, 0x5000, 0x6000, "[stack]");
	add_miss(0x5000, LWP_RECORD_DAV);
	load();
	event_id = 4;
	group("data");
	cr_expect(eq(sz, rows.nr, 3));
	expect_row(0, 1, "/nonexistent/object", NULL);
	expect_row(1, 1, "[heap]", NULL);
	expect_row(2, 1, "[stack]", NULL);
	ungroup();
}

/* Of a profile that has no mappings of data, and of code: code is looked up in mappings of code alone. */
Test(profile, an_address_of_code_does_not_lie_in_data)
{
	begin(1, 99, 0);
	add_thread(0, 0);
	add_data_map(LWPDATA_NONE, 0x1000, 0x2000, "[heap]");
	add_records(0, 1, 0x1800);
	load();
	group("object");
	expect_row(0, 1, "[unmapped]", NULL);
	ungroup();
}

/* ---- Branches, intervals, losses --------------------------------------------------------------- */

static void add_branch(uint64_t target, uint16_t flags)
{
	uint8_t bytes[LWP_RECORD_SIZE];
	const struct lwp_record record = {
		.event_id = 3, .address = 0x1010, .data2 = target, .flags = flags
	};

	lwp_record_encode(&record, bytes);
	lwpdata_write_records(writer, 0, 0, bytes, sizeof(bytes), NULL, 0);
}

Test(profile, branches_have_their_taken_share_and_their_mispredictions)
{
	begin(1, 99, 0);
	add_object(0, "/object");
	add_map(0, 0x1000, 0x2000);
	add_thread(0, 0);
	add_branch(0x1800, LWP_RECORD_TKN | LWP_RECORD_PRV);
	add_branch(0x1800, LWP_RECORD_TKN | LWP_RECORD_PRV | LWP_RECORD_PRD);
	add_branch(0x1012, 0);
	load();
	event_id = 3;
	group("address");
	expect_row(0, 3, "object+0x10", NULL);
	cr_expect(eq(u64, rows.list[0].detail.taken, 2));
	cr_expect(eq(u64, rows.list[0].detail.predicted, 2));
	cr_expect(eq(u64, rows.list[0].detail.right, 1));
	rows_free(&rows);
	samples_free(&samples);
	resolver_free(&resolver);
	tally_free(&tally);
	group("address,target");
	cr_expect(eq(sz, rows.nr, 2));
	expect_row(0, 2, "object+0x10", "object+0x800");
	expect_row(1, 1, "object+0x10", "object+0x12");
	ungroup();
}

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
	const struct lwpdata_thread thread = { 0, 0, 100, 0, { 0 }, TEXT("worker") };

	begin(2, 0, 0);
	add_object(0, "/object");
	add_map(0, 0x1000, 0x2000);
	lwpdata_write_thread(writer, &thread, 2);
	event_id = 3;
}

static void expect_share(size_t i, double share, double low, double high)
{
	cr_expect(epsilon_eq(dbl, rows.list[i].share, share, 1e-9));
	cr_expect(epsilon_eq(dbl, rows.list[i].interval.low, low, 1e-5));
	cr_expect(epsilon_eq(dbl, rows.list[i].interval.high, high, 1e-5));
}

Test(profile, a_share_of_samples_has_wilsons_interval)
{
	begin(1, 99, 0);
	add_thread(0, 0);
	for (int i = 0; i < 2; i++) {
		add_records(0, 25, 0x1000);
		add_records(0, 25, 0x1001);
	}
	load();
	group("address");
	expect_share(0, 0.5, 0.403830, 0.596170);
	ungroup();
}

Test(profile, shares_of_a_file_that_grows_are_of_what_records_stand_for)
{
	begin(1, 99, 0);
	add_thread(0, 0);
	add_records(0, 20, 0x1000);
	lwpdata_write_kept(writer, &(struct lwpdata_kept){ .event_id = 2, .bits = 1 });
	add_records(0, 20, 0x1001);
	load();
	group("address");
	cr_expect(epsilon_eq(dbl, rows.list[0].share, 2.0 / 3, 1e-9));
	cr_expect(epsilon_eq(dbl, rows.list[1].share, 1.0 / 3, 1e-9));
	ungroup();
}

Test(profile, windows_count_by_what_they_stand_for)
{
	begin_windows();
	add_window("aaab", 100, 0);
	add_window("bb", 300, 0);
	load();
	group("address");
	cr_expect(eq(u64, rows.windows, 2));
	expect_row(0, 3, "object+0x20", NULL);
	cr_expect(epsilon_eq(dbl, rows.list[0].share, 0.8125, 1e-9)); /* (25 + 300) / 400 */
	cr_expect(eq(u64, rows.list[0].windows, 2));
	cr_expect(eq(u64, rows.list[1].windows, 1));
	ungroup();
}

/*
 * 640 branches, all of a window alike: 80 samples. All 78 differences of differences are 1 or -1, so that the variance is
 * 0.99 * 80 / 6 / 80^2, which is that of 121.212 samples.
 */
Test(profile, branches_of_a_window_are_not_independent)
{
	begin_windows();
	for (int i = 0; i < 80; i++)
		add_window(i & 2 ? "aaaaaaaa" : "bbbbbbbb", 800, 0);
	load();
	group("address");
	cr_expect(eq(u64, rows.windows, 80));
	cr_expect(epsilon_eq(dbl, rows.list[0].effective, 121.212, 1e-3));
	expect_share(0, 0.5, 0.412365, 0.587635);
	ungroup();
}

/* 0, 0, 1, 1, 2, 2 ... of 32: differences of differences are 1 or -1, so that the variance is 0.99 * 60 / 6 / 1920^2. */
Test(profile, what_changes_steadily_is_known_better)
{
	char window[33] = { 0 };

	begin_windows();
	for (int i = 0; i < 60; i++) {
		for (int k = 0; k < 32; k++)
			window[k] = k < i / 2 ? 'a' : 'b';
		add_window(window, 3200, 0);
	}
	load();
	group("address");
	cr_expect(epsilon_eq(dbl, rows.list[1].share, 870 / 1920., 1e-9));
	cr_expect(epsilon_eq(dbl, rows.list[1].effective, 92272.7, 0.1));
	ungroup();
}

/* The variance is 0.99 * 10 / 9 / 2 * 2 / 10^2, that of 8.1818 samples; with 2 degrees of freedom t is 4.3027. */
Test(profile, a_row_of_one_window_is_known_as_by_three)
{
	begin_windows();
	for (int i = 0; i < 10; i++)
		add_window(i == 5 ? "aaaa" : "bbbb", 400, 0);
	load();
	group("address");
	cr_expect(epsilon_eq(dbl, rows.list[1].effective, 8.1818, 1e-3));
	expect_share(1, 0.1, 0.004083, 0.750720);
	ungroup();
}

Test(profile, windows_that_continue_are_one)
{
	begin_windows();
	for (int i = 0; i < 4; i++)
		add_window("ab", 20, i & 1 ? LWPDATA_WINDOW_CONTINUES : 0);
	load();
	group("address");
	cr_expect(eq(u64, rows.windows, 2));
	cr_expect(eq(u64, report_nr_windows(&profile, &samples, 3), 2));
	ungroup();
}

Test(profile, a_complete_trace_is_exact)
{
	begin_windows();
	add_window("aaab", 4, 0);
	add_window("bb", 2, LWPDATA_WINDOW_CONTINUES);
	load();
	group("address");
	expect_share(0, 0.5, 0.5, 0.5);
	cr_expect(eq(u64, report_nr_windows(&profile, &samples, 3), 0));
	ungroup();
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

Test(profile, few_samples_have_advice)
{
	begin(1, 100003, 0);
	add_thread(0, 0);
	add_records(0, 12, 0x1000);
	load();
	group("address");
	/* 12 * 100004 events; 1200048 / 10000 - 1 of two digits */
	expect_advice("12 samples are few: about 1200048 instructions were counted; record with "
		      "--event=instructions:110",
		      false);
	expect_advice(NULL, true);
	ungroup();
}

Test(profile, no_samples_have_a_reason)
{
	begin(1, 100003, 0);
	add_thread(0, 100003);
	end_thread(0, LWPDATA_THREAD_FLUSHED, 0, 80003);
	load();
	group("address");
	expect_advice("0 samples are few: about 20000 instructions were counted; record with "
		      "--event=instructions:1",
		      false);
	expect_advice("No samples: the options leave out all there are", true);
	ungroup();
	begin(1, 100003, 0);
	load();
	group("address");
	expect_advice("No samples: LWP was not on in any thread", false);
	ungroup();
}

Test(profile, nothing_counted_is_a_reason)
{
	begin(1, 99, 0);
	add_thread(0, 50);
	end_thread(0, LWPDATA_THREAD_FLUSHED, 0, 50);
	load();
	group("address");
	expect_advice(
		"No samples: no instructions were counted; the program had none, or this processor "
		"does not count them",
		false);
	ungroup();
}

Test(profile, few_windows_have_advice)
{
	begin_windows();
	add_window("aaab", 1000000, 0);
	load();
	group("address");
	expect_advice("1 windows are few: record with --windows=64:64", false);
	ungroup();
}

Test(profile, missed_events_are_a_share_of_all)
{
	begin(1, 99, 0);
	add_thread(0, 0);
	add_records(0, 3, 0x1000);
	end_thread(0, 0, 9, 0);
	load();
	cr_expect(eq(dbl, report_missed_share(&profile), 0.75));
	profile_free(&profile);
}

Test(profile, a_file_of_another_size_without_build_id_is_another_file)
{
	const struct lwpdata_object passwd = { .id = 0, .path = TEXT("/etc/passwd"), .size = 1 };

	begin(1, 99, 0);
	lwpdata_write_object(writer, &passwd);
	add_map(0, 0x1000, 0x2000);
	add_thread(0, 0);
	add_records(0, 1, 0x1800);
	load();
	group("object");
	cr_expect(strstr(resolver_problem(&resolver, 0), "another size") != NULL);
	ungroup();
}
