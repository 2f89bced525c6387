// SPDX-License-Identifier: GPL-2.0-or-later
/* Branches and straight runs of one object. */
#include <stdlib.h>

#include "edges.h"
#include "lwp_rev.h"
#include "lwpctl.h"
#include "memory.h"

/* No straight run is longer: what looks so is a signal handler or a mapping that moved. */
#define RUN_MAX (1024 * 1024)

struct builder {
	struct edges *edges;
	struct export *e;
	struct symbols *symbols;
	uint32_t object;
	uint32_t branches; /* EventId */
	size_t map; /* the mapping found last */
};

/* The file's own address, if the object was there. */
static bool place(struct builder *b, uint32_t process, uint64_t section, uint64_t address,
		  uint64_t *own)
{
	const struct profile *p = &b->e->view->profile;
	const struct profile_map *map;

	b->map = profile_find_map(p, process, section, address);
	if (b->map == SIZE_MAX)
		return false;
	map = &p->maps[b->map];
	return map->object == b->object &&
	       symbols_address(b->symbols, address - map->start + map->offset, own);
}

static void add(struct edge **list, size_t *nr, size_t *room, const struct edge *edge)
{
	*APPEND(*list, *nr, *room) = *edge;
}

/* A taken branch with its two ends in the object. */
static void add_taken(struct builder *b, uint32_t process, uint64_t section,
		      const struct lwp_record *record, double weight)
{
	struct edge edge = { .number = weight };

	if (place(b, process, section, record->address, &edge.from) &&
	    place(b, process, section, record->data2, &edge.to))
		add(&b->edges->taken, &b->edges->nr_taken, &b->edges->taken_room, &edge);
}

static void add_window(struct builder *b, const struct profile_window *window)
{
	const struct profile *p = &b->e->view->profile;
	uint32_t process = p->threads[window->thread].process;
	double weight = (double)window->weight / window->count;
	uint64_t begin = 0, from;
	bool running = false;

	for (uint32_t i = 0; i < window->count; i++) {
		struct lwp_record record;

		lwp_record_decode(window->data + (size_t)i * LWP_RECORD_SIZE, &record);
		if (!(record.flags & LWP_RECORD_TKN))
			continue;
		if (running && place(b, process, window->section, record.address, &from) &&
		    from >= begin && from - begin < RUN_MAX)
			add(&b->edges->runs, &b->edges->nr_runs, &b->edges->runs_room,
			    &(struct edge){ .from = begin, .to = from, .number = weight });
		add_taken(b, process, window->section, &record, weight);
		running = place(b, process, window->section, record.data2, &begin);
	}
}

static void add_batch(struct builder *b, const struct profile_batch *batch, double period)
{
	const struct profile *p = &b->e->view->profile;

	for (uint32_t i = 0; i < batch->count; i++) {
		struct lwp_record record;

		lwp_record_decode(batch->data + (size_t)i * LWP_RECORD_SIZE, &record);
		if (record.event_id == b->branches && record.flags & LWP_RECORD_TKN)
			add_taken(b, p->threads[batch->thread].process, batch->section, &record,
				  period);
	}
}

static int compare(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return ORDER(x->from, y->from) ?: ORDER(x->to, y->to);
}

static size_t merge(struct edge *list, size_t nr)
{
	size_t kept = 0;

	sort_list(list, nr, sizeof(*list), compare);
	for (size_t i = 0; i < nr; i++) {
		if (kept && !compare(&list[kept - 1], &list[i]))
			list[kept - 1].number += list[i].number;
		else
			list[kept++] = list[i];
	}
	return kept;
}

bool edges_make(struct edges *edges, struct export *e, uint32_t object)
{
	const struct profile *p = &e->view->profile;
	const struct filter *filter = &e->options->filter;
	struct builder b = {
		.edges = edges,
		.e = e,
		.object = object,
		.symbols = resolver_object(&e->view->resolver, object),
		.branches = lwp_rev_get(p->config.revision)->event_id[LWP_KIND_BRE],
	};
	double period = (double)export_period(p, b.branches);

	*edges = (struct edges){ 0 };
	for (size_t i = 0; i < p->nr_windows; i++) {
		const struct profile_batch batch = window_batch(&p->windows[i]);

		if (filter_batch(filter, p, &batch) && batch.data[0] == b.branches)
			add_window(&b, &p->windows[i]);
	}
	for (size_t i = 0; !p->nr_windows && i < p->nr_batches; i++)
		if (filter_batch(filter, p, &p->batches[i]))
			add_batch(&b, &p->batches[i], period);
	edges->nr_taken = merge(edges->taken, edges->nr_taken);
	edges->nr_runs = merge(edges->runs, edges->nr_runs);
	if (edges->nr_taken)
		return true;
	return refuse("%s: no taken branches in %s%s%s", p->path, p->objects[object].name,
		      symbols_problem(b.symbols) ? ": " : "", symbols_problem(b.symbols) ?: "");
}

void edges_free(struct edges *edges)
{
	free(edges->taken);
	free(edges->runs);
}
