// SPDX-License-Identifier: GPL-2.0-or-later
/* The data file: a file that was written is read back, and a reader trusts nothing (docs/lwpdata.md). */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "lwpdata_wire.h"
#include "sample.h"

static char directory[64], path[96];
static uint8_t file[1 << 20];
static size_t size;
static struct lwpdata_error error;

static void set_up(void)
{
	snprintf(directory, sizeof(directory), "/tmp/test_lwpdata.XXXXXX");
	cr_assert(mkdtemp(directory) != NULL);
	snprintf(path, sizeof(path), "%s/data", directory);
}

static void tear_down(void)
{
	unlink(path);
	cr_expect(eq(int, rmdir(directory), 0), "something else was left in the directory");
}

TestSuite(lwpdata, .init = set_up, .fini = tear_down);

static struct lwpdata_writer *begin(void)
{
	struct lwpdata_writer *w = lwpdata_create(path);

	cr_assert(w != NULL);
	return w;
}

/* Ends the file and loads its bytes into `file`. */
static void end(struct lwpdata_writer *w)
{
	int fd;

	cr_assert(eq(int, lwpdata_finish(w), 0));
	fd = open(path, O_RDONLY);
	size = (size_t)read(fd, file, sizeof(file));
	close(fd);
}

static void make_sample(void)
{
	struct lwpdata_writer *w = begin();

	sample_write(w);
	end(w);
}

/* Reads everything in the first n bytes; the result of the last call of the reader. */
static int read_all(size_t n)
{
	struct lwpdata_section section;
	struct lwpdata_reader reader;
	int more;

	memset(&error, 0, sizeof(error));
	if (!lwpdata_open(&reader, file, n, &error))
		return -1;
	while ((more = lwpdata_next(&reader, &section, &error)) > 0)
		;
	return more;
}

static void expect_error(const char *words)
{
	cr_expect(eq(int, read_all(size), -1));
	cr_expect(strstr(error.text, words) != NULL, "'%s' instead of '%s'", error.text, words);
	cr_expect(le(u64, error.offset, size));
}

static void expect_text(struct lwpdata_bytes bytes, const char *text)
{
	cr_expect(eq(sz, bytes.size, strlen(text)));
	cr_expect(eq(int, memcmp(bytes.data, text, strlen(text)), 0), "%s", text);
}

/* The next section, which must be of this type. */
static void next(struct lwpdata_reader *r, struct lwpdata_section *s, uint32_t type)
{
	cr_assert(eq(int, lwpdata_next(r, s, &error), 1), "%s", error.text);
	cr_assert(eq(u32, s->type, type));
}

/* ---- What is written is read ---------------------------------------------------------------- */

/* The next section; its first bytes are those of this part of the sample. */
static void next_is(struct lwpdata_reader *r, struct lwpdata_section *s, uint32_t type,
		    const void *sample, size_t bytes)
{
	next(r, s, type);
	cr_expect(eq(int, memcmp(&s->config, sample, bytes), 0), "section %u", type);
}
#define UP_TO(part, field) offsetof(struct lwpdata_##part, field)

static void expect_places(struct lwpdata_reader *r, struct lwpdata_section *s)
{
	next_is(r, s, LWPDATA_OBJECT, &sample_object, UP_TO(object, path));
	expect_text(s->object.path, "/usr/lib/x.so");
	cr_expect(eq(sz, s->object.build_id.size, 4));
	cr_expect(eq(int, memcmp(s->object.build_id.data, "\x01\x00\x02\x03", 4), 0));
	next_is(r, s, LWPDATA_PROCESS, &sample_process, UP_TO(process, comm));
	expect_text(s->process.comm, "perl");
	expect_text(s->process.exe, "/usr/bin/perl");
	next_is(r, s, LWPDATA_MAP, &sample_map, sizeof(sample_map));
	next_is(r, s, LWPDATA_DATA_MAP, &sample_data_map, UP_TO(data_map, name));
	expect_text(s->data_map.name, "");
	next_is(r, s, LWPDATA_DATA_MAP, &sample_heap, UP_TO(data_map, name));
	expect_text(s->data_map.name, "[heap]");
	next(r, s, LWPDATA_IMAGE);
	expect_text(s->image.bytes, "\177ELF");
}

