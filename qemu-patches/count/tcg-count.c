/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting under TCG.  Translated code subtracts the instructions of a TB from a
 * budget (translate-count.c.inc); when a TB exceeds the budget, it calls the
 * helpers in this file.  They choose the mode in which the due instruction is
 * found (X86CntMode).
 *
 * The budget is that of icount, whose word it is: with -icount as many of its
 * instructions as may retire before a helper has to be called are in the word,
 * the rest is in icount_extra.
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
 * leave room for a TB.
 */
#define CNT_MAX_INSNS    (X86_CNT_MAX_INSNS - TCG_MAX_INSNS)
#define CNT_MAX_BRANCHES (INT32_MAX - 1)

QEMU_BUILD_BUG_ON(TCG_MAX_INSNS >= 1 << X86_CNT_BACK_INSNS);

const X86CntUser *x86_cnt_users[USERS_MAX + 1];
/* That of the one who has it */
static uint32_t (*cnt_trace)(CPUX86State *env, uint64_t address, uint64_t to,
                             uint32_t info, uint32_t insns);

void x86_cnt_register(const X86CntUser *user)
{
    int i;

    for (i = 0; x86_cnt_users[i] && x86_cnt_users[i] != user; i++) {
        assert(i + 1 < USERS_MAX);
    }
    x86_cnt_users[i] = user;
    cnt_trace = user->trace ?: cnt_trace;
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

    c->kernel_flags = c->rings ? flags : 0;
    if (c->wants & (X86_CNT_WANTS_NOTES | X86_CNT_WANTS_ALL_LOADS)) {
        c->kernel_flags |= HF_CNT_LOAD_MASK;
        flags |= HF_CNT_LOAD_MASK;
    }
    if (c->wants & X86_CNT_WANTS_LOADS) {
        flags |= HF_CNT_LOAD_MASK;
    }
    c->tb_flags = flags;
}

static uint16_t *cnt_left(CPUX86State *env)
{
    return &env_cpu(env)->neg.icount_decr.u16.low;
}

/*
 * While someone counts below CPL 3, and with -icount, the counts are folded
 * whenever the mode changes: then what has run in mode OFF does not count.
 */
