/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP under TCG, as one who counts: the engine gets what has retired, and says
 * when its next event is due.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "count/qemu-compat.h"
#include "lwp/tcg-lwp.h"

QEMU_BUILD_BUG_ON(X86_CNT_BRANCH_CONDITIONAL != LWP_BRANCH_CONDITIONAL);
QEMU_BUILD_BUG_ON(X86_CNT_BRANCH_RELATIVE != LWP_BRANCH_RELATIVE);
QEMU_BUILD_BUG_ON(X86_CNT_BRANCH_CALL_RELATIVE != LWP_BRANCH_CALL_RELATIVE);
QEMU_BUILD_BUG_ON(X86_CNT_BRANCH_ABSOLUTE != LWP_BRANCH_ABSOLUTE);
QEMU_BUILD_BUG_ON(LWP_BUDGET_NEVER != UINT64_MAX);

bool x86_lwp_outstanding(const struct lwp_engine *e)
{
    return e->st.pending.event_id || lwp_state_deferred(&e->st) ||
           !e->ip_valid;
}

/* lwp_budget(), with a fast path for kinds that are not counted. */
static uint64_t lwp_distance_of(const struct lwp_engine *e, enum lwp_kind kind)
{
    if (!(e->st.flags & LWP_BIT(e->rev->event_id[kind]))) {
        return LWP_BUDGET_NEVER;
    }
    return lwp_budget(e, kind);
}

/*
 * In how many instructions and branches from now the next event is due, at
 * least 1; LWP_BUDGET_NEVER: no event.
 */
static void lwp_distance(const struct lwp_engine *e, uint64_t *insns,
                         uint64_t *branches)
{
    uint64_t ire = lwp_distance_of(e, LWP_KIND_IRE);
    uint64_t cnh = lwp_distance_of(e, LWP_KIND_CNH);
    uint64_t rnh = lwp_distance_of(e, LWP_KIND_RNH);

    if (rnh != LWP_BUDGET_NEVER) {
        rnh = DIV_ROUND_UP(rnh, X86_CNT_REF_PER_CYC);
    }
    *insns = MIN(MIN(ire, cnh), rnh);
    *branches = lwp_distance_of(e, LWP_KIND_BRE);
}

/* Do branches of all classes count?  No, if any revision has a filter. */
static bool lwp_all_branches(const struct lwp_engine *e)
{
    return !(e->st.filters & (LWP_FILTER_NCB | LWP_FILTER_NRB |
                              LWP_FILTER_NAB | LWP07_FILTER_NDB));
}

/* X86_CNT_WANTS_* of the engine, and its distances */
static uint32_t lwp_engine_wants(CPUX86State *env, uint64_t *insns,
                                 uint64_t *branches)
{
    X86LWP *lwp = env->lwp;
    struct lwp_engine *e = &lwp->engine;
    uint32_t flags = 0;

    if (x86_lwp_suspended(env)) {
        return 0;
    }
    if (lwp->lookup) {
        return X86_CNT_WANTS_STEP;
    }
    if (!lwp_engine_on(e)) {
        return 0;
    }
    if (lwp_boundary_wanted(e, 0, false) ||
        (lwp->entered && x86_lwp_outstanding(e))) {
        flags |= X86_CNT_WANTS_STEP;
    }

    lwp_distance(e, insns, branches);
    if (!lwp->stop_at && !icount_enabled()) {
        lwp_cursor_set(e, &lwp->cursor);
    }
    /* An event that is due counts on while its record waits. */
    if (x86_lwp_counts(e, LWP_KIND_BRE)) {
        flags |= X86_CNT_WANTS_COUNT;
        flags |= lwp_all_branches(e) ? X86_CNT_WANTS_BRANCHES :
                                       X86_CNT_WANTS_CLASSES;
    }
    if (x86_lwp_counts(e, LWP_KIND_DME)) {
        flags |= X86_CNT_WANTS_LOADS | X86_CNT_WANTS_COUNT;
        if (lwp->load_due) {
            flags |= X86_CNT_WANTS_STEP;
        }
    }
    if (x86_lwp_counts(e, LWP_KIND_IRE) ||
        x86_lwp_counts(e, LWP_KIND_CNH) ||
        x86_lwp_counts(e, LWP_KIND_RNH)) {
        flags |= X86_CNT_WANTS_COUNT;
    }
    if ((flags & X86_CNT_WANTS_COUNT) && lwp_ip_filtered(e)) {
        flags |= X86_CNT_WANTS_STEP;
    }
    return flags;
}

static uint32_t lwp_wants(CPUX86State *env, uint64_t *insns, uint64_t *branches)
{
    X86LWP *lwp = env->lwp;
    uint32_t flags;

    if (!lwp) {
        return 0;
    }
    if (lwp->live && !lwp_engine_on(&lwp->engine)) {
        x86_lwp_context_drop(env);
    }
    lwp->sees_loads = false;
    lwp->cursor.on = false;
    if ((env->hflags & HF_CPL_MASK) != 3 && env->x86_count.rings) {
        return 0;
    }
    flags = lwp_engine_wants(env, insns, branches);
    lwp->sees_loads = flags & X86_CNT_WANTS_LOADS;
    *insns = MIN(*insns, x86_lwp_to_stop(lwp));
    return flags;
}

