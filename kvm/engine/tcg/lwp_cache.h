/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A model of the data caches, for data cache misses under TCG (43724-719). KVM's part does not have
 * it.
 *
 * Up to three levels of sets and ways with lines of 64 bytes. Each level replaces the least
 * recently used line of a set; a level keeps its lines whatever the others do. Only loads touch the
 * model; they say linear addresses. So the same loads miss the same lines, wherever a program's
 * pages lie.
 */
#ifndef LWP_CACHE_H
#define LWP_CACHE_H

#include "lwp_engine.h"

#define LWP_CACHE_LINE_BITS 6
#define LWP_CACHE_LEVELS 3
#define LWP_CACHE_WAYS_MAX 32
#define LWP_CACHE_SETS_MAX (1u << 17)
#define LWP_CACHE_LATENCY_MAX 65535 /* cycles */

/* L1D has a size; L2 and L3 have the size 0 if there are none. */
struct lwp_cache_level {
	u32 size; /* bytes: ways * 64 * a power of two */
	u32 ways; /* 1 to LWP_CACHE_WAYS_MAX */
	u32 latency; /* cycles of a load that this level serves */
};

struct lwp_cache_geometry {
	struct lwp_cache_level level[LWP_CACHE_LEVELS];
	u32 ram_latency; /* cycles */
};

/* The numbers of a core of an EPYC 7001. */
extern const struct lwp_cache_geometry lwp_cache_epyc;

/*
 * What is wrong with a geometry, in words that follow a level's name; NULL: nothing. *level: with
 * which level, RAM last.
 */
const char *lwp_cache_wrong(const struct lwp_cache_geometry *g, u32 *level);

/* A set of a level; its lines, the most recently used first, are in `line`. */
struct lwp_cache {
	struct lwp_cache_geometry geometry;
	u64 *line[LWP_CACHE_LEVELS]; /* ways of set 0, ways of set 1 ... */
	u32 *filled[LWP_CACHE_LEVELS]; /* for each set: the generation that has filled it */
	u32 generation;
};

/* Bytes that the tables of a valid geometry take. */
size_t lwp_cache_bytes(const struct lwp_cache_geometry *g);

/* Make an empty model of a valid geometry. memory: lwp_cache_bytes(), aligned for u64. */
void lwp_cache_init(struct lwp_cache *c, const struct lwp_cache_geometry *g, void *memory);

/* Empty the model. It takes no longer for a big one. */
void lwp_cache_empty(struct lwp_cache *c);

/* Sets of L1D: a line's set is its number modulo that. */
u32 lwp_cache_l1d_sets(const struct lwp_cache *c);

/*
 * Does L1D have this line (an address divided by 64)? If not, *miss gets latency and source of a
 * load. Nothing changes.
 */
bool lwp_cache_has(const struct lwp_cache *c, u64 line, struct lwp_miss *miss);

/* Is this line the most recently used one of its set of L1D? Then a load of it changes nothing. */
bool lwp_cache_newest(const struct lwp_cache *c, u64 line);

/*
 * A load of this line: it is the most recently used one of its set, up to where it was found
 * (43724-730).
 */
void lwp_cache_load(struct lwp_cache *c, u64 line);

#endif
