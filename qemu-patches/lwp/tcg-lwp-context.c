/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP under TCG: lwp-context=auto.  The machine's table of contexts, and when
 * a vCPU parks its context and looks for another one.
 *
 * A write of CR3, of FS base or of KernelGSBase parks the context at once.  The
 * vCPU looks for the next context when it reaches CPL 3: only then does it know
 * whether 64-bit code runs, and all writes of a task switch are done.  An
 * instruction at CPL 3 that writes a base is still the old thread's, whose
 * context is parked before the next one.
 *
 * The program's GS base is in GS at CPL 3.  Below, it is in KernelGSBase once
 * the kernel has executed SWAPGS, and in GS before that and again before the
 * return.  So below CPL 3 a context stays live while one of the two has its GS
 * base.  One of 32-bit code, whose kernel writes no MSR, stays live there; each
 * return to CPL 3 looks whose FS and GS base are there.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "count/qemu-compat.h"
#include "exec/helper-proto.h"
#include "hw/core/cpu.h"
#include "qemu/guest-random.h"
#include "qemu/lockable.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "system/reset.h"
#include "system/runstate.h"
#include "lwp_context_look.h"
#include "lwp/lwp-vmstate.h"
#include "lwp/tcg-lwp.h"

static struct {
    QemuMutex lock;
    /* Under lock. Guest memory is not accessed with the lock held. */
    struct lwp_ctx_table table;
    QEMUTimer *timer;
    uint64_t now; /* ms of the virtual clock, when it was read last */
} contexts;

/* 43724-905 */
static void lwp_context_machine_reset(void *opaque)
{
    QEMU_LOCK_GUARD(&contexts.lock);
    lwp_ctx_table_reset(&contexts.table);
}

static enum lwp_phys_result lwp_read_phys(void *ctx, uint64_t gpa, void *to,
                                          uint32_t len)
{
    hwaddr part = len;
    MemoryRegion *mr;
    hwaddr at;

    RCU_READ_LOCK_GUARD();
    mr = address_space_translate(&address_space_memory, gpa, &at, &part, false,
                                 MEMTXATTRS_UNSPECIFIED);
    if (part < len || !memory_access_is_direct(mr, false,
                                               MEMTXATTRS_UNSPECIFIED)) {
        return LWP_PHYS_NONE;
    }
    memcpy(to, memory_region_get_ram_ptr(mr) + at, len);
    return LWP_PHYS_OK;
}

/*
 * The clock of the table.  With -icount only the last instruction of a TB may
 * read it, so a context is parked at the time that was read last, which is at
 * most age / 4 ago.
 */
static uint64_t lwp_now(void)
{
    contexts.now = qemu_clock_get_ms(QEMU_CLOCK_VIRTUAL);
    return contexts.now;
}

/* In the main thread: look at the contexts that are due (43724-905). */
static void lwp_context_collect(void *opaque)
{
    X86CPU *cpu = X86_CPU(first_cpu);
    struct lwp_phys phys = { .read = lwp_read_phys, .bits = cpu->phys_bits };
    struct lwp_ctx_look look;
    enum lwp_ctx_fate fate;
    uint64_t now;

    qemu_mutex_lock(&contexts.lock);
    now = lwp_now();
    while (lwp_ctx_due(&contexts.table, now, &look)) {
        qemu_mutex_unlock(&contexts.lock);
        fate = lwp_ctx_look(&phys, cpu->lwp_caps, &look.saved);
        qemu_mutex_lock(&contexts.lock);
        lwp_ctx_looked(&contexts.table, now, &look, fate);
    }
    qemu_mutex_unlock(&contexts.lock);
    timer_mod(contexts.timer, now + contexts.table.age / 4);
}

/* The clock goes back when a snapshot is loaded. */
static void lwp_context_running(void *opaque, bool running, RunState state)
{
    if (running) {
        timer_mod(contexts.timer, lwp_now() + contexts.table.age / 4);
    }
}

void x86_lwp_context_init(uint64_t age)
{
    uint64_t seed;

    if (contexts.table.entry) {
        return;
    }
    qemu_guest_getrandom_nofail(&seed, sizeof(seed));
    qemu_mutex_init(&contexts.lock);
    lwp_ctx_table_init(&contexts.table,
                       g_malloc0(lwp_ctx_table_bytes(LWP_CTX_TABLE_DEFAULT)),
                       LWP_CTX_TABLE_DEFAULT, seed);
    contexts.table.age = age;
    if (age) {
        contexts.timer = timer_new_ms(QEMU_CLOCK_VIRTUAL, lwp_context_collect,
                                      NULL);
        qemu_add_vm_change_state_handler(lwp_context_running, NULL);
    }
    qemu_register_reset(lwp_context_machine_reset, NULL);
    x86_lwp_contexts_travel();
}

/* Of 32-bit code: a null selector may leave another thread's base. */
static uint64_t lwp_base(const SegmentCache *seg)
{
    return seg->selector & 0xfffc ? seg->base : 0;
}

