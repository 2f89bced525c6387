// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two profiles of one program, symbol by symbol.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "memory.h"

#define LEVEL 0.05
#define DEVIATIONS 1.96 /* of a normal distribution: 95% lie within */

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

		change.samples[which] = row->samples;
		c->list = grow(c->list, c->nr, &c->room, sizeof(*c->list));
		c->list[c->nr++] = change;
	}
	c->samples[which] = rows->samples;
}

static void merge(struct changes *c)
{
	size_t kept = 0;

	if (c->nr)
		qsort(c->list, c->nr, sizeof(*c->list), compare_names);
	for (size_t i = 0; i < c->nr; i++) {
		if (!kept || compare_names(&c->list[kept - 1], &c->list[i])) {
			c->list[kept++] = c->list[i];
			continue;
		}
		for (size_t k = 0; k < 2; k++)
			c->list[kept - 1].samples[k] += c->list[i].samples[k];
	}
	c->nr = kept;
}

/* The test of two proportions, with the normal distribution for the binomial one. */
static void judge(struct change *change, const uint64_t all[2])
{
	double n[2] = { (double)all[0], (double)all[1] }, variance = 0, pooled, z;

	for (size_t k = 0; k < 2; k++) {
		change->share[k] = n[k] > 0 ? (double)change->samples[k] / n[k] : 0;
		if (n[k] > 0)
			variance += change->share[k] * (1 - change->share[k]) / n[k];
	}
	change->error = DEVIATIONS * sqrt(variance);
	change->p = 1;
	if (!all[0] || !all[1])
		return;
	pooled = (double)(change->samples[0] + change->samples[1]) / (n[0] + n[1]);
	z = sqrt(pooled * (1 - pooled) * (1 / n[0] + 1 / n[1]));
	if (z > 0)
		change->p = erfc(fabs(change->share[1] - change->share[0]) / z / sqrt(2));
}

void changes_make(struct changes *c, const struct rows *before, const struct rows *after)
{
	*c = (struct changes){ 0 };
	add(c, before, 0);
	add(c, after, 1);
	merge(c);
	for (size_t i = 0; i < c->nr; i++)
		judge(&c->list[i], c->samples);
	if (c->nr)
		qsort(c->list, c->nr, sizeof(*c->list), compare_differences);
}

void changes_free(struct changes *c)
{
	free(c->list);
}

bool change_significant(const struct change *change, size_t nr)
{
	return change->p * (double)nr < LEVEL;
}
