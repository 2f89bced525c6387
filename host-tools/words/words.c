// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * words TEMPLATE: print a template, with each @WORD@ replaced by names from vmcb/lwp_events.h or the formats.h of
 * report/ and export/. Meson makes man pages, completion and libvirt's CPU map with it.
 */
#include <stdio.h>
#include <string.h>

#include "lwp_names.h"

/* "values instructions ..." */
static void print_events(void)
{
	const char *before = "";

	for (const struct lwp_feature *f = lwp_features; f->property; f++)
		if (f->event) {
			printf("%s%s", before, f->event);
			before = " ";
		}
}

/* A word in troff, where a hyphen of a command line is \-. */
static void print_troff(const char *word)
{
	for (; *word; word++)
		printf(*word == '-' ? "\\-" : "%c", *word);
}

/* The arguments of .BR: values ", " instructions ", " ... ref\-cycles */
static void print_events_troff(void)
{
	const char *before = "";

	for (const struct lwp_feature *f = lwp_features; f->property; f++)
		if (f->event) {
			fputs(before, stdout);
			print_troff(f->event);
			before = " \", \" ";
		}
}

/* "values 0, instructions 20011, ..." */
static void print_intervals_troff(void)
{
	const char *before = "";

	for (const struct lwp_feature *f = lwp_features; f->property; f++)
		if (f->event) {
			fputs(before, stdout);
			print_troff(f->event);
			printf(" %u", f->interval);
			before = ", ";
		}
}

/* A <feature> of libvirt's CPU map for each bit of EDX in revision 43724. */
static void print_cpu_map(void)
{
	for (const struct lwp_feature *f = lwp_features; f->property; f++)
		printf("%s  <feature name='%s'>\n"
		       "    <cpuid eax_in='0x8000001c' edx='0x%08x'/>\n"
		       "  </feature>",
		       f == lwp_features ? "" : "\n", f->property,
		       lwp_feature_flag(f, LWP_REV_43724));
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
static void print_formats(const struct format *formats)
{
	for (const struct format *f = formats; f->name; f++)
		printf("%s%s", f == formats ? "" : " ", f->name);
}

/* "text: tables ...; json: ..." */
static void print_formats_troff(const struct format *formats, const char *first)
{
	for (const struct format *f = formats; f->name; f++)
		printf("%s.BR %s :\n%s%s", f == formats ? "" : ";\n", f->name, f->text,
		       f == formats ? first : "");
}

static void print_report_formats(void)
{
	print_formats(report_formats);
}

static void print_report_formats_troff(void)
{
	print_formats_troff(report_formats, " (the default)");
}

static void print_export_formats(void)
{
	print_formats(export_formats);
}

static void print_export_formats_troff(void)
{
	print_formats_troff(export_formats, "");
}

static const struct {
	const char *name;
	void (*print)(void);
} words[] = {
	{ "EVENTS", print_events },
	{ "EVENTS_TROFF", print_events_troff },
	{ "INTERVALS_TROFF", print_intervals_troff },
	{ "CPU_MAP", print_cpu_map },
	{ "REPORT_FORMATS", print_report_formats },
	{ "REPORT_FORMATS_TROFF", print_report_formats_troff },
	{ "EXPORT_FORMATS", print_export_formats },
	{ "EXPORT_FORMATS_TROFF", print_export_formats_troff },
};

/* Replace @NAME@ at @at; returns the text after it, NULL if the name is unknown. */
static const char *replace(const char *at)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t length = strlen(words[i].name);

		if (strncmp(at + 1, words[i].name, length) || at[length + 1] != '@')
			continue;
		words[i].print();
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
