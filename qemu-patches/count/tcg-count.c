/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting under TCG.  Translated code subtracts the cost of a TB from a budget
 * (translate-count.c.inc); when a TB exceeds the budget, it calls the helpers in
 * this file.  They choose the mode in which the due instruction is found
 * (X86CntMode).
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "count/qemu-compat.h"
#include "exec/helper-proto.h"
#include "accel/tcg/internal-common.h"
#include "accel/tcg/tb-context.h"
#include "tcg/tcg.h"

#define NEVER UINT64_MAX
#define USERS_MAX 3

/*
 * The greatest budgets.  A fault may give back what was folded before, so they
 * leave room for the cost of a TB.
 */
#define CNT_MAX_INSNS    (X86_CNT_LEFT_INSNS - TCG_MAX_INSNS)
#define CNT_MAX_BRANCHES (X86_CNT_LEFT_BRANCHES - 1)

QEMU_BUILD_BUG_ON(X86_CNT_LEFT_GUARDS !=
                  (X86_CNT_LEFT_INSNS + 1 +
                   ((X86_CNT_LEFT_BRANCHES + 1) << X86_CNT_LEFT_BRANCH_SHIFT)));

const X86CntUser *x86_cnt_users[USERS_MAX + 1];

void x86_cnt_register(const X86CntUser *user)
{
    int i;

    for (i = 0; x86_cnt_users[i] && x86_cnt_users[i] != user; i++) {
        assert(i + 1 < USERS_MAX);
    }
    x86_cnt_users[i] = user;
}

uint64_t x86_cnt_linear(CPUX86State *env, target_ulong eip)
{
    if (env->hflags & HF_CS64_MASK) {
        return eip;
    }
    return (uint32_t)(env->segs[R_CS].base + eip);
}

X86CntMode x86_cnt_mode(CPUX86State *env)
{
    bool user = (env->hflags & HF_CPL_MASK) == 3;

    return (user ? env->x86_count.tb_flags : env->x86_count.kernel_flags) >>
           HF_CNT_MODE_SHIFT;
}

static void cnt_set_mode(X86CntState *c, X86CntMode mode)
{
    uint32_t flags = mode << HF_CNT_MODE_SHIFT;

    c->kernel_flags = c->kernel ? flags : 0;
    if (c->wants & (X86_CNT_WANTS_NOTES | X86_CNT_WANTS_ALL_LOADS)) {
        c->kernel_flags |= HF_CNT_LOAD_MASK;
        flags |= HF_CNT_LOAD_MASK;
    }
    if (c->wants & X86_CNT_WANTS_LOADS) {
        flags |= HF_CNT_LOAD_MASK;
    }
    c->tb_flags = flags;
}

