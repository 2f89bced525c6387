/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting under TCG.  Translated code subtracts the instructions of a TB from
 * a budget (translate-count.c.inc); when a TB exceeds the budget, it calls the
 * helpers in this file.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/exec-all.h"
#include "exec/helper-proto.h"
#include "accel/tcg/internal-common.h"
#ifdef X86_WITH_LWP
#include "lwp/tcg-lwp.h"
#endif
#include "pmu/x86-pmu.h"

#define NEVER UINT64_MAX

/*
 * If an event is due in the middle of a long TB, a multiple of this many
 * instructions is executed as a TB; the others are stepped.
 */
#define LWP_PART_OF_TB 16

#ifdef X86_WITH_LWP
QEMU_BUILD_BUG_ON(NEVER != LWP_BUDGET_NEVER);
QEMU_BUILD_BUG_ON(X86_LWP_BRANCH_CONDITIONAL != LWP_BRANCH_CONDITIONAL);
QEMU_BUILD_BUG_ON(X86_LWP_BRANCH_RELATIVE != LWP_BRANCH_RELATIVE);
QEMU_BUILD_BUG_ON(X86_LWP_BRANCH_CALL_RELATIVE != LWP_BRANCH_CALL_RELATIVE);
QEMU_BUILD_BUG_ON(X86_LWP_BRANCH_ABSOLUTE != LWP_BRANCH_ABSOLUTE);

/* The engine's share.  All of these instructions ran at CPL 3. */
static void lwp_fold(CPUX86State *env, uint32_t insns)
{
    struct lwp_engine *e = &env->lwp->engine;
    uint32_t branches = 0;
    int i;

    if (insns) {
        env->lwp->steps += insns;
        lwp_count(e, LWP_KIND_IRE, insns);
        lwp_count(e, LWP_KIND_CNH, insns);
        lwp_count(e, LWP_KIND_RNH, (uint64_t)insns * X86_LWP_RNH_PER_CNH);
    }
    for (i = LWP_BRANCH_CONDITIONAL; i <= LWP_BRANCH_ABSOLUTE; i++) {
        if (env->lwp_count.branches[i] && lwp_branch_counted(e, i)) {
            branches += env->lwp_count.branches[i];
        }
    }
    if (branches) {
        lwp_count(e, LWP_KIND_BRE, branches);
    }
}

/*
 * While performance counters count, the counts are folded whenever the mode
 * changes.  While they do not, only code of CPL 3 counts, and the counts that
 * LWP does not have yet may come from before an interrupt.
 */
#endif
void x86_lwp_fold(CPUX86State *env)
{
    X86LWPCount *c = &env->lwp_count;
    int32_t insns = c->folded - c->left;

    c->folded = c->left;
#ifdef X86_WITH_LWP
    if (env->lwp && (!c->pmu || ((env->hflags & HF_CPL_MASK) == 3 &&
                                 !x86_lwp_suspended(env)))) {
        lwp_fold(env, insns);
    }
#endif
    if (c->pmu) {
        x86_pmu_count(env, insns, c->branches);
    }
    memset(c->branches, 0, sizeof(c->branches));
}

/* The TB flags and distances that those who count need in this mode. */
static uint32_t count_wants(CPUX86State *env, uint64_t *insns,
                            uint64_t *branches)
{
#ifdef X86_WITH_LWP
    bool user = (env->hflags & HF_CPL_MASK) == 3;
#endif
    uint64_t pmu_insns, pmu_branches;
    uint32_t flags = 0;

    *insns = NEVER;
    *branches = NEVER;
#ifdef X86_WITH_LWP
    if (env->lwp && (user || !env->lwp_count.pmu)) {
        flags = x86_lwp_wants(env, insns, branches);
    }
#endif
    if (env->lwp_count.pmu) {
        flags |= x86_pmu_wants(env, &pmu_insns, &pmu_branches);
        *insns = MIN(*insns, pmu_insns);
        *branches = MIN(*branches, pmu_branches);
    }
    return flags;
}

void x86_lwp_update(CPUX86State *env)
{
    X86LWPCount *c = &env->lwp_count;
    uint64_t insns, branches;
    uint32_t flags;

    x86_lwp_fold(env);
#ifdef X86_WITH_LWP
    if (env->lwp && env->lwp->live && !lwp_engine_on(&env->lwp->engine)) {
        x86_lwp_context_drop(env);
    }
#endif
    c->folded = 0;
    c->exact = false;
    flags = count_wants(env, &insns, &branches);
    if (flags & HF_LWP_COUNT_MASK) {
        if (insns > c->near) {
            c->near = 1;
        }
        if (insns <= c->near || branches == 1) {
            flags |= HF_LWP_STEP_MASK;
        }
        c->folded = MIN(MIN(insns, branches) - 1, INT32_MAX);
#ifdef X86_WITH_LWP
        if (env->lwp) {
            c->folded = MIN(c->folded, x86_lwp_before_stop(env->lwp));
        }
#endif
    }
    c->left = c->folded;
    c->tb_flags = flags;
    c->kernel_flags = c->pmu ? flags : 0;
}

#ifdef X86_WITH_LWP
void x86_lwp_replaced(CPUX86State *env)
{
    /* Otherwise no helper_lwp_retire() follows that would clear it. */
    env->lwp_count.replaced = (env->hflags & HF_CPL_MASK) == 3 &&
                              env->lwp_count.tb_flags != 0;
}

