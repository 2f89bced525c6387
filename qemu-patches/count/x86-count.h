/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting under TCG, of retired instructions and branches: what generated code
 * and its helpers share.
 */
#ifndef X86_COUNT_H
#define X86_COUNT_H

/* How translated code counts: HF_CNT_MODE_MASK of the TB flags. */
typedef enum X86CntMode {
    X86_CNT_MODE_OFF,
    X86_CNT_MODE_COUNT,   /* a TB subtracts its instructions from the budget */
    X86_CNT_MODE_BRANCHES, /* and its branch from that of branches */
    X86_CNT_MODE_CLASSES, /* the same, and counts branches by class */
    X86_CNT_MODE_TRACE,   /* the same, and writes down where it branches */
    X86_CNT_MODE_LAST,    /* as COUNT; a helper retires the branch */
    X86_CNT_MODE_FIND,    /* instructions count one by one up to the due one */
    X86_CNT_MODE_STEP,    /* a helper before and after each instruction */
} X86CntMode;

static inline bool x86_cnt_mode_counts(X86CntMode mode)
{
    return mode >= X86_CNT_MODE_COUNT && mode <= X86_CNT_MODE_LAST;
}

static inline bool x86_cnt_mode_has_classes(X86CntMode mode)
{
    return mode == X86_CNT_MODE_CLASSES || mode == X86_CNT_MODE_TRACE;
}

/* The most instructions that the budget has: icount_decr.u16.low. */
#define X86_CNT_MAX_INSNS 0xffff

/*
 * Where insn_start has, beside CC_OP, what a fault gives back: instructions
 * that have not retired, whether the TB has subtracted a branch, and whether
 * its last instruction is apart.
 */
#define X86_CNT_BACK_SHIFT  8
#define X86_CNT_BACK_INSNS  10 /* bits */
#define X86_CNT_BACK_BRANCH (1u << 18)
#define X86_CNT_BACK_APART  (1u << 19)

/*
 * How many instructions may retire before a helper has to be called is in
 * icount_decr.u16.low.  First the fields that generated code uses, then those
 * that only tcg-count.c uses.
 */
typedef struct X86CntState {
    int32_t branches_left;  /* branches that may, too */
    /* The budget at the last fold, less those who are not to be counted */
    int32_t folded;
    uint32_t tb_flags;      /* the mode, part of the TB key at CPL 3 */
    uint32_t kernel_flags;  /* the same below CPL 3 */
    /* Since the last fold, by X86_CNT_BRANCH_*; [0]: conditional and taken. */
    uint32_t branches[5];
    uint64_t insn;          /* linear address of the instruction to retire */
    struct X86LBR *lbr;     /* in mode TRACE: the stack of taken branches */

    int32_t branches_folded;
    uint32_t wants;         /* X86_CNT_WANTS_* of all who count */
    bool kernel;            /* someone counts below CPL 3, too */
    bool rings;             /* the counts are folded where the ring changes */
    /* -1, or that of folded for which the instruction after the budget is due */
    int32_t exact;
} X86CntState;

/* Loads: what generated code looks at before it calls helper_cnt_load(). */
typedef struct X86CntLoads {
    uint32_t sets;          /* entries of recent[] that are used, or 0 */
    uint64_t recent[64];    /* by set of L1D: the line used last */
} X86CntLoads;

/*
 * Argument of helper_cnt_retire(): the class of the branch, whether the
 * branch was taken, whether the instruction began below CPL 3, whether it is a
 * far transfer, whether it began at CPL 0, whether it begins or ends in an
 * interrupt shadow, whether a branch by address is a call or a return, whether
 * its TB has subtracted it, though it is not to be folded, whether the TB has an
 * instruction behind it, and the length of the instruction if its address was not
 * saved, which that of a branch is.  Other helpers that retire an instruction get
 * the same, and X86_CNT_RETIRES if they have to.
 */
