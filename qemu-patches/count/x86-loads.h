/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting under TCG: what users do with the loads of a program.
 */
#ifndef X86_LOADS_H
#define X86_LOADS_H

#include "count/x86-count.h"
#include "x86_cache.h"

/* Lines of a load, as addresses divided by 64; two if it crosses. */
typedef struct X86Lines {
    uint64_t first, last;
} X86Lines;

X86Lines x86_lines_of(uint64_t address, uint32_t size);

/* A model of these caches; NULL: those of x86_cache_epyc.  g_free() frees it. */
struct x86_cache *x86_cache_new(const struct x86_cache_geometry *g);

/* A model that sees loads now, of any user, or NULL */
struct x86_cache *x86_cnt_cache(CPUArchState *env);

/* Another program begins or continues: all lines are gone (43724-730). */
void x86_cache_forget(CPUArchState *env, struct x86_cache *cache);

/* Does the load neither fault nor reach a device? */
bool x86_load_reads_ram(CPUArchState *env, uint64_t address, uint32_t size,
                        uintptr_t ra);

/*
 * The first miss of a load.  False: all lines are in L1D.  miss->address is that
 * of the lowest byte that missed.
 */
bool x86_load_misses(const struct x86_cache *cache, uint64_t address,
                     X86Lines lines, struct x86_cache_miss *miss);

/* The load takes place. */
void x86_load_done(CPUArchState *env, struct x86_cache *cache, X86Lines lines);

#endif