static void expect_thread(struct lwpdata_reader *r, struct lwpdata_section *s)
{
	next_is(r, s, LWPDATA_THREAD, &sample_thread, UP_TO(thread, comm));
	expect_text(s->thread.comm, "worker");
	next(r, s, LWPDATA_RECORDS);
	cr_expect(eq(u32, s->records.thread, 0));
	cr_expect(eq(u32, s->records.count, 3));
	cr_expect(eq(u64, s->records.time, 1003));
	for (unsigned int i = 0; i < 96; i++)
		cr_expect(eq(u8, s->records.data[i], (uint8_t)(i + 1)));
	next_is(r, s, LWPDATA_WINDOW, &sample_window, UP_TO(window, data));
	for (unsigned int i = 0; i < 96; i++)
		cr_expect(eq(u8, s->window.data[i], i % 32 ? (uint8_t)(i + 1) : 3));
	next_is(r, s, LWPDATA_STACK, &sample_stack, UP_TO(stack, addresses));
	cr_expect(eq(sz, s->stack.addresses.size, sizeof(sample_addresses)));
	cr_expect(eq(int, memcmp(s->stack.addresses.data, sample_addresses, 16), 0));
	next_is(r, s, LWPDATA_THREAD_END, &sample_thread_end, UP_TO(thread_end, comm));
	expect_text(s->thread_end.comm, "renamed");
}

Test(lwpdata, every_field_is_read_as_written)
{
	struct lwpdata_section s;
	struct lwpdata_reader r;

	make_sample();
	cr_assert(lwpdata_open(&r, file, size, &error));
	next_is(&r, &s, LWPDATA_CONFIG, &sample_config, UP_TO(config, tool));
	expect_text(s.config.tool, "lwprun test");
	expect_text(s.config.kernel, "6.12");
	cr_expect(eq(u32, s.config.nr_args, 3));
	for (uint32_t i = 0; i < 3; i++)
		expect_text(lwpdata_arg(&s.config, i), (const char *)sample_args[i].data);
	next(&r, &s, LWPDATA_KEPT);
	cr_expect(eq(u32, s.kept.event_id, 3));
	cr_expect(eq(u32, s.kept.bits, 4));
	expect_places(&r, &s);
	expect_thread(&r, &s);
	next_is(&r, &s, LWPDATA_UNMAP, &sample_unmap, sizeof(sample_unmap));
	next_is(&r, &s, LWPDATA_DATA_UNMAP, &sample_data_unmap, sizeof(sample_unmap));
	next(&r, &s, LWPDATA_PERF_MAP);
	expect_text(s.perf_map.text, "1000 10 name\n");
	next_is(&r, &s, LWPDATA_PROCESS_END, &sample_process_end, sizeof(sample_process_end));
	next_is(&r, &s, LWPDATA_STATS, &sample_stats, sizeof(sample_stats));
	next(&r, &s, LWPDATA_END);
	cr_expect(eq(int, lwpdata_next(&r, &s, &error), 0));
	cr_expect(eq(u64, r.sections, SAMPLE_SECTIONS));
}

Test(lwpdata, the_first_bytes_are_as_documented)
{
	/* preamble: magic, version 1.5, zero */
	static uint8_t expected[32] = "LWPDATA\n\1\0\5\0\0\0\0\0"
				      "\1"; /* CONFIG: type 1, CRC, size */

	/* 12 words, 2 x 2 words, texts of 11 and 4, 1 word, 4, 0, 3 */
	expected[24] = 4 * 10 + 8 * 2 + 16 + 13 + 6 + 4 + 6 + 2 + 5;
	make_sample();
	memset(file + 20, 0, 4);
	cr_expect(eq(int, memcmp(file, expected, sizeof(expected)), 0));
	cr_expect(eq(sz, size % 8, 0));
}

Test(lwpdata, names_of_events_are_found_both_ways)
{
	cr_expect(eq(str, (char *)lwpdata_event_name(2), (char *)"instructions"));
	cr_expect(eq(str, (char *)lwpdata_event_name(255), (char *)"inserted"));
	cr_expect(lwpdata_event_name(7) == NULL);
	cr_expect(eq(u32, lwpdata_event_by_name("branches", 8), 3));
	cr_expect(eq(u32, lwpdata_event_by_name("branches", 7), 0));
	cr_expect(eq(u32, lwpdata_event_by_name("", 0), 0));
}

