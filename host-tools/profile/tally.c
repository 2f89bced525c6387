// SPDX-License-Identifier: GPL-2.0-or-later
/* How often each address was seen. */
#include <stdbool.h>

#include "lwp_rev.h"
#include "memory.h"
#include "tally.h"

/* What tells counts apart, without padding. */
struct tally_key {
	uint64_t address, target, map, event_id;
	uint32_t data, thread;
};

static struct tally_key key_of(const struct count *c)
{
	return (struct tally_key){ c->address, c->target, c->map, c->event_id, c->data, c->thread };
}

void detail_add(struct detail *to, const struct detail *more)
{
	to->latency += more->latency;
	to->taken += more->taken;
	to->predicted += more->predicted;
	to->right += more->right;
	for (size_t i = 0; i < LWP_SOURCES; i++)
		to->from[i] += more->from[i];
}

static void add(struct tally *t, const struct count *key, const struct detail *detail,
		double weight)
{
	const struct tally_key bytes = key_of(key);
	size_t number = keys_number(&t->keys, &bytes, sizeof(bytes));
	struct count *place;

	if (number == t->nr)
		*APPEND(t->list, t->nr, t->room) = *key;
	place = &t->list[number];
	place->samples++;
	place->weight += weight;
	detail_add(&place->detail, detail);
	t->per_event[key->event_id]++;
}

static struct detail detail_of(const struct lwp_rev *rev, const struct lwp_record *record)
{
	struct detail detail = { 0 };

	if (record->event_id == rev->event_id[LWP_KIND_DME]) {
		detail.latency = record->data1;
		detail.from[record->flags >> LWP_RECORD_SRC_SHIFT] = 1;
	} else if (record->event_id == rev->event_id[LWP_KIND_BRE]) {
		detail.taken = !!(record->flags & LWP_RECORD_TKN);
		detail.predicted = !!(record->flags & LWP_RECORD_PRV);
		detail.right = detail.predicted && record->flags & LWP_RECORD_PRD;
	}
	return detail;
}

/* ---- Walking -------------------------------------------------------------------------------- */

struct walk {
	const struct profile *profile;
	const struct filter *filter;
	bool targets;
	void (*take)(void *to, const struct sample *sample);
	void *to;
	uint64_t *before; /* time of each thread's last batch */
};

/* A record stands for those of its event that were not kept. */
static double stands_for(const struct profile *p, const struct profile_batch *batch,
			 uint32_t event_id)
{
	uint32_t e = profile_event_index(p, event_id);

	return e < p->config.nr_events ? (double)(1ull << batch->kept[e]) : 1;
}

static void walk_batch(struct walk *w, const struct profile_batch *batch,
		       const struct profile_window *window)
{
	const struct profile *p = w->profile;
	uint32_t process = p->threads[batch->thread].process;
	uint32_t branches = lwp_rev_get(p->config.revision)->event_id[LWP_KIND_BRE];
	uint64_t before = w->before[batch->thread];
	double step = batch->time > before ? (double)(batch->time - before) / batch->count : 0;
	struct lwp_record record;
	struct sample sample = { .record = &record,
				 .window = window,
				 .section = batch->section,
				 .key = { .thread = batch->thread, .map = SIZE_MAX } };
	struct count *key = &sample.key;

	w->before[batch->thread] = batch->time;
	if (!filter_thread(w->filter, p, batch->thread))
		return;
	for (uint32_t i = 0; i < batch->count; i++) {
		uint64_t stamp;

		lwp_record_decode(batch->data + (size_t)i * LWP_RECORD_SIZE, &record);
		stamp = profile_stamp(p, &record, batch->time);
		if (!filter_time(w->filter, p, stamp ?: batch->time))
			continue;
		key->event_id = record.event_id;
		sample.weight = window ? (double)window->weight / window->count :
					 stands_for(p, batch, record.event_id);
		key->address = record.address;
		key->target = w->targets && record.event_id == branches ? record.data2 : 0;
		/* Neighbours are mostly in one mapping, present while the batch was. */
		if (key->map == SIZE_MAX || record.address < p->maps[key->map].start ||
		    record.address >= p->maps[key->map].end)
			key->map = profile_find_map(p, process, batch->section, record.address);
		sample.time = stamp ?: batch->time - (uint64_t)(step * (batch->count - 1 - i));
		w->take(w->to, &sample);
	}
}

