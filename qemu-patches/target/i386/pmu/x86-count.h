/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting under TCG, of retired instructions and branches: what generated code
 * and its helpers share.
 */
#ifndef X86_COUNT_H
#define X86_COUNT_H

/*
 * First the fields that generated code uses, then those that only tcg-count.c
 * uses.
 */
typedef struct X86LWPCount {
    int32_t left;           /* instructions until a helper has to be called */
    uint32_t tb_flags;      /* HF_LWP_*, part of the TB key at CPL 3 */
    uint32_t kernel_flags;  /* the same below CPL 3 */
    /* Since the last fold, by X86_LWP_BRANCH_*; [0]: conditional and taken. */
    uint32_t branches[5];
#ifdef X86_WITH_LWP
    uint64_t insn;          /* linear address of the stepped instruction */
#endif

    int32_t folded;         /* value of left at the last fold */
    uint64_t near;          /* instructions before an event that are stepped */
    bool exact;             /* the budget is that of a TB of exact size */
#ifdef X86_WITH_LWP
    bool replaced;          /* the instruction has changed the LWP block */
#endif
    bool pmu;               /* performance counters are counting */
} X86LWPCount;

/*
 * Argument of helper_lwp_retire(): the class of the branch, whether it was
 * taken, whether the instruction began below CPL 3, whether it is a far
 * transfer, and whether it began at CPL 0.  Other helpers that retire an
 * instruction get the same, and X86_LWP_RETIRES if they have to.
 */
#define X86_LWP_BRANCH_CLASS 7
#define X86_LWP_BRANCH_TAKEN 8
#define X86_LWP_KERNEL       16
#define X86_LWP_FAR          32
#define X86_LWP_CPL0         64
#define X86_LWP_RETIRES      128

/* [0] of X86LWPCount.branches */
#define X86_LWP_BRANCH_TAKEN_CONDITIONAL 0

/* The classes; 0: no branch */
#define X86_LWP_BRANCH_CONDITIONAL   1
#define X86_LWP_BRANCH_RELATIVE      2
#define X86_LWP_BRANCH_CALL_RELATIVE 3
#define X86_LWP_BRANCH_ABSOLUTE      4

/* One instruction is one cycle; the reference clock is a multiple of it. */
#define X86_LWP_RNH_PER_CNH 2

#ifndef CONFIG_USER_ONLY

/*
 * Give those who count the counts of what has retired since the last call, in
 * the mode that the CPU is in.
 */
void x86_lwp_fold(CPUArchState *env);
/*
 * To be called last by code that may have changed what they want: folds, then
 * derives the TB flags and the budget.
 */
void x86_lwp_update(CPUArchState *env);

#endif /* !CONFIG_USER_ONLY */
#endif