/* 43724-902 */
static struct lwp_ctx_key lwp_key(CPUX86State *env, bool code64, uint64_t gs)
{
    const SegmentCache *fs = &env->segs[R_FS];
    enum lwp_paging paging = LWP_PAGING_LEGACY;

    if (!(env->cr[0] & CR0_PG_MASK)) {
        paging = LWP_PAGING_OFF;
    } else if (env->hflags & HF_LMA_MASK) {
        paging = env->cr[4] & CR4_LA57_MASK ? LWP_PAGING_LONG5 :
                 LWP_PAGING_LONG;
    } else if (env->cr[4] & CR4_PAE_MASK) {
        paging = LWP_PAGING_PAE;
    }
    return lwp_ctx_make_key(paging, env->cr[3], code64,
                            code64 ? fs->base : lwp_base(fs),
                            code64 ? gs : lwp_base(&env->segs[R_GS]));
}

/* At CPL 3. */
static struct lwp_ctx_key lwp_key_now(CPUX86State *env)
{
    return lwp_key(env, env->hflags & HF_CS64_MASK, env->segs[R_GS].base);
}

static int lwp_cpu(CPUX86State *env)
{
    return env_cpu(env)->cpu_index;
}

/* A CPU without 64-bit mode has no SWAPGS, and only contexts without GS. */
static uint64_t lwp_kernel_gs(CPUX86State *env)
{
#ifdef TARGET_X86_64
    return env->kernelgsbase;
#else
    return 0;
#endif
}

static bool lwp_user(CPUX86State *env)
{
    return (env->hflags & HF_CPL_MASK) == 3;
}

/* Does the live context belong to the running thread? user: it is at CPL 3. */
static bool lwp_live_is_current(CPUX86State *env, bool user)
{
    const struct lwp_ctx_key *live = &env->lwp->live_key;
    bool code64 = !(live->flags & LWP_CTX_32BIT);
    struct lwp_ctx_key key = lwp_key(env, code64, live->gs);

    if (!code64 && !user) { /* FS and GS are the kernel's */
        key.thread = live->thread;
        key.gs = live->gs;
    } else if (code64 && env->segs[R_GS].base != live->gs &&
               (user || lwp_kernel_gs(env) != live->gs)) {
        return false;
    }
    return lwp_ctx_key_equal(live, &key);
}

/* 43724-902 */
static void lwp_park(CPUX86State *env)
{
    X86LWP *lwp = env->lwp;

    x86_cnt_fold(env);
    lwp_ctx_park(&contexts.table, &lwp->engine, lwp_cpu(env), contexts.now);
    lwp->live = false;
}

void x86_lwp_context_drop(CPUX86State *env)
{
    QEMU_LOCK_GUARD(&contexts.lock);
    lwp_ctx_drop_live(&contexts.table, &env->lwp->engine, lwp_cpu(env));
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
        x86_cnt_update(env);
    }
}

void x86_lwp_thread_changed(CPUX86State *env)
{
    bool user = lwp_user(env);
    X86LWP *lwp = env->lwp;

    /* SMM has registers of its own; RSM restores those of the thread. */
    if (!x86_lwp_auto(lwp) || !lwp_ctx_any(&contexts.table) ||
        (env->hflags & HF_SMM_MASK)) {
        return;
    }
    WITH_QEMU_LOCK_GUARD(&contexts.lock) {
        if (lwp->live && !user && !lwp_live_is_current(env, false)) {
            lwp_park(env);
        }
        lwp->lookup = user || !lwp->live;
    }
    x86_cnt_update(env);
}

/* 43724-907 */
void helper_lwp_thread_changed(CPUX86State *env)
{
    x86_lwp_thread_changed(env);
}

/*
 * All vCPUs are stopped between two TBs: park the context on its holder.  This
 * vCPU finds it before its next instruction at CPL 3.  The thread may come back
 * to a holder that is idle with its CR3, and no register of the key is written
 * then: a holder below CPL 3 looks again (43724-903).
 */
static void lwp_take_over(CPUState *cs, run_on_cpu_data data)
{
    CPUState *holder = qemu_get_cpu(data.host_int);
    CPUX86State *env;
    bool lookup;

    /* It may have parked the context meanwhile, and have another one. */
    if (holder && lwp_ctx_key_equal(&cpu_env(holder)->lwp->live_key,
                                    &cpu_env(cs)->lwp->live_key)) {
        env = cpu_env(holder);
        lookup = env->lwp->lookup || !lwp_user(env);
        x86_lwp_context_park(env);
        env->lwp->lookup = lookup;
        x86_cnt_update(env);
    }
}

