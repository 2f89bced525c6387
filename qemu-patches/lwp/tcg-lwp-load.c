/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data cache misses under TCG: what a load does to the model of the caches
 * (kvm/engine/tcg), and which of its misses count.  Source: 43724-719.
 *
 * Before each load at CPL 3 generated code asks whether the line is the one
 * that was used last in its set of L1D.  If not, it calls the helper.  Loads
 * that helpers of QEMU do themselves come here from them.
 *
 * In a TB of several instructions a miss that is not due counts at once.  If
 * the instruction faults after that, it does not miss again when it is
 * repeated, so the miss counts once.  A miss that is due changes nothing: the
 * instruction starts again, in a TB of its own.  There the loads are noted
 * and carried out when the instruction retires.
 *
 * IBS can have a model of its own (ibs-cache), of the same caches: it sees all
 * loads, in every mode, while ops are sampled.  Without it a sample is asked of
 * LWP's model.  Neither model sees what the other is told.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/target_page.h"
#include "pmu/qemu-compat.h"
#include "exec/helper-proto.h"
#include "lwp/tcg-lwp.h"

#define LWP_LINE (1u << LWP_CACHE_LINE_BITS)
#define NO_LINE UINT64_MAX /* no address has this number */

/* Lines of a load, as addresses divided by 64; two if it crosses. */
typedef struct LWPLines {
    uint64_t first, last;
} LWPLines;

static LWPLines lines_of(uint64_t address, uint32_t size)
{
    uint64_t end = address + size - 1;

    return (LWPLines) {
        .first = address >> LWP_CACHE_LINE_BITS,
        .last = (end < address ? address : end) >> LWP_CACHE_LINE_BITS,
    };
}

