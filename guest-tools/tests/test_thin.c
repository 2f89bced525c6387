// SPDX-License-Identifier: GPL-2.0-or-later
/* Which records are kept of an event that has too many. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lwpdata_wire.h"
#include "thin.h"

enum { INSTRUCTIONS = 2, BRANCHES = 3, INSERTED = 255 };
#define THREADS 30000
#define BATCH 999

static char path[64];
static struct thin thin;
static struct lwpdata_writer *writer;
static uint64_t made[THREADS];
/* In the file: */
static uint32_t bits[256], nr_kept; /* by EventId; KEPT sections */
static uint64_t seen[256]; /* by EventId */
static uint64_t last[THREADS], shortest, longest; /* between the numbers of a thread's records */

static void begin(uint32_t nr_threads)
{
	const struct lwpdata_config config = { .nr_events = 2,
					       .events = { { INSTRUCTIONS, 9 }, { BRANCHES, 9 } } };

	strcpy(path, "/tmp/test_thin.XXXXXX");
	close(mkstemp(path));
	thin = (struct thin){ .nr_events = 2,
			      .events = { { .event_id = INSTRUCTIONS }, { .event_id = BRANCHES } },
			      .grows = true };
	writer = lwpdata_create(path);
	cr_assert(writer != NULL);
	lwpdata_write_config(writer, &config);
	lwpdata_write_process(writer, &(struct lwpdata_process){ .parent = LWPDATA_NONE });
	for (uint32_t id = 0; id < nr_threads; id++)
		lwpdata_write_thread(writer, &(struct lwpdata_thread){ .id = id });
}

/* Records that have their number in the thread as address, in two pieces as of a ring that wraps. */
static void add(uint32_t thread, uint8_t event, size_t n)
{
	uint8_t bytes[BATCH * LWPDATA_RECORD_SIZE] = { 0 };

	for (size_t now; n; n -= now) {
		size_t first = (now = n < BATCH ? n : BATCH) / 3 * LWPDATA_RECORD_SIZE;

		for (size_t i = 0; i < now; i++) {
			bytes[i * LWPDATA_RECORD_SIZE] = event;
			lwp_put64(bytes + i * LWPDATA_RECORD_SIZE + 8, ++made[thread]);
		}
		thin_records(&thin, writer, thread, 0, bytes, first, bytes + first,
			     now * LWPDATA_RECORD_SIZE - first);
	}
}

static void take(const struct lwpdata_records *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const uint8_t *record = r->data + (size_t)i * LWPDATA_RECORD_SIZE;
		uint64_t number = lwp_get64(record + 8), gap = number - last[r->thread];

		seen[record[0]]++;
		if (last[r->thread]) {
			shortest = shortest && shortest < gap ? shortest : gap;
			longest = gap > longest ? gap : longest;
		}
		last[r->thread] = number;
	}
}

static void end(void)
{
	static uint8_t file[8 << 20];
	struct lwpdata_section s;
	struct lwpdata_reader r;
	struct lwpdata_error error = { 0 };
	uint64_t records;
	ssize_t size;
	int fd, more;

	cr_assert(eq(int, thin_finish(&thin, writer, path, &records), 0));
	fd = open(path, O_RDONLY);
	size = read(fd, file, sizeof(file));
	close(fd);
	unlink(path);
	cr_assert(lwpdata_open(&r, file, (uint64_t)size, &error));
	while ((more = lwpdata_next(&r, &s, &error)) > 0) {
		if (s.type == LWPDATA_RECORDS)
			take(&s.records);
		if (s.type != LWPDATA_KEPT)
			continue;
		bits[s.kept.event_id] = s.kept.bits;
		cr_expect(eq(u64, r.sections, 2 + nr_kept++), "it is behind CONFIG");
	}
	cr_expect(eq(int, more, 0), "%s", error.text);
	cr_expect(eq(u64, r.records, records));
}

Test(thin, up_to_twice_the_target_all_are_kept)
{
	begin(1);
	add(0, INSTRUCTIONS, 20000);
	end();
	cr_expect(eq(u64, seen[INSTRUCTIONS], 20000));
	cr_expect(eq(u32, nr_kept, 0));
}

Test(thin, of_more_each_second_is_kept)
{
	begin(1);
	add(0, INSTRUCTIONS, 20001);
	end();
	cr_expect(eq(u64, seen[INSTRUCTIONS] & ~1ull, 10000)); /* or 10001 */
	cr_expect(eq(u32, bits[INSTRUCTIONS], 1));
	cr_expect(eq(u64, shortest, 2));
	cr_expect(eq(u64, longest, 2));
}

/* Bits have grown at 20,000, 40,000, 80,000 and 160,000 records, the first also in the file when it was rewritten. */
Test(thin, records_of_the_beginning_and_of_the_end_are_as_far_apart)
{
	begin(2);
	for (int i = 0; i < 5; i++) {
		add(0, INSTRUCTIONS, 30001);
		add(1, INSTRUCTIONS, 10007);
	}
	end();
	cr_expect(eq(u32, bits[INSTRUCTIONS], 4));
	cr_expect(eq(u64, shortest, 16));
	cr_expect(eq(u64, longest, 16));
	cr_expect(ge(u64, seen[INSTRUCTIONS], (150005 + 50035) / 16 - 2));
	cr_expect(le(u64, seen[INSTRUCTIONS], (150005 + 50035) / 16 + 2));
}

Test(thin, each_event_is_thinned_by_itself)
{
	begin(1);
	for (int i = 0; i < 50; i++) {
		add(0, INSTRUCTIONS, 1000);
		add(0, BRANCHES, 10);
	}
	end();
	cr_expect(eq(u32, bits[INSTRUCTIONS], 2));
	cr_expect(eq(u64, seen[BRANCHES], 500));
	cr_expect(eq(u32, nr_kept, 1));
}

Test(thin, what_the_program_inserted_is_kept)
{
	begin(1);
	add(0, INSTRUCTIONS, 50000);
	add(0, INSERTED, 30000);
	end();
	cr_expect(eq(u64, seen[INSERTED], 30000));
}

/* One record each: half of them are kept, give or take four standard deviations. */
Test(thin, short_threads_have_their_share)
{
	begin(THREADS);
	for (uint32_t thread = 0; thread < THREADS; thread++)
		add(thread, INSTRUCTIONS, 1);
	end();
	cr_expect(eq(u32, bits[INSTRUCTIONS], 1));
	cr_expect(ge(u64, seen[INSTRUCTIONS], 14650));
	cr_expect(le(u64, seen[INSTRUCTIONS], 15350));
}

Test(thin, a_file_without_records_is_whole)
{
	begin(1);
	end();
	cr_expect(eq(u64, seen[INSTRUCTIONS], 0));
}

/* The file that grows says where records begin to be left out, and is no more than 10,000 longer for it each time. */
Test(thin, the_file_that_grows_is_bounded)
{
	begin(1);
	add(0, INSTRUCTIONS, 5000000);
	cr_expect(le(u64, lwpdata_written_records(writer), 110000));
	cr_expect(eq(u32, thin.events[0].bits, 8));
	end();
}