/* The branches that the engine counts, by their classes. */
static uint32_t lwp_branches_of_classes(CPUX86State *env)
{
    uint32_t branches = 0;
    int i;

    for (i = LWP_BRANCH_CONDITIONAL; i <= LWP_BRANCH_ABSOLUTE; i++) {
        if (lwp_branch_counted(&env->lwp->engine, i)) {
            branches += env->x86_count.branches[i];
        }
    }
    return branches;
}

static void lwp_count_kind(struct lwp_engine *e, enum lwp_kind kind, int64_t n)
{
    if (n > 0 && x86_lwp_counts(e, kind)) {
        lwp_count(e, kind, n);
    }
}

/*
 * The engine's share: what ran at CPL 3 (43724-720, 43724-721).  While nobody
 * counts below CPL 3, and without -icount, only such code does, and the counts
 * may come from before an interrupt.
 */
static void lwp_fold(CPUX86State *env, int32_t insns, int32_t branches)
{
    X86CntState *c = &env->x86_count;
    struct lwp_engine *e;

    if (!env->lwp || (c->rings && ((env->hflags & HF_CPL_MASK) != 3 ||
                                    x86_lwp_suspended(env)))) {
        return;
    }
    e = &env->lwp->engine;
    if (x86_cnt_mode_has_classes(c->tb_flags >> HF_CNT_MODE_SHIFT)) {
        branches = lwp_branches_of_classes(env);
    }
    env->lwp->steps += insns;
    lwp_count_kind(e, LWP_KIND_IRE, insns);
    lwp_count_kind(e, LWP_KIND_CNH, insns);
    lwp_count_kind(e, LWP_KIND_RNH, (int64_t)insns * X86_CNT_REF_PER_CYC);
    lwp_count_kind(e, LWP_KIND_BRE, branches);
}

void x86_lwp_replaced(CPUX86State *env)
{
    /* Otherwise no hook of a retired instruction follows that would clear it. */
    env->lwp->replaced = (env->hflags & HF_CPL_MASK) == 3 &&
                         env->x86_count.tb_flags != 0;
}

/* Does the instruction count: at CPL 3, under the same block from its start? */
static bool lwp_has(CPUX86State *env, const X86CntInsn *insn)
{
    return env->lwp && (env->hflags & HF_CPL_MASK) == 3 &&
           !(insn->info & X86_CNT_KERNEL) && !env->lwp->replaced;
}

static struct lwp_retired lwp_retired_of(CPUX86State *env,
                                         const X86CntInsn *insn)
{
    return (struct lwp_retired) {
        .address = insn->address,
        .branch = insn->info & X86_CNT_BRANCH_CLASS,
        .taken = insn->info & X86_CNT_BRANCH_TAKEN,
        .target = x86_cnt_linear(env, env->eip),
        .cnh = 1,
        .rnh = X86_CNT_REF_PER_CYC,
    };
}

/*
 * Is something to be done before the next instruction?  With -icount nothing
 * comes that is not requested yet, and what the host wants must not show; and a
 * replay leaves the APIC unasked until the interrupt that was recorded.
 */
static bool lwp_interrupted(CPUX86State *env)
{
    CPUState *cs = env_cpu(env);

    if (icount_enabled()) {
        return cs->interrupt_request & ~CPU_INTERRUPT_POLL;
    }
    return cs->interrupt_request || x86_cnt_exit_requested(env);
}

/*
 * Is there a debugger, of the guest or of the host?  With -icount that of the
 * host must not show either, for what is done between two instructions takes
 * time.
 */
static bool lwp_debugged(CPUState *cs)
{
    CPUBreakpoint *breakpoint;
    CPUWatchpoint *watchpoint;
    int flags = icount_enabled() ? BP_CPU : BP_ANY;

    QTAILQ_FOREACH(breakpoint, &cs->breakpoints, entry) {
        if (breakpoint->flags & flags) {
            return true;
        }
    }
    QTAILQ_FOREACH(watchpoint, &cs->watchpoints, entry) {
        if (watchpoint->flags & flags) {
            return true;
        }
    }
    return cpu_single_stepping(cs) && !icount_enabled();
}

/*
 * May the record of the instruction that has just retired be stored at once?
 * Traps and interrupts come before it, so lwp_begin() stores it if there may be
 * any.
 */
static bool lwp_store_now(CPUX86State *env, const X86CntInsn *insn)
{
    CPUState *cs = env_cpu(env);

    return !(insn->info & X86_CNT_SHADOW) && !env->lwp->lookup &&
           !(env->eflags & TF_MASK) &&
           !((env->eflags & RF_MASK) && (insn->info & X86_CNT_FAR)) &&
           !(env->hflags & HF_IOBPT_MASK) && !lwp_interrupted(env) &&
           !lwp_debugged(cs);
}

