/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads and stores under TCG, for those who count them: generated code and
 * QEMU's own helpers come here before they take place.
 *
 * While loads are looked at, generated code asks whether the line is the one
 * that was used last in its set of L1D.  If not, it calls the helper.  Users
 * have a model of the caches (x86_cache.h), which tells a miss; each may have
 * seen loads that the others have not.
 *
 * A sample of IBS is stepped, and its loads and stores are noted.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/target_page.h"
#include "count/qemu-compat.h"
#include "count/x86-loads.h"
#include "exec/helper-proto.h"

#define LINE_SIZE (1u << X86_CACHE_LINE_BITS)
#define NO_LINE UINT64_MAX /* no address has this number */

X86Lines x86_lines_of(uint64_t address, uint32_t size)
{
    uint64_t end = address + size - 1;

    return (X86Lines) {
        .first = address >> X86_CACHE_LINE_BITS,
        .last = (end < address ? address : end) >> X86_CACHE_LINE_BITS,
    };
}

struct x86_cache *x86_cache_new(const struct x86_cache_geometry *g)
{
    struct x86_cache *cache;

    if (!g) {
        g = &x86_cache_epyc;
    }
    cache = g_malloc(sizeof(*cache) + x86_cache_bytes(g));
    x86_cache_init(cache, g, cache + 1);
    return cache;
}

void x86_cache_forget(CPUX86State *env, struct x86_cache *cache)
{
    X86CntLoads *loads = &env->cnt_loads;

    x86_cache_empty(cache);
    /* A line that is in another set of one model is in another here, too. */
    loads->sets = ARRAY_SIZE(loads->recent);
    X86_CNT_FOR_EACH_USER(user, cache) {
        const struct x86_cache *its = user->cache(env, false);

        if (its) {
            loads->sets = MIN(loads->sets, x86_cache_l1d_sets(its));
        }
    }
    memset(loads->recent, 0xff, sizeof(loads->recent));
}

bool x86_load_reads_ram(CPUX86State *env, uint64_t address, uint32_t size,
                        uintptr_t ra)
{
    int mmu_idx = cpu_mmu_index(env_cpu(env), false);
    uint32_t here;
    void *host;

    for (; size; size -= here, address += here) {
        here = MIN(size, -(address | TARGET_PAGE_MASK));
        if (probe_access_flags(env, address, here, MMU_DATA_LOAD, mmu_idx,
                               true, &host, ra) &
            (TLB_INVALID_MASK | TLB_MMIO)) {
            return false;
        }
    }
    return true;
}

bool x86_load_misses(const struct x86_cache *cache, uint64_t address,
                     X86Lines lines, struct x86_cache_miss *miss)
{
    uint64_t line;

    for (line = lines.first; line <= lines.last; line++) {
        if (!x86_cache_has(cache, line, miss)) {
            miss->address = MAX(address, line << X86_CACHE_LINE_BITS);
            return true;
        }
    }
    return false;
}

/* Would a load of the line change no model? */
static bool load_changes_nothing(CPUX86State *env, uint64_t line)
{
    X86_CNT_FOR_EACH_USER(user, cache) {
        const struct x86_cache *cache = user->cache(env, false);

        if (cache && !x86_cache_newest(cache, line)) {
            return false;
        }
    }
    return true;
}

void x86_load_done(CPUX86State *env, struct x86_cache *cache, X86Lines lines)
{
    X86CntLoads *loads = &env->cnt_loads;
    uint64_t line;

    for (line = lines.first; line <= lines.last; line++) {
        x86_cache_load(cache, line);
        loads->recent[line & (loads->sets - 1)] =
            load_changes_nothing(env, line) ? line : NO_LINE;
    }
}

struct x86_cache *x86_cnt_cache(CPUX86State *env)
{
    struct x86_cache *cache;

    X86_CNT_FOR_EACH_USER(user, cache) {
        cache = user->cache(env, true);
        if (cache) {
            return cache;
        }
    }
    return NULL;
}

static void load_noted(CPUX86State *env, uint64_t address, uint32_t info)
{
    if (env->x86_count.wants & X86_CNT_WANTS_NOTES) {
        X86_CNT_FOR_EACH_USER(user, note) {
            user->note(env, address, info);
        }
    }
}

static void load(CPUX86State *env, uint64_t address, uint32_t size,
                 uint32_t info, uintptr_t ra)
{
    X86_CNT_FOR_EACH_USER(user, load) {
        user->load(env, address, size, info, ra);
    }
}

/* 43724-719, 2007-710 */
void helper_cnt_load(CPUX86State *env, target_ulong address, uint32_t info)
{
    uint32_t size = info & X86_CNT_LOAD_SIZE;

    /* The load itself raises #GP. */
    if ((info & X86_CNT_LOAD_ALIGNED) && (address & (size - 1))) {
        return;
    }
    load_noted(env, address, info);
    if (!(info & X86_CNT_LOAD_STORE)) {
        load(env, address, size, info, GETPC());
    }
}

void x86_cnt_load(CPUX86State *env, uint64_t address, uint32_t size,
                  uintptr_t ra)
{
    uint32_t stepped = x86_cnt_mode(env) == X86_CNT_MODE_STEP ?
                       X86_CNT_LOAD_STEPPED : 0;
    uint32_t here;

    load_noted(env, address, MIN(size, X86_CNT_LOAD_SIZE));
    if (!(env->x86_count.wants &
          (X86_CNT_WANTS_LOADS | X86_CNT_WANTS_ALL_LOADS))) {
        return;
    }
    if (size <= LINE_SIZE) {
        load(env, address, size, stepped, ra);
        return;
    }
    for (; size; size -= here, address += here) {
        here = MIN(size, LINE_SIZE - (address & (LINE_SIZE - 1)));
        load(env, address, here, stepped, ra);
    }
}

void x86_cnt_store(CPUX86State *env, uint64_t address, uint32_t size)
{
    load_noted(env, address, MIN(size, X86_CNT_LOAD_SIZE) |
                             X86_CNT_LOAD_STORE);
}
