// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "made_profile.h"

#define TEMPLATE "/tmp/test_profile.XXXXXX"

char path[sizeof(TEMPLATE)];
struct lwpdata_writer *writer;
struct profile profile;
const char *made_exe = "/prog";

struct rows rows;
struct resolver resolver;
struct tally tally;
struct samples samples;
struct filter filter;
uint8_t event_id = 2;

void forget(void)
{
	rows_free(&rows);
	rows = (struct rows){ 0 };
	samples_free(&samples);
	samples = (struct samples){ 0 };
	resolver_free(&resolver);
	resolver = (struct resolver){ 0 };
	tally_free(&tally);
	tally = (struct tally){ 0 };
	profile_free(&profile);
	profile = (struct profile){ 0 };
}

void begin(uint32_t nr_events, uint32_t interval, uint32_t random)
{
	const struct lwpdata_config config = {
		.nr_events = nr_events,
		.events = { { 2, interval }, { 3, interval } },
		.random = random,
		.ring_size = 4096,
		.tool = lwpdata_text("test"),
	};
	const struct lwpdata_process process = { 0,
						 LWPDATA_NONE,
						 100,
						 LWPDATA_BY_EXEC,
						 0,
						 lwpdata_text("prog"),
						 lwpdata_text(made_exe) };

	forget();
	strcpy(path, TEMPLATE);
	close(mkstemp(path));
	writer = lwpdata_create(path);
	cr_assert(writer != NULL);
	lwpdata_write_config(writer, &config);
	lwpdata_write_process(writer, &process);
}

void begin_thread(uint32_t interval, uint32_t initial)
{
	begin(1, interval, 0);
	add_thread(0, initial);
}

void add_object(uint32_t id, const char *name)
{
	const struct lwpdata_object object = { .id = id, .path = lwpdata_text(name) };

	lwpdata_write_object(writer, &object);
}

void begin_in(const char *object)
{
	begin_thread(99, 0);
	add_object(0, object);
	add_map(0, 0x1000, 0x2000);
}

void add_map(uint32_t object, uint64_t start, uint64_t end)
{
	const struct lwpdata_map map = { 0, object, 0, start, end, 0 };

	lwpdata_write_map(writer, &map);
}

void add_unmap(uint64_t start, uint64_t end)
{
	const struct lwpdata_unmap unmap = { 0, 0, start, end };

	lwpdata_write_unmap(writer, &unmap);
}

void add_thread(uint32_t id, uint32_t initial)
{
	const struct lwpdata_thread thread = { id, 0,		100 + id,
					       0,  { initial }, lwpdata_text("worker") };

	lwpdata_write_thread(writer, &thread);
}

void end_thread(uint32_t id, uint32_t flags, uint64_t missed, uint32_t final)
{
	const struct lwpdata_thread_end end = {
		id, flags, 0, 0, missed, { final }, lwpdata_text("worker")
	};

	lwpdata_write_thread_end(writer, &end);
}

void add_records(uint32_t thread, unsigned int n, uint64_t address)
{
	uint8_t bytes[64 * LWP_RECORD_SIZE];
	const struct lwp_record record = { .event_id = 2, .address = address };

	for (unsigned int i = 0; i < n; i++)
		lwp_record_encode(&record, bytes + i * LWP_RECORD_SIZE);
	lwpdata_write_records(writer, thread, 0, bytes, n * LWP_RECORD_SIZE, NULL, 0);
}

void load(void)
{
	cr_assert(eq(int, lwpdata_finish(writer), 0));
	cr_assert(profile_load(&profile, path));
	unlink(path);
}

void group_in(const char *by, enum order order)
{
	struct grouping grouping;

	cr_assert(grouping_parse(&grouping, by));
	resolver_init(&resolver, &profile, "", true);
	tally_profile(&tally, &profile, &filter, grouping_has(&grouping, KEY_TARGET), &resolver);
	samples_locate(&samples, &resolver, &tally, &filter);
	rows_make(&rows, &resolver, &samples, &grouping, event_id, order);
}

void group(const char *by)
{
	group_in(by, ORDER_SAMPLES);
}

void load_by(const char *by)
{
	load();
	group(by);
}

void expect_row(size_t i, uint64_t number, const char *first, const char *second)
{
	cr_assert(lt(sz, i, rows.nr));
	cr_expect(eq(u64, rows.list[i].samples, number));
	cr_expect(eq(str, (char *)rows.list[i].labels[0], (char *)first));
	if (second)
		cr_expect(eq(str, (char *)rows.list[i].labels[1], (char *)second));
}