/* ---- Damage is found ------------------------------------------------------------------------ */

Test(lwpdata, a_file_cut_off_anywhere_is_refused)
{
	make_sample();
	cr_expect(eq(int, read_all(size), 0));
	for (size_t n = 0; n < size; n++) {
		cr_expect(eq(int, read_all(n), -1), "%zu of %zu bytes", n, size);
		cr_expect(le(u64, error.offset, n));
		cr_expect(ne(chr, error.text[0], 0));
	}
}

Test(lwpdata, every_changed_byte_is_noticed)
{
	make_sample();
	for (size_t i = 0; i < size; i++) {
		/* A later minor version adds nothing that this reader must know. */
		if (i == LWPDATA_PREAMBLE_MINOR || i == LWPDATA_PREAMBLE_MINOR + 1)
			continue;
		file[i] ^= 0x40;
		cr_expect(eq(int, read_all(size), -1), "byte %zu", i);
		file[i] ^= 0x40;
	}
}

Test(lwpdata, bytes_after_the_end_are_refused)
{
	make_sample();
	memset(file + size, 0, 16);
	size += 16;
	expect_error("data after the END section");
}

Test(lwpdata, other_files_and_versions_are_refused)
{
	make_sample();
	file[0] = 'X';
	expect_error("not an lwpdata file");
	file[0] = 'L';
	file[LWPDATA_PREAMBLE_MAJOR] = 2;
	expect_error("version 2");
}

/* ---- Lies are found: sections that are whole but wrong -------------------------------------- */

/* Where the n-th section of a type begins in `file`. */
static size_t find_section(uint32_t type)
{
	size_t at = LWPDATA_PREAMBLE_SIZE;

	while (lwp_get32(file + at) != type) {
		uint64_t payload = lwp_get64(file + at + LWPDATA_HEADER_SIZE);

		at += LWPDATA_SECTION_HEADER_SIZE + payload + lwpdata_padding(payload);
		cr_assert(lt(sz, at, size));
	}
	return at;
}

/* Give a section that was changed a right checksum. */
static void sign(size_t at)
{
	uint64_t payload = lwp_get64(file + at + LWPDATA_HEADER_SIZE);
	uint32_t crc = lwpdata_header_crc(file + at);

	crc = (uint32_t)crc32_z(crc, file + at + LWPDATA_SECTION_HEADER_SIZE, payload);
	lwp_put32(file + at + LWPDATA_HEADER_CRC, crc);
}

/* The sample with 32 bits of a section's payload changed. */
static void change(uint32_t type, size_t offset, uint32_t value)
{
	size_t at;

	make_sample();
	at = find_section(type);
	lwp_put32(file + at + LWPDATA_SECTION_HEADER_SIZE + offset, value);
	sign(at);
}

static void refused(uint32_t type, size_t offset, uint32_t value, const char *words)
{
	change(type, offset, value);
	expect_error(words);
}

Test(lwpdata, numbers_out_of_range_are_refused)
{
	refused(LWPDATA_CONFIG, 0, 2, "revision");
	refused(LWPDATA_CONFIG, 4, 17, "too many events");
	refused(LWPDATA_CONFIG, 4, 0xffffffff, "too many events");
	refused(LWPDATA_CONFIG, 36, 16, "Random");
	refused(LWPDATA_CONFIG, 56, 256, "EventId");
	refused(LWPDATA_CONFIG, 60, 0x2000000, "25 bits");
	refused(LWPDATA_PROCESS_END, 4, 4, "unknown way");
	refused(LWPDATA_UNMAP, 4, 1, "reserved");
	refused(LWPDATA_KEPT, 0, 4, "an event that the file does not have");
	refused(LWPDATA_KEPT, 4, 32, "too few records");
}

Test(lwpdata, references_to_what_is_not_there_are_refused)
{
	refused(LWPDATA_MAP, 0, 1, "process that was not introduced");
	refused(LWPDATA_MAP, 4, 1, "object that was not introduced");
	refused(LWPDATA_UNMAP, 0, 1, "process that was not introduced");
	refused(LWPDATA_THREAD, 4, 1, "process that was not introduced");
	refused(LWPDATA_RECORDS, 0, 1, "thread that was not introduced");
	refused(LWPDATA_THREAD_END, 0, 0xffffffff, "thread that was not introduced");
	refused(LWPDATA_PROCESS, 4, 0, "parent that was not introduced");
	refused(LWPDATA_IMAGE, 0, 1, "object that was not introduced");
}

