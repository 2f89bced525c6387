// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The data caches as loads see them. A level is a table of line numbers, a set
 * after the other, the most recently used line of each set first. A set that an
 * older generation has filled is empty.
 */
#include "x86_cache.h"

#define LINE_SIZE (1u << X86_CACHE_LINE_BITS)
#define NO_LINE (~(uint64_t)0) /* no address has this number */

const struct x86_cache_geometry x86_cache_epyc = {
    .level = {
        { 32 << 10, 8, 4 },
        { 512 << 10, 8, 12 },
        { 8 << 20, 16, 39 },
    },
    .ram_latency = 200,
};

static uint32_t sets_of(const struct x86_cache_level *level)
{
    return level->size / LINE_SIZE / level->ways;
}

static bool power_of_two(uint32_t n)
{
    return n && !(n & (n - 1));
}

static const char *level_wrong(const struct x86_cache_level *level)
{
    if (!level->ways || level->ways > X86_CACHE_WAYS_MAX) {
        return "has 1 to 32 ways";
    }
    if (level->size % (LINE_SIZE * level->ways) ||
        !power_of_two(sets_of(level))) {
        return "has a size of its ways * 64 bytes * a power of two";
    }
    if (sets_of(level) > X86_CACHE_SETS_MAX) {
        return "has at most 131072 sets of 64 bytes a way";
    }
    return NULL;
}

const char *x86_cache_wrong(const struct x86_cache_geometry *g, uint32_t *level)
{
    const char *wrong;
    uint32_t latency = 1, here, i;

    for (i = 0; i <= X86_CACHE_LEVELS; i++) {
        *level = i;
        if (i && i < X86_CACHE_LEVELS && !g->level[i].size) {
            continue;
        }
        wrong = i < X86_CACHE_LEVELS ? level_wrong(&g->level[i]) : NULL;
        if (wrong) {
            return wrong;
        }
        here = i < X86_CACHE_LEVELS ? g->level[i].latency : g->ram_latency;
        if (here < latency || here > X86_CACHE_LATENCY_MAX) {
            return "has a latency of 1 to 65535, "
                   "and no less than a nearer level";
        }
        latency = here;
    }
    return NULL;
}

static size_t lines_of(const struct x86_cache_level *level)
{
    return level->size / LINE_SIZE;
}

size_t x86_cache_bytes(const struct x86_cache_geometry *g)
{
    size_t bytes = 0;
    uint32_t i;

    for (i = 0; i < X86_CACHE_LEVELS; i++) {
        if (g->level[i].size) {
            bytes += lines_of(&g->level[i]) * sizeof(uint64_t) +
                     sets_of(&g->level[i]) * sizeof(uint32_t);
        }
    }
    return bytes;
}

void x86_cache_init(struct x86_cache *c, const struct x86_cache_geometry *g,
                    void *memory)
{
    uint64_t *line = memory;
    uint32_t *filled;
    uint32_t i, set;

    c->geometry = *g;
    for (i = 0; i < X86_CACHE_LEVELS; i++) {
        c->line[i] = line;
        line += lines_of(&g->level[i]);
    }
    filled = (uint32_t *)line;
    for (i = 0; i < X86_CACHE_LEVELS; i++) {
        c->filled[i] = filled;
        for (set = 0; g->level[i].size && set < sets_of(&g->level[i]); set++) {
            *filled++ = 0;
        }
    }
    c->generation = 1;
}

void x86_cache_empty(struct x86_cache *c)
{
    struct x86_cache_geometry geometry = c->geometry;

    if (!++c->generation) {
        x86_cache_init(c, &geometry, c->line[0]);
    }
}

uint32_t x86_cache_l1d_sets(const struct x86_cache *c)
{
    return sets_of(&c->geometry.level[0]);
}

/* The way of a level that has a line; its number of ways if none has. */
static uint32_t find(const struct x86_cache *c, uint32_t i, uint64_t line)
{
    const struct x86_cache_level *level = &c->geometry.level[i];
    uint32_t set = (uint32_t)line & (sets_of(level) - 1);
    const uint64_t *way = c->line[i] + (size_t)set * level->ways;
    uint32_t n = 0;

    if (c->filled[i][set] != c->generation) {
        return level->ways;
    }
    while (n < level->ways && way[n] != line) {
        n++;
    }
    return n;
}

static bool level_has(const struct x86_cache *c, uint32_t i, uint64_t line)
{
    const struct x86_cache_level *level = &c->geometry.level[i];

    return level->size && find(c, i, line) < level->ways;
}

/*
 * The line becomes the most recently used one of its set. It pushes out the
 * last if it is new.
 */
static void touch(struct x86_cache *c, uint32_t i, uint64_t line)
{
    const struct x86_cache_level *level = &c->geometry.level[i];
    uint32_t set = (uint32_t)line & (sets_of(level) - 1);
    uint64_t *way = c->line[i] + (size_t)set * level->ways;
    uint32_t n = find(c, i, line);

    if (c->filled[i][set] != c->generation) {
        c->filled[i][set] = c->generation;
        for (n = 0; n < level->ways; n++) {
            way[n] = NO_LINE;
        }
    }
    if (n == level->ways) {
        n--;
    }
    for (; n; n--) {
        way[n] = way[n - 1];
    }
    way[0] = line;
}

bool x86_cache_has(const struct x86_cache *c, uint64_t line,
                   struct x86_cache_miss *miss)
{
    uint32_t i = 1;

    if (level_has(c, 0, line)) {
        return true;
    }
    while (i < X86_CACHE_LEVELS && !level_has(c, i, line)) {
        i++;
    }
    miss->level = i;
    miss->latency = i < X86_CACHE_LEVELS ? c->geometry.level[i].latency
                                         : c->geometry.ram_latency;
    return false;
}

bool x86_cache_newest(const struct x86_cache *c, uint64_t line)
{
    return find(c, 0, line) == 0;
}

void x86_cache_load(struct x86_cache *c, uint64_t line)
{
    bool found = false;
    uint32_t i;

    for (i = 0; i < X86_CACHE_LEVELS && !found; i++) {
        if (!c->geometry.level[i].size) {
            continue;
        }
        found = level_has(c, i, line);
        touch(c, i, line);
    }
}