/*
 * Store the record at once; what lwp_store_now() asks besides have the caller or
 * x86_cnt_update() seen: single steps are translated otherwise, and a breakpoint
 * on data asks to leave.  Steps before a stop are counted down, so they are not
 * traced.  Instructions that branches end are folded later.
 */
static uint32_t lwp_trace_it(CPUX86State *env, uint64_t address, uint64_t to,
                             uint32_t info, uint32_t insns)
{
    X86LWP *lwp = env->lwp;
    struct lwp_traced r = { .address = address };
    struct lwp_engine *e;
    uint8_t *block, *slot;
    uint32_t next;

    if (!lwp || !lwp->cursor.on) {
        return 0;
    }
    e = &lwp->engine;
    if (!insns) {
        r.target = to;
        r.branch = info & X86_CNT_BRANCH_CLASS;
        r.taken = info & X86_CNT_BRANCH_TAKEN;
    }
    block = x86_lwp_tlb_hit(env, e->st.cb_addr, e->caps.cb_size, true);
    slot = x86_lwp_tlb_hit(env, e->st.base + e->st.head, LWP_RECORD_SIZE, true);
    next = block && slot ?
           lwp_trace(e, &lwp->cursor, block, slot, &r, insns ?: 1) : 0;
    x86_lwp_hit_done(env);
    if (next) {
        lwp->entered = false;
        lwp->steps += insns;
    }
    return next;
}

static void lwp_retire_it(CPUX86State *env, const X86CntInsn *insn)
{
    X86LWP *lwp = env->lwp;
    struct lwp_retired r;

    if (!lwp) {
        return;
    }
    if (lwp_has(env, insn) && lwp_engine_on(&lwp->engine) &&
        !x86_lwp_suspended(env)) {
        r = lwp_retired_of(env, insn);
        x86_lwp_retire_loads(env, &r);
        lwp_retire(&lwp->engine, &r);
        x86_lwp_step(env);
    }
    x86_lwp_forget_loads(env);
}

/* What is due at the boundary before the next instruction.  May raise #PF. */
static void lwp_store(CPUX86State *env, uint64_t rip, bool entered,
                      uintptr_t ra)
{
    struct lwp_exc exc;

    env->lwp->entered = false;
    do {
        lwp_boundary(&env->lwp->engine, rip, entered, &exc);
        x86_cnt_update(env);
    } while (!x86_lwp_raise(env, &exc, ra));
}

/* Store the record of the instruction that has just retired. */
static bool lwp_retired(CPUX86State *env, const X86CntInsn *insn)
{
    uint64_t rip = x86_cnt_linear(env, env->eip);
    bool counts = lwp_has(env, insn);

    if (!env->lwp) {
        return false;
    }
    env->lwp->replaced = false;
    if (!counts || !env->lwp->engine.st.pending.event_id ||
        !lwp_store_now(env, insn) ||
        !lwp_boundary_wanted(&env->lwp->engine, rip, false)) {
        return false;
    }
    env->eflags &= ~RF_MASK; /* as the end of the TB does */
    lwp_store(env, rip, false, 0);
    return true;
}

/* The work of LWP between two instructions (43724-813, 2007-806). */
static void lwp_between(CPUX86State *env, uint64_t rip, uintptr_t ra)
{
    X86LWP *lwp = env->lwp;
    bool entered = lwp->entered;

    if (x86_lwp_suspended(env)) {
        return;
    }
    if (lwp->lookup) {
        x86_lwp_lookup(env, ra);
    }
    x86_cnt_fold(env);
    lwp->entered = false;
    if (lwp_boundary_wanted(&lwp->engine, rip, entered)) {
        lwp_store(env, rip, entered, ra);
        /* The store may have changed the code that runs next. */
        x86_cnt_leave(env, ra, true);
    }
}

static void lwp_begin(CPUX86State *env, uint64_t rip, uintptr_t ra)
{
    if (env->lwp && (env->hflags & HF_CPL_MASK) == 3) {
        /* The last instruction may have faulted after its loads. */
        env->lwp->notes = 0;
        lwp_between(env, rip, ra);
    }
}

/*
 * Only the fetch of a TB's first instruction comes here: all instructions
 * before it have retired, and EIP is that of the instruction (43724-819,
 * 2007-810).
 */
void x86_lwp_fetch_fault(CPUX86State *env)
{
    if ((env->hflags & HF_CPL_MASK) == 3 &&
        !(env->hflags & HF_INHIBIT_IRQ_MASK)) {
        lwp_between(env, x86_cnt_linear(env, env->eip), 0);
    }
}

static struct x86_cache *lwp_cache(CPUX86State *env, bool now)
{
    return env->lwp && (!now || x86_lwp_sees_loads(env)) ? env->lwp->cache :
                                                           NULL;
}

const X86CntUser x86_lwp_user = {
    .wants = lwp_wants,
    .fold = lwp_fold,
    .begin = lwp_begin,
    .trace = lwp_trace_it,
    .retire = lwp_retire_it,
    .retired = lwp_retired,
    .load = x86_lwp_load,
    .cache = lwp_cache,
};
