/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AMD Lightweight Profiling (LWP): declarations for the rest of target/i386.
 *
 * The state machine, the layouts and the rules are in lwp_*.[ch] of this
 * directory, which are shared with KVM; tcg-lwp*.c connect them to TCG.
 */
#ifndef X86_LWP_H
#define X86_LWP_H

#include "pmu/x86-pmu.h"

/*
 * The CPU properties as the user gave them; x86_lwp_expand_features() turns
 * them into a struct lwp_caps.
 */
typedef struct X86LWPProps {
    uint32_t on, off;       /* lwp-val=on ...: bits of leaf 8000_001C EDX */
    uint32_t numbers;       /* which of the three numbers were given */
    uint32_t max_events;
    uint32_t min_buffer;
    uint32_t latency_max;
    uint32_t latency_rnd;
    uint32_t context_age;   /* seconds */
    uint8_t rev;            /* LWP_REV_* */
    bool os_context;
    bool fam15h;
    bool prompt;
    bool delivery_given;    /* else prompt is KVM's default */
    bool vmcb;
    struct lwp_cache_geometry *cache; /* NULL: that of the model */

    X86PMUProps pmu_props;
    X86PMU *pmu;            /* performance counters of TCG, NULL: none */
} X86LWPProps;

/* How translated code counts: HF_LWP_MODE_MASK of the TB flags. */
typedef enum X86LWPMode {
    X86_LWP_MODE_OFF,
    X86_LWP_MODE_COUNT,   /* a TB subtracts its cost from the budget */
    X86_LWP_MODE_CLASSES, /* the same, and counts branches by class */
    X86_LWP_MODE_LAST,    /* the same, but a helper retires the branch */
    X86_LWP_MODE_FIND,    /* instructions count one by one up to the due one */
    X86_LWP_MODE_STEP,    /* a helper before and after each instruction */
} X86LWPMode;

static inline bool x86_lwp_mode_counts(X86LWPMode mode)
{
    return mode >= X86_LWP_MODE_COUNT && mode <= X86_LWP_MODE_LAST;
}

/*
 * X86LWPCount.left: instructions and branches that may retire before a helper
 * has to be called.  A bit above each number is 0, unless the number has been
 * exceeded.  So one subtraction and one test do for both.
 */
#define X86_LWP_LEFT_INSN         1
#define X86_LWP_LEFT_INSNS        0x0001ffffu
#define X86_LWP_LEFT_BRANCH_SHIFT 18
#define X86_LWP_LEFT_BRANCH       (1u << X86_LWP_LEFT_BRANCH_SHIFT)
#define X86_LWP_LEFT_BRANCHES     0x1fffu /* after the shift */
#define X86_LWP_LEFT_GUARDS       0x80020000u

/* Where insn_start has what a fault gives back to X86LWPCount.left. */
#define X86_LWP_GIVE_BACK_SHIFT 8

/*
 * Counting, for LWP and for the performance counters (pmu/): first the fields
 * that generated code uses, then those that only tcg-lwp-count.c uses.
 */
typedef struct X86LWPCount {
    uint32_t left;          /* X86_LWP_LEFT_* */
    uint32_t tb_flags;      /* the mode, part of the TB key at CPL 3 */
    uint32_t kernel_flags;  /* the same below CPL 3 */
    /* Since the last fold, by lwp_branch_class; [0]: conditional and taken. */
    uint32_t branches[5];
    uint64_t insn;          /* linear address of the instruction to retire */

    uint32_t folded;        /* value of left at the last fold */
    bool replaced;          /* the instruction has changed the LWP block */
    bool pmu;               /* performance counters are counting */
} X86LWPCount;

/* Loads, for data cache misses: what generated code looks at. */
typedef struct X86LWPLoads {
    uint32_t sets;          /* entries of recent[] that are used, or 0 */
    uint64_t recent[64];    /* by set of L1D: the line used last */
} X86LWPLoads;

/* Last argument of helper_lwp_load(): bytes, must the address be aligned? */
#define X86_LWP_LOAD_SIZE    0xff
#define X86_LWP_LOAD_ALIGNED 0x100
#define X86_LWP_LOAD_STEPPED 0x200
#define X86_LWP_LOAD_REPEATED 0x400 /* stepped, and with REP */

/*
 * Argument of helper_lwp_retire(): an enum lwp_branch_class, whether the
 * branch was taken, whether the instruction began below CPL 3, whether it is a
 * far transfer, whether it began at CPL 0, whether it begins or ends in an
 * interrupt shadow, and its length if its address was not saved.  Other
 * helpers that retire an instruction get the same, and X86_LWP_RETIRES if they
 * have to.
 */
#define X86_LWP_BRANCH_CLASS 7
#define X86_LWP_BRANCH_TAKEN 8
#define X86_LWP_KERNEL       16
#define X86_LWP_FAR          32
#define X86_LWP_CPL0         64
#define X86_LWP_RETIRES      128
#define X86_LWP_SHADOW       256
#define X86_LWP_LENGTH_SHIFT 9

/* What LWP and the performance counters want of translated code. */
#define X86_LWP_WANTS_COUNT   1 /* instructions or branches are counted */
#define X86_LWP_WANTS_CLASSES 2 /* branches are counted by class */
#define X86_LWP_WANTS_STEP    4 /* there is work before each instruction */
#define X86_LWP_WANTS_LOADS   8 /* data cache misses are counted */

