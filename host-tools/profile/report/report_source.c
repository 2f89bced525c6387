// SPDX-License-Identifier: GPL-2.0-or-later
/* lwpctl report --source: the hottest lines with their text, file by file. */
#include <stdio.h>
#include <string.h>

#include "json_out.h"
#include "memory.h"
#include "report_source.h"
#include "source_text.h"

#define NOTHING 1e-9 /* of a share, which is a sum */
#define AROUND 2 /* lines above and below a hot one */
#define LINE_MAX_BYTES 120 /* of a line, without --wide */
#define LINE_MAX_WIDE 4096

/* The lines of one event. */
struct lines {
	const struct report *report;
	struct sources sources;
	struct rows rows; /* by line, most samples first */
	struct row **hot; /* those that are shown, by file and line */
	size_t nr;
};

/* A file with hot lines: hot[first] to before hot[end]. */
struct file {
	size_t first, end;
	double share; /* of all of its lines */
};

static size_t most(const struct report *report)
{
	return report->wide ? LINE_MAX_WIDE : LINE_MAX_BYTES;
}

/* ---- Which lines ---------------------------------------------------------------------------- */

static int by_file(const void *a, const void *b)
{
	const struct row *x = *(struct row *const *)a, *y = *(struct row *const *)b;

	return strcmp(x->file, y->file) ?: ORDER(x->line, y->line);
}

static void lines_make(struct lines *l, const struct report *report, uint32_t event_id)
{
	static const struct grouping by_line = { .keys = { KEY_LINE }, .nr = 1 };

	*l = (struct lines){ .report = report,
			     .sources = { .sysroot = report->resolver->sysroot } };
	rows_make(&l->rows, report->resolver, report->samples, &by_line, (uint8_t)event_id,
		  ORDER_SAMPLES);
	l->hot = must(calloc(l->rows.nr + 1, sizeof(struct row *)));
	for (size_t i = 0; i < l->rows.nr && (!report->limit || l->nr < report->limit); i++)
		if (l->rows.list[i].file)
			l->hot[l->nr++] = &l->rows.list[i];
}

static void lines_free(struct lines *l)
{
	free(l->hot);
	rows_free(&l->rows);
	sources_free(&l->sources);
}

/* ---- Text ----------------------------------------------------------------------------------- */

/* `row` NULL: a line without samples. */
static void print_line(struct lines *l, const char *file, int line, const struct row *row)
{
	char *text = sources_line(&l->sources, file, line, most(l->report));

	if (!text && !row)
		return;
	if (row)
		report_share(row, false, true);
	else
		printf("%34s", "");
	printf(" %6d%s%s\n", line, text && *text ? "  " : "", text ?: "");
	free(text);
}

/* All of a line's samples, hot or not. */
static const struct row *row_of(const struct lines *l, const char *file, int line)
{
	for (size_t i = 0; i < l->rows.nr; i++)
		if (l->rows.list[i].file == file && l->rows.list[i].line == line)
			return &l->rows.list[i];
	return NULL;
}

static void print_file(struct lines *l, const struct file *file)
{
	const char *path = l->hot[file->first]->file;
	int next = 1; /* the first line that was not printed yet */

	printf("\n%s: %.2f%%\n  Share    95%% interval    Samples   Line  Source\n", path,
	       100 * file->share);
	for (size_t i = file->first; i < file->end; i++) {
		int hot = l->hot[i]->line, from = hot - AROUND > next ? hot - AROUND : next;
		int until = i + 1 < file->end && l->hot[i + 1]->line - AROUND <= hot + AROUND ?
				    l->hot[i + 1]->line - AROUND - 1 :
				    hot + AROUND;

		if (until < hot)
			until = hot;
		if (i > file->first && from > next)
			printf("%41s\n", "...");
		for (int line = from; line <= until; line++)
			print_line(l, path, line, row_of(l, path, line));
		next = until + 1;
	}
}

static double share_of(const struct lines *l, const char *file)
{
	double share = 0;

	for (size_t i = 0; i < l->rows.nr; i++)
		if (l->rows.list[i].file == file)
			share += l->rows.list[i].share;
	return share;
}

static int hottest_first(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	return ORDER(y->share, x->share) ?: ORDER(x->first, y->first);
}

static void print_files(struct lines *l)
{
	struct file *files = NULL;
	size_t nr = 0, room = 0;

	sort_list(l->hot, l->nr, sizeof(*l->hot), by_file);
	for (size_t i = 0; i < l->nr; i++) {
		if (!i || l->hot[i]->file != l->hot[i - 1]->file) {
			*APPEND(files, nr, room) = (struct file){ .first = i };
		}
		files[nr - 1].end = i + 1;
	}
	for (size_t i = 0; i < nr; i++)
		files[i].share = share_of(l, l->hot[files[i].first]->file);
	sort_list(files, nr, sizeof(*files), hottest_first);
	for (size_t i = 0; i < nr; i++)
		print_file(l, &files[i]);
	free(files);
}

/* What the lines above leave out. */
static void print_rest(const struct lines *l)
{
	double nowhere = 0, rest = 1;

	for (size_t i = 0; i < l->rows.nr; i++)
		if (!l->rows.list[i].file)
			nowhere += l->rows.list[i].share;
	for (size_t i = 0; i < l->nr; i++)
		rest -= l->hot[i]->share;
	rest -= nowhere;
	if (rest > NOTHING)
		printf("\n%6.2f%% in other lines\n", 100 * rest);
	if (nowhere > 0)
		printf("%s%6.2f%% in code without line numbers: debugging information helps\n",
		       rest > NOTHING ? "" : "\n", 100 * nowhere);
}

void source_print(const struct report *report, uint32_t event_id)
{
	struct lines l;

	lines_make(&l, report, event_id);
	print_files(&l);
	print_rest(&l);
	lines_free(&l);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_object *line_json(struct lines *l, const struct row *row)
{
	json_object *item = json_new();
	char *text = sources_line(&l->sources, row->file, row->line, LINE_MAX_WIDE);

	json_add(item, "source_file", row->file);
	json_add(item, "source_line", (uint64_t)row->line);
	json_add(item, "samples", row->samples);
	json_share(item, row);
	json_object_object_add(item, "text", text ? json_of(text) : NULL);
	free(text);
	return item;
}

json_object *source_json(const struct report *report, uint32_t event_id)
{
	json_object *list = json_list();
	struct lines l;

	lines_make(&l, report, event_id);
	for (size_t i = 0; i < l.nr; i++)
		json_append(list, line_json(&l, l.hot[i]));
	lines_free(&l);
	return list;
}
