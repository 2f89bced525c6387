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

/* How unlike each other windows with a row are, one of them tells as well as three of all (soak judged windows). */
#define KNOWN_BY 3
#define FEW 30 /* windows that a row is in: its differences are too few to be taken alone */

/* Sums over windows of a row's y and the windows' x: what (y - p x) squared is made of. */
struct moments {
	double yy, xy;
};

/* A row, window after window. */
struct track {
	double now; /* weight in the present window */
	double last; /* in the last one that has any */
	size_t end; /* the number of that window plus 1; 0: there was none */
	uint64_t windows;
	struct moments own,
		steps; /* of its weights, and of the differences of windows that follow each other */
};

struct walk {
	const struct samples *samples;
	const size_t *row_of;
	struct track *tracks; /* by the row's number */
	size_t *touched; /* rows of the present window */
	size_t nr_touched;
	double *sizes; /* of the windows before */
	double own_sizes, step_sizes; /* sums of squares: of sizes, and of their differences */
	size_t nr, room;
	double size; /* of the present one */
	const struct profile_window *window;
	uint64_t records;
	uint8_t event_id;
};

/* The row had `change` more weight in window `i` than in the one before. */
static void add_difference(const struct walk *w, struct track *t, size_t i, double change)
{
	if (!i)
		return;
	t->steps.yy += change * change;
	t->steps.xy += change * (w->sizes[i] - w->sizes[i - 1]);
}

/* In the windows since the last one that has it the row has no weight. */
static void pass_by(const struct walk *w, struct track *t, size_t i)
{
	if (t->end && t->end < i)
		add_difference(w, t, t->end, -t->last);
	if (t->end < i)
		t->last = 0;
}

static void end_window(struct walk *w)
{
	size_t i = w->nr;

	if (!w->nr_touched)
		return;
	w->sizes = grow(w->sizes, w->nr, &w->room, sizeof(*w->sizes));
	w->sizes[w->nr++] = w->size;
	for (size_t k = 0; k < w->nr_touched; k++) {
		struct track *t = &w->tracks[w->touched[k]];

		pass_by(w, t, i);
		add_difference(w, t, i, t->now - t->last);
		t->own.yy += t->now * t->now;
		t->own.xy += t->now * w->size;
		t->last = t->now;
		t->end = i + 1;
		t->windows++;
		t->now = 0;
	}
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

static double squares(const struct moments *m, double xx, double p)
{
	return m->yy - 2 * p * m->xy + p * p * xx;
}

static void judge(const struct rows *rows, struct row *row, const struct walk *w, double left_out)
{
	struct track *t = &w->tracks[row->number];
	double n = (double)w->nr, p = row->share, variance, plain;

	row->windows = t->windows;
	row->effective = (double)rows->samples;
	if (!w->nr)
		return;
	row->effective = left_out > 0 ? n : INFINITY;
	if (w->nr < 2 || !(left_out > 0))
		return;
	pass_by(w, t, w->nr);
	/* Both are too great where stretches are unlike, the first if neighbours are, the second if any are. */
	variance = squares(&t->steps, w->step_sizes, p) / 2;
	plain = squares(&t->own, w->own_sizes, p);
	variance = t->windows < FEW ? fmax(variance, plain) : fmin(variance, plain);
	variance *= left_out * n / (n - 1) / rows->weight / rows->weight;
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
	for (size_t i = 0; i < w.nr; i++) {
		double step = i ? w.sizes[i] - w.sizes[i - 1] : 0;

		w.own_sizes += w.sizes[i] * w.sizes[i];
		w.step_sizes += step * step;
	}
	rows->windows = w.nr;
	for (size_t i = 0; i < rows->nr; i++) {
		struct row *row = &rows->list[i];

		uint64_t known;

		row->share = row->weight / rows->weight;
		judge(rows, row, &w, 1 - (double)w.records / rows->weight);
		known = KNOWN_BY * row->windows < w.nr ? KNOWN_BY * row->windows : w.nr;
		row->interval = share_interval(row->share, row->effective, known);
	}
	free(w.tracks);
	free(w.touched);
	free(w.sizes);
}
