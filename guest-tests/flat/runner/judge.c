// SPDX-License-Identifier: GPL-2.0-or-later
/* Judging a serial log. It may be cut, or have anything in it: firmware and loaders write there, too. */
#include "judge.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "table.h"
#include "tap.h"

#define NOTES_MAX 20
#define NAME_MAX_SHOWN 60

struct judged {
	FILE *to;
	unsigned int line, passed, failed, skipped;
	/* The suite: how many rows it has announced, how many have begun; and whether it has come to its end. */
	bool announced, ended;
	unsigned int announced_rows, begun;
	/* The row. */
	bool in_row, over, out_of_order;
	char name[NAME_MAX_SHOWN + 1], skip[100];
	struct tap tap;
	char *notes[NOTES_MAX];
	unsigned int note_count;
};

static bool starts(const char *line, const char *with)
{
	return !strncmp(line, with, strlen(with));
}

static bool known(const char *name)
{
	size_t i;

	for (i = 0; i < run_count; i++) {
		if (!strcmp(runs[i].name, name))
			return true;
	}
	return false;
}

/* Text that goes to a terminal and is read as TAP. */
static void clean(char *text)
{
	for (; *text; text++) {
		if (*text < ' ' || *text > '~' || *text == '#')
			*text = '?';
	}
}

static void say(struct judged *j, bool ok, const char *name, const char *directive, const char *why)
{
	if (!j->line++)
		fprintf(j->to, "TAP version 13\n");
	fprintf(j->to, "%s %u - %s%s%s\n", ok ? "ok" : "not ok", j->line, name, directive, why);
}

static const char *broken(const struct judged *j, char why[300])
{
	const struct tap *t = &j->tap;
	unsigned int points = t->passed + t->failed + t->skipped;

	if (t->bail[0])
		snprintf(why, 300, "the test is broken: %s", t->bail);
	else if (!t->planned)
		snprintf(why, 300, "the row has no end, after %u points", points);
	else if (t->plan != points || j->out_of_order)
		snprintf(why, 300,
			 "%u points, but a plan of %u, or not in order: lines are missing", points,
			 t->plan);
	else if (!points)
		snprintf(why, 300, "no points");
	else if (!known(j->name))
		snprintf(why, 300, "this flatrun has no row of this name");
	else
		return NULL;
	clean(why);
	return why;
}

static void end_row(struct judged *j)
{
	char why[300];
	unsigned int i;

	if (!j->in_row)
		return;
	if (broken(j, why)) {
		j->failed++;
		say(j, false, j->name, ": ", why);
	} else if (j->tap.failed) {
		snprintf(why, sizeof(why), "%u of %u points", j->tap.failed, j->tap.plan);
		j->failed++;
		say(j, false, j->name, ": ", why);
	} else if (!j->tap.passed) {
		j->skipped++;
		say(j, true, j->name, " # SKIP ", j->skip);
	} else {
		j->passed++;
		say(j, true, j->name, "", "");
	}
	for (i = 0; i < j->note_count; i++) {
		fprintf(j->to, "#   %s\n", j->notes[i]);
		free(j->notes[i]);
	}
	j->note_count = 0;
	j->in_row = false;
}

static void end_suite(struct judged *j)
{
	char why[100];

	end_row(j);
	if (j->announced && (j->begun != j->announced_rows || !j->ended)) {
		snprintf(why, sizeof(why), "%u rows of %u are in the log%s", j->begun,
			 j->announced_rows, j->ended ? "" : ", and not its end");
		j->failed++;
		say(j, false, "the suite", ": ", why);
	}
	j->announced = j->ended = false;
	j->begun = 0;
}

static void begin_row(struct judged *j, const char *name)
{
	end_row(j);
	j->in_row = true;
	j->over = j->out_of_order = false;
	j->begun++;
	memset(&j->tap, 0, sizeof(j->tap));
	snprintf(j->name, sizeof(j->name), "%s", name);
	clean(j->name);
	j->skip[0] = '\0';
}

/* Is the point the next one? A line that is lost must not go unnoticed. */
static void check_order(struct judged *j, const char *line)
{
	unsigned int number = 0;

	if (sscanf(line, "not ok %u", &number) == 1 || sscanf(line, "ok %u", &number) == 1)
		j->out_of_order |= number != j->tap.passed + j->tap.failed + j->tap.skipped;
}

static void take_note(struct judged *j, const char *line)
{
	char *copy;

	if (j->note_count == NOTES_MAX)
		return;
	copy = strdup(line);
	if (!copy)
		abort();
	clean(copy);
	j->notes[j->note_count++] = copy;
}

static void row_line(struct judged *j, const char *line)
{
	const char *skip = strstr(line, " # SKIP ");

	if (j->over)
		return;
	tap_line(&j->tap, line, NULL);
	if (starts(line, "not ok "))
		take_note(j, line);
	if (starts(line, "ok ") || starts(line, "not ok "))
		check_order(j, line);
	if (starts(line, "ok ") && skip && !j->skip[0]) {
		snprintf(j->skip, sizeof(j->skip), "%s", skip + strlen(" # SKIP "));
		clean(j->skip);
	}
	/* What comes behind the plan is not the row's. */
	j->over = j->tap.planned || j->tap.bail[0];
}

static void take_line(struct judged *j, const char *line)
{
	unsigned int rows;

	if (sscanf(line, "# suite: %u rows", &rows) == 1) {
		end_suite(j);
		j->announced = true;
		j->announced_rows = rows;
	} else if (starts(line, "# suite: end")) {
		end_row(j);
		j->ended = true;
	} else if (starts(line, "# row ")) {
		begin_row(j, line + strlen("# row "));
	} else if (j->in_row) {
		row_line(j, line);
	}
}

enum judgement judge(FILE *log, FILE *to)
{
	struct judged j = { .to = to };
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, log) >= 0) {
		line[strcspn(line, "\r\n")] = '\0';
		take_line(&j, line);
	}
	free(line);
	end_suite(&j);
	if (!j.line)
		return JUDGED_NO_LOG;
	fprintf(to, "1..%u\n%u passed, %u failed, %u skipped\n", j.line, j.passed, j.failed,
		j.skipped);
	return j.failed ? JUDGED_FAIL : j.passed ? JUDGED_PASS : JUDGED_SKIP;
}
