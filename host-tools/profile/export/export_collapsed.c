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
#include "stacks.h"

struct line {
	char *stack;
	uint64_t samples;
};

/* A frame's name ends at a semicolon, and the line at a newline, of which printable text has none. */
static void put_stack(FILE *to, const struct stacks *s, size_t i)
{
	if (s->list[i].parent) {
		put_stack(to, s, s->list[i].parent);
		fputc(';', to);
	}
	for (const char *c = s->list[i].name; *c; c++)
		fputc(*c == ';' ? ':' : *c, to);
}

static char *text_of(const struct stacks *s, size_t i)
{
	char *text = NULL;
	size_t size;
	FILE *to = must(open_memstream(&text, &size));

	put_stack(to, s, i);
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
	struct stacks stacks;
	struct line *lines;
	uint64_t sum = 0;
	size_t nr = 0;

	stacks_make(&stacks, e->view, e->options, e->event_id);
	lines = must(calloc(stacks.nr, sizeof(*lines)));
	for (size_t i = 1; i < stacks.nr; i++)
		if (stacks.list[i].samples)
			lines[nr++] = (struct line){ text_of(&stacks, i), stacks.list[i].samples };
	sort_list(lines, nr, sizeof(*lines), compare);
	for (size_t i = 0; i < nr; i++) {
		sum += lines[i].samples;
		if (i + 1 == nr || strcmp(lines[i].stack, lines[i + 1].stack)) {
			fprintf(e->out, "%s %" PRIu64 "\n", lines[i].stack, sum * stacks.period);
			sum = 0;
		}
	}
	for (size_t i = 0; i < nr; i++)
		free(lines[i].stack);
	free(lines);
	stacks_free(&stacks);
	return true;
}
