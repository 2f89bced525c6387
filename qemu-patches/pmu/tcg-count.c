/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting under TCG.  Translated code subtracts the cost of a TB from a budget
 * (translate-count.c.inc); when a TB exceeds the budget, it calls the helpers in
 * this file.  They choose the mode in which the due instruction is found
 * (X86CntMode).
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu/qemu-compat.h"
#include "exec/helper-proto.h"
#include "accel/tcg/internal-common.h"
#include "accel/tcg/tb-context.h"
#ifdef X86_WITH_LWP
#include "lwp/lwp_branch_trace.h"
#include "lwp/tcg-lwp.h"
#endif
#include "pmu/x86-pmu.h"
#include "tcg/tcg.h"

#define NEVER UINT64_MAX

/*
 * The greatest budgets.  A fault may give back what was folded before, so they
 * leave room for the cost of a TB.
 */
#define CNT_MAX_INSNS    (X86_CNT_LEFT_INSNS - TCG_MAX_INSNS)
#define CNT_MAX_BRANCHES (X86_CNT_LEFT_BRANCHES - 1)

QEMU_BUILD_BUG_ON(X86_CNT_LEFT_GUARDS !=
                  (X86_CNT_LEFT_INSNS + 1 +
                   ((X86_CNT_LEFT_BRANCHES + 1) << X86_CNT_LEFT_BRANCH_SHIFT)));
#ifdef X86_WITH_LWP
QEMU_BUILD_BUG_ON(NEVER != LWP_BUDGET_NEVER);
QEMU_BUILD_BUG_ON(X86_CNT_BRANCH_CONDITIONAL != LWP_BRANCH_CONDITIONAL);
QEMU_BUILD_BUG_ON(X86_CNT_BRANCH_RELATIVE != LWP_BRANCH_RELATIVE);
QEMU_BUILD_BUG_ON(X86_CNT_BRANCH_CALL_RELATIVE != LWP_BRANCH_CALL_RELATIVE);
QEMU_BUILD_BUG_ON(X86_CNT_BRANCH_ABSOLUTE != LWP_BRANCH_ABSOLUTE);
#endif

uint64_t x86_cnt_linear(CPUX86State *env, target_ulong eip)
{
    if (env->hflags & HF_CS64_MASK) {
        return eip;
    }
    return (uint32_t)(env->segs[R_CS].base + eip);
}

/* The mode of translated code in the ring that the CPU is in. */
static X86CntMode cnt_mode(CPUX86State *env)
{
    bool user = (env->hflags & HF_CPL_MASK) == 3;

    return (user ? env->x86_count.tb_flags : env->x86_count.kernel_flags) >>
           HF_CNT_MODE_SHIFT;
}

static void cnt_set_mode(X86CntState *c, X86CntMode mode)
{
    uint32_t flags = mode << HF_CNT_MODE_SHIFT;

    c->kernel_flags = c->pmu ? flags : 0;
#ifdef X86_WITH_LWP
    if (c->notes || c->model) {
        c->kernel_flags |= HF_LWP_LOAD_MASK;
    }
    if (c->notes || c->loads || c->model) {
        flags |= HF_LWP_LOAD_MASK;
    }
#endif
    c->tb_flags = flags;
}

#ifdef X86_WITH_LWP
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
 * The engine's share.  All of these instructions ran at CPL 3 (43724-720,
 * 43724-721).
 */
static void lwp_fold(CPUX86State *env, int32_t insns, int32_t branches)
{
    struct lwp_engine *e = &env->lwp->engine;

    if (env->x86_count.tb_flags >> HF_CNT_MODE_SHIFT == X86_CNT_MODE_CLASSES) {
        branches = lwp_branches_of_classes(env);
    }
    env->lwp->steps += insns;
    lwp_count_kind(e, LWP_KIND_IRE, insns);
    lwp_count_kind(e, LWP_KIND_CNH, insns);
    lwp_count_kind(e, LWP_KIND_RNH, (int64_t)insns * X86_CNT_REF_PER_CYC);
    lwp_count_kind(e, LWP_KIND_BRE, branches);
}
#endif

/*
 * While performance counters count, the counts are folded whenever the mode
 * changes.
 */
