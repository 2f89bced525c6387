// SPDX-License-Identifier: GPL-2.0-or-later
/* Two profiles of one program, symbol by symbol. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "memory.h"

#define LEVEL 0.05
#define MANY 1e15 /* samples: more than any profile has, for a share that is exact */

static int compare_names(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return strcmp(x->symbol, y->symbol) ?: strcmp(x->object, y->object);
}

static int compare_differences(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	double p = fabs(x->share[1] - x->share[0]), q = fabs(y->share[1] - y->share[0]);

	return p > q ? -1 : p < q ? 1 : compare_names(a, b);
}

static void add(struct changes *c, const struct rows *rows, size_t which)
{
	for (size_t i = 0; i < rows->nr; i++) {
		const struct row *row = &rows->list[i];
		struct change change = { .symbol = row->labels[0],
					 .object = last_part(row->labels[1]) };

		change.share[which] = row->share;
		change.effective[which] = row->effective;
		*APPEND(c->list, c->nr, c->room) = change;
	}
	c->samples[which] = rows->samples;
	c->windows[which] = rows->windows;
}

/* Of two functions with one name: the shares together are at least as exact as the less exact one. */
static void join(struct change *to, const struct change *more, size_t k)
{
	if (!(to->effective[k] > 0) ||
	    (more->effective[k] > 0 && more->effective[k] < to->effective[k]))
		to->effective[k] = more->effective[k];
	to->share[k] += more->share[k];
}

static void merge(struct changes *c)
{
	size_t kept = 0;

	sort_list(c->list, c->nr, sizeof(*c->list), compare_names);
	for (size_t i = 0; i < c->nr; i++) {
		if (!kept || compare_names(&c->list[kept - 1], &c->list[i])) {
			c->list[kept++] = c->list[i];
			continue;
		}
		for (size_t k = 0; k < 2; k++)
			join(&c->list[kept - 1], &c->list[i], k);
	}
	c->nr = kept;
}

/* What a profile that has none of a function would need to tell its share as the other one does. */
static void fill_in(const struct changes *c, struct change *change, size_t which)
{
	double mine = (double)(c->windows[which] ?: c->samples[which]);
	double others = (double)(c->windows[!which] ?: c->samples[!which]);

	if (!(change->effective[which] > 0) && mine > 0 && others > 0)
		change->effective[which] = change->effective[!which] * mine / others;
}

/* The test of two proportions, of as many samples as each share is as exact as. */
static void judge(const struct changes *c, struct change *change)
{
	uint64_t windows = c->windows[0] + c->windows[1];
	double variance = 0, pooled, z, parts[2];

	change->p = 1;
	for (size_t k = 0; k < 2; k++) {
		fill_in(c, change, k);
		if (change->effective[k] > 0)
			variance +=
				change->share[k] * (1 - change->share[k]) / change->effective[k];
	}
	/* Both together have a degree of freedom less than two that are one. */
	change->error = deviations(windows > 2 ? windows - 1 : windows) * sqrt(variance);
	if (!c->samples[0] || !c->samples[1] || (windows && windows < 3))
		return;
	for (size_t k = 0; k < 2; k++)
		parts[k] = fmin(change->effective[k], MANY);
	pooled =
		(change->share[0] * parts[0] + change->share[1] * parts[1]) / (parts[0] + parts[1]);
	z = sqrt(pooled * (1 - pooled) * (1 / parts[0] + 1 / parts[1]));
	if (z > 0)
		change->p = chance_of(fabs(change->share[1] - change->share[0]) / z,
				      windows ? windows - 2 : UINT64_MAX);
}

void changes_make(struct changes *c, const struct rows *before, const struct rows *after)
{
	*c = (struct changes){ 0 };
	add(c, before, 0);
	add(c, after, 1);
	merge(c);
	for (size_t i = 0; i < c->nr; i++)
		judge(c, &c->list[i]);
	sort_list(c->list, c->nr, sizeof(*c->list), compare_differences);
}

void changes_free(struct changes *c)
{
	free(c->list);
}

bool change_significant(const struct change *change, size_t nr)
{
	return change->p * (double)nr < LEVEL;
}