Test(lwpdata, a_mapping_of_data_is_checked_as_one_of_code)
{
	refused(LWPDATA_DATA_MAP, 0, 1, "DATA_MAP: refers to a process that was not introduced");
	refused(LWPDATA_DATA_MAP, 4, 1, "DATA_MAP: refers to an object that was not introduced");
	refused(LWPDATA_DATA_MAP, 16, 0x4000, "range ends before it starts");
	refused(LWPDATA_DATA_MAP, 40, 1, "too short");
	refused(LWPDATA_DATA_UNMAP, 0, 1,
		"DATA_UNMAP: refers to a process that was not introduced");
	refused(LWPDATA_DATA_UNMAP, 4, 1, "reserved");
}

Test(lwpdata, ids_count_from_zero)
{
	refused(LWPDATA_OBJECT, 0, 1, "numbered in order");
	refused(LWPDATA_PROCESS, 0, 1, "numbered in order");
	refused(LWPDATA_THREAD, 0, 1, "numbered in order");
}

Test(lwpdata, counts_must_fit_their_section)
{
	refused(LWPDATA_RECORDS, 4, 4, "too short");
	refused(LWPDATA_RECORDS, 4, 2, "longer than its contents");
	refused(LWPDATA_RECORDS, 4, 0xffffffff, "too short");
	refused(LWPDATA_THREAD, 20, 3, "number of counters");
}

Test(lwpdata, a_stack_is_whole_addresses)
{
	struct lwpdata_stack stack = sample_stack;

	refused(LWPDATA_STACK, 0, 1, "STACK: refers to a thread that was not introduced");
	refused(LWPDATA_STACK, 4, 0, "stands for nothing");
	for (stack.addresses.size = 0; stack.addresses.size < 16; stack.addresses.size += 12) {
		struct lwpdata_writer *w = begin();

		sample_write(w);
		lwpdata_write_stack(w, &stack);
		end(w);
		expect_error("STACK: a stack that is no addresses");
	}
}

Test(lwpdata, a_window_is_consecutive_records_of_one_event)
{
	refused(LWPDATA_WINDOW, 0, 1, "WINDOW: refers to a thread that was not introduced");
	refused(LWPDATA_WINDOW, 4, 0, "window without records");
	refused(LWPDATA_WINDOW, 4, 4, "too short");
	refused(LWPDATA_WINDOW, 4, 2, "longer than its contents");
	refused(LWPDATA_WINDOW, 16, 2, "stands for less than its records");
	refused(LWPDATA_WINDOW, 16, 3, "not those that were written");
	refused(LWPDATA_WINDOW, 28, 1, "reserved");
	refused(LWPDATA_WINDOW, 32 + 2 * 32, 2, "records of two events");
	refused(LWPDATA_WINDOW, 32, 2, "records of two events");
	refused(LWPDATA_WINDOW, 32, 4, "an event that the file does not have");
}

/* What version 1.0 had: the same sections without windows. */
Test(lwpdata, files_of_version_1_0_are_read)
{
	struct lwpdata_writer *w = begin();
	const struct lwpdata_config config = { .nr_events = 1, .events = { { 2, 9 } } };

	lwpdata_write_config(w, &config);
	end(w);
	file[LWPDATA_PREAMBLE_MINOR] = 0;
	cr_expect(eq(int, read_all(size), 0));
}

/* A reader of version 1.0 passes over windows: they are not among the records that END counts. */
Test(lwpdata, the_end_does_not_count_the_records_of_windows)
{
	struct lwpdata_section s = { 0 };
	struct lwpdata_reader r;

	make_sample();
	cr_assert(lwpdata_open(&r, file, size, &error));
	while (lwpdata_next(&r, &s, &error) > 0)
		;
	cr_expect(r.ended);
	cr_expect(eq(u64, r.records, 3));
	cr_expect(eq(u32, LWPDATA_WINDOW & LWPDATA_OPTIONAL, LWPDATA_OPTIONAL));
}

