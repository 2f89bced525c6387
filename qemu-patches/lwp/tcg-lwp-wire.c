/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP under TCG: a vCPU's state to and from cpu->lwp_wire, for lwp-vmstate.c,
 * and what the statistics need.  Saving changes nothing: a machine that keeps
 * running must run as if it had not been saved.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "lwp/lwp-vmstate.h"
#include "lwp/tcg-lwp.h"

static int lwp_wire_save(X86CPU *cpu)
{
    CPUX86State *env = &cpu->env;
    X86LWP *lwp = env->lwp;
    X86LWPWire *wire = &cpu->lwp_wire;

    x86_cnt_fold(env);
    lwp_state_encode(&lwp->engine.st, &lwp->engine.caps, wire->image);
    wire->entered = lwp->entered;
    wire->lookup = lwp->lookup || lwp->unreadable;
    wire->live = lwp->live;
    if (lwp->live) {
        wire->cr3 = lwp->live_key.cr3;
        wire->thread = lwp->live_key.thread;
        wire->gs = lwp->live_key.gs;
        wire->key_flags = lwp->live_key.flags;
    }
    return 0;
}

static const char *lwp_wire_load(X86CPU *cpu, const struct lwp_state *st)
{
    CPUX86State *env = &cpu->env;
    X86LWP *lwp = env->lwp;
    const X86LWPWire *wire = &cpu->lwp_wire;
    struct lwp_ctx_key key = {
        .cr3 = wire->cr3,
        .thread = wire->thread,
        .gs = wire->gs,
        .flags = wire->key_flags,
    };

    x86_cnt_forget(env);
    /* The CPU comes from a reset, so the model of its caches is empty. */
    lwp_engine_load(&lwp->engine, st);
    lwp->engine.xcr0_lwp = x86_lwp_enabled(env);
    lwp->entered = wire->entered;
    lwp->lookup = wire->lookup;
    lwp->live = false;
    if (wire->live && !x86_lwp_context_resume(env, &key)) {
        return "its context is live on another CPU";
    }
    x86_cnt_update(env);
    return NULL;
}

static void lwp_fold_on_cpu(CPUState *cs, run_on_cpu_data data)
{
    x86_cnt_fold(cpu_env(cs));
}

static void lwp_fold(X86CPU *cpu)
{
    run_on_cpu(CPU(cpu), lwp_fold_on_cpu, RUN_ON_CPU_NULL);
}

const X86LWPAccel tcg_lwp_accel = {
    .wire_save = lwp_wire_save,
    .wire_load = lwp_wire_load,
    .context_save = x86_lwp_context_save,
    .context_load = x86_lwp_context_load,
    .context_stats = x86_lwp_context_stats,
    .fold = lwp_fold,
};
