// SPDX-License-Identifier: GPL-2.0-or-later
/* How samples are grouped: by what, in which order, which of them. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "made_profile.h"

TestSuite(rows, .fini = forget);

#define ESCAPE "\x1b[31m"

static void make_groups(void)
{
	const struct lwpdata_perf_map jit = { 0, 0, lwpdata_text("5000 100 compiled\n") };

	begin_in("/nonexistent/object");
	add_map(LWPDATA_NONE, 0x5000, 0x6000);
	add_thread(1, 0);
	add_records(0, 10, 0x1800);
	add_records(1, 5, 0x1900);
	add_records(1, 7, 0x5010);
	add_records(1, 2, 0x5800);
	add_records(0, 1, 0x9000);
	lwpdata_write_perf_map(writer, &jit);
	load();
}

#define expect_filtered(number, ...) filtered(number, (struct filter){ __VA_ARGS__ })
static void filtered(uint64_t wanted, struct filter by)
{
	filter = by;
	make_groups();
	group("object");
	cr_expect(eq(u64, rows.samples, wanted));
	cr_expect(eq(u64, samples.per_event[2], wanted));
	filter = (struct filter){ 0 };
}

static void add_data_map(uint32_t object, uint64_t start, uint64_t end, const char *name)
{
	const struct lwpdata_data_map map = { { 0, object, 0, start, end, 0 },
					      { (const uint8_t *)name, strlen(name) } };

	lwpdata_write_data_map(writer, &map);
}

static void add_record(uint8_t id, uint64_t data2, uint16_t flags)
{
	uint8_t bytes[LWP_RECORD_SIZE];
	const struct lwp_record record = {
		.event_id = id, .address = 0x1010, .data2 = data2, .flags = flags
	};

	lwp_record_encode(&record, bytes);
	lwpdata_write_records(writer, 0, 0, bytes, sizeof(bytes), NULL, 0);
}

#define add_branch(target, flags) add_record(3, target, flags)
#define add_miss(data, flags) add_record(4, data, flags)

Test(rows, samples_are_grouped_by_object_and_symbol)
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
}

/* One more process, with a thread of its number, and so many samples. */
static void add_process(uint32_t id, const char *comm, unsigned int number)
{
	const struct lwpdata_process process = {
		id, LWPDATA_NONE,	200 + id,	    LWPDATA_BY_EXEC,
		0,  lwpdata_text(comm), lwpdata_text("/it")
	};
	const struct lwpdata_thread thread = { id, id, 200 + id, 0, { 0 }, lwpdata_text("it") };

	lwpdata_write_process(writer, &process);
	lwpdata_write_thread(writer, &thread);
	add_records(id, number, 0x1800);
}

Test(rows, processes_of_a_name_are_one_program)
{
	begin_in("/nonexistent/object");
	add_records(0, 1, 0x1800);
	for (uint32_t id = 1; id <= 4; id++)
		add_process(id, id == 4 ? "other" : "same", id);
	load();
	group("program");
	cr_expect(eq(sz, rows.nr, 3));
	expect_row(0, 6, "same", NULL);
	expect_row(1, 4, "other", NULL);
	expect_row(2, 1, "prog", NULL);
	group("process");
	cr_expect(eq(sz, rows.nr, 5));
}

/* What the report says of a program's samples: `made` lie in memory of no file, the others in an object. */
static void expect_hint(const char *exe, unsigned int made, unsigned int others, const char *words)
{
	char *hint;
	bool right;

	made_exe = exe;
	begin_in("/nonexistent/object");
	add_map(LWPDATA_NONE, 0x5000, 0x6000);
	add_records(0, made, 0x5800);
	add_records(0, others, 0x1800);
	load_by("object");
	hint = report_hint(&(struct report){ .profile = &profile, .samples = &samples });
	right = words ? hint && strstr(hint, words) : !hint;
	cr_expect(right, "%s: %s", exe, hint ?: "nothing");
	free(hint);
}

Test(rows, many_samples_without_names_have_a_hint)
{
	expect_hint("/prog", 0, 3, "100% of the samples have no symbol, most of them in /nonex");
	expect_hint("/prog", 2, 8, "80% of the samples have no symbol");
	expect_hint("/prog", 5, 5, "50% of the samples are in functions that have names with an o");
	expect_hint("/jvm/bin/java", 3, 7, "have names with java -XX");
	expect_hint("/bin/nodejs", 9, 1, "have names with node --perf");
	expect_hint("/bin/python3.12", 0, 9, "100% of the samples are in functions that");
}

Test(rows, a_program_whose_functions_have_names_needs_no_hint)
{
	const struct lwpdata_perf_map jit = { 0, 0, lwpdata_text("5000 1000 py::work\n") };

	made_exe = "/bin/python3";
	begin_thread(99, 0);
	add_map(LWPDATA_NONE, 0x5000, 0x6000);
	add_records(0, 9, 0x5800);
	lwpdata_write_perf_map(writer, &jit);
	load_by("object");
	cr_expect(report_hint(&(struct report){ .profile = &profile, .samples = &samples }) ==
		  NULL);
}