#define X86_CNT_BRANCH_CLASS 7
#define X86_CNT_BRANCH_TAKEN 8
#define X86_CNT_KERNEL       16
#define X86_CNT_FAR          32
#define X86_CNT_CPL0         64
#define X86_CNT_RETIRES      128
#define X86_CNT_SHADOW       256
#define X86_CNT_CALL         512
#define X86_CNT_RET          1024
#define X86_CNT_SUBTRACTED   2048
#define X86_CNT_MIDDLE       4096
#define X86_CNT_LENGTH_SHIFT 13

/* Result of helper_cnt_budget(). */
#define X86_CNT_BUDGET_LEAVE   0 /* the mode is another one */
#define X86_CNT_BUDGET_GOES_ON 1 /* the TB may begin */
#define X86_CNT_BUDGET_EXPIRED 2 /* that of -icount is used up */

/* Result of helper_cnt_retire(): */
#define X86_CNT_GOES_ON 1 /* a TB in mode FIND may continue */
/* Result of helper_cnt_trace(): the branch has retired; */
#define X86_CNT_TRACED     1
#define X86_CNT_SAME_FLAGS 2 /* and the flags of the next TB are those of this one */

/* What those who count want of translated code. */
#define X86_CNT_WANTS_COUNT     1 /* instructions are counted */
#define X86_CNT_WANTS_BRANCHES  2 /* and branches */
#define X86_CNT_WANTS_CLASSES   4 /* branches are counted by class */
#define X86_CNT_WANTS_STEP      8 /* there is work before each instruction */
#define X86_CNT_WANTS_LAST      16 /* a helper retires each branch */
#define X86_CNT_WANTS_NOTES     32 /* loads and stores of a step are noted */
#define X86_CNT_WANTS_LOADS     64 /* loads at CPL 3 are looked at */
#define X86_CNT_WANTS_ALL_LOADS 128 /* loads in every mode are */
#define X86_CNT_WANTS_TRACE     256 /* taken branches are written down */

/* Last argument of helper_cnt_load(): bytes, must the address be aligned? */
#define X86_CNT_LOAD_SIZE     0xff
#define X86_CNT_LOAD_ALIGNED  0x100
#define X86_CNT_LOAD_STEPPED  0x200
#define X86_CNT_LOAD_REPEATED 0x400 /* stepped, and with REP */
#define X86_CNT_LOAD_STORE    0x800 /* it is a store */
#define X86_CNT_LOAD_LOCKED   0x1000 /* and a store, with LOCK */

/* [0] of X86CntState.branches */
#define X86_CNT_BRANCH_TAKEN_CONDITIONAL 0

/* The classes; 0: no branch */
#define X86_CNT_BRANCH_CONDITIONAL   1
#define X86_CNT_BRANCH_RELATIVE      2
#define X86_CNT_BRANCH_CALL_RELATIVE 3
#define X86_CNT_BRANCH_ABSOLUTE      4

/*
 * One instruction is one cycle; the reference clock is a multiple of it
 * (43724-721).
 */
#define X86_CNT_REF_PER_CYC 2

struct x86_cache;

/* An instruction that its TB has not counted. */
typedef struct X86CntInsn {
    uint64_t address;       /* linear */
    uint32_t info;          /* that of helper_cnt_retire() */
} X86CntInsn;

/*
 * One who counts.  A hook that is not needed is NULL.  Each is called on every
 * CPU, whether it has what the user counts for or not.
 */
