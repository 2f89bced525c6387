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
    X86_CNT_MODE_COUNT,   /* a TB subtracts its cost from the budget */
    X86_CNT_MODE_CLASSES, /* the same, and counts branches by class */
    X86_CNT_MODE_LAST,    /* the same, but a helper retires the branch */
    X86_CNT_MODE_FIND,    /* instructions count one by one up to the due one */
    X86_CNT_MODE_STEP,    /* a helper before and after each instruction */
} X86CntMode;

static inline bool x86_cnt_mode_counts(X86CntMode mode)
{
    return mode >= X86_CNT_MODE_COUNT && mode <= X86_CNT_MODE_LAST;
}

/*
 * X86CntState.left: instructions and branches that may retire before a helper
 * has to be called.  A bit above each number is 0, unless the number has been
 * exceeded.  So one subtraction and one test do for both.
 */
#define X86_CNT_LEFT_INSN         1
#define X86_CNT_LEFT_INSNS        0x0001ffffu
#define X86_CNT_LEFT_BRANCH_SHIFT 18
#define X86_CNT_LEFT_BRANCH       (1u << X86_CNT_LEFT_BRANCH_SHIFT)
#define X86_CNT_LEFT_BRANCHES     0x1fffu /* after the shift */
#define X86_CNT_LEFT_GUARDS       0x80020000u

/* Where insn_start has what a fault gives back to X86CntState.left. */
#define X86_CNT_GIVE_BACK_SHIFT 8

/*
 * First the fields that generated code uses, then those that only tcg-count.c
 * uses.
 */
typedef struct X86CntState {
    uint32_t left;          /* X86_CNT_LEFT_* */
    uint32_t tb_flags;      /* the mode, part of the TB key at CPL 3 */
    uint32_t kernel_flags;  /* the same below CPL 3 */
    /* Since the last fold, by X86_CNT_BRANCH_*; [0]: conditional and taken. */
    uint32_t branches[5];
    uint64_t insn;          /* linear address of the instruction to retire */

    uint32_t folded;        /* value of left at the last fold */
#ifdef X86_WITH_LWP
    bool replaced;          /* the instruction has changed the LWP block */
    bool loads;             /* data cache misses are counted, at CPL 3 */
    bool steady;            /* lwp_trace_branch() may be tried */
    bool model;             /* IBS's own model sees loads, in every mode */
#endif
    bool notes;             /* the instruction that is next is a sample */
    bool pmu;               /* performance counters are counting */
} X86CntState;

/*
 * Argument of helper_cnt_retire(): the class of the branch, whether the
 * branch was taken, whether the instruction began below CPL 3, whether it is a
 * far transfer, whether it began at CPL 0, whether it begins or ends in an
 * interrupt shadow, whether a branch by address is a call or a return, and the
 * length of the instruction if its address was not saved, which that of a branch
 * is.  Other helpers that retire an instruction get the same, and
 * X86_CNT_RETIRES if they have to.
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
#define X86_CNT_LENGTH_SHIFT 11

/* Result of helper_cnt_retire(). */
#define X86_CNT_GOES_ON    1 /* a TB in mode FIND may continue */
#define X86_CNT_SAME_FLAGS 2 /* the flags of the next TB are those of this one */

/* What those who count want of translated code. */
#define X86_CNT_WANTS_COUNT   1 /* instructions or branches are counted */
#define X86_CNT_WANTS_CLASSES 2 /* branches are counted by class */
#define X86_CNT_WANTS_STEP    4 /* there is work before each instruction */
#define X86_CNT_WANTS_LAST    8 /* a helper retires each branch */
#define X86_CNT_WANTS_NOTES   16 /* loads and stores of a step are noted */
#ifdef X86_WITH_LWP
#define X86_CNT_WANTS_LOADS   32 /* data cache misses are counted */
#define X86_CNT_WANTS_MODEL   64 /* IBS's own model sees all loads */
#endif

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

#ifndef CONFIG_USER_ONLY

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

#endif /* !CONFIG_USER_ONLY */
#endif
