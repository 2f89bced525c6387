/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A model of the data caches, for whoever counts their misses under TCG
 * (43724-719), and for instruction-based sampling. KVM's part does not have it.
 *
 * Up to three levels of sets and ways with lines of 64 bytes. Each level
 * replaces the least recently used line of a set; a level keeps its lines
 * whatever the others do. Only loads touch the model; they say linear
 * addresses. So the same loads miss the same lines, wherever a program's pages
 * lie.
 */
#ifndef X86_CACHE_H
#define X86_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define X86_CACHE_LINE_BITS 6
#define X86_CACHE_LEVELS 3
#define X86_CACHE_WAYS_MAX 32
#define X86_CACHE_SETS_MAX (1u << 17)
#define X86_CACHE_LATENCY_MAX 65535 /* cycles */

/* L1D has a size; L2 and L3 have the size 0 if there are none. */
struct x86_cache_level {
    uint32_t size;    /* bytes: ways * 64 * a power of two */
    uint32_t ways;    /* 1 to X86_CACHE_WAYS_MAX */
    uint32_t latency; /* cycles of a load that this level serves */
};

struct x86_cache_geometry {
    struct x86_cache_level level[X86_CACHE_LEVELS];
    uint32_t ram_latency; /* cycles */
};

/* A load that misses L1D. */
struct x86_cache_miss {
    uint64_t address; /* the lowest byte that missed, for users of the model */
    uint32_t latency; /* cycles */
    uint32_t level;   /* whose line it is: 1: L2, 2: L3, 3: RAM */
};

/* The numbers of a core of an EPYC 7001. */
extern const struct x86_cache_geometry x86_cache_epyc;

/*
 * What is wrong with a geometry, in words that follow a level's name; NULL:
 * nothing. *level: with which level, RAM last.
 */
const char *x86_cache_wrong(const struct x86_cache_geometry *g,
                            uint32_t *level);

/* A set of a level; its lines, the most recently used first, are in `line`. */
struct x86_cache {
    struct x86_cache_geometry geometry;
    uint64_t *line[X86_CACHE_LEVELS];   /* ways of set 0, ways of set 1 ... */
    uint32_t *filled[X86_CACHE_LEVELS]; /* each set's: the generation in it */
    uint32_t generation;
};

/* Bytes that the tables of a valid geometry take. */
size_t x86_cache_bytes(const struct x86_cache_geometry *g);

/*
 * Make an empty model of a valid geometry. memory: x86_cache_bytes(), aligned
 * for uint64_t.
 */
void x86_cache_init(struct x86_cache *c, const struct x86_cache_geometry *g,
                    void *memory);

/* Empty the model. It takes no longer for a big one. */
void x86_cache_empty(struct x86_cache *c);

/* Sets of L1D: a line's set is its number modulo that. */
uint32_t x86_cache_l1d_sets(const struct x86_cache *c);

/*
 * Does L1D have this line (an address divided by 64)? If not, *miss gets
 * latency and level of a load. Nothing changes.
 */
bool x86_cache_has(const struct x86_cache *c, uint64_t line,
                   struct x86_cache_miss *miss);

/*
 * Is this line the most recently used one of its set of L1D? Then a load of it
 * changes nothing.
 */
bool x86_cache_newest(const struct x86_cache *c, uint64_t line);

/*
 * A load of this line: it is the most recently used one of its set, up to where
 * it was found (43724-730).
 */
void x86_cache_load(struct x86_cache *c, uint64_t line);

#endif