Test(rows, samples_are_grouped_by_thread_and_address)
{
	make_groups();
	group("thread");
	cr_expect(eq(sz, rows.nr, 2));
	expect_row(0, 14, "worker 100/101", NULL);
	expect_row(1, 11, "worker 100/100", NULL);
	make_groups();
	group("address,process");
	cr_expect(eq(sz, rows.nr, 5));
	expect_row(0, 10, "object+0x800", "prog 100");
	expect_row(4, 1, "0x9000", "prog 100");
}

Test(rows, rows_can_be_in_the_order_of_names)
{
	make_groups();
	group_in("object", ORDER_NAME);
	expect_row(0, 15, "/nonexistent/object", NULL);
	expect_row(1, 2, "[anon]", NULL);
	expect_row(2, 7, "[jit]", NULL);
	expect_row(3, 1, "[unmapped]", NULL);
}

Test(rows, groupings_are_lists_of_different_keys)
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

Test(rows, text_of_the_guest_cannot_act_on_a_terminal)
{
	const struct lwpdata_perf_map jit = { 0, 0, lwpdata_text("5000 100 a" ESCAPE "b\xff\n") };

	begin_in("/bad\n" ESCAPE "object");
	add_map(LWPDATA_NONE, 0x5000, 0x6000);
	add_records(0, 2, 0x1800);
	add_records(0, 1, 0x5010);
	lwpdata_write_perf_map(writer, &jit);
	load_by("object,symbol");
	expect_row(0, 2, "/bad\\x0a\\x1b[31mobject", "[no symbol]");
	expect_row(1, 1, "[jit]", "a\\x1b[31mb\\xff");
}

Test(rows, samples_are_filtered_by_process_thread_object_and_symbol)
{
	expect_filtered(14, .thread = "101");
	expect_filtered(25, .thread = "work*");
	expect_filtered(25, .process = "prog");
	expect_filtered(0, .process = "101");
	expect_filtered(15, .object = "object");
	expect_filtered(15, .object = "/nonexistent/object");
	expect_filtered(7, .symbol = "comp?led");
	expect_filtered(0, .symbol = "compile");
}

Test(rows, samples_are_filtered_by_the_time_at_which_they_were_taken)
{
	uint8_t bytes[LWP_RECORD_SIZE];
	const struct lwp_record record = { .event_id = 2, .address = 0x1000 };

	begin_thread(99, 0);
	lwp_record_encode(&record, bytes);
	for (uint64_t time = 1; time <= 4; time++)
		lwpdata_write_records(writer, 0, time * 500000000, bytes, sizeof(bytes), NULL, 0);
	load();
	cr_expect(filter_seconds("1", &filter.from));
	cr_expect(filter_seconds("2", &filter.until));
	cr_expect(eq(u64, filter.until, 2000000000));
	group("object");
	cr_expect(eq(u64, rows.samples, 2)); /* 1.0 and 1.5 s */
	cr_expect(not(filter_seconds("-1", &filter.from)));
	cr_expect(not(filter_seconds("1s", &filter.from)));
	cr_expect(not(filter_seconds("nan", &filter.from)));
	cr_expect(not(filter_seconds("", &filter.from)));
}

Test(rows, misses_are_grouped_by_what_the_data_lies_in)
{
	begin_thread(99, 0);
	add_object(0, "/nonexistent/object");
	add_map(LWPDATA_NONE, 0x1000, 0x1100);
	add_map(0, 0x1100, 0x2000);
	add_data_map(0, 0x2000, 0x3000, "");
	add_data_map(LWPDATA_NONE, 0x5000, 0x6000, "[heap]");
	add_data_map(LWPDATA_NONE, 0x7000, 0x8000, "");
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
}

Test(rows, data_belongs_to_what_was_mapped_then)
{
	const struct lwpdata_unmap unmap = { 0, 0, 0x5000, 0x6000 };

	begin_thread(99, 0);
	add_object(0, "/nonexistent/object");
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
}

/* Of a profile that has no mappings of data, and of code: code is looked up in mappings of code alone. */
Test(rows, an_address_of_code_does_not_lie_in_data)
{
	begin_thread(99, 0);
	add_data_map(LWPDATA_NONE, 0x1000, 0x2000, "[heap]");
	add_records(0, 1, 0x1800);
	load_by("object");
	expect_row(0, 1, "[unmapped]", NULL);
}

Test(rows, branches_have_their_taken_share_and_their_mispredictions)
{
	begin_in("/object");
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
}

Test(rows, a_file_of_another_size_without_build_id_is_another_file)
{
	const struct lwpdata_object passwd = { .id = 0,
					       .path = lwpdata_text("/etc/passwd"),
					       .size = 1 };

	begin_thread(99, 0);
	lwpdata_write_object(writer, &passwd);
	add_map(0, 0x1000, 0x2000);
	add_records(0, 1, 0x1800);
	load_by("object");
	cr_expect(strstr(resolver_problem(&resolver, 0), "another size") != NULL);
}