/* Does the load neither fault nor reach a device? */
static bool load_reads_ram(CPUX86State *env, uint64_t address, uint32_t size,
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

/*
 * The first miss of a load.  False: all lines are in L1D.  *@miss names the
 * lowest byte that missed.
 */
static bool load_misses(const struct lwp_cache *cache, uint64_t address,
                        LWPLines lines, struct lwp_miss *miss)
{
    uint64_t line;

    for (line = lines.first; line <= lines.last; line++) {
        if (!lwp_cache_has(cache, line, miss)) {
            miss->address = MAX(address, line << LWP_CACHE_LINE_BITS);
            return true;
        }
    }
    return false;
}

/*
 * Would a load of the line change no model?  Each may have seen loads that the
 * other has not.
 */
static bool load_changes_nothing(CPUX86State *env, uint64_t line)
{
    X86PMU *pmu = env_archcpu(env)->tcg_pmu;

    return (!env->lwp || !env->lwp->cache ||
            lwp_cache_newest(env->lwp->cache, line)) &&
           (!pmu || !pmu->cache || lwp_cache_newest(pmu->cache, line));
}

/* The load takes place. */
static void load_done(CPUX86State *env, struct lwp_cache *cache, LWPLines lines)
{
    X86LWPLoads *loads = &env->lwp_loads;
    uint64_t line;

    for (line = lines.first; line <= lines.last; line++) {
        lwp_cache_load(cache, line);
        loads->recent[line & (loads->sets - 1)] =
            load_changes_nothing(env, line) ? line : NO_LINE;
    }
}

/* The instruction starts again, alone in its TB. */
static G_NORETURN void load_due(CPUX86State *env, uintptr_t ra)
{
    CPUState *cs = env_cpu(env);

    cpu_restore_state(cs, ra);
    env->lwp->load_due = true;
    x86_cnt_update(env);
    cpu_loop_exit_noexc(cs);
}

static void load_now(CPUX86State *env, uint64_t address, uint32_t size,
                     uintptr_t ra)
{
    LWPLines lines = lines_of(address, size);
    struct lwp_retired r = { 0 };
    struct lwp_miss miss;

    if (load_misses(env->lwp->cache, address, lines, &miss)) {
        lwp_retired_missed(&env->lwp->engine, &r, &miss);
        if (r.misses) {
            load_due(env, ra);
        }
    }
    load_done(env, env->lwp->cache, lines);
}

/* More loads than one instruction can have are not noted. */
static void load_note(X86LWP *lwp, uint64_t address, uint32_t size)
{
    if (lwp->notes < ARRAY_SIZE(lwp->note)) {
        lwp->note[lwp->notes++] = (X86LWPNote) { address, size };
    }
}

/*
 * An iteration of a repeated string instruction is over when the next begins,
 * so its loads take place at once.  The record waits for the last iteration.
 */
static void load_repeated(CPUX86State *env, uint64_t address, uint32_t size)
{
    X86LWP *lwp = env->lwp;
    LWPLines lines = lines_of(address, size);
    struct lwp_miss miss;

    if (lwp->repeated.address != env->x86_count.insn) {
        lwp->repeated = (struct lwp_retired) {
            .address = env->x86_count.insn
        };
    }
    if (load_misses(lwp->cache, address, lines, &miss)) {
        lwp_retired_missed(&lwp->engine, &lwp->repeated, &miss);
    }
    load_done(env, lwp->cache, lines);
}

static void load(CPUX86State *env, uint64_t address, uint32_t size,
                 uint32_t stepped, uintptr_t ra)
{
    if (!load_reads_ram(env, address, size, ra)) {
        return;
    }
    if (stepped & X86_LWP_LOAD_REPEATED) {
        load_repeated(env, address, size);
    } else if (stepped) {
        load_note(env->lwp, address, size);
    } else {
        load_now(env, address, size, ra);
    }
}

/* Does LWP look at loads of this instruction? */
static bool load_counts(CPUX86State *env)
{
    return env->x86_count.loads && (env->hflags & HF_CPL_MASK) == 3;
}

/* The model that knows whether a load misses, or NULL */
static struct lwp_cache *load_model(CPUX86State *env)
{
    if (env->x86_count.model) {
        return env_archcpu(env)->tcg_pmu->cache;
    }
    return load_counts(env) ? env->lwp->cache : NULL;
}

/* IBS's own model sees the load. */
static void load_modelled(CPUX86State *env, uint64_t address, uint32_t size,
                          uintptr_t ra)
{
    if (load_reads_ram(env, address, size, ra)) {
        load_done(env, env_archcpu(env)->tcg_pmu->cache,
                  lines_of(address, size));
    }
}

/* The instruction is a sample of IBS. */
static void load_sampled(CPUX86State *env, uint64_t address, uint32_t info)
{
    X86PMU *pmu = env_archcpu(env)->tcg_pmu;
    uint32_t size = info & X86_LWP_LOAD_SIZE;
    bool store = info & X86_LWP_LOAD_STORE;
    struct lwp_cache *model = load_model(env);
    struct lwp_miss miss;

    x86_ibs_access(pmu, address, size, store, info & X86_LWP_LOAD_LOCKED);
    if (!store && model &&
        load_misses(model, address, lines_of(address, size), &miss)) {
        x86_ibs_missed(pmu, miss.latency, miss.source == LWP_SRC_NONE,
                       miss.source == LWP_SRC_DRAM);
    }
}

/* 43724-719, 2007-710 */
void helper_lwp_load(CPUX86State *env, target_ulong address, uint32_t info)
{
    uint32_t size = info & X86_LWP_LOAD_SIZE;

    /* The load itself raises #GP. */
    if ((info & X86_LWP_LOAD_ALIGNED) && (address & (size - 1))) {
        return;
    }
    if (env->x86_count.notes) {
        load_sampled(env, address, info);
    }
    if (info & X86_LWP_LOAD_STORE) {
        return;
    }
    /* LWP first: a miss that is due starts the instruction again. */
    if (load_counts(env)) {
        load(env, address, size,
             info & (X86_LWP_LOAD_STEPPED | X86_LWP_LOAD_REPEATED), GETPC());
    }
    if (env->x86_count.model) {
        load_modelled(env, address, size, GETPC());
    }
}

/* A load of any size, of an instruction that counts for LWP */
static void load_area(CPUX86State *env, uint64_t address, uint32_t size,
                      uintptr_t ra)
{
    uint32_t flags = env->x86_count.tb_flags, here;
    uint32_t stepped = flags >> HF_CNT_MODE_SHIFT == X86_CNT_MODE_STEP ?
                       X86_LWP_LOAD_STEPPED : 0;

    if (size <= LWP_LINE) {
        load(env, address, size, stepped, ra);
        return;
    }
    for (; size; size -= here, address += here) {
        here = MIN(size, LWP_LINE - (address & (LWP_LINE - 1)));
        load(env, address, here, stepped, ra);
    }
}

void x86_lwp_load(CPUX86State *env, uint64_t address, uint32_t size,
                  uintptr_t ra)
{
    if (env->x86_count.notes) {
        load_sampled(env, address, MIN(size, X86_LWP_LOAD_SIZE));
    }
    if (load_counts(env)) {
        load_area(env, address, size, ra);
    }
    if (env->x86_count.model) {
        load_modelled(env, address, size, ra);
    }
}

void x86_lwp_store(CPUX86State *env, uint64_t address, uint32_t size)
{
    if (env->x86_count.notes) {
        load_sampled(env, address, MIN(size, X86_LWP_LOAD_SIZE) |
                                   X86_LWP_LOAD_STORE);
    }
}

void x86_lwp_retire_loads(CPUX86State *env, struct lwp_retired *r)
{
    X86LWP *lwp = env->lwp;
    struct lwp_miss miss;
    uint32_t i;

    if (lwp->repeated.address == r->address) {
        r->misses = lwp->repeated.misses;
        r->miss = lwp->repeated.miss;
    }
    for (i = 0; i < lwp->notes; i++) {
        uint64_t address = lwp->note[i].address;
        LWPLines lines = lines_of(address, lwp->note[i].size);

        if (load_misses(lwp->cache, address, lines, &miss)) {
            lwp_retired_missed(&lwp->engine, r, &miss);
        }
        load_done(env, lwp->cache, lines);
    }
}

void x86_lwp_forget_loads(CPUX86State *env)
{
    env->lwp->notes = 0;
    env->lwp->repeated.misses = 0;
    env->lwp->load_due = false;
}

static void load_empty(CPUX86State *env, struct lwp_cache *cache)
{
    X86LWPLoads *loads = &env->lwp_loads;

    lwp_cache_empty(cache);
    loads->sets = MIN(lwp_cache_l1d_sets(cache), ARRAY_SIZE(loads->recent));
    memset(loads->recent, 0xff, sizeof(loads->recent));
}

void x86_lwp_empty_cache(CPUX86State *env)
{
    if (env->lwp->cache) {
        load_empty(env, env->lwp->cache);
        x86_lwp_forget_loads(env);
    }
}

void x86_lwp_empty_ibs_cache(CPUX86State *env)
{
    X86PMU *pmu = env_archcpu(env)->tcg_pmu;

    if (pmu->cache) {
        load_empty(env, pmu->cache);
    }
}

static struct lwp_cache *cache_new(const struct lwp_cache_geometry *g)
{
    struct lwp_cache *cache;

    if (!g) {
        g = &lwp_cache_epyc;
    }
    cache = g_malloc(sizeof(*cache) + lwp_cache_bytes(g));
    lwp_cache_init(cache, g, cache + 1);
    return cache;
}

void x86_lwp_make_ibs_cache(X86CPU *cpu)
{
    if (cpu->lwp_props.ibs_cache) {
        cpu->tcg_pmu->cache = cache_new(cpu->lwp_props.cache);
    }
}

void x86_lwp_make_cache(X86CPU *cpu, X86LWP *lwp)
{
    if (lwp_caps_has(cpu->lwp_caps, LWP_KIND_DME)) {
        lwp->cache = cache_new(cpu->lwp_props.cache);
    }
}