struct profile_batch window_batch(const struct profile_window *window)
{
	return (struct profile_batch){
		.thread = window->thread,
		.count = window->count,
		.section = window->section,
		.time = window->time,
		.data = window->data,
	};
}

void tally_walk(const struct profile *p, const struct filter *filter, bool targets,
		void (*take)(void *to, const struct sample *sample), void *to)
{
	struct walk w = { p, filter, targets, take, to, NULL };
	size_t b = 0, n = 0;

	w.before = must(calloc(p->nr_threads + 1, sizeof(*w.before)));
	for (size_t i = 0; i < p->nr_threads; i++)
		w.before[i] = p->threads[i].time;
	while (b < p->nr_batches || n < p->nr_windows) {
		struct profile_batch window;

		if (n == p->nr_windows ||
		    (b < p->nr_batches && p->batches[b].section < p->windows[n].section)) {
			walk_batch(&w, &p->batches[b++], NULL);
			continue;
		}
		window = window_batch(&p->windows[n]);
		walk_batch(&w, &window, &p->windows[n++]);
	}
	free(w.before);
}

static int compare_threads(const void *a, const void *b)
{
	const struct profile_window *x = *(const struct profile_window *const *)a;
	const struct profile_window *y = *(const struct profile_window *const *)b;

	return ORDER(x->thread, y->thread) ?: ORDER(x, y);
}

void tally_walk_windows(const struct profile *p, const struct filter *filter, bool targets,
			void (*take)(void *to, const struct sample *sample), void *to)
{
	const struct profile_window **order = must(calloc(p->nr_windows + 1, sizeof(*order)));
	struct walk w = { p, filter, targets, take, to, NULL };

	w.before = must(calloc(p->nr_threads + 1, sizeof(*w.before)));
	for (size_t i = 0; i < p->nr_windows; i++)
		order[i] = &p->windows[i];
	qsort(order, p->nr_windows, sizeof(*order), compare_threads);
	for (size_t i = 0; i < p->nr_windows; i++) {
		const struct profile_batch batch = window_batch(order[i]);

		walk_batch(&w, &batch, order[i]);
	}
	free(order);
	free(w.before);
}

struct counting {
	struct tally *tally;
	const struct lwp_rev *rev;
	struct resolver *data;
};

/* A number for what the data address of a miss lies in; 0 for what is none or has none. */
static uint32_t data_of(const struct counting *counting, const struct sample *sample)
{
	struct resolver *r = counting->data;

	if (!r || sample->record->event_id != counting->rev->event_id[LWP_KIND_DME] ||
	    !(sample->record->flags & LWP_RECORD_DAV))
		return 0;
	return data_number(r, r->profile->threads[sample->key.thread].process, sample->section,
			   sample->record->data2);
}

static void count_sample(void *to, const struct sample *sample)
{
	const struct counting *counting = to;
	const struct detail detail = detail_of(counting->rev, sample->record);
	struct count key = sample->key;

	key.data = data_of(counting, sample);
	add(counting->tally, &key, &detail, sample->weight);
}

void tally_add(struct tally *t, const struct profile *p, const struct filter *filter, bool targets,
	       struct resolver *data)
{
	struct counting counting = { t, lwp_rev_get(p->config.revision), data };

	t->targets = targets;
	tally_walk(p, filter, targets, count_sample, &counting);
}

void tally_profile(struct tally *t, const struct profile *p, const struct filter *filter,
		   bool targets, struct resolver *data)
{
	*t = (struct tally){ 0 };
	tally_add(t, p, filter, targets, data);
}

size_t tally_find(const struct tally *t, const struct count *key)
{
	const struct tally_key bytes = key_of(key);

	return keys_find(&t->keys, &bytes, sizeof(bytes));
}

void tally_free(struct tally *t)
{
	free(t->list);
	keys_free(&t->keys);
}
