// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Collapsed stacks: a line for each stack, its frames separated by semicolons, and how many events it stands for.
 * FlameGraph, speedscope and others read it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "memory.h"

struct line {
	char *stack;
	uint64_t samples;
};

/* A frame's name ends at a semicolon, and the line at a newline, of which printable text has none. */
static void put_frame(FILE *to, const char *name)
{
	for (; *name; name++)
		fputc(*name == ';' ? ':' : *name, to);
}

static char *stack_of(const struct export *e, const struct located *l)
{
	const char *names[EXPORT_STACK_MAX];
	unsigned int n = export_stack(e, l, names, EXPORT_STACK_MAX);
	char *text = NULL;
	size_t size;
	FILE *to = must(open_memstream(&text, &size));

	for (unsigned int i = 0; i < n; i++) {
		if (i)
			fputc(';', to);
		put_frame(to, names[i]);
	}
	if (fclose(to))
		must(NULL);
	return text;
}

static int compare(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return strcmp(x->stack, y->stack);
}

bool export_collapsed(struct export *e)
{
	const struct samples *samples = &e->view->samples;
	uint64_t period = export_period(&e->view->profile, e->event_id), sum = 0;
	struct line *lines = must(calloc(samples->nr + 1, sizeof(*lines)));
	size_t nr = 0;

	for (size_t i = 0; i < samples->nr; i++)
		if (samples->list[i].count->event_id == e->event_id)
			lines[nr++] = (struct line){ stack_of(e, &samples->list[i]),
						     samples->list[i].count->samples };
	if (nr)
		qsort(lines, nr, sizeof(*lines), compare);
	for (size_t i = 0; i < nr; i++) {
		sum += lines[i].samples;
		if (i + 1 == nr || strcmp(lines[i].stack, lines[i + 1].stack)) {
			fprintf(e->out, "%s %" PRIu64 "\n", lines[i].stack, sum * period);
			sum = 0;
		}
	}
	for (size_t i = 0; i < nr; i++)
		free(lines[i].stack);
	free(lines);
	return true;
}
