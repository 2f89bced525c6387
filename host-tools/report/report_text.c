// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lwpctl report for people.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lwp_names.h"
#include "lwp_rev.h"
#include "lwpctl_report.h"

#define HINT_PERCENT 30 /* of samples without a symbol, from which on a hint is of use */

/* A column is as wide as its longest text, up to this. */
#define COLUMN_MAX 44
#define TABLES 3

static const char *const headings[NR_KEYS] = {
	[KEY_SYMBOL] = "Symbol",   [KEY_OBJECT] = "Object",    [KEY_THREAD] = "Thread (pid/tid)",
	[KEY_PROCESS] = "Process", [KEY_LINE] = "Source line", [KEY_ADDRESS] = "Address",
};

/* What a label looks like in a column: files without their directories. */
static const char *shown(enum key key, const char *label)
{
	const char *slash = key == KEY_OBJECT || key == KEY_LINE ? strrchr(label, '/') : NULL;

	return slash ? slash + 1 : label;
}

static uint64_t limited(const struct report *report, const struct rows *rows)
{
	return report->limit && report->limit < rows->nr ? report->limit : rows->nr;
}

static int column_width(const struct report *report, const struct rows *rows,
			const struct grouping *by, size_t k)
{
	size_t width = strlen(headings[by->keys[k]]);

	for (uint64_t i = 0; i < limited(report, rows); i++) {
		size_t length = strlen(shown(by->keys[k], rows->list[i].labels[k]));

		if (length > width)
			width = length;
	}
	return (int)(width < COLUMN_MAX ? width : COLUMN_MAX);
}

static bool shows_source(const struct rows *rows, const struct grouping *by)
{
	bool symbols = false;

	for (size_t k = 0; k < by->nr; k++) {
		if (by->keys[k] == KEY_LINE)
			return false;
		symbols |= by->keys[k] == KEY_SYMBOL || by->keys[k] == KEY_ADDRESS;
	}
	for (size_t i = 0; symbols && i < rows->nr; i++)
		if (rows->list[i].file)
			return true;
	return false;
}

/* Where most of the missing data came from. */
static void print_misses(const struct row *row)
{
	enum lwp_data_source most = LWP_SRC_NONE;
	const char *name;

	for (enum lwp_data_source s = 0; s < LWP_SOURCES; s++)
		if (row->misses.from[s] > row->misses.from[most])
			most = s;
	name = lwp_source_name(most);
	printf(" %8.0f  %-6s %3.0f%%", (double)row->misses.latency / (double)row->samples,
	       name ? name : "?", 100.0 * (double)row->misses.from[most] / (double)row->samples);
}

static bool is_misses(const struct report *report, uint32_t event_id)
{
	return event_id == lwp_rev_get(report->profile->config.revision)->event_id[LWP_KIND_DME];
}

static void print_table(const struct report *report, const struct rows *rows,
			const struct grouping *by, bool misses)
{
	bool source = shows_source(rows, by);
	uint64_t nr = limited(report, rows), rest = rows->samples;
	int width[NR_KEYS];

	printf("\n  Share    Samples%s", misses ? "  Latency  Mostly from" : "");
	for (size_t k = 0; k < by->nr; k++) {
		width[k] = k + 1 < by->nr || source ? column_width(report, rows, by, k) : 0;
		printf("  %-*s", width[k], headings[by->keys[k]]);
	}
	puts(source ? "  Hottest line" : "");
	for (uint64_t i = 0; i < nr; i++) {
		const struct row *row = &rows->list[i];

		rest -= row->samples;
		printf("%6.2f%% %10" PRIu64, 100.0 * (double)row->samples / (double)rows->samples,
		       row->samples);
		if (misses)
			print_misses(row);
		for (size_t k = 0; k < by->nr; k++)
			printf("  %-*s", k + 1 < by->nr || row->file ? width[k] : 0,
			       shown(by->keys[k], row->labels[k]));
		if (source && row->file)
			printf("  %s:%d", shown(KEY_LINE, row->file), row->line);
		putchar('\n');
	}
	if (rest)
		printf("%6.2f%% %10" PRIu64 "  ... %" PRIu64 " more\n",
		       100.0 * (double)rest / (double)rows->samples, rest, rows->nr - nr);
}

static void print_tables(const struct report *report, uint32_t event_id)
{
	static const struct grouping usual[TABLES] = {
		{ .keys = { KEY_SYMBOL, KEY_OBJECT }, .nr = 2 },
		{ .keys = { KEY_OBJECT }, .nr = 1 },
		{ .keys = { KEY_THREAD }, .nr = 1 },
	};
	const struct grouping *by = report->by.nr ? &report->by : usual;
	size_t nr = report->by.nr ? 1 : TABLES;

	for (size_t i = 0; i < nr; i++) {
		struct rows rows;

		rows_make(&rows, report->resolver, report->tally, report->located, &by[i],
			  (uint8_t)event_id, report->order);
		print_table(report, &rows, &by[i], is_misses(report, event_id));
		rows_free(&rows);
	}
}

