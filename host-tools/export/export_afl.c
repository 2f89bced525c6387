// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Edge coverage as afl-showmap writes it: "EDGE:CLASS", from a complete trace of a program that was built without
 * instrumentation. An edge is a branch and where it went. Its number comes from the file's own addresses by the hash
 * of AFL's QEMU mode, so that it is the same in every run.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "export.h"
#include "lwp_rev.h"
#include "lwpctl.h"
#include "memory.h"

#define MAP_SIZE 65536u

struct map {
	const struct profile *profile;
	struct symbols *symbols;
	uint32_t object;
	uint32_t hits[MAP_SIZE];
	uint64_t edges; /* executed */
};

static uint32_t location(uint64_t address)
{
	return (uint32_t)((address >> 4) ^ (address << 8)) % MAP_SIZE;
}

static uint32_t edge(uint64_t from, uint64_t to)
{
	return location(to) ^ location(from) >> 1;
}

/* The file's own address; false if another object, or none, was there. */
static bool own(const struct map *map, const struct profile_window *window, uint64_t address,
		uint64_t *to)
{
	const struct profile *p = map->profile;
	size_t i =
		profile_find_map(p, p->threads[window->thread].process, window->section, address);

	return i != SIZE_MAX && p->maps[i].object == map->object &&
	       symbols_address(map->symbols, address - p->maps[i].start + p->maps[i].offset, to);
}

/* A branch that was not taken has an edge too: to the byte behind its first, where no other edge leads. */
static void add_window(struct map *map, const struct profile_window *window)
{
	for (uint32_t i = 0; i < window->count; i++) {
		struct lwp_record record;
		uint64_t from, to;

		lwp_record_decode(window->data + (size_t)i * LWP_RECORD_SIZE, &record);
		if (!own(map, window, record.address, &from))
			continue;
		to = from + 1;
		if (record.flags & LWP_RECORD_TKN && !own(map, window, record.data2, &to))
			continue;
		map->hits[edge(from, to)]++;
		map->edges++;
	}
}

/* AFL's classes of counts, for people to read. */
static unsigned int class_of(uint32_t hits)
{
	static const uint32_t least[] = { 1, 2, 3, 4, 8, 16, 32, 128 };
	unsigned int class = 0;

	while (class < sizeof(least) / sizeof(least[0]) && hits >= least[class])
		class ++;
	return class;
}

static bool complete(const struct profile *p)
{
	bool all = p->nr_windows > 0;

	for (size_t i = 0; i < p->nr_windows; i++)
		all = all && p->windows[i].weight == p->windows[i].count;
	if (!all)
		complain("%s: coverage wants every branch: record with --windows=all", p->path);
	return all;
}

static bool fill(struct map *map, const struct export *e)
{
	const struct profile *p = map->profile;
	uint32_t branches = lwp_rev_get(p->config.revision)->event_id[LWP_KIND_BRE];

	for (size_t i = 0; i < p->nr_windows; i++) {
		const struct profile_batch batch = window_batch(&p->windows[i]);

		if (filter_batch(&e->options->filter, p, &batch) && batch.data[0] == branches)
			add_window(map, &p->windows[i]);
	}
	if (!map->edges)
		complain("%s: no branches in %s%s%s", p->path, p->objects[map->object].name,
			 symbols_problem(map->symbols) ? ": " : "",
			 symbols_problem(map->symbols) ?: "");
	return map->edges != 0;
}

bool export_afl(struct export *e)
{
	uint32_t object = complete(&e->view->profile) ? export_object(e) : LWPDATA_NONE;
	struct map *map = object == LWPDATA_NONE ? NULL : must(calloc(1, sizeof(*map)));
	bool good;

	if (!map)
		return false;
	map->profile = &e->view->profile;
	map->object = object;
	map->symbols = resolver_object(&e->view->resolver, object);
	good = fill(map, e);
	for (uint32_t i = 0; good && i < MAP_SIZE; i++)
		if (map->hits[i])
			fprintf(e->out, "%06" PRIu32 ":%u\n", i, class_of(map->hits[i]));
	free(map);
	return good;
}
