// SPDX-License-Identifier: GPL-2.0-or-later
/* lwpctl decode: every record in a line. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lwp_names.h"
#include "lwp_record.h"
#include "lwpctl.h"
#include "resolve.h"

struct arguments {
	const char *file, *sysroot;
	const struct lwp_rev *rev; /* of a raw file */
	bool raw;
};

enum { OPTION_REV = 0x100, OPTION_SYSROOT };

static const struct argp_option options[] = {
	{ "raw", 'r', NULL, 0, "FILE is records and nothing else, as they lie in a ring", 0 },
	{ "lwp-rev", OPTION_REV, "REV", 0, "of a raw file: 43724 (default) or 2007", 0 },
	{ "sysroot", OPTION_SYSROOT, "DIR", 0, "look the guest's files up below DIR", 0 },
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
			bad_usage(state, "revision '%s' is neither 43724 nor 2007", arg);
		return 0;
	case OPTION_SYSROOT:
		a->sysroot = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (a->file)
			bad_usage(state, "more than one file: '%s'", arg);
		a->file = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- One record ----------------------------------------------------------------------------- */

static void print_branch(const struct lwp_record *record)
{
	printf(" target=%#" PRIx64 " %s", record->data2,
	       record->flags & LWP_RECORD_TKN ? "TKN" : "-");
	if (record->flags & LWP_RECORD_PRV)
		printf(" PRV%s", record->flags & LWP_RECORD_PRD ? " PRD" : "");
	if (record->flags & LWP_RECORD_FUS)
		fputs(" FUS", stdout);
}

/* The profile that a record is of; NULL for a raw file. */
struct context {
	struct resolver *resolver;
	uint32_t process;
	uint64_t section;
};

/* What the data address lies in: "in=OBJECT SECTION" or "in=VARIABLE+0xOFFSET OBJECT SECTION". */
static void print_data_place(const struct context *c, uint64_t address)
{
	struct data_place place;

	resolve_data(c->resolver, c->process, c->section, address, &place);
	fputs(" in=", stdout);
	if (strcmp(place.variable, NO_VARIABLE) != 0)
		printf("%s+%#" PRIx64 " ", place.variable, place.offset);
	fputs(place.name, stdout);
}

static void print_cache_miss(const struct lwp_record *record, const struct context *c)
{
	const char *source = lwp_source_name(record->flags >> LWP_RECORD_SRC_SHIFT);

	printf(" latency=%" PRIu32 " source=%s", record->data1, source ? source : "reserved");
	if (record->flags & LWP_RECORD_DAV) {
		printf(" data=%#" PRIx64, record->data2);
		if (c && c->resolver->profile->has_data)
			print_data_place(c, record->data2);
	}
}

static void print_record(const struct lwp_rev *rev, const uint8_t *bytes, const struct context *c)
{
	struct lwp_record record;
	const char *name;
	uint32_t kind;

	lwp_record_decode(bytes, &record);
	kind = kind_by_rev(rev, record.event_id);
	name = lwpdata_event_name(kind);
	if (name)
		printf("%-13s", name);
	else
		printf("event-%-7u", record.event_id);
	printf(" core=%u address=%#" PRIx64, record.core_id, record.address);
	if (record.timestamp)
		printf(" time=%" PRIu64, record.timestamp);
	switch (kind) {
	case LWP_KIND_BRE:
		print_branch(&record);
		break;
	case LWP_KIND_DME:
		print_cache_miss(&record, c);
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
	putchar('\n');
}

/* ---- Files ---------------------------------------------------------------------------------- */

static void print_thread(const struct profile *p, uint32_t thread)
{
	printf("%" PRIu32 "/%" PRIu32 " ", p->processes[p->threads[thread].process].pid,
	       p->threads[thread].tid);
}

static void print_records(struct resolver *r, uint32_t thread, uint64_t section,
			  const uint8_t *data, uint32_t count)
{
	const struct profile *p = r->profile;
	const struct lwp_rev *rev = lwp_rev_get(p->config.revision);
	const struct context context = { r, p->threads[thread].process, section };

	for (uint32_t i = 0; i < count; i++) {
		print_thread(p, thread);
		print_record(rev, data + (size_t)i * LWP_RECORD_SIZE, &context);
	}
}

static void print_window(struct resolver *r, const struct profile_window *window)
{
	const struct profile *p = r->profile;

	print_thread(p, window->thread);
	printf("window of %" PRIu32 " records for %" PRIu64 "%s\n", window->count, window->weight,
	       window->flags & LWPDATA_WINDOW_CONTINUES ? ", continues" : "");
	print_records(r, window->thread, window->section, window->data, window->count);
}

/* Records and windows in the order of the file. */
static void decode_profile(struct resolver *r)
{
	const struct profile *p = r->profile;
	size_t b = 0, w = 0;

	while (b < p->nr_batches || w < p->nr_windows) {
		const struct profile_batch *batch = &p->batches[b];

		if (w == p->nr_windows ||
		    (b < p->nr_batches && batch->section < p->windows[w].section)) {
			print_records(r, batch->thread, batch->section, batch->data, batch->count);
			b++;
		} else {
			print_window(r, &p->windows[w++]);
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
		print_record(rev, record, NULL);
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
		options, parse, "[FILE]",
		"Print the records of a profile, one a line, with the process and thread "
		"they come from.\vFILE is what lwprun wrote (default: lwp.data)."
	};
	struct arguments a = { .rev = lwp_rev_get(LWP_REV_43724), .sysroot = "" };
	struct resolver resolver;
	struct profile profile;
	bool loaded;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (a.raw && !a.file)
		return misused("--raw needs a file");
	if (a.raw)
		return decode_raw(a.file, a.rev);
	loaded = profile_load(&profile, a.file ?: "lwp.data");
	if (loaded) {
		resolver_init(&resolver, &profile, a.sysroot, false);
		decode_profile(&resolver);
		resolver_free(&resolver);
	}
	profile_free(&profile);
	return loaded ? LWPCTL_OK : LWPCTL_FAILED;
}

const struct command cmd_decode = { "decode", run, "print the records of a profile" };
