// SPDX-License-Identifier: GPL-2.0-or-later
/* lwpctl report for people. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <time.h>

#include "fit.h"
#include "lwp_names.h"
#include "lwp_rev.h"
#include "lwpctl_report.h"
#include "memory.h"
#include "printable.h"
#include "report_source.h"

static const char *const headings[NR_KEYS] = {
	[KEY_SYMBOL] = "Symbol",   [KEY_OBJECT] = "Object",   [KEY_THREAD] = "Thread (pid/tid)",
	[KEY_PROCESS] = "Process", [KEY_PROGRAM] = "Program", [KEY_LINE] = "Source line",
	[KEY_ADDRESS] = "Address", [KEY_TARGET] = "Target",   [KEY_VARIABLE] = "Variable",
	[KEY_DATA] = "Data",
};

/* What a label looks like in a column: files without their directories. */
static const char *shown(enum key key, const char *label)
{
	if (key == KEY_DATA && label[0] != '/')
		return label;
	return key == KEY_OBJECT || key == KEY_LINE || key == KEY_DATA ? last_part(label) : label;
}

/* In `width` columns at least, and at most in `most`. */
static void print_cell(const char *text, size_t width, size_t most)
{
	char *cell = fitted(text, most);
	size_t n = columns_of(cell);

	printf("  %s%*s", cell, n < width ? (int)(width - n) : 0, "");
	free(cell);
}

static uint64_t limited(const struct report *report, const struct rows *rows)
{
	return report->limit && report->limit < rows->nr ? report->limit : rows->nr;
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
		if (row->detail.from[s] > row->detail.from[most])
			most = s;
	name = lwp_source_name(most);
	printf(" %8.0f  %-6s %3.0f%%", (double)row->detail.latency / (double)row->samples,
	       name ? name : "?", 100.0 * (double)row->detail.from[most] / (double)row->samples);
}

/* How many of the branches were taken, and how many of those with a known prediction were mispredicted. */
static void print_branches(const struct row *row)
{
	const struct detail *d = &row->detail;

	printf("  %5.1f%%", 100.0 * (double)d->taken / (double)row->samples);
	if (d->predicted)
		printf("  %5.1f%%",
		       100.0 * (double)(d->predicted - d->right) / (double)d->predicted);
	else
		fputs("       -", stdout);
}

/* Columns that rows of one kind of event have of their own. */
static const struct columns {
	uint32_t kind;
	const char *heading;
	void (*print)(const struct row *row);
} own_columns[] = {
	{ LWP_KIND_DME, "  Latency  Mostly from", print_misses },
	{ LWP_KIND_BRE, "   Taken   Wrong", print_branches },
};

static const struct columns *own_columns_of(const struct report *report, uint32_t event_id)
{
	uint32_t kind = profile_kind(report->profile, event_id);

	for (size_t i = 0; i < sizeof(own_columns) / sizeof(own_columns[0]); i++)
		if (own_columns[i].kind == kind)
			return &own_columns[i];
	return NULL;
}

#define INTERVAL_COLUMNS 16
#define SHARE_COLUMNS 18 /* with the samples */

void report_share(const struct row *row, bool windows, bool interval)
{
	printf("%6.2f%%", 100 * row->share);
	if (interval && row->interval.low == row->interval.high)
		printf("  %14s", "exact");
	else if (interval)
		printf(" %6.2f -%6.2f%%", 100 * row->interval.low, 100 * row->interval.high);
	printf(" %10" PRIu64, windows ? row->windows : row->samples);
}

/* A column's text in a row: that of a key, or the source line behind them. */
static char *text_of(const struct row *row, const struct grouping *by, size_t k)
{
	if (k < by->nr)
		return must(strdup(shown(by->keys[k], row->labels[k])));
	return row->file ? formatted("%s:%d", last_part(row->file), row->line) : must(strdup(""));
}

/* The columns of texts that a table has: the keys, and the source line if there is one more. */
struct layout {
	size_t nr, width[NR_KEYS + 1], most; /* columns of the terminal, that of a text at most */
	const char *heading[NR_KEYS + 1];
	bool interval; /* and the intervals */
};

static void fit_columns(const struct report *report, const struct rows *rows,
			const struct grouping *by, struct layout *l)
{
	for (size_t k = 0; k < l->nr; k++) {
		l->heading[k] = k < by->nr ? headings[by->keys[k]] : "Hottest line";
		l->width[k] = strlen(l->heading[k]);
		for (uint64_t i = 0; i < limited(report, rows); i++) {
			char *text = text_of(&rows->list[i], by, k), *cell = fitted(text, l->most);

			l->width[k] = MAX(l->width[k], columns_of(cell));
			free(cell);
			free(text);
		}
	}
}

