// SPDX-License-Identifier: GPL-2.0-or-later
/* lwpctl html: a profile as one page that needs nothing else. This file writes the data, page.html draws them. */
#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "export.h"
#include "lwp_cpuid.h"
#include "lwp_names.h"
#include "lwp_rev.h"
#include "lwpctl.h"
#include "lwpctl_report.h"
#include "memory.h"
#include "output.h"
#include "page.h"
#include "printable.h"
#include "source_text.h"
#include "stacks.h"

/* What has room on a page that people read, and opens at once. */
#define ROWS_MAX 300
#define LINES_MAX 60
#define STACKS_MAX 4000
#define THREADS_MAX 32
#define BUCKETS 240
#define SOURCE_LINE_MAX 200

#define DATA_MARK "@DATA@"

struct arguments {
	struct view_options view;
	const char *output;
	bool source;
};

struct writer {
	struct export e;
	FILE *out;
	bool source;
	struct sources sources;
	bool filtered;
};

static void put_pair(FILE *out, const char *key, const char *text)
{
	fprintf(out, "\"%s\":", key);
	put_json_string(out, text);
}

/* The same before another one. */
static void put_member(FILE *out, const char *key, const char *text)
{
	put_pair(out, key, text);
	fputc(',', out);
}

/* ---- Functions, lines, branches ------------------------------------------------------------- */

static void put_sources(const struct writer *w, const struct rows *rows)
{
	bool misses = profile_kind(&w->e.view->profile, w->e.event_id) == LWP_KIND_DME;
	const char *before = "";

	fputs("\"sources\":[", w->out);
	for (enum lwp_data_source s = 0; misses && s < LWP_SOURCES; s++) {
		uint64_t samples = 0;

		for (size_t i = 0; i < rows->nr; i++)
			samples += rows->list[i].detail.from[s];
		if (!samples || !lwp_source_name(s))
			continue;
		fprintf(w->out, "%s{", before);
		put_pair(w->out, "name", lwp_source_name(s));
		fprintf(w->out, ",\"samples\":%" PRIu64 "}", samples);
		before = ",";
	}
	fputs("],", w->out);
}

static void put_functions(struct writer *w, const struct rows *rows)
{
	fputs("\"rows\":[", w->out);
	for (size_t i = 0; i < rows->nr && i < ROWS_MAX; i++) {
		const struct row *row = &rows->list[i];

		fprintf(w->out, "%s{", i ? "," : "");
		put_member(w->out, "symbol", row->labels[0]);
		put_pair(w->out, "object", last_part(row->labels[1]));
		fprintf(w->out,
			",\"samples\":%" PRIu64 ",\"windows\":%" PRIu64
			",\"share\":%.6f,\"low\":%.6f,\"high\":%.6f,\"taken\":%" PRIu64
			",\"latency\":%" PRIu64 ",\"line\":",
			row->samples, row->windows, row->share, row->interval.low,
			row->interval.high, row->detail.taken, row->detail.latency);
		if (row->file) {
			char *line = formatted("%s:%d", last_part(row->file), row->line);

			put_json_string(w->out, line);
			free(line);
		} else {
			fputs("\"\"", w->out);
		}
		fputc('}', w->out);
	}
	fprintf(w->out, "],\"more\":%zu,", rows->nr > ROWS_MAX ? rows->nr - ROWS_MAX : 0);
	put_sources(w, rows);
}

static void put_source(struct writer *w, const struct row *row)
{
	char *text = w->source ? sources_line(&w->sources, row->file, row->line, SOURCE_LINE_MAX) :
				 NULL;

	put_pair(w->out, "source", text ? text + strspn(text, " ") : "");
	free(text);
}