/* ---- Above the tables ----------------------------------------------------------------------- */

static void print_head(const struct report *report)
{
	const struct profile *p = report->profile;
	time_t start = (time_t)(p->config.start_realtime / 1000000000u);
	char date[64] = "";
	struct tm tm;

	if (*report->name)
		printf("%s: ", report->name);
	for (uint32_t i = 0; i < p->config.nr_args; i++) {
		struct lwpdata_bytes arg = lwpdata_arg(&p->config, i);

		printf("%s%.*s", i ? " " : "", (int)arg.size, (const char *)arg.data);
	}
	if (gmtime_r(&start, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &tm);
	printf("\n%s, Linux %.*s, LWP %s; %zu program%s, %zu thread%s\n", date,
	       (int)p->config.kernel.size, (const char *)p->config.kernel.data,
	       lwp_rev_get(p->config.revision)->name, p->nr_processes,
	       p->nr_processes == 1 ? "" : "s", p->nr_threads, p->nr_threads == 1 ? "" : "s");
}

static void print_event_head(const struct report *report, uint32_t event_id)
{
	const struct profile *p = report->profile;

	printf("\n%s: %" PRIu64 " samples", profile_event_name(p, event_id),
	       report->tally->per_event[event_id]);
	for (uint32_t e = 0; e < p->config.nr_events; e++) {
		struct estimate estimate;

		if (p->config.events[e].event_id != event_id)
			continue;
		estimate = report_estimate(p, e);
		printf(", interval %" PRIu32, p->config.events[e].interval);
		if (p->config.random)
			printf(" with %" PRIu32 " random bits", p->config.random);
		printf(", %s %.0f counted", estimate.exact ? "exactly" : "about", estimate.events);
	}
	putchar('\n');
}

/* ---- Below the tables ----------------------------------------------------------------------- */

static void note(uint64_t number, const char *what)
{
	if (number)
		printf("%" PRIu64 " %s\n", number, what);
}

static void print_losses(const struct profile *p)
{
	const struct lwpdata_stats *stats = &p->stats;
	uint64_t dropped = stats->threads_no_slot + stats->threads_no_memory +
			   stats->processes_refused + stats->rings_damaged;

	printf("\nMissed events: %" PRIu64 " (in %" PRIu64 " rings that filled up). "
	       "Contexts dropped: %" PRIu64 ", evicted: %" PRIu64 ".\n",
	       report_missed(p), stats->rings_filled, dropped, stats->contexts_lost);
	note(stats->threads_no_slot, "threads were not profiled: more at once than --max-threads");
	note(stats->threads_no_memory, "threads were not profiled: no memory for their rings");
	note(stats->processes_refused, "processes were not profiled: lwprun could not see them");
	note(stats->rings_damaged, "threads were profiled in part: the program wrote into the "
				   "control block");
	note(stats->execs_unfollowed, "times a program ran that cannot be profiled (static, "
				      "set-user-ID ...)");
}

/* What to do when much of the report has no names. */
static void print_hint(const struct report *report)
{
	struct unnamed unnamed = report_unnamed(report);

	if (unnamed.object && unnamed.samples * 100 >= unnamed.total * HINT_PERCENT)
		printf("%.0f%% of the samples have no symbol, most of them in %s: its debug symbols help "
		       "(in Debian a package whose name ends in -dbgsym, or debuginfod).\n",
		       100.0 * (double)unnamed.samples / (double)unnamed.total, unnamed.object);
}

/* Objects with samples whose symbols could not be used. */
static void print_problems(const struct report *report)
{
	const struct profile *p = report->profile;

	for (uint32_t id = 0; id < p->nr_objects; id++) {
		const char *problem = resolver_problem(report->resolver, id);

		if (problem)
			printf("No symbols of %s: %s\n", p->objects[id].path, problem);
	}
	for (size_t i = 0; i < p->nr_processes; i++)
		if (p->processes[i].perf_map_cut)
			printf("The symbols of process %" PRIu32 "'s compiled code are cut off: "
			       "its perf map was too long\n",
			       p->processes[i].pid);
}

void report_text(const struct report *report)
{
	uint32_t event_id;

	print_head(report);
	for (uint32_t i = 0; (event_id = report_event(report, i)); i++) {
		print_event_head(report, event_id);
		if (report->tally->per_event[event_id])
			print_tables(report, event_id);
	}
	print_losses(report->profile);
	print_problems(report);
	print_hint(report);
}