void x86_cnt_fold(CPUX86State *env)
{
    X86CntState *c = &env->x86_count;
    int32_t insns = (c->folded & X86_CNT_LEFT_INSNS) -
                    (c->left & X86_CNT_LEFT_INSNS);
    int32_t branches = (c->folded >> X86_CNT_LEFT_BRANCH_SHIFT) -
                       (c->left >> X86_CNT_LEFT_BRANCH_SHIFT);

    if (c->folded == c->left) {
        return;
    }
    c->folded = c->left;
#ifdef X86_WITH_LWP
    /*
     * While no performance counter counts, only code of CPL 3 does, and the
     * counts that LWP does not have yet may come from before an interrupt.
     */
    if (env->lwp && (!c->pmu || ((env->hflags & HF_CPL_MASK) == 3 &&
                                 !x86_lwp_suspended(env)))) {
        lwp_fold(env, insns, branches);
    }
#endif
    if (c->pmu) {
        x86_pmu_count(env, insns, branches, c->branches);
    }
    memset(c->branches, 0, sizeof(c->branches));
}

/* X86_CNT_WANTS_* and distances of all who count, in this ring (2007-715). */
static uint32_t count_wants(CPUX86State *env, uint64_t *insns,
                            uint64_t *branches)
{
#ifdef X86_WITH_LWP
    bool user = (env->hflags & HF_CPL_MASK) == 3;
#endif
    uint64_t pmu_insns, pmu_branches;
    uint32_t wants = 0;

    *insns = NEVER;
    *branches = NEVER;
#ifdef X86_WITH_LWP
    if (env->lwp && (user || !env->x86_count.pmu)) {
        wants = x86_lwp_wants(env, insns, branches);
    }
#endif
    if (env->x86_count.pmu) {
        wants |= x86_pmu_wants(env, &pmu_insns, &pmu_branches);
        *insns = MIN(*insns, pmu_insns);
        *branches = MIN(*branches, pmu_branches);
    }
    return wants;
}

/* The mode that does what is wanted, and gets past no due instruction. */
static X86CntMode cnt_choose_mode(uint32_t wants, uint64_t insns,
                                  uint64_t branches)
{
    if (wants & X86_CNT_WANTS_STEP) {
        return X86_CNT_MODE_STEP;
    }
    if (!(wants & X86_CNT_WANTS_COUNT)) {
        return X86_CNT_MODE_OFF;
    }
    if (insns == 1) {
        return X86_CNT_MODE_FIND;
    }
    if (branches == 1 || (wants & X86_CNT_WANTS_LAST)) {
        return X86_CNT_MODE_LAST;
    }
    return wants & X86_CNT_WANTS_CLASSES ? X86_CNT_MODE_CLASSES :
                                           X86_CNT_MODE_COUNT;
}

#ifdef X86_WITH_LWP
/*
 * May lwp_trace_branch() be tried?  What it does changes nothing that
 * x86_cnt_update() looks at, but counters count too, and steps before a stop
 * are counted down.
 */
static bool lwp_steady(CPUX86State *env)
{
    return env->lwp && cnt_mode(env) == X86_CNT_MODE_LAST &&
           !env->x86_count.pmu && !env->lwp->stop_at;
}
#endif

void x86_cnt_update(CPUX86State *env)
{
    X86CntState *c = &env->x86_count;
    uint64_t insns, branches;
    uint32_t wants;

    x86_cnt_fold(env);
#ifdef X86_WITH_LWP
    if (env->lwp && env->lwp->live && !lwp_engine_on(&env->lwp->engine)) {
        x86_lwp_context_drop(env);
    }
#endif
    wants = count_wants(env, &insns, &branches);
#ifdef X86_WITH_LWP
    c->loads = wants & X86_CNT_WANTS_LOADS;
    c->model = wants & X86_CNT_WANTS_MODEL;
#endif
    c->notes = wants & X86_CNT_WANTS_NOTES;
    cnt_set_mode(c, cnt_choose_mode(wants, insns, branches));
#ifdef X86_WITH_LWP
    c->steady = lwp_steady(env);
#endif
    insns = MIN(insns - 1, CNT_MAX_INSNS);
#ifdef X86_WITH_LWP
    if (env->lwp) {
        insns = MIN(insns, x86_lwp_before_stop(env->lwp));
    }
#endif
    branches = MIN(branches - 1, CNT_MAX_BRANCHES);
    c->left = insns | branches << X86_CNT_LEFT_BRANCH_SHIFT;
    c->folded = c->left;
}

