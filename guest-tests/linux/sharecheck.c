// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sharecheck: compares the profile of the workload with the truth.
 *
 *	sharecheck TRUTH REPORT.json [--own]
 *
 * TRUTH is what steptruth printed, REPORT.json what `lwpctl report --json` did. Every function's share of all
 * instructions must be right within 2 percentage points, and there must be 20,000 samples. One line a
 * function, last line "N passed, N failed, N skipped". With --own the shares are those of the instructions
 * in the program's own functions: for short runs, in which the dynamic loader, that runs before LWP is on,
 * has a large part.
 */
#include <json-c/json.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 0.02
#define SAMPLES 20000
#define MAX_FUNCTIONS 256
#define IRE 2

static struct {
	char name[128];
	double count;
} truth[MAX_FUNCTIONS];
static size_t functions;
static double total;
static unsigned int passed, failed;

static _Noreturn void die(const char *file, const char *what)
{
	fprintf(stderr, "sharecheck: %s: %s\n", file, what);
	exit(1);
}

static void read_truth(const char *path)
{
	unsigned long long count;
	FILE *in = fopen(path, "re");
	char name[128];

	if (!in)
		die(path, "cannot open");
	while (fscanf(in, "%llu %127s", &count, name) == 2) {
		if (!strcmp(name, "[total]"))
			total = (double)count;
		else if (name[0] != '[' && functions < MAX_FUNCTIONS) {
			strcpy(truth[functions].name, name);
			truth[functions++].count = (double)count;
		}
	}
	fclose(in);
	if (!(total > 0) || !functions)
		die(path, "no counts of steptruth");
}

static struct json_object *member(struct json_object *of, const char *name)
{
	struct json_object *value;

	if (!json_object_object_get_ex(of, name, &value))
		die(name, "not in the report");
	return value;
}

/* The report's object for instructions retired. */
static struct json_object *instructions(struct json_object *report)
{
	struct json_object *events = member(report, "events");

	for (size_t i = 0; i < json_object_array_length(events); i++) {
		struct json_object *event = json_object_array_get_idx(events, i);

		if (json_object_get_int(member(event, "event_id")) == IRE)
			return event;
	}
	die("report", "no instructions in it");
}

static double share_of(struct json_object *symbols, const char *name)
{
	double share = 0;

	for (size_t i = 0; i < json_object_array_length(symbols); i++) {
		struct json_object *row = json_object_array_get_idx(symbols, i);

		if (!strcmp(json_object_get_string(member(row, "symbol")), name))
			share += json_object_get_double(member(row, "share"));
	}
	return share;
}

static void check(int cond, const char *text)
{
	printf("%s %s\n", cond ? "ok     " : "FAILED ", text);
	*(cond ? &passed : &failed) += 1;
}

int main(int argc, char **argv)
{
	bool own = argc == 4 && !strcmp(argv[3], "--own");
	struct json_object *report, *event;
	double samples, seen_all = 1;
	char text[256];

	if (argc != 3 && !own) {
		fprintf(stderr, "usage: sharecheck TRUTH REPORT.json [--own]\n");
		return 2;
	}
	read_truth(argv[1]);
	report = json_object_from_file(argv[2]);
	if (!report)
		die(argv[2], "not JSON");
	event = instructions(report);
	samples = json_object_get_double(member(event, "samples"));
	snprintf(text, sizeof(text), "%.0f samples, at least %d", samples, SAMPLES);
	check(samples >= SAMPLES, text);
	if (own) {
		total = seen_all = 0;
		for (size_t i = 0; i < functions; i++) {
			total += truth[i].count;
			seen_all += share_of(member(event, "symbols"), truth[i].name);
		}
	}
	for (size_t i = 0; i < functions; i++) {
		double right = truth[i].count / total;
		double seen = share_of(member(event, "symbols"), truth[i].name) / seen_all;

		/* What is hardly there says nothing. */
		if (right < TOLERANCE / 2 && seen < TOLERANCE / 2)
			continue;
		snprintf(text, sizeof(text), "%-16.32s truth %5.2f%%, profile %5.2f%%",
			 truth[i].name, 100 * right, 100 * seen);
		check(fabs(right - seen) <= TOLERANCE, text);
	}
	printf("%u passed, %u failed, 0 skipped\n", passed, failed);
	json_object_put(report);
	return failed != 0;
}