static void put_lines(struct writer *w, const struct rows *rows)
{
	size_t n = 0;

	fputs("\"lines\":[", w->out);
	for (size_t i = 0; i < rows->nr && n < LINES_MAX; i++) {
		const struct row *row = &rows->list[i];

		if (!row->file)
			continue;
		fprintf(w->out, "%s{", n++ ? "," : "");
		put_member(w->out, "line", row->labels[0]);
		put_pair(w->out, "symbol", row->labels[1]);
		fprintf(w->out, ",\"samples\":%" PRIu64 ",\"share\":%.6f,", row->samples,
			row->share);
		put_source(w, row);
		fputc('}', w->out);
	}
	fputs("],", w->out);
}

/* Branches that are sometimes taken and sometimes not. */
static void put_branches(struct writer *w, const struct rows *rows)
{
	bool branches = profile_kind(&w->e.view->profile, w->e.event_id) == LWP_KIND_BRE;
	size_t n = 0;

	fputs("\"branches\":[", w->out);
	for (size_t i = 0; branches && i < rows->nr && n < LINES_MAX; i++) {
		const struct row *row = &rows->list[i];

		if (!row->detail.taken || row->detail.taken == row->samples)
			continue;
		fprintf(w->out, "%s{", n++ ? "," : "");
		put_member(w->out, "address", row->labels[0]);
		put_member(w->out, "symbol", row->labels[1]);
		put_pair(w->out, "line", row->file ? row->labels[2] : "");
		fprintf(w->out,
			",\"share\":%.6f,\"samples\":%" PRIu64 ",\"taken\":%" PRIu64
			",\"predicted\":%" PRIu64 ",\"right\":%" PRIu64 "}",
			row->share, row->samples, row->detail.taken, row->detail.predicted,
			row->detail.right);
	}
	fputs("],", w->out);
}

static void put_tables(struct writer *w)
{
	static const struct {
		struct grouping by;
		void (*put)(struct writer *w, const struct rows *rows);
	} tables[] = {
		{ { .keys = { KEY_SYMBOL, KEY_OBJECT }, .nr = 2 }, put_functions },
		{ { .keys = { KEY_LINE, KEY_SYMBOL }, .nr = 2 }, put_lines },
		{ { .keys = { KEY_ADDRESS, KEY_SYMBOL, KEY_LINE }, .nr = 3 }, put_branches },
	};
	struct view *view = w->e.view;
	struct rows rows;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		rows_make(&rows, &view->resolver, &view->samples, &tables[i].by,
			  (uint8_t)w->e.event_id, ORDER_SAMPLES);
		tables[i].put(w, &rows);
		rows_free(&rows);
	}
}

/* ---- Stacks --------------------------------------------------------------------------------- */

/* The samples that a stack must have, with what it calls, so that no more than STACKS_MAX are written. */
static uint64_t least_samples(const uint64_t *totals, size_t nr)
{
	uint64_t least = 1;

	for (;; least *= 2) {
		size_t n = 0;

		for (size_t i = 1; i < nr; i++)
			n += totals[i] >= least;
		if (n <= STACKS_MAX)
			return least;
	}
}

/* What is left out counts for its parent. */
static void put_stacks(struct writer *w)
{
	struct stacks s;
	uint64_t *totals, *own, least;
	size_t *number, n = 1;

	stacks_make(&s, w->e.view, w->e.options, w->e.event_id);
	totals = must(calloc(s.nr, sizeof(*totals)));
	own = must(calloc(s.nr, sizeof(*own)));
	number = must(calloc(s.nr, sizeof(*number)));
	for (size_t i = s.nr; i-- > 1;) {
		own[i] = s.list[i].samples;
		totals[i] += own[i];
		totals[s.list[i].parent] += totals[i];
	}
	least = least_samples(totals, s.nr);
	for (size_t i = s.nr; i-- > 1;)
		if (totals[i] < least)
			own[s.list[i].parent] += own[i];
	fprintf(w->out, "\"stacks\":[[\"\",\"\",0,%" PRIu64 "]", own[0]);
	for (size_t i = 1; i < s.nr; i++) {
		if (totals[i] < least)
			continue;
		number[i] = n++;
		fputs(",[", w->out);
		put_json_string(w->out, s.list[i].name);
		fputc(',', w->out);
		put_json_string(w->out, last_part(s.list[i].object));
		fprintf(w->out, ",%zu,%" PRIu64 "]", number[s.list[i].parent], own[i]);
	}
	fputs("],", w->out);
	free(totals);
	free(own);
	free(number);
	stacks_free(&s);
}