#ifdef X86_WITH_LWP
void x86_lwp_replaced(CPUX86State *env)
{
    /* Otherwise no helper_cnt_retire() follows that would clear it. */
    env->x86_count.replaced = (env->hflags & HF_CPL_MASK) == 3 &&
                              env->x86_count.tb_flags != 0;
}

static void lwp_retire_one(CPUX86State *env, struct lwp_retired *r)
{
    if (lwp_engine_on(&env->lwp->engine) && !x86_lwp_suspended(env)) {
        x86_lwp_retire_loads(env, r);
        lwp_retire(&env->lwp->engine, r);
        x86_lwp_step(env);
    }
}

void x86_lwp_retire_insn(CPUX86State *env, uint64_t address)
{
    struct lwp_retired r = {
        .address = address,
        .cnh = 1,
        .rnh = X86_CNT_REF_PER_CYC,
    };

    x86_cnt_fold(env);
    if ((env->hflags & HF_CPL_MASK) == 3) {
        lwp_retire_one(env, &r);
    }
    if (env->x86_count.pmu) {
        x86_pmu_retire(env, env->hflags & HF_CPL_MASK ? 0 : X86_CNT_CPL0);
    }
    x86_cnt_update(env);
}
#endif

static bool cnt_exit_requested(CPUX86State *env)
{
    return (int32_t)qatomic_read(&env_cpu(env)->neg.icount_decr.u32) < 0;
}

#ifdef X86_WITH_LWP
/*
 * May the record of the instruction that has just retired be stored at once?
 * Traps and interrupts come before it, so helper_cnt_boundary() stores it if
 * there may be any.
 */
static bool lwp_store_now(CPUX86State *env)
{
    CPUState *cs = env_cpu(env);

    return !env->lwp->lookup && !(env->eflags & (TF_MASK | RF_MASK)) &&
           !(env->hflags & HF_IOBPT_MASK) && !cs->interrupt_request &&
           !cs->singlestep_enabled && !cnt_exit_requested(env) &&
           QTAILQ_EMPTY(&cs->breakpoints) && QTAILQ_EMPTY(&cs->watchpoints);
}

/* Store the record of the instruction that has just retired.  May raise #PF. */
static void lwp_store(CPUX86State *env, uint64_t rip)
{
    X86LWP *lwp = env->lwp;
    struct lwp_exc exc;

    lwp->entered = false;
    do {
        lwp_boundary(&lwp->engine, rip, false, &exc);
        x86_cnt_update(env);
    } while (!x86_lwp_raise(env, &exc, 0));
}
#endif

/*
 * At the end of an instruction that its TB has not counted.  EIP is that of
 * the next one.  A TB in mode FIND may continue if it still counts, nothing has
 * changed its code, and nothing asks to leave it (43724-507, 43724-701,
 * 43724-718, 2007-701).
 */