/* The most that a text may have so that all of them have room. */
static size_t most_in(const struct layout *l, size_t room)
{
	size_t most = 0, sum = SIZE_MAX;

	for (size_t k = 0; k < l->nr; k++)
		most = MAX(most, l->width[k]);
	for (; most && sum > room; most -= sum > room) {
		sum = 0;
		for (size_t k = 0; k < l->nr; k++)
			sum += 2 + MIN(l->width[k], most);
	}
	return most;
}

/* What has no room is left out, so that the first text can be read: the source lines first, then the intervals. */
static struct layout lay_out(const struct report *report, const struct rows *rows,
			     const struct grouping *by, const struct columns *own)
{
	struct layout l = { .nr = by->nr + shows_source(rows, by),
			    .most = SIZE_MAX,
			    .interval = true };
	size_t columns = report->wide ? 0 : terminal_columns();
	size_t used = SHARE_COLUMNS + INTERVAL_COLUMNS + (own ? strlen(own->heading) : 0);

	if (!report->wide && !columns)
		l.most = NAME_MOST;
	fit_columns(report, rows, by, &l);
	while (columns) {
		bool source = l.nr > by->nr;

		l.most = most_in(&l, columns > used ? columns - used : 0);
		if (l.most >= MIN(l.width[0], NAME_LEAST) &&
		    (!source || l.most >= strlen(l.heading[by->nr])))
			break;
		if (!source && !l.interval)
			break;
		l.nr = by->nr;
		used -= source ? 0 : INTERVAL_COLUMNS;
		l.interval = source;
	}
	fit_columns(report, rows, by, &l);
	return l;
}

static void print_row(const struct row *row, const struct grouping *by, const struct layout *l)
{
	size_t nr = row->file ? l->nr : by->nr;

	for (size_t k = 0; k < nr; k++) {
		char *text = text_of(row, by, k);

		print_cell(text, k + 1 < nr ? l->width[k] : 0, l->most);
		free(text);
	}
	putchar('\n');
}

static void print_table(const struct report *report, const struct rows *rows,
			const struct grouping *by, const struct columns *own)
{
	const struct layout l = lay_out(report, rows, by, own);
	bool windows = rows->windows && rows->weight > (double)rows->samples;
	uint64_t nr = limited(report, rows), samples = rows->samples;
	double rest = 1;

	printf("\n  Share%s %10s%s", l.interval ? "    95% interval" : "",
	       windows ? "Windows" : "Samples", own ? own->heading : "");
	for (size_t k = 0; k < l.nr; k++)
		print_cell(l.heading[k], k + 1 < l.nr ? l.width[k] : 0, l.most);
	putchar('\n');
	for (uint64_t i = 0; i < nr; i++) {
		const struct row *row = &rows->list[i];

		samples -= row->samples;
		rest -= row->share;
		report_share(row, windows, l.interval);
		if (own)
			own->print(row);
		print_row(row, by, &l);
	}
	if (nr == rows->nr)
		return;
	printf("%6.2f%%%*s ", 100 * rest, l.interval ? INTERVAL_COLUMNS : 0, "");
	if (windows)
		printf("%10s  ... %" PRIu64 " more\n", "", rows->nr - nr);
	else
		printf("%10" PRIu64 "  ... %" PRIu64 " more\n", samples, rows->nr - nr);
}

