// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The data caches as loads see them. A level is a table of line numbers, a set after the other, the
 * most recently used line of each set first. A set that an older generation has filled is empty.
 */
#include "lwp_cache.h"
#include "lwp_record.h"

#define LINE_SIZE (1u << LWP_CACHE_LINE_BITS)
#define NO_LINE (~(u64)0) /* no address has this number */

const struct lwp_cache_geometry lwp_cache_epyc = {
	.level = {
		{ 32 << 10, 8, 4 },
		{ 512 << 10, 8, 12 },
		{ 8 << 20, 16, 39 },
	},
	.ram_latency = 200,
};

static u32 sets_of(const struct lwp_cache_level *level)
{
	return level->size / LINE_SIZE / level->ways;
}

static bool power_of_two(u32 n)
{
	return n && !(n & (n - 1));
}

static const char *level_wrong(const struct lwp_cache_level *level)
{
	if (!level->ways || level->ways > LWP_CACHE_WAYS_MAX)
		return "has 1 to 32 ways";
	if (level->size % (LINE_SIZE * level->ways) || !power_of_two(sets_of(level)))
		return "has a size of its ways * 64 bytes * a power of two";
	if (sets_of(level) > LWP_CACHE_SETS_MAX)
		return "has at most 131072 sets of 64 bytes a way";
	return NULL;
}

const char *lwp_cache_wrong(const struct lwp_cache_geometry *g, u32 *level)
{
	const char *wrong;
	u32 latency = 1, here, i;

	for (i = 0; i <= LWP_CACHE_LEVELS; i++) {
		*level = i;
		if (i && i < LWP_CACHE_LEVELS && !g->level[i].size)
			continue;
		wrong = i < LWP_CACHE_LEVELS ? level_wrong(&g->level[i]) : NULL;
		if (wrong)
			return wrong;
		here = i < LWP_CACHE_LEVELS ? g->level[i].latency : g->ram_latency;
		if (here < latency || here > LWP_CACHE_LATENCY_MAX)
			return "has a latency of 1 to 65535, and no less than a nearer level";
		latency = here;
	}
	return NULL;
}

static size_t lines_of(const struct lwp_cache_level *level)
{
	return level->size / LINE_SIZE;
}

size_t lwp_cache_bytes(const struct lwp_cache_geometry *g)
{
	size_t bytes = 0;
	u32 i;

	for (i = 0; i < LWP_CACHE_LEVELS; i++) {
		if (g->level[i].size)
			bytes += lines_of(&g->level[i]) * sizeof(u64) +
				 sets_of(&g->level[i]) * sizeof(u32);
	}
	return bytes;
}

void lwp_cache_init(struct lwp_cache *c, const struct lwp_cache_geometry *g, void *memory)
{
	u64 *line = memory;
	u32 *filled;
	u32 i, set;

	c->geometry = *g;
	for (i = 0; i < LWP_CACHE_LEVELS; i++) {
		c->line[i] = line;
		line += lines_of(&g->level[i]);
	}
	filled = (u32 *)line;
	for (i = 0; i < LWP_CACHE_LEVELS; i++) {
		c->filled[i] = filled;
		for (set = 0; g->level[i].size && set < sets_of(&g->level[i]); set++)
			*filled++ = 0;
	}
	c->generation = 1;
}

void lwp_cache_empty(struct lwp_cache *c)
{
	struct lwp_cache_geometry geometry = c->geometry;

	if (!++c->generation)
		lwp_cache_init(c, &geometry, c->line[0]);
}

u32 lwp_cache_l1d_sets(const struct lwp_cache *c)
{
	return sets_of(&c->geometry.level[0]);
}

/* The way of a level that has a line; its number of ways if none has. */
static u32 find(const struct lwp_cache *c, u32 i, u64 line)
{
	const struct lwp_cache_level *level = &c->geometry.level[i];
	u32 set = (u32)line & (sets_of(level) - 1);
	const u64 *way = c->line[i] + (size_t)set * level->ways;
	u32 n;

	if (c->filled[i][set] != c->generation)
		return level->ways;
	for (n = 0; n < level->ways && way[n] != line; n++)
		;
	return n;
}

static bool level_has(const struct lwp_cache *c, u32 i, u64 line)
{
	const struct lwp_cache_level *level = &c->geometry.level[i];

	return level->size && find(c, i, line) < level->ways;
}

/* The line becomes the most recently used one of its set. It pushes out the last if it is new. */
static void touch(struct lwp_cache *c, u32 i, u64 line)
{
	const struct lwp_cache_level *level = &c->geometry.level[i];
	u32 set = (u32)line & (sets_of(level) - 1);
	u64 *way = c->line[i] + (size_t)set * level->ways;
	u32 n = find(c, i, line);

	if (c->filled[i][set] != c->generation) {
		c->filled[i][set] = c->generation;
		for (n = 0; n < level->ways; n++)
			way[n] = NO_LINE;
	}
	if (n == level->ways)
		n--;
	for (; n; n--)
		way[n] = way[n - 1];
	way[0] = line;
}

bool lwp_cache_has(const struct lwp_cache *c, u64 line, struct lwp_miss *miss)
{
	if (level_has(c, 0, line))
		return true;
	if (level_has(c, 1, line)) {
		miss->latency = c->geometry.level[1].latency;
		miss->source = LWP_SRC_NONE;
	} else if (level_has(c, 2, line)) {
		miss->latency = c->geometry.level[2].latency;
		miss->source = LWP_SRC_LOCAL_L3;
	} else {
		miss->latency = c->geometry.ram_latency;
		miss->source = LWP_SRC_DRAM;
	}
	return false;
}

bool lwp_cache_newest(const struct lwp_cache *c, u64 line)
{
	return find(c, 0, line) == 0;
}

void lwp_cache_load(struct lwp_cache *c, u64 line)
{
	bool found = false;
	u32 i;

	for (i = 0; i < LWP_CACHE_LEVELS && !found; i++) {
		if (!c->geometry.level[i].size)
			continue;
		found = level_has(c, i, line);
		touch(c, i, line);
	}
}