/* [0] of X86LWPCount.branches */
#define X86_LWP_BRANCH_TAKEN_CONDITIONAL 0

/* enum lwp_branch_class, for code that does not include the engine */
#define X86_LWP_BRANCH_CONDITIONAL   1
#define X86_LWP_BRANCH_RELATIVE      2
#define X86_LWP_BRANCH_CALL_RELATIVE 3
#define X86_LWP_BRANCH_ABSOLUTE      4

/* Last argument of helper_lwpins() and helper_lwpval(): imm16, and */
#define X86_LWP_OPERAND_MEMORY 0x10000
#define X86_LWP_OPERAND_SEGMENT_SHIFT 17 /* R_ES to R_GS */

typedef struct X86LWP X86LWP;

/* The part of a vCPU's state that migrates, see lwp-vmstate.c. */
typedef struct X86LWPWire {
    uint8_t image[128];         /* LWP_CFG only, if a context is live */
    bool live;                  /* the context of this key is live */
    uint64_t cr3, thread, gs;
    uint32_t key_flags;
    bool lookup;                /* look for a context when CPL 3 is reached */
    bool entered;               /* CPL 3 was entered, nothing executed there */
    bool loaded;                /* KVM: loaded, and not given to KVM yet */
} X86LWPWire;

#ifndef CONFIG_USER_ONLY

/* lwp-cpu.c: properties and CPUID */
void x86_lwp_class_init(ObjectClass *oc);
bool x86_lwp_expand_features(X86CPU *cpu, Error **errp);
void x86_lwp_cpuid(CPUArchState *env, uint32_t *eax, uint32_t *ebx,
                   uint32_t *ecx, uint32_t *edx);

/* lwp-context-age, in seconds */
uint32_t x86_lwp_context_age(const X86LWPProps *p);

/*
 * The property of a feature, by its bit in the Flags of revision @rev, and in
 * words; NULL if there is none.
 */
const char *x86_lwp_feature_name(uint32_t rev, uint32_t bit, const char **text);

/* lwp-vmstate.c */
extern const VMStateDescription vmstate_x86_lwp;

/*
 * lwp-cpu.c: can a CPU with these features be realized in this machine?  Free
 * what a CPU has, whether it was realized or not.
 */
bool x86_lwp_check(X86CPU *cpu, Error **errp);
void x86_lwp_free(CPUArchState *env);
void x86_lwp_finalize(X86CPU *cpu);

/*
 * tcg-lwp*.c.  Except for realize, unrealize and reset they may be called only
 * with env->lwp not NULL.
 */
void x86_lwp_realize(X86CPU *cpu);
void x86_lwp_unrealize(X86CPU *cpu);
void x86_lwp_reset(X86CPU *cpu);

/* WRMSR and RDMSR of LWP_CFG and LWP_CBADDR; they raise #GP(0) and #PF */
void x86_lwp_wrmsr(CPUArchState *env, uint32_t msr, uint64_t value,
                   uintptr_t ra);
uint64_t x86_lwp_rdmsr(CPUArchState *env, uint32_t msr, uintptr_t ra);

/* Properties for tests: lwp-debug.c for all, tcg-lwp-debug.c for TCG */
void x86_lwp_debug_class_init(ObjectClass *oc);
void x86_lwp_tcg_debug_class_init(ObjectClass *oc);

/* XCR0 has been written. */
void x86_lwp_xcr0_changed(CPUArchState *env);

/* XSAVE component 62: is it in use; its 128 bytes; load them, NULL: off */
bool x86_lwp_xinuse(CPUArchState *env);
void x86_lwp_xsave(CPUArchState *env, uint8_t image[128]);
void x86_lwp_xrstor(CPUArchState *env, const uint8_t *image);

/*
 * VMLOAD and VMSAVE of the VMCB at an address of an MMU mode; they do nothing
 * unless ECX[24] is announced.
 */
void x86_lwp_vmload(CPUArchState *env, uint64_t vmcb, int mmu_idx);
void x86_lwp_vmsave(CPUArchState *env, uint64_t vmcb, int mmu_idx);

/*
 * tcg-lwp-count.c, for LWP and the performance counters; works without
 * env->lwp.
 *
 * Give them the counts of what has retired since the last call, in the mode
 * that the CPU is in.
 */
void x86_lwp_fold(CPUArchState *env);
/*
 * To be called last by code that may have changed what they want: folds, then
 * derives the TB flags and the budget.
 */
void x86_lwp_update(CPUArchState *env);

/* CR3, the base of FS or of GS, or KernelGSBase has been written. */
void x86_lwp_thread_changed(CPUArchState *env);

/* CPL has just become 3. */
void x86_lwp_user_entered(CPUArchState *env);

/*
 * tcg-lwp-load.c: a helper is going to load this many bytes of the program,
 * line by line.  May leave the TB.
 */
void x86_lwp_load(CPUArchState *env, uint64_t address, uint32_t size,
                  uintptr_t ra);

/* RSM has restored the state and left SMM. */
void x86_lwp_smm_left(CPUArchState *env);

/*
 * The next instruction cannot be fetched.  LWP acts before that fault: it may
 * raise a #PF of its own, or an interrupt.
 */
void x86_lwp_fetch_fault(CPUArchState *env);

#else

static inline void x86_lwp_load(CPUArchState *env, uint64_t address,
                                uint32_t size, uintptr_t ra)
{
}

#endif /* !CONFIG_USER_ONLY */
#endif
