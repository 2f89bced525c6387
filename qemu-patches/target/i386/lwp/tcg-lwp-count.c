/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP under TCG: counting.  Translated code subtracts the instructions of a TB
 * from a budget (see translate-lwp.c.inc); what ends a budget comes here.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/exec-all.h"
#include "exec/helper-proto.h"
#include "accel/tcg/internal-common.h"
#include "lwp/tcg-lwp.h"

/*
 * If an event is due in the middle of a long TB, so many of its instructions
 * (or a multiple) are executed as a TB; the others are stepped.
 */
#define LWP_PART_OF_TB 16

QEMU_BUILD_BUG_ON(X86_LWP_BRANCH_CONDITIONAL != LWP_BRANCH_CONDITIONAL);
QEMU_BUILD_BUG_ON(X86_LWP_BRANCH_RELATIVE != LWP_BRANCH_RELATIVE);
QEMU_BUILD_BUG_ON(X86_LWP_BRANCH_CALL_RELATIVE != LWP_BRANCH_CALL_RELATIVE);
QEMU_BUILD_BUG_ON(X86_LWP_BRANCH_ABSOLUTE != LWP_BRANCH_ABSOLUTE);

/* lwp_budget(), with a quick answer for the kinds that no program uses. */
static uint64_t lwp_distance_of(const struct lwp_engine *e, enum lwp_kind kind)
{
    if (!(e->st.flags & LWP_BIT(e->rev->event_id[kind]))) {
        return LWP_BUDGET_NEVER;
    }
    return lwp_budget(e, kind);
}

void x86_lwp_distance(X86LWP *lwp, uint64_t *insns, uint64_t *branches)
{
    struct lwp_engine *e = &lwp->engine;
    uint64_t ire = lwp_distance_of(e, LWP_KIND_IRE);
    uint64_t cnh = lwp_distance_of(e, LWP_KIND_CNH);
    uint64_t rnh = lwp_distance_of(e, LWP_KIND_RNH);

    if (rnh != LWP_BUDGET_NEVER) {
        rnh = DIV_ROUND_UP(rnh, X86_LWP_RNH_PER_CNH);
    }
    *insns = MIN(MIN(ire, cnh), rnh);
    *branches = lwp_distance_of(e, LWP_KIND_BRE);
}

void x86_lwp_settle(CPUX86State *env)
{
    X86LWP *lwp = env->lwp;
    struct lwp_engine *e = &lwp->engine;
    uint32_t insns = lwp->settled - env->lwp_count.left;
    uint32_t branches = 0;
    int i;

    if (insns) {
        lwp->settled = env->lwp_count.left;
        lwp->steps += insns;
        lwp_count(e, LWP_KIND_IRE, insns);
        lwp_count(e, LWP_KIND_CNH, insns);
        lwp_count(e, LWP_KIND_RNH, (uint64_t)insns * X86_LWP_RNH_PER_CNH);
    }
    for (i = LWP_BRANCH_CONDITIONAL; i <= LWP_BRANCH_ABSOLUTE; i++) {
        if (env->lwp_count.branches[i] && lwp_branch_counted(e, i)) {
            branches += env->lwp_count.branches[i];
        }
        env->lwp_count.branches[i] = 0;
    }
    if (branches) {
        lwp_count(e, LWP_KIND_BRE, branches);
    }
}

void x86_lwp_replaced(CPUX86State *env)
{
    /* Only there helper_lwp_retire() follows. */
    env->lwp->replaced = (env->hflags & HF_CPL_MASK) == 3 &&
                         env->lwp_count.tb_flags != 0;
}

static void lwp_retire_one(CPUX86State *env, const struct lwp_retired *r)
{
    x86_lwp_settle(env);
    if (lwp_engine_on(&env->lwp->engine) && !x86_lwp_suspended(env)) {
        lwp_retire(&env->lwp->engine, r);
        x86_lwp_step(env);
    }
    x86_lwp_update(env);
}

void x86_lwp_retire_insn(CPUX86State *env, uint64_t address)
{
    struct lwp_retired r = {
        .address = address,
        .cnh = 1,
        .rnh = X86_LWP_RNH_PER_CNH,
    };

    if ((env->hflags & HF_CPL_MASK) == 3) {
        lwp_retire_one(env, &r);
    }
}

/*
 * At the end of an instruction that the TB has not counted: one that is
 * stepped, or one that can leave CPL 3.  EIP is already the next one's.
 */
void helper_lwp_retire(CPUX86State *env, uint32_t branch)
{
    X86LWP *lwp = env->lwp;
    struct lwp_retired r = {
        .address = env->lwp_count.insn,
        .branch = branch & X86_LWP_BRANCH_CLASS,
        .taken = branch & X86_LWP_BRANCH_TAKEN,
        .target = x86_lwp_linear(env, env->eip),
        .cnh = 1,
        .rnh = X86_LWP_RNH_PER_CNH,
    };

    if ((env->hflags & HF_CPL_MASK) == 3 && !lwp->replaced) {
        lwp_retire_one(env, &r);
    }
    lwp->replaced = false;
}

/*
 * At the start of a TB that has more instructions than there are left.  One of
 * them at most, the last, is a branch.
 */
void helper_lwp_budget(CPUX86State *env, uint32_t tb_insns)
{
    X86LWP *lwp = env->lwp;
    CPUState *cs = env_cpu(env);
    uint32_t cflags = curr_cflags(cs);
    uint64_t insns, branches, safe;

    x86_lwp_settle(env);
    if (tb_insns > x86_lwp_before_stop(lwp)) {
        x86_lwp_stop(env);
    }
    x86_lwp_distance(lwp, &insns, &branches);
    safe = MIN(insns - 1, branches == 1 ? tb_insns - 1 : tb_insns);
    if (safe < tb_insns) {
        safe = QEMU_ALIGN_DOWN(safe, LWP_PART_OF_TB);
        if (safe && safe <= CF_COUNT_MASK && !(cflags & CF_COUNT_MASK)) {
            cs->cflags_next_tb = cflags | safe;
        } else {
            safe = 0;
            lwp->near = MIN(insns, tb_insns);
        }
    }
    x86_lwp_update(env);
    if (safe) {
        lwp->exact = true;
        env->lwp_count.tb_flags &= ~HF_LWP_STEP_MASK;
        if (env->lwp_count.left < (int32_t)safe) {
            env->lwp_count.left = lwp->settled = safe;
        }
    }
}

/*
 * At the start of a TB of one instruction that is stepped, outside interrupt
 * shadows: all that LWP does between two instructions.
 */
void helper_lwp_boundary(CPUX86State *env)
{
    X86LWP *lwp = env->lwp;
    struct lwp_engine *e = &lwp->engine;
    uint64_t rip = x86_lwp_linear(env, env->eip);
    bool entered = lwp->entered;
    struct lwp_exc exc;

    env->lwp_count.insn = rip;
    if (lwp->lookup) {
        x86_lwp_lookup(env, GETPC());
    }
    x86_lwp_settle(env);
    lwp->entered = false;
    if (!x86_lwp_suspended(env) && lwp_boundary_wanted(e, rip, entered)) {
        do {
            lwp_boundary(e, rip, entered, &exc);
            x86_lwp_update(env);
        } while (!x86_lwp_raise(env, &exc, GETPC()));
        /* The store may have changed the code that comes now. */
        cpu_loop_exit_noexc(env_cpu(env));
    }
    x86_lwp_update(env);
    if (!(env->lwp_count.tb_flags & HF_LWP_STEP_MASK)) {
        cpu_loop_exit_noexc(env_cpu(env));
    }
}
