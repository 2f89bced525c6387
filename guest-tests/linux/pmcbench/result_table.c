// SPDX-License-Identifier: GPL-2.0-or-later
/* The table: a snippet beside the floor, which is what the empty snippet has; and how the values are distributed. */
#include <stdio.h>
#include <stdlib.h>

#include "pmcbench.h"

#define MOST_SHOWN 8 /* different values of a distribution */

struct bin {
	uint32_t value;
	unsigned int count;
};

struct summary {
	uint32_t min, mode, max;
};

static int by_value(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The most frequent first; of equally frequent ones the smallest. */
static int by_count(const void *a, const void *b)
{
	const struct bin *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

/* Bins of n > 0 sorted values, ordered by count; to be freed. */
static struct bin *distribution(const uint32_t *value, unsigned int n, unsigned int *bins)
{
	struct bin *bin = calloc(n, sizeof(*bin));

	if (!bin)
		quit(STATUS_FAILED, "no memory");
	*bins = 0;
	for (unsigned int i = 0; i < n; i++) {
		if (!i || value[i] != value[i - 1])
			bin[(*bins)++].value = value[i];
		bin[*bins - 1].count++;
	}
	qsort(bin, *bins, sizeof(*bin), by_count);
	return bin;
}

static struct summary summarize(uint32_t *value, unsigned int n)
{
	struct summary s;
	unsigned int bins;
	struct bin *bin;

	qsort(value, n, sizeof(*value), by_value);
	bin = distribution(value, n, &bins);
	s = (struct summary){ value[0], bin[0].value, value[n - 1] };
	free(bin);
	return s;
}

static void print_row(const char *name, struct summary floor, struct summary s)
{
	printf("%-14s %8u %8u %8u %9u %8u %8u %9lld %8lld %8lld\n", name, floor.min, floor.mode,
	       floor.max, s.min, s.mode, s.max, (long long)s.min - floor.min,
	       (long long)s.mode - floor.mode, (long long)s.max - floor.max);
}

static void print_distribution(const char *of, const char *name, const uint32_t *value,
			       unsigned int n)
{
	unsigned int bins, others = n;
	struct bin *bin = distribution(value, n, &bins);

	printf("%s%s:", of, name);
	for (unsigned int i = 0; i < bins && i < MOST_SHOWN; i++) {
		printf("%s %u in %u", i ? "," : "", bin[i].value, bin[i].count);
		others -= bin[i].count;
	}
	if (others)
		printf(", other values in %u", others);
	printf(" of %u runs\n", n);
	free(bin);
}

void table_print(const struct options *options, struct samples *floor, struct samples *snippet)
{
	const unsigned int n = options->runs;

	printf("%s (%s), %u runs on CPU %u, %s", options->snippet.name, options->snippet.text, n,
	       options->cpu, options->lwp ? "from LWP's records" : "read by RDPMC");
	if (floor->dropped + snippet->dropped)
		printf("; %u runs were disturbed and repeated", floor->dropped + snippet->dropped);
	printf("\n\n%-14s %26s %27s %27s\n", "", "empty snippet", options->snippet.name,
	       "above the floor");
	printf("%-14s %8s %8s %8s %9s %8s %8s %9s %8s %8s\n", "event", "min", "mode", "max", "min",
	       "mode", "max", "min", "mode", "max");
	for (unsigned int i = 0; i < options->nr_events; i++) {
		struct summary zero = summarize(floor->value[i], n);

		print_row(options->events[i].name, zero, summarize(snippet->value[i], n));
	}
	putchar('\n');
	for (unsigned int i = 0; i < options->nr_events; i++)
		print_distribution("floor ", options->events[i].name, floor->value[i], n);
	for (unsigned int i = 0; i < options->nr_events; i++)
		print_distribution("", options->events[i].name, snippet->value[i], n);
}
