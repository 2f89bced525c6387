// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How exact the shares of rows are. A share of windows is a ratio of two sums over windows, and its variance is estimated
 * from how much windows that follow each other differ: one is drawn from each stretch of the program's way, so that only
 * what happens within a stretch is chance.
 */
#include <math.h>
#include <stdlib.h>

#include "clusters.h"
#include "memory.h"

/* Windows that a row is in: below, the smallest of several estimates would be so by chance. */
#define FEW 30

/* Sums over windows of a row's y and the windows' x: what (y - p x) squared is made of. */
struct moments {
	double yy, xy;
};

/* A row, window after window. */
struct track {
	double now; /* weight in the present window */
	double last, before; /* in the last one looked at, and in the one before */
	size_t end; /* so many windows have been looked at */
	uint64_t windows;
	/* Of its weights, of the differences of windows that follow each other, and of the differences of those. */
	struct moments own, first, second;
};

/* Sums over all windows. */
struct sizes {
	double own, first,
		second; /* of squares: of sizes, of their differences, of the differences of those */
};

struct walk {
	const struct samples *samples;
	const size_t *row_of;
	struct track *tracks; /* by the row's number */
	size_t *touched; /* rows of the present window */
	size_t nr_touched;
	double *sizes; /* of the windows before */
	struct sizes sums;
	size_t nr, room;
	double size; /* of the present one */
	const struct profile_window *window;
	uint64_t records;
	uint8_t event_id;
};

static void add(struct moments *m, double y, double x)
{
	m->yy += y * y;
	m->xy += y * x;
}

/* The next window that is looked at has so much of the row. */
static void follow(const struct walk *w, struct track *t, double y)
{
	const double *x = w->sizes + t->end;

	if (t->end > 0)
		add(&t->first, y - t->last, x[0] - x[-1]);
	if (t->end > 1)
		add(&t->second, y - 2 * t->last + t->before, x[0] - 2 * x[-1] + x[-2]);
	t->before = t->last;
	t->last = y;
	t->end++;
}

/* In all windows up to `end` the row has no weight. */
static void pass_by(const struct walk *w, struct track *t, size_t end)
{
	while (t->end < end && (t->last > 0 || t->before > 0))
		follow(w, t, 0);
	t->end = end;
}

static void end_track(const struct walk *w, struct track *t)
{
	pass_by(w, t, w->nr);
	follow(w, t, t->now);
	add(&t->own, t->now, w->size);
	t->windows++;
	t->now = 0;
}

static void end_window(struct walk *w)
{
	if (!w->nr_touched)
		return;
	w->sizes = grow(w->sizes, w->nr, &w->room, sizeof(*w->sizes));
	w->sizes[w->nr] = w->size;
	for (size_t k = 0; k < w->nr_touched; k++)
		end_track(w, &w->tracks[w->touched[k]]);
	w->nr++;
	w->nr_touched = 0;
	w->size = 0;
}

static void take(void *to, const struct sample *sample)
{
	struct walk *w = to;
	const struct located *l =
		sample->key.event_id == w->event_id ?
			samples_find(w->samples, w->samples->tally, &sample->key) :
			NULL;
	struct track *t;

	if (!l)
		return;
	if (w->window && w->window != sample->window &&
	    (w->window->thread != sample->window->thread ||
	     !(sample->window->flags & LWPDATA_WINDOW_CONTINUES)))
		end_window(w);
	w->window = sample->window;
	t = &w->tracks[w->row_of[l - w->samples->list]];
	if (!(t->now > 0))
		w->touched[w->nr_touched++] = (size_t)(t - w->tracks);
	t->now += sample->weight;
	w->size += sample->weight;
	w->records++;
}

static struct sizes sum_sizes(const double *x, size_t nr)
{
	struct sizes sums = { 0 };

	for (size_t i = 0; i < nr; i++) {
		double step = i > 0 ? x[i] - x[i - 1] : 0,
		       bend = i > 1 ? step - x[i - 1] + x[i - 2] : 0;

		sums.own += x[i] * x[i];
		sums.first += step * step;
		sums.second += bend * bend;
	}
	return sums;
}

static double squares(const struct moments *m, double xx, double p)
{
	return m->yy - 2 * p * m->xy + p * p * xx;
}

/*
 * The variance of the sum of y - p x. Each estimate is too great where stretches are unlike: plain if any are, first if
 * neighbours are, second if they change otherwise than steadily.
 */
static double variance_of(const struct track *t, const struct walk *w, double p)
{
	double n = (double)w->nr;
	double first = squares(&t->first, w->sums.first, p) / 2 * n / (n - 1), plain, second;

	if (t->windows < FEW)
		return first;
	plain = squares(&t->own, w->sums.own, p) * n / (n - 1);
	second = squares(&t->second, w->sums.second, p) / 6 * n / (n - 2);
	return fmin(fmin(plain, first), second);
}

/*
 * How many windows tell as much of the variance, if the row were normal. By Satterthwaite that has twice its square, by the
 * variance that it has itself, degrees of freedom: twice the windows that have the row, if they have as much of it each.
 */
static uint64_t known_by(const struct track *t, const struct walk *w)
{
	return t->windows < w->nr / 2 ? 2 * t->windows + 1 : w->nr;
}

static void judge(const struct rows *rows, struct row *row, const struct walk *w, double left_out)
{
	struct track *t = &w->tracks[row->number];
	double p = row->share, variance;

	row->windows = t->windows;
	row->effective = (double)rows->samples;
	if (!w->nr)
		return;
	row->effective = left_out > 0 ? (double)w->nr : INFINITY;
	if (w->nr < 2 || !(left_out > 0))
		return;
	pass_by(w, t, w->nr);
	variance = variance_of(t, w, p) * left_out / rows->weight / rows->weight;
	if (variance > 0 && p < 1)
		row->effective = p * (1 - p) / variance;
}

void rows_judge(struct rows *rows, const struct profile *profile, const struct samples *samples,
		const size_t *row_of, uint8_t event_id)
{
	struct walk w = { .samples = samples, .row_of = row_of, .event_id = event_id };

	w.tracks = must(calloc(rows->nr + 1, sizeof(*w.tracks)));
	w.touched = must(calloc(rows->nr + 1, sizeof(*w.touched)));
	tally_walk_windows(profile, samples->filter, samples->tally->targets, take, &w);
	end_window(&w);
	w.sums = sum_sizes(w.sizes, w.nr);
	rows->windows = w.nr;
	for (size_t i = 0; i < rows->nr; i++) {
		struct row *row = &rows->list[i];

		row->share = row->weight / rows->weight;
		judge(rows, row, &w, 1 - (double)w.records / rows->weight);
		row->interval = share_interval(row->share, row->effective,
					       w.nr ? known_by(&w.tracks[row->number], &w) : 0);
	}
	free(w.tracks);
	free(w.touched);
	free(w.sizes);
}
