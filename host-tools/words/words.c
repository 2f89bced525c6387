// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * words TEMPLATE: print a template, with each @WORD@ replaced by names from vmcb/lwp_events.h or the formats.h of
 * report/ and export/. Meson makes man pages and completion with it.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lwp_names.h"

/* A @WORD@, and how it is printed. */
struct word {
	const char *name;
	void (*print)(const struct word *word);
	const char *between; /* events */
	bool troff, intervals;
	const struct format *formats;
	const char *first; /* after the first format */
};

/* In troff a hyphen of a command line is \-. */
static void print_troff(const char *text)
{
	for (; *text; text++)
		printf(*text == '-' ? "\\-" : "%c", *text);
}

static void print_events(const struct word *word)
{
	const char *before = "";

	for (const struct lwp_feature *f = lwp_features; f->property; f++) {
		if (!f->event)
			continue;
		fputs(before, stdout);
		if (word->troff)
			print_troff(f->event);
		else
			fputs(f->event, stdout);
		if (word->intervals)
			printf(" %u", f->interval);
		before = word->between;
	}
}

struct format {
	const char *name, *text;
};

static const struct format report_formats[] = {
#define REPORT_FORMAT(name, text) { #name, (text) },
#include "../profile/report/formats.h"
	{ 0 },
};

static const struct format export_formats[] = {
#define EXPORT_FORMAT(name, text) { #name, (text) },
#include "../profile/export/formats.h"
	{ 0 },
};

/* "text json" */
static void print_formats(const struct word *word)
{
	for (const struct format *f = word->formats; f->name; f++)
		printf("%s%s", f == word->formats ? "" : " ", f->name);
}

/* "text: tables ...; json: ..." */
static void print_formats_troff(const struct word *word)
{
	for (const struct format *f = word->formats; f->name; f++)
		printf("%s.BR %s :\n%s%s", f == word->formats ? "" : ";\n", f->name, f->text,
		       f == word->formats ? word->first : "");
}

static const struct word words[] = {
	/* "values instructions ..." */
	{ "EVENTS", print_events, .between = " " },
	/* The arguments of .BR: values ", " instructions ", " ... ref\-cycles */
	{ "EVENTS_TROFF", print_events, .between = " \", \" ", .troff = true },
	/* "values 0, instructions 20011, ..." */
	{ "INTERVALS_TROFF", print_events, .between = ", ", .troff = true, .intervals = true },
	{ "REPORT_FORMATS", print_formats, .formats = report_formats },
	{ "REPORT_FORMATS_TROFF", print_formats_troff, .formats = report_formats,
	  .first = " (the default)" },
	{ "EXPORT_FORMATS", print_formats, .formats = export_formats },
	{ "EXPORT_FORMATS_TROFF", print_formats_troff, .formats = export_formats, .first = "" },
};

/* Replace @NAME@ at @at; returns the text after it, NULL if the name is unknown. */
static const char *replace(const char *at)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t length = strlen(words[i].name);

		if (strncmp(at + 1, words[i].name, length) || at[length + 1] != '@')
			continue;
		words[i].print(&words[i]);
		return at + length + 2;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
	char line[1024];

	if (!file) {
		fprintf(stderr, "words: expected a file, got '%s'\n", argc == 2 ? argv[1] : "");
		return 1;
	}
	while (fgets(line, sizeof(line), file)) {
		const char *next = line;

		while (*next) {
			const char *behind = *next == '@' ? replace(next) : NULL;

			if (behind)
				next = behind;
			else
				putchar(*next++);
		}
	}
	fclose(file);
	return fflush(stdout) ? 1 : 0;
}