void x86_cnt_fold(CPUX86State *env)
{
    X86CntState *c = &env->x86_count;
    int32_t insns = c->folded - *cnt_left(env);
    int32_t branches = c->branches_folded - c->branches_left;

    if (!insns && !branches) {
        return;
    }
    c->folded = *cnt_left(env);
    c->branches_folded = c->branches_left;
    if (c->rings && x86_cnt_mode(env) == X86_CNT_MODE_OFF) {
        return;
    }
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

/*
 * The mode that does what is wanted, and gets past no due instruction in a TB
 * of so many.
 */
static X86CntMode cnt_choose_mode(uint32_t wants, uint64_t insns,
                                  uint64_t branches, uint32_t tb_insns)
{
    if (wants & X86_CNT_WANTS_STEP) {
        return X86_CNT_MODE_STEP;
    }
    if (!(wants & X86_CNT_WANTS_COUNT)) {
        return X86_CNT_MODE_OFF;
    }
    if (insns <= MAX(tb_insns, 1)) {
        return X86_CNT_MODE_FIND;
    }
    if (branches == 1 || (wants & X86_CNT_WANTS_LAST)) {
        return X86_CNT_MODE_LAST;
    }
    if (wants & X86_CNT_WANTS_TRACE) {
        return X86_CNT_MODE_TRACE;
    }
    if (wants & X86_CNT_WANTS_CLASSES) {
        return X86_CNT_MODE_CLASSES;
    }
    return wants & X86_CNT_WANTS_BRANCHES ? X86_CNT_MODE_BRANCHES :
                                            X86_CNT_MODE_COUNT;
}

/*
 * So many instructions may retire before a helper is called; with -icount, no
 * more than that allows.  A TB that does not subtract from the budget as a whole
 * calls a helper at each instruction then.
 */
static void cnt_set_left(CPUX86State *env, uint64_t insns)
{
    CPUState *cs = env_cpu(env);
    uint16_t *left = cnt_left(env);
    int64_t all;

    if (icount_enabled()) {
        all = *left + cs->icount_extra;
        if (!x86_cnt_mode_counts(x86_cnt_mode(env))) {
            insns = CNT_MAX_INSNS;
        }
        *left = MIN(insns, all);
        cs->icount_extra = all - *left;
    } else {
        *left = insns;
    }
    env->x86_count.folded = *left;
    env->x86_count.exact =
        insns < CNT_MAX_INSNS && !icount_enabled() ? (int32_t)insns : -1;
}

static void cnt_set_branches_left(X86CntState *c, uint64_t branches)
{
    c->branches_left = MIN(branches, CNT_MAX_BRANCHES);
    c->branches_folded = c->branches_left;
}

static void cnt_update(CPUX86State *env, uint32_t tb_insns)
{
    X86CntState *c = &env->x86_count;
    uint64_t insns, branches;

    x86_cnt_fold(env);
    c->rings = c->kernel || icount_enabled();
    c->wants = count_wants(env, &insns, &branches);
    cnt_set_mode(c, cnt_choose_mode(c->wants, insns, branches, tb_insns));
    cnt_set_left(env, MIN(insns - 1, CNT_MAX_INSNS));
    cnt_set_branches_left(c, branches - 1);
}

void x86_cnt_update(CPUX86State *env)
{
    cnt_update(env, 0);
}

void x86_cnt_forget(CPUX86State *env)
{
    env->x86_count.folded = *cnt_left(env);
    env->x86_count.branches_folded = env->x86_count.branches_left;
}

void x86_cnt_icount_refilled(CPUX86State *env)
{
    x86_cnt_forget(env);
    x86_cnt_update(env);
}

void x86_cnt_exec_enter(CPUX86State *env)
{
    if (icount_enabled()) {
        x86_cnt_icount_refilled(env);
    }
}

/* icount takes the budget back. */
void x86_cnt_exec_exit(CPUX86State *env)
{
    if (icount_enabled()) {
        x86_cnt_fold(env);
        env_cpu(env)->icount_extra += *cnt_left(env);
        *cnt_left(env) = 0;
        x86_cnt_forget(env);
    }
}

void x86_cnt_give_back(CPUX86State *env, const TranslationBlock *tb,
                       uint32_t data)
{
    X86CntState *c = &env->x86_count;

    if (!(tb_cflags(tb) & CF_USE_ICOUNT)) {
        *cnt_left(env) += extract32(data, X86_CNT_BACK_SHIFT,
                                    X86_CNT_BACK_INSNS);
    }
    c->branches_left += !!(data & X86_CNT_BACK_BRANCH);
    if (data & X86_CNT_BACK_APART) {
        c->folded++;
        /* Its helper may have set budgets, which are exact without it. */
        x86_cnt_update(env);
    }
}

void x86_cnt_leave_mode(CPUX86State *env)
{
    x86_cnt_fold(env);
    X86_CNT_FOR_EACH_USER(user, leave) {
        user->leave(env);
    }
}

void x86_cnt_enter_mode(CPUX86State *env, bool ring)
{
    X86_CNT_FOR_EACH_USER(user, enter) {
        user->enter(env, ring);
    }
    x86_cnt_update(env);
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

/* A branch in mode LAST gets to a linear address: has it retired? */
uint32_t helper_cnt_trace(CPUX86State *env, uint64_t to, uint32_t info)
{
    X86CntState *c = &env->x86_count;
    uint32_t next;

    if (c->rings || !cnt_trace) {
        return 0;
    }
    next = cnt_trace(env, c->insn, to, info, 0);
    if (next <= 1) {
        return next ? X86_CNT_SAME_FLAGS : 0;
    }
    cnt_set_branches_left(c, next - 1);
    cnt_set_mode(c, cnt_choose_mode(c->wants, NEVER, next, 0));
    return X86_CNT_TRACED;
}

/*
 * Before a TB of so many instructions: is one of them due?  Not known if
 * iterations of a REP have taken of the budget, too.  Classes are folded in
 * their mode.
 */
static bool cnt_finds(CPUX86State *env, uint32_t insns)
{
    X86CntState *c = &env->x86_count;

    if (c->exact != c->folded || *cnt_left(env) >= insns ||
        x86_cnt_mode_has_classes(x86_cnt_mode(env))) {
        return false;
    }
    cnt_set_mode(c, X86_CNT_MODE_FIND);
    return true;
}

/*
 * In mode FIND, where only instructions count: has the instruction retired?  Not
 * if it may have changed what is wanted.
 */
static bool cnt_found(CPUX86State *env, uint64_t address, uint32_t info)
{
    X86CntState *c = &env->x86_count;
    uint32_t next;

    if (c->rings || c->wants != X86_CNT_WANTS_COUNT || !cnt_trace ||
        (info & (X86_CNT_KERNEL | X86_CNT_SHADOW)) ||
        !(info & (X86_CNT_MIDDLE | X86_CNT_BRANCH_CLASS))) {
        return false;
    }
    if (*cnt_left(env)) {
        --*cnt_left(env);
        return true;
    }
    if (x86_cnt_exit_requested(env)) {
        return false; /* its own interrupt comes before its record */
    }
    next = cnt_trace(env, address, 0, info, c->folded + 1);
    if (next) {
        cnt_set_left(env, MIN(next - 1, CNT_MAX_INSNS));
        cnt_set_mode(c, cnt_choose_mode(c->wants, next, NEVER, 0));
    }
    return next;
}

static void cnt_retire_all(CPUX86State *env, const X86CntInsn *insn)
{
    bool updated = false;

    env->x86_count.folded -= !!(insn->info & X86_CNT_SUBTRACTED);
    x86_cnt_fold(env);
    X86_CNT_FOR_EACH_USER(user, retire) {
        user->retire(env, insn);
    }
    X86_CNT_FOR_EACH_USER(user, retired) {
        updated |= user->retired(env, insn);
    }
    if (!updated) {
        x86_cnt_update(env);
    }
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
    X86CntMode mode;

    if (x86_cnt_mode(env) != X86_CNT_MODE_FIND ||
        !cnt_found(env, insn.address, info)) {
        cnt_retire_all(env, &insn);
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
 * At the start of a TB of so many instructions, and so many branches, for which
 * a budget is too small.  Returns X86_CNT_BUDGET_*; if the TB may begin, it has
 * been subtracted from new budgets.
 */
uint32_t helper_cnt_budget(CPUX86State *env, uint32_t insns, uint32_t branches)
{
    CPUState *cs = env_cpu(env);
    X86CntMode old = x86_cnt_mode(env);

    if (!cnt_finds(env, insns)) {
        cnt_update(env, insns);
    }
    if (x86_cnt_mode(env) == old) {
        if (*cnt_left(env) < insns) {
            return X86_CNT_BUDGET_EXPIRED;
        }
        *cnt_left(env) -= insns;
        env->x86_count.branches_left -= branches;
        return X86_CNT_BUDGET_GOES_ON;
    }
    if (unlikely(cpu_single_stepping(cs))) {
        /* The end of the TB would be a step of the debugger. */
        cpu_loop_exit_noexc(cs);
    }
    return X86_CNT_BUDGET_LEAVE;
}

void x86_cnt_leave(CPUX86State *env, uintptr_t ra, bool worked)
{
    CPUState *cs = env_cpu(env);

    if (icount_enabled()) {
        cpu_restore_state(cs, ra);
        /* A replay gets to an interrupt only by an instruction before it. */
        *cnt_left(env) -= worked && ra;
        env->x86_count.folded -= worked && ra;
        /* What the instruction has given back may be beyond the budget. */
        x86_cnt_update(env);
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