/*
 * While someone counts below CPL 3, the counts are folded whenever the mode
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
    X86_CNT_FOR_EACH_USER(user, fold) {
        user->fold(env, insns, branches);
    }
    memset(c->branches, 0, sizeof(c->branches));
}

/* X86_CNT_WANTS_* and distances of all users, in this ring (2007-715). */
static uint32_t count_wants(CPUX86State *env, uint64_t *insns,
                            uint64_t *branches)
{
    uint32_t wants = 0;

    *insns = NEVER;
    *branches = NEVER;
    X86_CNT_FOR_EACH_USER(user, wants) {
        uint64_t its_insns = NEVER, its_branches = NEVER;

        wants |= user->wants(env, &its_insns, &its_branches);
        *insns = MIN(*insns, its_insns);
        *branches = MIN(*branches, its_branches);
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

void x86_cnt_update(CPUX86State *env)
{
    X86CntState *c = &env->x86_count;
    uint64_t insns, branches;

    x86_cnt_fold(env);
    c->wants = count_wants(env, &insns, &branches);
    cnt_set_mode(c, cnt_choose_mode(c->wants, insns, branches));
    insns = MIN(insns - 1, CNT_MAX_INSNS);
    branches = MIN(branches - 1, CNT_MAX_BRANCHES);
    c->left = insns | branches << X86_CNT_LEFT_BRANCH_SHIFT;
    c->folded = c->left;
}

bool x86_cnt_exit_requested(CPUX86State *env)
{
    return (int32_t)qatomic_read(&env_cpu(env)->neg.icount_decr.u32) < 0;
}

void x86_cnt_retire(CPUX86State *env, uint64_t address)
{
    uint32_t cpl = env->hflags & HF_CPL_MASK;
    X86CntInsn insn = {
        .address = address,
        .info = (cpl == 3 ? 0 : X86_CNT_KERNEL) | (cpl ? 0 : X86_CNT_CPL0),
    };

    x86_cnt_fold(env);
    X86_CNT_FOR_EACH_USER(user, retire) {
        user->retire(env, &insn);
    }
    x86_cnt_update(env);
}

/*
 * At the end of an instruction that its TB has not counted.  EIP is that of
 * the next one.  A TB in mode FIND may continue if it still counts, nothing has
 * changed its code, and nothing asks to leave it (43724-507, 43724-701,
 * 43724-718, 2007-701).
 */
uint32_t helper_cnt_retire(CPUX86State *env, uint32_t info)
{
    uint32_t length = info >> X86_CNT_LENGTH_SHIFT;
    X86CntInsn insn = {
        .address = length ? x86_cnt_linear(env, env->eip - length) :
                            env->x86_count.insn,
        .info = info,
    };
    unsigned changes = qatomic_read(&tb_ctx.tb_phys_invalidate_count);
    X86CntMode mode = x86_cnt_mode(env);
    bool updated = false;

    if (mode == X86_CNT_MODE_LAST && !env->x86_count.kernel &&
        (info & X86_CNT_BRANCH_CLASS)) {
        X86_CNT_FOR_EACH_USER(user, trace) {
            if (user->trace(env, &insn)) {
                return X86_CNT_SAME_FLAGS;
            }
        }
    }
    x86_cnt_fold(env);
    X86_CNT_FOR_EACH_USER(user, retire) {
        user->retire(env, &insn);
    }
    X86_CNT_FOR_EACH_USER(user, retired) {
        updated |= user->retired(env, &insn);
    }
    if (!updated) {
        x86_cnt_update(env);
    }
    mode = x86_cnt_mode(env);
    if ((x86_cnt_mode_counts(mode) || mode == X86_CNT_MODE_FIND) &&
        changes == qatomic_read(&tb_ctx.tb_phys_invalidate_count) &&
        !x86_cnt_exit_requested(env)) {
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
    X86CntMode old = x86_cnt_mode(env);
    uint32_t insns = cost & X86_CNT_LEFT_INSNS;

    c->left += cost;
    x86_cnt_update(env);
    if (x86_cnt_mode_counts(x86_cnt_mode(env)) &&
        (c->left & X86_CNT_LEFT_INSNS) < insns) {
        cnt_set_mode(c, X86_CNT_MODE_FIND);
    }
    if (x86_cnt_mode(env) == old) {
        c->left -= cost;
        return true;
    }
    if (unlikely(cs->singlestep_enabled)) {
        /* The end of the TB would be a step of the debugger. */
        cpu_loop_exit_noexc(cs);
    }
    return false;
}

void x86_cnt_leave(CPUX86State *env, uintptr_t ra, bool worked)
{
    CPUState *cs = env_cpu(env);

    if (icount_enabled()) {
        cpu_restore_state(cs, ra);
        /* A replay gets to an interrupt only by an instruction before it. */
        cs->neg.icount_decr.u16.low -= worked && ra;
    }
    cpu_loop_exit_noexc(cs);
}

/*
 * At the start of a TB of one instruction that is stepped, outside interrupt
 * shadows (43724-813, 43724-819, 2007-806, 2007-810).
 */
void helper_cnt_boundary(CPUX86State *env)
{
    uint64_t rip = x86_cnt_linear(env, env->eip);

    env->x86_count.insn = rip;
    X86_CNT_FOR_EACH_USER(user, begin) {
        user->begin(env, rip, GETPC());
    }
    x86_cnt_update(env);
    if (x86_cnt_mode(env) != X86_CNT_MODE_STEP) {
        x86_cnt_leave(env, GETPC(), false);
    }
}
