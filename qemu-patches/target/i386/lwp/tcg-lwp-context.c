/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP under TCG: lwp-context=auto.  The machine's table of contexts, and when
 * a vCPU parks its context and looks for another one.
 *
 * A write of CR3 or of FS base parks the context at once.  The vCPU looks for
 * the next context when it reaches CPL 3: only then does it know whether 64-bit
 * code runs, and all writes of a task switch are done.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/exec-all.h"
#include "hw/core/cpu.h"
#include "qemu/lockable.h"
#include "qemu/rcu.h"
#include "system/reset.h"
#include "lwp/lwp-vmstate.h"
#include "lwp/tcg-lwp.h"

static struct {
    QemuMutex lock;
    struct lwp_ctx_table table; /* under lock */
} contexts;

static void lwp_context_machine_reset(void *opaque)
{
    QEMU_LOCK_GUARD(&contexts.lock);
    lwp_ctx_table_reset(&contexts.table);
}

void x86_lwp_context_init(void)
{
    if (!contexts.table.entry) {
        qemu_mutex_init(&contexts.lock);
        lwp_ctx_table_init(&contexts.table,
                           g_new0(struct lwp_ctx, LWP_CTX_TABLE_DEFAULT),
                           LWP_CTX_TABLE_DEFAULT);
        qemu_register_reset(lwp_context_machine_reset, NULL);
        x86_lwp_contexts_travel();
    }
}

static struct lwp_ctx_key lwp_key(CPUX86State *env, bool code64)
{
    enum lwp_paging paging = LWP_PAGING_LEGACY;

    if (env->hflags & HF_LMA_MASK) {
        paging = LWP_PAGING_LONG;
    } else if (env->cr[4] & CR4_PAE_MASK) {
        paging = LWP_PAGING_PAE;
    }
    return lwp_ctx_make_key(paging, env->cr[3], code64, env->segs[R_FS].base);
}

static int lwp_cpu(CPUX86State *env)
{
    return env_cpu(env)->cpu_index;
}

/* Does the live context belong to the running thread?  Under contexts.lock. */
static bool lwp_live_is_current(CPUX86State *env)
{
    const struct lwp_ctx_key *live = lwp_ctx_live(&contexts.table,
                                                  lwp_cpu(env));
    struct lwp_ctx_key key;

    if (!live) {
        return false;
    }
    key = lwp_key(env, !(live->flags & LWP_CTX_32BIT));
    return lwp_ctx_key_equal(live, &key);
}

static void lwp_park(CPUX86State *env)
{
    X86LWP *lwp = env->lwp;

    x86_lwp_fold(env);
    lwp_ctx_park(&contexts.table, &lwp->engine, lwp_cpu(env));
    lwp->live = false;
}

void x86_lwp_context_drop(CPUX86State *env)
{
    QEMU_LOCK_GUARD(&contexts.lock);
    lwp_ctx_drop_live(&contexts.table, lwp_cpu(env));
    env->lwp->live = false;
}

void x86_lwp_context_park(CPUX86State *env)
{
    X86LWP *lwp = env->lwp;

    if (lwp->live) {
        WITH_QEMU_LOCK_GUARD(&contexts.lock) {
            lwp_park(env);
        }
        lwp->lookup = true;
        x86_lwp_update(env);
    }
}

void x86_lwp_thread_changed(CPUX86State *env)
{
    X86LWP *lwp = env->lwp;

    if (!x86_lwp_auto(lwp) || !lwp_ctx_any(&contexts.table)) {
        return;
    }
    WITH_QEMU_LOCK_GUARD(&contexts.lock) {
        if (lwp->live && !lwp_live_is_current(env)) {
            x86_lwp_replaced(env);
            lwp_park(env);
        }
        lwp->lookup = !lwp->live;
    }
    x86_lwp_update(env);
}

/*
 * All vCPUs are stopped between two TBs: park the context on its holder.  This
 * vCPU finds it before its next instruction at CPL 3.
 */
static void lwp_take_over(CPUState *cs, run_on_cpu_data data)
{
    CPUState *holder = qemu_get_cpu(data.host_int);

    if (holder) {
        x86_lwp_context_park(cpu_env(holder));
        cpu_env(holder)->lwp->lookup = false;
        x86_lwp_update(cpu_env(holder));
    }
}