static void print_tables(const struct report *report, uint32_t event_id)
{
	size_t nr = report->by.nr ? 1 : REPORT_TABLES - !report_has_data(report, event_id);

	for (size_t i = 0; i < nr; i++) {
		const struct grouping *by = report->by.nr ? &report->by : &report_tables[i].by;
		struct rows rows;

		rows_make(&rows, report->resolver, report->samples, by, (uint8_t)event_id,
			  report->order);
		print_table(report, &rows, by, own_columns_of(report, event_id));
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

	char *name = printable_string(report->name);
	char *kernel = printable(p->config.kernel.data, p->config.kernel.size);
	char *command = profile_command(p);

	printf("%s%s%s", name, *name ? ": " : "", command);
	if (gmtime_r(&start, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &tm);
	printf("\n%s, Linux %s, LWP %s; %zu program%s, %zu thread%s\n", date, kernel,
	       lwp_rev_get(p->config.revision)->name, p->nr_processes,
	       p->nr_processes == 1 ? "" : "s", p->nr_threads, p->nr_threads == 1 ? "" : "s");
	free(command);
	free(kernel);
	free(name);
}

/* What fills a ring is not what runs long: functions that run while it is full lose all of their samples. */
static void print_bias(const struct report *report)
{
	const struct profile *p = report->profile;
	double share = report_missed_share(p);

	if (share < REPORT_BIASED)
		return;
	printf("\nBIASED: %.0f%% of the events were missed because rings were full, and the shares below are\n"
	       "wrong by an unknown amount. Record again with a larger --ring-size (it was %" PRIu32
	       " bytes) or\nlonger intervals.\n",
	       100.0 * share, p->config.ring_size);
}

static void print_event_head(const struct report *report, uint32_t event_id)
{
	const struct profile *p = report->profile;

	uint64_t samples = report->samples->per_event[event_id];
	uint64_t windows = report_nr_windows(p, report->samples, event_id);
	char *advice = report_advice(report, event_id);

	printf("\n%s: ", profile_event_name(p, event_id));
	if (windows)
		printf("%" PRIu64 " window%s of ", windows, windows == 1 ? "" : "s");
	printf("%" PRIu64 " sample%s", samples, samples == 1 ? "" : "s");
	for (uint32_t e = 0; e < p->config.nr_events; e++) {
		struct estimate estimate;

		if (p->config.events[e].event_id != event_id)
			continue;
		estimate = report_estimate(p, e);
		printf(", interval %" PRIu32, p->config.events[e].interval);
		if (p->config.random)
			printf(" with %" PRIu32 " random bits", p->config.random);
		if (p->kept[e])
			printf(", 1 record of %llu kept", 1ull << p->kept[e]);
		if (!report->filtered)
			printf(", %s %.0f counted", estimate.exact ? "exactly" : "about",
			       estimate.events);
	}
	printf("\n%s%s", advice ?: "", advice ? "\n" : "");
	free(advice);
}

/* ---- Below the tables ----------------------------------------------------------------------- */

static void note(uint64_t number, const char *what, const char *why)
{
	if (number)
		printf("%" PRIu64 " %s%s %s\n", number, what, number == 1 ? "" : "s", why);
}

static void print_losses(const struct profile *p)
{
	const struct lwpdata_stats *stats = &p->stats;
	uint64_t dropped = stats->threads_no_slot + stats->threads_no_memory +
			   stats->processes_refused + stats->rings_damaged;

	if (p->nr_windows && !stats->rings_filled)
		printf("\nBetween the windows: %" PRIu64 " branches. ", profile_missed(p));
	else
		printf("\nMissed events: %" PRIu64 " (in %" PRIu64 " rings that filled up%s). ",
		       profile_missed(p), stats->rings_filled,
		       p->nr_windows ? ", and between the windows" : "");
	printf("Contexts dropped: %" PRIu64 ", evicted: %" PRIu64 ".\n", dropped,
	       stats->contexts_lost);
	note(stats->threads_no_slot, "thread", "not profiled: more at once than --max-threads");
	note(stats->threads_no_memory, "thread", "not profiled: no memory for the ring");
	note(stats->processes_refused, "time",
	     "a process was not profiled: lwprun could not see it");
	note(stats->rings_damaged, "thread",
	     "profiled in part: the program wrote into the control block");
	note(stats->execs_unfollowed, "time",
	     "a program ran that cannot be profiled (static, set-user-ID ...)");
}

/* Objects with samples whose symbols could not be used. */
static void print_problems(const struct report *report)
{
	const struct profile *p = report->profile;

	for (uint32_t id = 0; id < p->nr_objects; id++) {
		const char *problem = resolver_problem(report->resolver, id);

		if (problem)
			printf("No symbols of %s: %s\n", p->objects[id].name, problem);
	}
	for (size_t i = 0; i < p->nr_processes; i++)
		if (p->processes[i].perf_map_cut)
			printf("The symbols of process %" PRIu32 "'s compiled code are cut off: "
			       "its perf map was too long\n",
			       p->processes[i].pid);
}

void report_text(const struct report *report)
{
	char *hint = report_hint(report);
	uint32_t event_id;

	print_head(report);
	print_bias(report);
	for (uint32_t i = 0; (event_id = report_event(report, i)); i++) {
		print_event_head(report, event_id);
		if (!report->samples->per_event[event_id])
			continue;
		if (report->source)
			source_print(report, event_id);
		else
			print_tables(report, event_id);
	}
	print_losses(report->profile);
	print_problems(report);
	if (hint)
		puts(hint);
	free(hint);
}
