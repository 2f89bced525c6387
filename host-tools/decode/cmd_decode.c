// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lwpctl decode: every record in a line.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lwp_names.h"
#include "lwp_record.h"
#include "lwpctl.h"
#include "profile.h"

struct arguments {
	const char *file;
	const struct lwp_rev *rev; /* of a raw file */
	bool raw;
};

enum {
	OPTION_REV = 0x100,
};

static const struct argp_option options[] = {
	{ "raw", 'r', NULL, 0, "FILE is records and nothing else, as they lie in a ring", 0 },
	{ "lwp-rev", OPTION_REV, "REV", 0, "of a raw file: 43724 (default) or 2007", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'r':
		a->raw = true;
		return 0;
	case OPTION_REV:
		a->rev = lwp_rev_by_name(arg);
		if (!a->rev)
			argp_failure(state, LWPCTL_USAGE, 0,
				     "revision '%s' is neither 43724 nor "
				     "2007",
				     arg);
		return 0;
	case ARGP_KEY_ARG:
		if (a->file)
			argp_failure(state, LWPCTL_USAGE, 0, "more than one file: '%s'", arg);
		a->file = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- One record ----------------------------------------------------------------------------- */

static uint32_t kind_of(const struct lwp_rev *rev, uint8_t event_id)
{
	if (event_id == LWP_EVENT_ID_INS)
		return LWP_EVENT_ID_INS;
	return event_id <= LWP_MAX_EVENT_ID ? rev->kind[event_id] : LWP_KIND_NONE;
}

static void print_branch(const struct lwp_record *record)
{
	printf(" target=%#" PRIx64 " %s", record->data2,
	       record->flags & LWP_RECORD_TKN ? "TKN" : "-");
	if (record->flags & LWP_RECORD_PRV)
		printf(" PRV%s", record->flags & LWP_RECORD_PRD ? " PRD" : "");
	if (record->flags & LWP_RECORD_FUS)
		fputs(" FUS", stdout);
}

static void print_cache_miss(const struct lwp_record *record)
{
	const char *source = lwp_source_name(record->flags >> LWP_RECORD_SRC_SHIFT);

	printf(" latency=%" PRIu32 " source=%s", record->data1, source ? source : "reserved");
	if (record->flags & LWP_RECORD_DAV)
		printf(" data=%#" PRIx64, record->data2);
}

static void print_record(const struct lwp_rev *rev, const uint8_t *bytes)
{
	struct lwp_record record;
	const char *name;
	uint32_t kind;

	lwp_record_decode(bytes, &record);
	kind = kind_of(rev, record.event_id);
	name = lwpdata_event_name(kind);
	if (name)
		printf("%-13s", name);
	else
		printf("event-%-7u", record.event_id);
	printf(" core=%u address=%#" PRIx64, record.core_id, record.address);
	switch (kind) {
	case LWP_KIND_BRE:
		print_branch(&record);
		break;
	case LWP_KIND_DME:
		print_cache_miss(&record);
		break;
	case LWP_KIND_IRE:
	case LWP_KIND_CNH:
	case LWP_KIND_RNH:
		break;
	default:
		printf(" flags=%#x data1=%#" PRIx32 " data2=%#" PRIx64, (unsigned int)record.flags,
		       record.data1, record.data2);
		break;
	}
	if (record.timestamp)
		printf(" time=%" PRIu64, record.timestamp);
	putchar('\n');
}

/* ---- Files ---------------------------------------------------------------------------------- */

static void print_thread(const struct profile *p, uint32_t thread)
{
	printf("%" PRIu32 "/%" PRIu32 " ", p->processes[p->threads[thread].process].pid,
	       p->threads[thread].tid);
}

static void print_records(const struct profile *p, uint32_t thread, const uint8_t *data,
			  uint32_t count)
{
	const struct lwp_rev *rev = lwp_rev_get(p->config.revision);

	for (uint32_t i = 0; i < count; i++) {
		print_thread(p, thread);
		print_record(rev, data + (size_t)i * LWP_RECORD_SIZE);
	}
}

static void print_window(const struct profile *p, const struct profile_window *window)
{
	print_thread(p, window->thread);
	printf("window of %" PRIu32 " records for %" PRIu64 "%s\n", window->count, window->weight,
	       window->flags & LWPDATA_WINDOW_CONTINUES ? ", continues" : "");
	print_records(p, window->thread, window->data, window->count);
}

/* Records and windows in the order of the file. */
static void decode_profile(const struct profile *p)
{
	size_t b = 0, w = 0;

	while (b < p->nr_batches || w < p->nr_windows) {
		const struct profile_batch *batch = &p->batches[b];

		if (w == p->nr_windows ||
		    (b < p->nr_batches && batch->section < p->windows[w].section)) {
			print_records(p, batch->thread, batch->data, batch->count);
			b++;
		} else {
			print_window(p, &p->windows[w++]);
		}
	}
}

static int decode_raw(const char *path, const struct lwp_rev *rev)
{
	uint8_t record[LWP_RECORD_SIZE];
	FILE *file = fopen(path, "re");
	uint64_t offset = 0;
	size_t n;

	if (!file)
		return complain("%s: %s", path, strerror(errno));
	while ((n = fread(record, 1, sizeof(record), file)) == sizeof(record)) {
		print_record(rev, record);
		offset += n;
	}
	if (ferror(file)) {
		complain("%s: offset %" PRIu64 ": %s", path, offset, strerror(errno));
		fclose(file);
		return LWPCTL_FAILED;
	}
	fclose(file);
	if (n)
		return complain("%s: offset %" PRIu64 ": %zu bytes are left, a record has %d", path,
				offset, n, LWP_RECORD_SIZE);
	return LWPCTL_OK;
}

static int run(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[FILE]",
		.doc = "Print the records of a profile, one a line, with the process and thread "
		       "they come from.\vFILE is what lwprun wrote (default: lwp.data).",
	};
	struct arguments a = { .rev = lwp_rev_get(LWP_REV_43724) };
	struct profile profile;
	bool loaded;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (a.raw && !a.file) {
		complain("--raw needs a file");
		return LWPCTL_USAGE;
	}
	if (a.raw)
		return decode_raw(a.file, a.rev);
	loaded = profile_load(&profile, a.file ?: "lwp.data");
	if (loaded)
		decode_profile(&profile);
	profile_free(&profile);
	return loaded ? LWPCTL_OK : LWPCTL_FAILED;
}

const struct command cmd_decode = {
	.name = "decode",
	.summary = "print the records of a profile",
	.run = run,
};