void x86_lwp_lookup(CPUX86State *env, uintptr_t ra)
{
    X86LWP *lwp = env->lwp;
    CPUState *cs = env_cpu(env);
    struct lwp_ctx_key key = lwp_key(env, env->hflags & HF_CS64_MASK);
    enum lwp_ctx_found found;
    s32 holder = LWP_CTX_NOBODY;

    WITH_QEMU_LOCK_GUARD(&contexts.lock) {
        if (lwp->live && !lwp_live_is_current(env)) {
            lwp_park(env);
        }
        if (lwp->live) {
            found = LWP_CTX_RESUMED;
        } else {
            found = lwp_ctx_find(&contexts.table, &lwp->engine, cs->cpu_index,
                                 &key, &holder);
        }
    }
    lwp->lookup = found == LWP_CTX_BUSY;
    lwp->live = found == LWP_CTX_RESUMED;
    x86_lwp_update(env);
    if (found == LWP_CTX_BUSY) {
        async_safe_run_on_cpu(cs, lwp_take_over,
                              RUN_ON_CPU_HOST_INT(holder));
        cs->exception_index = -1;
        cpu_loop_exit_restore(cs, ra);
    }
}

void x86_lwp_before_llwpcb(CPUX86State *env, uintptr_t ra)
{
    X86LWP *lwp = env->lwp;

    if (x86_lwp_auto(lwp) && !lwp->live && lwp_ctx_any(&contexts.table)) {
        x86_lwp_lookup(env, ra);
    }
}

void x86_lwp_after_llwpcb(CPUX86State *env)
{
    X86LWP *lwp = env->lwp;
    struct lwp_ctx_key key;

    if (x86_lwp_auto(lwp) && !lwp->live && lwp_engine_on(&lwp->engine)) {
        key = lwp_key(env, env->hflags & HF_CS64_MASK);
        QEMU_LOCK_GUARD(&contexts.lock);
        lwp->live = lwp_ctx_create(&contexts.table, &lwp->engine, lwp_cpu(env),
                                   &key);
    }
}

struct lwp_ctx_key x86_lwp_context_key(CPUX86State *env)
{
    QEMU_LOCK_GUARD(&contexts.lock);
    return *lwp_ctx_live(&contexts.table, lwp_cpu(env));
}

bool x86_lwp_context_resume(CPUX86State *env, const struct lwp_ctx_key *key)
{
    X86LWP *lwp = env->lwp;

    QEMU_LOCK_GUARD(&contexts.lock);
    lwp->live = lwp_ctx_resume(&contexts.table, &lwp->engine, lwp_cpu(env),
                               key);
    return lwp->live;
}

uint8_t *x86_lwp_context_save(const struct lwp_caps *caps, size_t *size)
{
    CPUState *cs;
    X86LWP *lwp;
    uint8_t *to;

    CPU_FOREACH(cs) {
        x86_lwp_fold(cpu_env(cs));
    }
    QEMU_LOCK_GUARD(&contexts.lock);
    CPU_FOREACH(cs) {
        lwp = cpu_env(cs)->lwp;
        if (lwp->live) {
            lwp_ctx_refresh(&contexts.table, &lwp->engine, cs->cpu_index);
        }
    }
    *size = lwp_ctx_save(&contexts.table, caps, NULL, 0);
    to = g_malloc(*size + 1);
    lwp_ctx_save(&contexts.table, caps, to, *size);
    return to;
}

const char *x86_lwp_context_load(const struct lwp_caps *caps,
                                 const uint8_t *from, size_t size,
                                 uint32_t *index)
{
    QEMU_LOCK_GUARD(&contexts.lock);
    return lwp_ctx_load(&contexts.table, caps, from, size, index);
}

struct lwp_ctx_stats x86_lwp_context_stats(void)
{
    if (!contexts.table.entry) {
        return (struct lwp_ctx_stats) { 0 };
    }
    QEMU_LOCK_GUARD(&contexts.lock);
    return contexts.table.stats;
}