uint32_t helper_cnt_retire(CPUX86State *env, uint32_t info)
{
#ifdef X86_WITH_LWP
    uint32_t length = info >> X86_CNT_LENGTH_SHIFT;
    struct lwp_retired r = {
        .address = length ? x86_cnt_linear(env, env->eip - length) :
                            env->x86_count.insn,
        .branch = info & X86_CNT_BRANCH_CLASS,
        .taken = info & X86_CNT_BRANCH_TAKEN,
        .target = x86_cnt_linear(env, env->eip),
        .cnh = 1,
        .rnh = X86_CNT_REF_PER_CYC,
    };
    bool counted = env->lwp && (env->hflags & HF_CPL_MASK) == 3 &&
                   !(info & X86_CNT_KERNEL) && !env->x86_count.replaced;
#endif
    unsigned changes = qatomic_read(&tb_ctx.tb_phys_invalidate_count);
    X86CntMode mode;

#ifdef X86_WITH_LWP
    if (counted && env->x86_count.steady && r.branch &&
        !(info & X86_CNT_SHADOW) && lwp_store_now(env) &&
        lwp_trace_branch(&env->lwp->engine, &r)) {
        env->lwp->entered = false;
        env->lwp->steps++;
        return X86_CNT_SAME_FLAGS;
    }
#endif
    x86_cnt_fold(env);
#ifdef X86_WITH_LWP
    if (counted) {
        lwp_retire_one(env, &r);
    }
    if (env->lwp) {
        x86_lwp_forget_loads(env);
    }
    env->x86_count.replaced = false;
#endif
    if (env->x86_count.pmu) {
        x86_pmu_retire(env, info);
    }
#ifdef X86_WITH_LWP
    if (counted && env->lwp->engine.st.pending.event_id &&
        !(info & X86_CNT_SHADOW) && lwp_store_now(env) &&
        lwp_boundary_wanted(&env->lwp->engine, r.target, false)) {
        lwp_store(env, r.target);
    } else {
        x86_cnt_update(env);
    }
#else
    x86_cnt_update(env);
#endif
    mode = cnt_mode(env);
    if ((x86_cnt_mode_counts(mode) || mode == X86_CNT_MODE_FIND) &&
        changes == qatomic_read(&tb_ctx.tb_phys_invalidate_count) &&
        !cnt_exit_requested(env)) {
        return X86_CNT_GOES_ON;
    }
    return 0;
}

/*
 * At the start of a TB that has subtracted its cost from a smaller budget.
 * Returns whether it may be executed, with its cost subtracted from a new
 * budget.  Otherwise the mode is another one.
 */
uint32_t helper_cnt_budget(CPUX86State *env, uint32_t cost)
{
    X86CntState *c = &env->x86_count;
    CPUState *cs = env_cpu(env);
    X86CntMode old = cnt_mode(env);
    uint32_t insns = cost & X86_CNT_LEFT_INSNS;

    c->left += cost;
    x86_cnt_update(env);
    if (x86_cnt_mode_counts(cnt_mode(env)) &&
        (c->left & X86_CNT_LEFT_INSNS) < insns) {
        cnt_set_mode(c, X86_CNT_MODE_FIND);
    }
    if (cnt_mode(env) == old) {
        c->left -= cost;
        return true;
    }
    if (unlikely(cs->singlestep_enabled)) {
        /* The end of the TB would be a step of the debugger. */
        cpu_loop_exit_noexc(cs);
    }
    return false;
}

#ifdef X86_WITH_LWP
/*
 * At the start of a TB of one instruction that is stepped, outside interrupt
 * shadows: the work of LWP between two instructions.
 */
static void lwp_between(CPUX86State *env, uint64_t rip, uintptr_t ra)
{
    X86LWP *lwp = env->lwp;
    struct lwp_engine *e = &lwp->engine;
    bool entered = lwp->entered;
    struct lwp_exc exc;

    if (x86_lwp_suspended(env)) {
        return;
    }
    if (lwp->lookup) {
        x86_lwp_lookup(env, ra);
    }
    x86_cnt_fold(env);
    lwp->entered = false;
    if (lwp_boundary_wanted(e, rip, entered)) {
        do {
            lwp_boundary(e, rip, entered, &exc);
            x86_cnt_update(env);
        } while (!x86_lwp_raise(env, &exc, ra));
        /* The store may have changed the code that runs next. */
        cpu_loop_exit_noexc(env_cpu(env));
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
#endif

/*
 * At the start of a TB of one instruction that is stepped, outside interrupt
 * shadows (43724-813, 43724-819, 2007-806, 2007-810).
 */
void helper_cnt_boundary(CPUX86State *env)
{
    uint64_t rip = x86_cnt_linear(env, env->eip);
#ifdef X86_WITH_LWP
    bool user = (env->hflags & HF_CPL_MASK) == 3;
#endif

    env->x86_count.insn = rip;
    if (env->x86_count.notes) {
        x86_ibs_begin(env_archcpu(env)->tcg_pmu);
    }
#ifdef X86_WITH_LWP
    if (env->lwp && user) {
        /* The last instruction may have faulted after its loads. */
        env->lwp->notes = 0;
        lwp_between(env, rip, GETPC());
    }
#endif
    x86_cnt_update(env);
    if (cnt_mode(env) != X86_CNT_MODE_STEP) {
        cpu_loop_exit_noexc(env_cpu(env));
    }
}