static void lwp_retire_one(CPUX86State *env, const struct lwp_retired *r)
{
    if (lwp_engine_on(&env->lwp->engine) && !x86_lwp_suspended(env)) {
        lwp_retire(&env->lwp->engine, r);
        x86_lwp_step(env);
    }
}

void x86_lwp_retire_insn(CPUX86State *env, uint64_t address)
{
    struct lwp_retired r = {
        .address = address,
        .cnh = 1,
        .rnh = X86_LWP_RNH_PER_CNH,
    };

    x86_lwp_fold(env);
    if ((env->hflags & HF_CPL_MASK) == 3) {
        lwp_retire_one(env, &r);
    }
    if (env->lwp_count.pmu) {
        x86_pmu_retire(env, env->hflags & HF_CPL_MASK ? 0 : X86_LWP_CPL0);
    }
    x86_lwp_update(env);
}

#endif
/*
 * At the end of an instruction that its TB has not counted, because it is
 * stepped or can change the CPL.  EIP is that of the next instruction.
 */
void helper_lwp_retire(CPUX86State *env, uint32_t info)
{
#ifdef X86_WITH_LWP
    struct lwp_retired r = {
        .address = env->lwp_count.insn,
        .branch = info & X86_LWP_BRANCH_CLASS,
        .taken = info & X86_LWP_BRANCH_TAKEN,
        .target = x86_lwp_linear(env, env->eip),
        .cnh = 1,
        .rnh = X86_LWP_RNH_PER_CNH,
    };

#endif
    x86_lwp_fold(env);
#ifdef X86_WITH_LWP
    if (env->lwp && (env->hflags & HF_CPL_MASK) == 3 &&
        !(info & X86_LWP_KERNEL) && !env->lwp_count.replaced) {
        lwp_retire_one(env, &r);
    }
    env->lwp_count.replaced = false;
#endif
    if (env->lwp_count.pmu) {
        x86_pmu_retire(env, info);
    }
    x86_lwp_update(env);
}

/*
 * At the start of a TB that has more instructions than the budget.  Only the
 * last one may be a branch.
 */
void helper_lwp_budget(CPUX86State *env, uint32_t tb_insns)
{
    X86LWPCount *c = &env->lwp_count;
    CPUState *cs = env_cpu(env);
    uint32_t cflags = curr_cflags(cs);
    uint64_t insns, branches, safe;

    x86_lwp_fold(env);
#ifdef X86_WITH_LWP
    if (env->lwp && tb_insns > x86_lwp_before_stop(env->lwp)) {
        x86_lwp_stop(env);
    }
#endif
    count_wants(env, &insns, &branches);
    safe = MIN(insns - 1, branches == 1 ? tb_insns - 1 : tb_insns);
    if (safe < tb_insns) {
        safe = QEMU_ALIGN_DOWN(safe, LWP_PART_OF_TB);
        if (safe && safe <= CF_COUNT_MASK && !(cflags & CF_COUNT_MASK)) {
            cs->cflags_next_tb = cflags | safe;
        } else {
            safe = 0;
            c->near = MIN(insns, tb_insns);
        }
    }
    x86_lwp_update(env);
    if (safe) {
        c->exact = true;
        c->tb_flags &= ~HF_LWP_STEP_MASK;
        c->kernel_flags &= ~HF_LWP_STEP_MASK;
        if (c->left < (int32_t)safe) {
            c->left = c->folded = safe;
        }
    }
    if (unlikely(cs->singlestep_enabled)) {
        /* The end of the TB would be a step of the debugger. */
        cpu_loop_exit_noexc(cs);
    }
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
    x86_lwp_fold(env);
    lwp->entered = false;
    if (lwp_boundary_wanted(e, rip, entered)) {
        do {
            lwp_boundary(e, rip, entered, &exc);
            x86_lwp_update(env);
        } while (!x86_lwp_raise(env, &exc, ra));
        /* The store may have changed the code that runs next. */
        cpu_loop_exit_noexc(env_cpu(env));
    }
}

/*
 * Only the fetch of a TB's first instruction comes here: all instructions
 * before it have retired, and EIP is that of the instruction.
 */
void x86_lwp_fetch_fault(CPUX86State *env)
{
    if ((env->hflags & HF_CPL_MASK) == 3 &&
        !(env->hflags & HF_INHIBIT_IRQ_MASK)) {
        lwp_between(env, x86_lwp_linear(env, env->eip), 0);
    }
}

#endif
/*
 * At the start of a TB of one instruction that is stepped, outside interrupt
 * shadows.
 */
void helper_lwp_boundary(CPUX86State *env)
{
    bool user = (env->hflags & HF_CPL_MASK) == 3;
#ifdef X86_WITH_LWP
    uint64_t rip = x86_lwp_linear(env, env->eip);

    env->lwp_count.insn = rip;
    if (env->lwp && user) {
        lwp_between(env, rip, GETPC());
    }
#endif

    x86_lwp_update(env);
    if (!((user ? env->lwp_count.tb_flags : env->lwp_count.kernel_flags) &
          HF_LWP_STEP_MASK)) {
        cpu_loop_exit_noexc(env_cpu(env));
    }
}