/* Memory is compared without the lock of the table (43724-904). */
static enum lwp_ctx_found lwp_find(CPUX86State *env,
                                   const struct lwp_ctx_key *key,
                                   struct lwp_ctx_look *look)
{
    struct lwp_engine *e = &env->lwp->engine;
    enum lwp_ctx_verdict verdict;
    enum lwp_ctx_found found;
    struct lwp_ctx_ip ip;

    do {
        WITH_QEMU_LOCK_GUARD(&contexts.lock) {
            found = lwp_ctx_search(&contexts.table, e, lwp_cpu(env), key, look);
        }
        if (found == LWP_CTX_VERIFY) {
            verdict = lwp_ctx_verify(e, &look->saved, &ip);
            QEMU_LOCK_GUARD(&contexts.lock);
            found = lwp_ctx_claim(&contexts.table, e, lwp_cpu(env), look,
                                  verdict, &ip);
        }
    } while (found == LWP_CTX_AGAIN);
    return found;
}

void x86_lwp_lookup(CPUX86State *env, uintptr_t ra)
{
    X86LWP *lwp = env->lwp;
    CPUState *cs = env_cpu(env);
    struct lwp_ctx_key key = lwp_key_now(env);
    enum lwp_ctx_found found = LWP_CTX_RESUMED;
    struct lwp_ctx_look look;

    if (lwp->live && !lwp_live_is_current(env, lwp_user(env))) {
        QEMU_LOCK_GUARD(&contexts.lock);
        lwp_park(env);
    }
    if (!lwp->live) {
        found = lwp_find(env, &key, &look);
        lwp->live_key = key;
    }
    lwp->lookup = found == LWP_CTX_BUSY;
    lwp->unreadable = found == LWP_CTX_UNREADABLE;
    lwp->live = found == LWP_CTX_RESUMED;
    x86_lwp_empty_cache(env);
    x86_cnt_update(env);
    if (found == LWP_CTX_BUSY) {
        async_safe_run_on_cpu(cs, lwp_take_over,
                              RUN_ON_CPU_HOST_INT(look.holder));
        cs->exception_index = -1;
        cpu_loop_exit_restore(cs, ra);
    }
}

static bool lwp_may_be_parked(const X86LWP *lwp)
{
    return x86_lwp_auto(lwp) && !lwp->live && lwp_ctx_any(&contexts.table);
}

void x86_lwp_before_llwpcb(CPUX86State *env, uintptr_t ra)
{
    if (lwp_may_be_parked(env->lwp)) {
        x86_lwp_lookup(env, ra);
    }
}

void x86_lwp_before_insn(CPUX86State *env, uintptr_t ra)
{
    if (lwp_may_be_parked(env->lwp) && lwp_user(env) &&
        (env->lwp->unreadable || !(env->hflags & HF_CS64_MASK))) {
        x86_lwp_lookup(env, ra);
    }
}

void x86_lwp_after_llwpcb(CPUX86State *env)
{
    X86LWP *lwp = env->lwp;

    x86_lwp_empty_cache(env);
    if (x86_lwp_auto(lwp) && !lwp->live && lwp_engine_on(&lwp->engine)) {
        lwp->live_key = lwp_key_now(env);
        QEMU_LOCK_GUARD(&contexts.lock);
        lwp->live = lwp_ctx_create(&contexts.table, &lwp->engine, lwp_cpu(env),
                                   &lwp->live_key);
    }
}

void x86_lwp_context_user_entered(CPUX86State *env)
{
    X86LWP *lwp = env->lwp;
    bool moved = lwp->live ? !lwp_live_is_current(env, true) :
                 lwp_may_be_parked(lwp) && !(env->hflags & HF_CS64_MASK);

    if (moved || lwp->unreadable) {
        lwp->lookup = true;
        x86_cnt_update(env);
    }
}

bool x86_lwp_context_resume(CPUX86State *env, const struct lwp_ctx_key *key)
{
    X86LWP *lwp = env->lwp;

    QEMU_LOCK_GUARD(&contexts.lock);
    lwp->live = lwp_ctx_resume(&contexts.table, &lwp->engine, lwp_cpu(env),
                               key);
    lwp->live_key = *key;
    return lwp->live;
}

uint8_t *x86_lwp_context_save(const struct lwp_caps *caps, size_t *size)
{
    CPUState *cs;
    X86LWP *lwp;
    uint8_t *to;

    CPU_FOREACH(cs) {
        x86_cnt_fold(cpu_env(cs));
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
    CPUState *cs;

    CPU_FOREACH(cs) {
        if (cpu_env(cs)->lwp->live) {
            return "contexts come after a CPU that has one";
        }
    }
    QEMU_LOCK_GUARD(&contexts.lock);
    return lwp_ctx_load(&contexts.table, caps, from, size, lwp_now(), index);
}

struct lwp_ctx_stats x86_lwp_context_stats(void)
{
    if (!contexts.table.entry) {
        return (struct lwp_ctx_stats) { 0 };
    }
    QEMU_LOCK_GUARD(&contexts.lock);
    return contexts.table.stats;
}