typedef struct X86CntUser {
    /*
     * X86_CNT_WANTS_* in the mode that the CPU is in.  *insns and *branches are
     * UINT64_MAX: in how many of them, at least 1, has a helper to be called?
     */
    uint32_t (*wants)(CPUArchState *env, uint64_t *insns, uint64_t *branches);
    /*
     * So many have retired since the last call, as X86CntState.branches has
     * them by class if someone wants the classes.  Negative: too many were
     * counted.
     */
    void (*fold)(CPUArchState *env, int32_t insns, int32_t branches);
    /*
     * The CPU leaves a mode (CPL 3 or not, SVM guest or host), and is in
     * another one; @ring: it has got to CPL 3, or from it.
     */
    void (*leave)(CPUArchState *env);
    void (*enter)(CPUArchState *env, bool ring);
    /* Before an instruction that is stepped.  May leave the TB. */
    void (*begin)(CPUArchState *env, uint64_t rip, uintptr_t ra);
    /*
     * An instruction at CPL 3 is due, and nobody else has to be asked of it: the
     * last of @insns since the last fold; or, if that is 0, each branch, this one
     * to the linear address @to.  Returns 0, or it has retired, nothing is wanted
     * that was not, and the next event is due after so many instructions, which
     * have been counted then, or branches.  Nothing may leave the TB.
     */
    uint32_t (*trace)(CPUArchState *env, uint64_t address, uint64_t to,
                      uint32_t info, uint32_t insns);
    /* The instruction retires; EIP is that of the next one. */
    void (*retire)(CPUArchState *env, const X86CntInsn *insn);
    /*
     * It has retired for all users.  True: x86_cnt_update() was called after
     * that.  May raise an exception.
     */
    bool (*retired)(CPUArchState *env, const X86CntInsn *insn);
    /* The instruction that is noted loads or stores. */
    void (*note)(CPUArchState *env, uint64_t address, uint32_t info);
    /* The program is going to load; no more than a line if it is not stepped. */
    void (*load)(CPUArchState *env, uint64_t address, uint32_t size,
                 uint32_t info, uintptr_t ra);
    /* The user's model of the caches, or NULL; @now: if it sees loads now */
    struct x86_cache *(*cache)(CPUArchState *env, bool now);
} X86CntUser;

/* The same user again changes nothing. */
void x86_cnt_register(const X86CntUser *user);
/* All users, NULL at the end; all that have a hook */
extern const X86CntUser *x86_cnt_users[];
#define X86_CNT_FOR_EACH_USER(user, hook)                               \
    for (const X86CntUser **at = x86_cnt_users, *user; (user = *at); at++) \
        if (user->hook)

/* The mode of translated code in the ring that the CPU is in. */
X86CntMode x86_cnt_mode(CPUArchState *env);

/*
 * Linear address of an offset in the running code segment (43724-503,
 * 2007-503).
 */
uint64_t x86_cnt_linear(CPUArchState *env, target_ulong eip);

/*
 * Give those who count the counts of what has retired since the last call, in
 * the mode that the CPU is in.
 */
void x86_cnt_fold(CPUArchState *env);
/*
 * To be called last by code that may have changed what they want: folds, then
 * derives the TB flags and the budget.
 */
void x86_cnt_update(CPUArchState *env);
/*
 * What the budgets have lost since the last fold is not counted.  To be followed
 * by x86_cnt_update().
 */
void x86_cnt_forget(CPUArchState *env);
/* Before the first TB and after the last; and when icount has given more. */
void x86_cnt_exec_enter(CPUArchState *env);
void x86_cnt_exec_exit(CPUArchState *env);
void x86_cnt_icount_refilled(CPUArchState *env);
/* A fault in an instruction of the TB; @data: that of its insn_start */
void x86_cnt_give_back(CPUArchState *env, const TranslationBlock *tb,
                       uint32_t data);
/*
 * Before and after a change of the mode, if X86CntState.rings; x86_cnt_fold()
 * and x86_cnt_update() are part of it.
 */
void x86_cnt_leave_mode(CPUArchState *env);
void x86_cnt_enter_mode(CPUArchState *env, bool ring);
/* Does someone want to leave translated code? */
bool x86_cnt_exit_requested(CPUArchState *env);
/*
 * Leave the TB of a stepped instruction, which has not begun; @ra: its return
 * address, or 0; @worked: what was done may have requested an interrupt.
 */
G_NORETURN void x86_cnt_leave(CPUArchState *env, uintptr_t ra, bool worked);
/*
 * The instruction at a linear address, which is no branch, retires in the mode
 * that the CPU is in.
 */
void x86_cnt_retire(CPUArchState *env, uint64_t address);
/* A trace event says after which instruction `what` samples, with -icount. */
void x86_cnt_sample(const char *what);

/*
 * A helper is going to load, or to store, this many bytes of the program.  May
 * leave the TB.
 */
void x86_cnt_load(CPUArchState *env, uint64_t address, uint32_t size,
                  uintptr_t ra);
void x86_cnt_store(CPUArchState *env, uint64_t address, uint32_t size);

#endif