/* ---- Time ----------------------------------------------------------------------------------- */

struct lane {
	size_t thread;
	uint64_t samples, counts[BUCKETS];
};

struct lanes {
	const struct writer *w;
	struct lane *list; /* one a thread */
	uint64_t start, length;
};

static uint64_t profile_length(const struct profile *p)
{
	uint64_t end = p->config.start_monotonic + 1;

	for (size_t i = 0; i < p->nr_batches; i++)
		if (p->batches[i].time > end)
			end = p->batches[i].time;
	for (size_t i = 0; i < p->nr_windows; i++)
		if (p->windows[i].time > end)
			end = p->windows[i].time;
	return end - p->config.start_monotonic;
}

static void add_to_lane(void *to, const struct sample *sample)
{
	struct lanes *l = to;
	const struct view *view = l->w->e.view;
	struct lane *lane = &l->list[sample->key.thread];
	uint64_t since = sample->time > l->start ? sample->time - l->start : 0;
	size_t bucket = (size_t)((double)since / (double)l->length * BUCKETS);

	if (sample->key.event_id != l->w->e.event_id ||
	    !samples_find(&view->samples, &view->tally, &sample->key))
		return;
	lane->counts[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
	lane->samples++;
}

static int compare_lanes(const void *a, const void *b)
{
	const struct lane *x = a, *y = b;

	return ORDER(y->samples, x->samples) ?: ORDER(x->thread, y->thread);
}

static void put_lane(const struct writer *w, const struct lane *lane)
{
	const struct profile *p = &w->e.view->profile;
	const struct profile_thread *thread = &p->threads[lane->thread];
	char *name = formatted("%s %" PRIu32 "/%" PRIu32, thread->comm,
			       p->processes[thread->process].pid, thread->tid);

	fputc('{', w->out);
	put_pair(w->out, "name", name);
	fprintf(w->out, ",\"samples\":%" PRIu64 ",\"counts\":[", lane->samples);
	for (size_t i = 0; i < BUCKETS; i++)
		fprintf(w->out, "%s%" PRIu64, i ? "," : "", lane->counts[i]);
	fputs("]}", w->out);
	free(name);
}

static void put_lanes(const struct writer *w)
{
	const struct profile *p = &w->e.view->profile;
	struct lanes l = { w, must(calloc(p->nr_threads + 1, sizeof(*l.list))),
			   p->config.start_monotonic, profile_length(p) };
	size_t nr = 0;

	for (size_t i = 0; i < p->nr_threads; i++)
		l.list[i].thread = i;
	tally_walk(p, &w->e.options->filter, w->e.options->targets, add_to_lane, &l);
	sort_list(l.list, p->nr_threads, sizeof(*l.list), compare_lanes);
	fprintf(w->out, "\"buckets\":%d,\"threads\":[", BUCKETS);
	while (nr < p->nr_threads && l.list[nr].samples)
		nr++;
	for (size_t i = 0; i < nr && i < THREADS_MAX; i++) {
		if (i)
			fputc(',', w->out);
		put_lane(w, &l.list[i]);
	}
	fprintf(w->out, "],\"moreThreads\":%zu", nr > THREADS_MAX ? nr - THREADS_MAX : 0);
	free(l.list);
}

/* ---- The data ------------------------------------------------------------------------------- */

static void put_event(struct writer *w, uint32_t event_id)
{
	const struct profile *p = &w->e.view->profile;
	const struct report report = { .profile = p,
				       .samples = &w->e.view->samples,
				       .filtered = w->filtered };
	char *advice = report_advice(&report, event_id);
	uint32_t e = profile_event_index(p, event_id);

	w->e.event_id = event_id;
	fputc('{', w->out);
	put_member(w->out, "name", profile_event_name(p, event_id));
	put_pair(w->out, "kind", lwpdata_event_name(profile_kind(p, event_id)) ?: "");
	fprintf(w->out, ",\"samples\":%" PRIu64 ",\"windows\":%" PRIu64 ",\"period\":%" PRIu64 ",",
		w->e.view->samples.per_event[event_id],
		report_nr_windows(p, &w->e.view->samples, event_id),
		report_stands_for(p, event_id));
	put_member(w->out, "advice", advice ?: "");
	free(advice);
	if (e < p->config.nr_events && !w->filtered) {
		struct estimate estimate = report_estimate(p, e);

		fprintf(w->out, "\"counted\":%.0f,\"exact\":%s,", estimate.events,
			estimate.exact ? "true" : "false");
	}
	put_tables(w);
	put_stacks(w);
	put_lanes(w);
	fputc('}', w->out);
}

static void put_data(struct writer *w)
{
	const struct profile *p = &w->e.view->profile;
	struct report report = { .profile = p,
				 .samples = &w->e.view->samples,
				 .kind = w->e.options->kind };
	time_t start = (time_t)(p->config.start_realtime / 1000000000u);
	char *kernel = printable(p->config.kernel.data, p->config.kernel.size), date[64] = "";
	char *command = profile_command(p);
	uint32_t event_id;
	struct tm tm;

	if (gmtime_r(&start, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &tm);
	fputc('{', w->out);
	put_member(w->out, "command", command);
	put_member(w->out, "date", date);
	put_member(w->out, "kernel", kernel);
	put_pair(w->out, "revision", lwp_rev_get(p->config.revision)->name);
	fprintf(w->out,
		",\"programs\":%zu,\"threads\":%zu,\"missed\":%.6f,\"seconds\":%.6f,\"inlined\":%s,"
		"\"stamped\":%s,\"events\":[",
		p->nr_processes, p->nr_threads, report_missed_share(p),
		(double)profile_length(p) / 1e9, w->e.options->inlines ? "true" : "false",
		p->config.flags & LWP_F_PTSC ? "true" : "false");
	for (uint32_t i = 0; (event_id = report_event(&report, i)); i++) {
		if (i)
			fputc(',', w->out);
		put_event(w, event_id);
	}
	fputs("]}", w->out);
	free(kernel);
	free(command);
}

static bool write_page(const struct arguments *a, struct view *view, FILE *out)
{
	const char *mark = strstr(page, DATA_MARK);
	struct writer w = { .e = { .out = out, .view = view, .options = &a->view },
			    .out = out,
			    .source = a->source,
			    .sources = { .sysroot = a->view.sysroot },
			    .filtered = filter_any(&a->view.filter) };

	fwrite(page, (size_t)(mark - page), 1, out);
	put_data(&w);
	fputs(mark + strlen(DATA_MARK), out);
	sources_free(&w.sources);
	return true;
}

/* ---- The command ---------------------------------------------------------------------------- */

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "write to FILE (default: standard output)", 0 },
	{ "source", 's', NULL, 0, "put the text of the hottest source lines on the page", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'o':
		a->output = arg;
		return 0;
	case 's':
		a->source = true;
		return 0;
	default:
		return other_key(key, state);
	}
}

static bool work(void *arguments, struct view *view)
{
	const struct arguments *a = arguments;
	FILE *out = output_open(a->output);

	return out && output_close(out, a->output, write_page(a, view, out));
}

static int run(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "[FILE]",
		"Write a profile as one page of HTML that needs nothing else: stacks, threads over "
		"time, functions, lines, branches.\vFILE is what lwprun wrote (default: lwp.data).",
		view_children
	};
	struct arguments a = { .view = VIEW_OPTIONS };

	return view_command(argc, argv, &argp, &a, &a.view, work);
}

const struct command cmd_html = { "html", run, "write a profile as one page of HTML" };
