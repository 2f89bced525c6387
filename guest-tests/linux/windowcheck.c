// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * windowcheck: every window of a profile is a path in the program.
 *
 *	windowcheck PROFILE PROGRAM [--complete]
 *
 * PROGRAM's own code is decoded: each record names a branch and, if its target is in the instruction, that
 * target; from there the next branch of a walk through the code is that of the next record. Weights
 * add up to what the flushed counter says; those of sampled windows do but for one at each end of a thread. With --complete there is one run of windows for each thread,
 * and nothing is missing. Last line "N passed, N failed, N skipped".
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lwp_insn.h"
#include "lwp_record.h"
#include "lwpdata.h"

#define STEPS 10000 /* instructions without a branch, at most */
#define TOLD 5 /* wrong places that are printed */

struct code {
	const uint8_t *bytes; /* the file */
	uint64_t size, start, end, offset; /* where a part of it is mapped */
};

static uint64_t records, checked, joins, weight, most, wrong, broken, missed, counted;
static uint32_t windows, threads, object = LWPDATA_NONE;
static unsigned int passed, failed;

static _Noreturn void die(const char *file, const char *what)
{
	fprintf(stderr, "windowcheck: %s: %s\n", file, what);
	exit(1);
}

static const uint8_t *map_file(const char *path, uint64_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *bytes = MAP_FAILED;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0)
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		die(path, "cannot be read");
	close(fd);
	*size = (uint64_t)st.st_size;
	return bytes;
}

static bool inside(const struct code *code, uint64_t address)
{
	return address >= code->start && address < code->end;
}

static bool decode(const struct code *code, uint64_t address, struct lwp_insn *insn)
{
	uint64_t left = code->end - address;

	return lwp_insn_decode(code->bytes + code->offset + (address - code->start),
			       left < LWP_INSN_MAX_LENGTH ? (unsigned int)left :
							    LWP_INSN_MAX_LENGTH,
			       LWP_CODE64, insn) == LWP_DECODE_OK;
}

static void tell(const char *what, uint64_t address)
{
	if (wrong++ < TOLD)
		printf("      %#" PRIx64 ": %s\n", address, what);
}

/* The branch at or behind `address`; 0 if the walk leaves the code. */
static uint64_t next_branch(const struct code *code, uint64_t address)
{
	struct lwp_insn insn;

	for (unsigned int i = 0; i < STEPS && inside(code, address); i++) {
		if (!decode(code, address, &insn))
			return 0;
		if (lwp_insn_is_branch(&insn))
			return address;
		address += insn.length;
	}
	return 0;
}

/* Where the program goes on after a record; 0 if that is not in its code, or the record is wrong. */
static uint64_t check_record(const struct code *code, const struct lwp_record *record)
{
	bool taken = record->flags & LWP_RECORD_TKN;
	struct lwp_insn insn;
	uint64_t behind;

	records++;
	if (!inside(code, record->address))
		return taken && inside(code, record->data2) ? record->data2 : 0;
	checked++;
	if (!decode(code, record->address, &insn) || !lwp_insn_is_branch(&insn)) {
		tell("no branch", record->address);
		return 0;
	}
	behind = record->address + insn.length;
	if (!taken && !lwp_insn_is_conditional(&insn))
		tell("an unconditional branch that was not taken", record->address);
	if (taken && lwp_insn_is_relative(&insn) &&
	    record->data2 != behind + (uint64_t)(int64_t)insn.rel)
		tell("not the target in the instruction", record->address);
	return taken ? record->data2 : behind;
}

static void check_window(const struct code *code, const struct lwpdata_window *window)
{
	uint64_t from = 0;

	windows++;
	weight += window->weight;
	most = window->weight > most ? window->weight : most;
	broken += !(window->flags & LWPDATA_WINDOW_CONTINUES);
	for (uint32_t i = 0; i < window->count; i++) {
		struct lwp_record record;

		lwp_record_decode(window->data + (size_t)i * LWP_RECORD_SIZE, &record);
		if (from && inside(code, from)) {
			uint64_t branch = next_branch(code, from);

			joins++;
			if (branch && branch != record.address)
				tell("not the next branch of the walk", record.address);
		}
		from = check_record(code, &record);
	}
}

/* What the flushed counter of an event with interval 0 says. */
static uint64_t count_of(const struct lwpdata_thread_end *end)
{
	int32_t counter = (int32_t)(end->final[0] << 6) >> 6;

	return end->records + end->missed - (uint64_t)(int64_t)counter;
}

static void check_section(struct code *code, const struct lwpdata_section *s, const char *program)
{
	switch (s->type) {
	case LWPDATA_OBJECT:
		if (s->object.path.size == strlen(program) &&
		    !memcmp(s->object.path.data, program, strlen(program)))
			object = s->object.id;
		break;
	case LWPDATA_MAP:
		if (s->map.object == object && s->map.offset < code->size) {
			code->start = s->map.start;
			code->end = s->map.end;
			code->offset = s->map.offset;
			if (code->end - code->start > code->size - code->offset)
				code->end = code->start + code->size - code->offset;
		}
		break;
	case LWPDATA_WINDOW:
		check_window(code, &s->window);
		break;
	case LWPDATA_THREAD_END:
		threads++;
		missed += s->thread_end.missed;
		if (!(s->thread_end.flags & LWPDATA_THREAD_FLUSHED))
			die(program, "a thread's counters were not flushed");
		counted += count_of(&s->thread_end);
		break;
	default:
		break;
	}
}

static void verdict(bool good, const char *what)
{
	printf("%s %s\n", good ? "ok     " : "FAILED ", what);
	*(good ? &passed : &failed) += 1;
}

int main(int argc, char **argv)
{
	bool complete = argc == 4 && !strcmp(argv[3], "--complete");
	struct lwpdata_section section;
	struct lwpdata_error error;
	struct lwpdata_reader reader;
	struct code code = { 0 };
	const uint8_t *file;
	uint64_t size;
	int more;

	if (argc != 3 && !complete)
		die("usage", "windowcheck PROFILE PROGRAM [--complete]");
	file = map_file(argv[1], &size);
	code.bytes = map_file(argv[2], &code.size);
	if (!lwpdata_open(&reader, file, size, &error))
		die(argv[1], error.text);
	while ((more = lwpdata_next(&reader, &section, &error)) > 0)
		check_section(&code, &section, argv[2]);
	if (more < 0)
		die(argv[1], error.text);
	printf("      %" PRIu32 " windows of %" PRIu64 " records, %" PRIu64
	       " in the program, %" PRIu64 " runs between two\n",
	       windows, records, checked, joins);
	verdict(windows && checked && joins && !wrong, "every window is a path in the program");
	printf("      weights %" PRIu64 ", counted %" PRIu64 "\n", weight, counted);
	verdict((weight > counted ? weight - counted : counted - weight) <=
			(complete ? 0 : 2 * most * threads),
		"the weights of the windows add up to the branches counted");
	if (complete)
		verdict(broken == threads && !missed && records == counted,
			"the windows are the complete trace");
	printf("%u passed, %u failed, 0 skipped\n", passed, failed);
	return failed != 0;
}
