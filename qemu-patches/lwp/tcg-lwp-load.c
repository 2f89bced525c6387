/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data cache misses under TCG: what a load does to LWP's model of the caches,
 * and which of its misses count.  Source: 43724-719.
 *
 * In a TB of several instructions a miss that is not due counts at once.  If
 * the instruction faults after that, it does not miss again when it is
 * repeated, so the miss counts once.  A miss that is due changes nothing: the
 * instruction starts again, in a TB of its own.  There the loads are noted
 * and carried out when the instruction retires.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "count/qemu-compat.h"
#include "lwp/tcg-lwp.h"

/* A miss as the engine takes it.  It has no name for L2. */
static struct lwp_miss lwp_miss_of(const struct x86_cache_miss *miss)
{
    static const uint8_t sources[] = {
        [1] = LWP_SRC_NONE, [2] = LWP_SRC_LOCAL_L3, [3] = LWP_SRC_DRAM,
    };

    return (struct lwp_miss) {
        .address = miss->address,
        .latency = miss->latency,
        .source = sources[miss->level],
    };
}

/* Does the load miss?  Then *r has it. */
static void lwp_look(X86LWP *lwp, uint64_t address, X86Lines lines,
                     struct lwp_retired *r)
{
    struct x86_cache_miss miss;
    struct lwp_miss it;

    if (x86_load_misses(lwp->cache, address, lines, &miss)) {
        it = lwp_miss_of(&miss);
        lwp_retired_missed(&lwp->engine, r, &it);
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
    X86Lines lines = x86_lines_of(address, size);
    struct lwp_retired r = { 0 };

    lwp_look(env->lwp, address, lines, &r);
    if (r.misses) {
        load_due(env, ra);
    }
    x86_load_done(env, env->lwp->cache, lines);
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
    X86Lines lines = x86_lines_of(address, size);

    if (lwp->repeated.address != env->x86_count.insn) {
        lwp->repeated = (struct lwp_retired) {
            .address = env->x86_count.insn
        };
    }
    lwp_look(lwp, address, lines, &lwp->repeated);
    x86_load_done(env, lwp->cache, lines);
}

bool x86_lwp_sees_loads(CPUX86State *env)
{
    return env->lwp && env->lwp->sees_loads &&
           (env->hflags & HF_CPL_MASK) == 3;
}

void x86_lwp_load(CPUX86State *env, uint64_t address, uint32_t size,
                  uint32_t info, uintptr_t ra)
{
    if (!x86_lwp_sees_loads(env) ||
        !x86_load_reads_ram(env, address, size, ra)) {
        return;
    }
    if (info & X86_CNT_LOAD_REPEATED) {
        load_repeated(env, address, size);
    } else if (info & X86_CNT_LOAD_STEPPED) {
        load_note(env->lwp, address, size);
    } else {
        load_now(env, address, size, ra);
    }
}

void x86_lwp_retire_loads(CPUX86State *env, struct lwp_retired *r)
{
    X86LWP *lwp = env->lwp;
    uint32_t i;

    if (lwp->repeated.address == r->address) {
        r->misses = lwp->repeated.misses;
        r->miss = lwp->repeated.miss;
    }
    for (i = 0; i < lwp->notes; i++) {
        uint64_t address = lwp->note[i].address;
        X86Lines lines = x86_lines_of(address, lwp->note[i].size);

        lwp_look(lwp, address, lines, r);
        x86_load_done(env, lwp->cache, lines);
    }
}

void x86_lwp_forget_loads(CPUX86State *env)
{
    env->lwp->notes = 0;
    env->lwp->repeated.misses = 0;
    env->lwp->load_due = false;
}

void x86_lwp_empty_cache(CPUX86State *env)
{
    if (env->lwp->cache) {
        x86_cache_forget(env, env->lwp->cache);
        x86_lwp_forget_loads(env);
    }
}

void x86_lwp_make_cache(X86CPU *cpu, X86LWP *lwp)
{
    if (lwp_caps_has(cpu->lwp_caps, LWP_KIND_DME)) {
        lwp->cache = x86_cache_new(cpu->lwp_props.cache);
    }
}