/* STATS is seven numbers of 8 bytes. */
Test(lwpdata, sections_must_hold_all_their_fields)
{
	for (uint64_t length = 0; length < 56; length++) {
		size_t at;

		make_sample();
		at = find_section(LWPDATA_STATS);
		lwp_put64(file + at + LWPDATA_HEADER_SIZE, length);
		sign(at);
		memset(file + at + LWPDATA_SECTION_HEADER_SIZE + length, 0,
		       lwpdata_padding(length));
		expect_error("STATS: the section is too short");
	}
}

Test(lwpdata, ranges_must_not_be_empty)
{
	refused(LWPDATA_MAP, 16, 0x3000, "ends before it starts");
	refused(LWPDATA_UNMAP, 16, 0x4000, "ends before it starts");
}

Test(lwpdata, texts_have_no_nul)
{
	/* OBJECT: id, flags, size, then a length and the path. */
	refused(LWPDATA_OBJECT, 18, 0, "NUL");
}

Test(lwpdata, the_end_knows_what_came_before)
{
	refused(LWPDATA_END, 0, SAMPLE_SECTIONS, "another number of sections");
	refused(LWPDATA_END, 8, 4, "another number of records");
	/* A section replaced by another good one of the same length. */
	refused(LWPDATA_STATS, 0, 8, "not those that were written");
}

Test(lwpdata, config_comes_first_and_once)
{
	make_sample();
	lwp_put32(file + LWPDATA_PREAMBLE_SIZE, LWPDATA_STATS);
	sign(LWPDATA_PREAMBLE_SIZE);
	expect_error("CONFIG must be the first");
	change(LWPDATA_STATS, 0, 1);
	lwp_put32(file + find_section(LWPDATA_STATS), LWPDATA_CONFIG);
	sign(find_section(LWPDATA_END) - 16 - 56);
	expect_error("CONFIG must be the first");
}

Test(lwpdata, unknown_sections_are_skipped_only_if_optional)
{
	size_t at;

	change(LWPDATA_STATS, 0, 1);
	at = find_section(LWPDATA_STATS);
	lwp_put32(file + at, 99);
	sign(at);
	expect_error("too old");
	lwp_put32(file + at, 99 | LWPDATA_OPTIONAL);
	sign(at);
	/* It is passed over; only the chain of checksums, which was not signed, is wrong. */
	expect_error("not those that were written");
}

/* ---- The writer ----------------------------------------------------------------------------- */

Test(lwpdata, a_file_has_its_name_only_when_it_is_whole)
{
	struct lwpdata_writer *w = begin();

	sample_write(w);
	cr_expect(eq(int, access(path, F_OK), -1));
	lwpdata_abandon(w);
	cr_expect(eq(int, access(path, F_OK), -1));
	make_sample();
	cr_expect(eq(int, access(path, F_OK), 0));
}

Test(lwpdata, an_old_file_stays_until_it_is_replaced)
{
	struct lwpdata_writer *w;
	struct stat before, after;

	make_sample();
	stat(path, &before);
	w = begin();
	lwpdata_abandon(w);
	stat(path, &after);
	cr_expect(eq(ulong, before.st_ino, after.st_ino));
}

Test(lwpdata, what_is_no_file_is_not_replaced)
{
	cr_expect(lwpdata_create("/dev/null") == NULL);
	cr_expect(lwpdata_create("/") == NULL);
	cr_expect(lwpdata_create("/nonexistent/x") == NULL);
}

Test(lwpdata, sections_larger_than_the_buffer_are_whole)
{
	static uint8_t records[20000 * LWPDATA_RECORD_SIZE];
	struct lwpdata_writer *w = begin();
	struct lwpdata_section s;
	struct lwpdata_reader r;

	for (size_t i = 0; i < sizeof(records); i++)
		records[i] = (uint8_t)(i * 7);
	sample_write(w);
	lwpdata_write_records(w, 0, 1, records, sizeof(records), NULL, 0);
	cr_expect(eq(u64, lwpdata_written_records(w), 20003));
	end(w);
	cr_assert(lwpdata_open(&r, file, size, &error));
	while (lwpdata_next(&r, &s, &error) > 0)
		if (s.type == LWPDATA_RECORDS && s.records.count == 20000)
			cr_expect(eq(int, memcmp(s.records.data, records, sizeof(records)), 0));
	cr_expect(eq(u64, r.records, 20003));
	cr_expect(r.ended);
}
