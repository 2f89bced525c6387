/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Performance counters under TCG: declarations for the rest of target/i386.
 *
 * Translated code subtracts the instructions of a TB from a budget
 * (tcg-count.c).  tcg-pmu.c gets the numbers of instructions and branches that
 * have retired, and counts events.  Which counter counts which event is what a
 * vendor's registers say: tcg-pmu-amd.c, tcg-pmu-intel.c.
 */
#ifndef X86_PMU_H
#define X86_PMU_H

#include "count/x86-count.h"
#include "pmu/pmc_row.h"

#define X86_PMU_AMD_COUNTERS 6
#define X86_PMU_INTEL_GP 8     /* of variable function, at most */
#define X86_PMU_INTEL_FIXED 3
#define X86_LBR_ENTRIES 16
#define X86_PMU_MAX_COUNTERS (X86_PMU_INTEL_GP + X86_PMU_INTEL_FIXED)

typedef struct X86PMUProps {
    uint8_t version;          /* of Intel's, 0: that of the CPU model */
    bool ibs_cache;           /* IBS has a model of the data caches */
    struct x86_cache_geometry *ibs_geometry; /* NULL: x86_cache_epyc */
    bool offered;             /* false: the machine type is older than they */
} X86PMUProps;

/* The events that have a model.  A cycle is X86PMU's ipc instructions. */
typedef enum X86PMUEvent {
    X86_PMU_EVENT_NONE,        /* no model: never happens */
    X86_PMU_EVENT_CYCLES,
    X86_PMU_EVENT_REFERENCE,   /* cycles of the reference clock */
    X86_PMU_EVENT_INSNS,
    X86_PMU_EVENT_BRANCHES,    /* far transfers included, as in TAKEN */
    X86_PMU_EVENT_TAKEN,
    X86_PMU_EVENT_CONDITIONAL,
    X86_PMU_EVENT_FAR,         /* interrupts and exceptions included */
    X86_PMU_EVENT_BRANCH_INSNS, /* without interrupts and exceptions */
    X86_PMU_EVENT_FAR_INSNS,
    X86_PMU_EVENT_TAKEN_NEAR,
    X86_PMU_EVENT_TAKEN_CONDITIONAL,
    X86_PMU_EVENT_MISPREDICTED, /* near, if it predicts */
    X86_PMU_EVENT_ACCESSES,    /* instructions: X86_PMU_LOADS ... */
    X86_PMU_EVENT_INTERRUPTS,  /* NMIs included */
    X86_PMU_EVENT_SMIS,
} X86PMUEvent;

/* What of X86_PMU_EVENT_ACCESSES: unit masks of AMD's event; misses of `cache'. */
#define X86_PMU_LOADS       1
#define X86_PMU_STORES      2
#define X86_PMU_LOAD_STORES 4
#define X86_PMU_L1D_MISSES  8
#define X86_PMU_L2_MISSES   16

/* Where a counter counts. */
#define X86_PMU_USER   1 /* at CPL 1 to 3 */
#define X86_PMU_KERNEL 2 /* at CPL 0 */
#define X86_PMU_GUEST  4 /* in an SVM guest */
#define X86_PMU_HOST   8 /* elsewhere */

/* What a counter does, derived from the vendor's registers. */
typedef struct X86PMUCounter {
    uint64_t *value;
    uint32_t select;          /* unit mask * X86_PMU_EVENTS + event */
    X86PMUEvent event;
    uint32_t units;           /* of ACCESSES: X86_PMU_LOADS ... */
    uint32_t where;           /* X86_PMU_USER ..., 0: it does not count */
    uint8_t cmask;            /* 0: events count, not cycles with events */
    bool invert;
    bool edge;                /* count where the events begin */
    bool interrupts;          /* its overflow does */
    bool exact;               /* its overflow is seen when it happens */
} X86PMUCounter;

/* Branches that AMD's last branch records leave out: LBR_SELECT */
#define X86_LBR_KERNEL        (1 << 0) /* those that end at CPL 0 */
#define X86_LBR_USER          (1 << 1) /* those that end at CPL 1 to 3 */
#define X86_LBR_CONDITIONAL   (1 << 2)
#define X86_LBR_CALL_RELATIVE (1 << 3)
#define X86_LBR_CALL_ABSOLUTE (1 << 4)
#define X86_LBR_RET           (1 << 5)
#define X86_LBR_JMP_ABSOLUTE  (1 << 6)
#define X86_LBR_JMP_RELATIVE  (1 << 7)
#define X86_LBR_FAR           (1 << 8)

/* An address has 58 bits; the bits above extend the sign. */
#define X86_LBR_FROM_ADDRESS 0x7fffffffffffffffull
#define X86_LBR_TO_ADDRESS   0x1fffffffffffffffull
#define X86_LBR_TO_VALID     (1ull << 63)

/* AMD's last branch records */
typedef struct X86LBR {
    uint64_t select;
    uint64_t extn_cfg;
    uint32_t top;             /* index of the youngest entry */
    uint64_t from[X86_LBR_ENTRIES];
    uint64_t to[X86_LBR_ENTRIES];
    uint64_t interrupted;     /* where the interrupt came that is delivered */
} X86LBR;

#define X86_PREDICTOR_COUNTERS 1024
#define X86_PREDICTOR_TARGETS 256

/* The simple predictor of branches, see tcg-predictor.c */
typedef struct X86Predictor {
    uint8_t counter[X86_PREDICTOR_COUNTERS]; /* 0 to 3, by address */
    uint64_t target[X86_PREDICTOR_TARGETS];  /* the last one, by address */
} X86Predictor;

/* AMD's instruction-based sampling */
typedef struct X86IBS {
    uint64_t fetch_ctl;
    uint64_t fetch_lin;
    uint64_t fetch_phys;
    uint32_t fetch_low;       /* bits 3:0 of the count */
    uint64_t op_ctl;
    uint64_t op_rip;
    uint64_t op_data;
    uint64_t op_data2;
    uint64_t op_data3;
    uint64_t dc_lin;
    uint64_t dc_phys;
    uint64_t br_target;
    uint64_t seed;            /* of the random bits */
    struct {
        uint64_t rip;
        uint64_t address;     /* of the first load or store */
        uint64_t data2, data3;
    } note;                   /* the instruction that is stepped */
} X86IBS;

/* The bit of LBR_SELECT for a branch, as for helper_cnt_retire() */
static inline uint32_t x86_lbr_filter(uint32_t info)
{
    switch (info & X86_CNT_BRANCH_CLASS) {
    case X86_CNT_BRANCH_CONDITIONAL:
        return X86_LBR_CONDITIONAL;
    case X86_CNT_BRANCH_RELATIVE:
        return X86_LBR_JMP_RELATIVE;
    case X86_CNT_BRANCH_CALL_RELATIVE:
        return X86_LBR_CALL_RELATIVE;
    case X86_CNT_BRANCH_ABSOLUTE:
        if (info & X86_CNT_RET) {
            return X86_LBR_RET;
        }
        return info & X86_CNT_CALL ? X86_LBR_CALL_ABSOLUTE :
                                     X86_LBR_JMP_ABSOLUTE;
    default:
        return X86_LBR_FAR;
    }
}

/* Bits of AMD's global status, beside those of the counters */
#define X86_PMU_AMD_LBR_FROZEN (1ull << 58)
#define X86_PMU_AMD_PMC_FROZEN (1ull << 59)

typedef struct X86PMU X86PMU;

/* How a vendor's registers look. */
typedef struct X86PMUVendor {
    void (*reset)(CPUArchState *env, X86PMU *pmu);
    /* Registers have changed: derive pmu->counter[]. */
    void (*derive)(CPUArchState *env, X86PMU *pmu);
    /* Counter n has overflowed. */
    void (*overflow)(CPUArchState *env, X86PMU *pmu, int n);
    /* An overflow interrupts. */
    void (*deliver)(CPUArchState *env, X86PMU *pmu);
    /* EAX to EDX of a leaf; those of a leaf that it does not know stay 0. */
    void (*cpuid)(CPUArchState *env, X86PMU *pmu, uint32_t index,
                  uint32_t *regs);
    /* False: not an MSR of the counters; *gp: raise #GP(0). */
    bool (*rdmsr)(CPUArchState *env, X86PMU *pmu, uint32_t msr,
                  uint64_t *value, bool *gp);
    bool (*wrmsr)(CPUArchState *env, X86PMU *pmu, uint32_t msr, uint64_t value,
                  bool *gp);
    /* The bits of IA32_DEBUGCTL that there are. */
    uint64_t (*debugctl)(CPUArchState *env, X86PMU *pmu);
    /* False: #GP(0) */
    bool (*rdpmc)(CPUArchState *env, X86PMU *pmu, uint32_t index,
                  uint64_t *value);
} X86PMUVendor;

struct X86PMU {
    /* What stays for the life of the CPU. */
    const X86PMUVendor *vendor;
    int counters;
    uint64_t mask;            /* the bits of a counter */
    int version;              /* of Intel's, 0: AMD's */
    int fixed;                /* how many of Intel's are fixed */
    uint32_t ipc;             /* instructions in a cycle, at least 1 */
    bool predicts;            /* by the simple predictor */
    struct x86_cache *cache;  /* of IBS and the counters: ibs-cache, or NULL */

    /* Only for x-x86-pmu-row, and not migrated. */
    uint8_t exited;           /* enum pmc_place of the last #VMEXIT */
    uint8_t returns;          /* the same of a return that is going on */

    /* Derived. */
    X86PMUCounter counter[X86_PMU_MAX_COUNTERS];
    bool rederive;            /* an interrupt has changed the registers */

    /* From here on, reset clears. */
    struct {} start_reset_fields;

    /* AMD's registers */
    uint64_t ctl[X86_PMU_AMD_COUNTERS];
    uint64_t ctr[X86_PMU_AMD_COUNTERS];
    uint64_t global_ctl;
    uint64_t global_status;
    uint64_t irperf;          /* instructions retired, while HWCR[30] */
    X86LBR lbr;
    X86IBS ibs;
    X86Predictor predictor;

    /* Delayed interrupt: instructions until it comes, 0 = none. */
    uint64_t skid_left;
    uint32_t burst;           /* interrupts that follow it */
    uint32_t held;            /* interrupts that wait for the next #VMEXIT */
    uint64_t skid_seed;
    uint32_t skid_number;     /* overflows so far */

    uint32_t phase;           /* instructions of the cycle, below ipc */
    uint32_t asserted;        /* counters with edge: the events are going on */

    struct {} end_reset_fields;
};

#ifndef CONFIG_USER_ONLY

/* pmu-cpu.c */
void x86_pmu_class_init(ObjectClass *oc);
/* Applies -cpu ...,pmu=on to the CPU, under TCG. */
bool x86_pmu_expand_features(X86CPU *cpu, Error **errp);
/* Can it be realized with these counters? */
bool x86_pmu_check(X86CPU *cpu, Error **errp);
void x86_pmu_realize(X86CPU *cpu);
void x86_pmu_finalize(X86CPU *cpu);
void x86_pmu_reset(X86CPU *cpu);
/* INIT: Intel's registers stay. */
void x86_pmu_init(X86CPU *cpu);
/* A leaf of the counters; false: this CPU has no counters of TCG's */
bool x86_pmu_cpuid(X86CPU *cpu, uint32_t index, uint32_t *eax, uint32_t *ebx,
                   uint32_t *ecx, uint32_t *edx);
/* Before Intel's registers are saved and loaded, and after. */
int x86_pmu_pre_save(void *opaque);
int x86_pmu_pre_load(void *opaque);
int x86_pmu_post_load(void *opaque, int version_id);
/* Before a section of these counters: *opaque is a CPU that has them, or -EINVAL. */
int x86_pmu_load_needs(void *opaque);
/*
 * A section of a CPU's stream, with fields of the X86PMU that it points to, as
 * in VMSTATE_UINT64(skid_left, X86PMU).
 */
#define X86_PMU_SECTION(description, section, when, loaded, ...)           \
    static const VMStateDescription description##_state = {                \
        .name = section "/state",                                          \
        .version_id = 1,                                                   \
        .minimum_version_id = 1,                                           \
        .fields = (const VMStateField[]) {                                 \
            __VA_ARGS__,                                                   \
            VMSTATE_END_OF_LIST()                                          \
        }                                                                  \
    };                                                                     \
    const VMStateDescription description = {                               \
        .name = section,                                                   \
        .version_id = 1,                                                   \
        .minimum_version_id = 1,                                           \
        .needed = when,                                                    \
        .pre_save = x86_pmu_pre_save,                                      \
        .pre_load = x86_pmu_load_needs,                                    \
        .post_load = loaded,                                               \
        .fields = (const VMStateField[]) {                                 \
            VMSTATE_STRUCT_POINTER(tcg_pmu, X86CPU, description##_state,   \
                                   X86PMU),                                \
            VMSTATE_END_OF_LIST()                                          \
        }                                                                  \
    }
extern const VMStateDescription vmstate_x86_pmu;
extern const VMStateDescription vmstate_x86_pmu_irperf;
extern const VMStateDescription vmstate_x86_pmu_late;
extern const VMStateDescription vmstate_x86_pmu_cycle;

/* pmu-row.c */

/* Instructions in a cycle of new CPUs. */
uint32_t x86_pmu_ipc(void);
/* Are branches of new CPUs ever predicted wrongly? */
bool x86_pmu_predicts(void);
/* Instructions from an overflow to its interrupt, UINT64_MAX: it never comes. */
uint64_t x86_pmu_next_skid(X86PMU *pmu);
/* Counts too many at a place.  False: none. */
bool x86_pmu_excess(X86PMU *pmu, enum pmc_place place,
                    uint32_t excess[PMC_EVENTS]);
/* A pseudo-random number below a limit; 0: the first seed. */
uint32_t x86_pmu_random(uint64_t *seed, uint32_t below);

/* tcg-pmu-amd.c */
extern const X86PMUVendor x86_pmu_amd;

/* tcg-pmu-intel.c */
extern const X86PMUVendor x86_pmu_intel;
/* IA32_MISC_ENABLE with its read-only bits. */
uint64_t x86_pmu_misc_enable(CPUArchState *env, uint64_t value);

/* tcg-ibs.c */

/* Leaf 8000_001B EAX */
uint32_t x86_ibs_caps(void);
/* Is there going to be a sample? */
bool x86_ibs_on(const X86PMU *pmu);
/*
 * The same; cycles or instructions that pass before it: 0, it is the next
 * instruction that retires.
 */
bool x86_ibs_left(const X86PMU *pmu, bool *cycles, uint64_t *left);
/* The same of fetches: instructions that pass before the sample. */
bool x86_ibs_fetches(const X86PMU *pmu);
bool x86_ibs_fetches_left(const X86PMU *pmu, uint64_t *left);
/* They have passed. */
void x86_ibs_count(X86PMU *pmu, int64_t insns, int64_t cycles);
/* An instruction retires, as for helper_cnt_retire(): is it the sample? */
void x86_ibs_retire(CPUArchState *env, X86PMU *pmu, uint64_t rip,
                    uint32_t info);
/*
 * A stepped instruction begins, or with REP under -icount another iteration of
 * it; it loads or stores (X86_CNT_LOAD_*); it has retired.
 */
void x86_ibs_begin(X86PMU *pmu, uint64_t rip);
void x86_ibs_note(CPUArchState *env, X86PMU *pmu, uint64_t address,
                  uint32_t info);
void x86_ibs_end(X86PMU *pmu);
/* Does its model see loads now?  All lines of the model are gone. */
bool x86_ibs_sees_loads(CPUArchState *env, const X86PMU *pmu);
void x86_ibs_forget(CPUArchState *env, X86PMU *pmu);
/* True: the MSR belongs to IBS and is done; *gp: raise #GP(0). */
bool x86_ibs_rdmsr(CPUArchState *env, X86PMU *pmu, uint32_t msr,
                   uint64_t *value);
bool x86_ibs_wrmsr(CPUArchState *env, X86PMU *pmu, uint32_t msr,
                   uint64_t value, bool *gp);
extern const VMStateDescription vmstate_x86_ibs;

/* X86_PMU_LOADS, ... of the instruction that is stepped */
uint32_t x86_ibs_accesses(const X86PMU *pmu);

/* tcg-unmodelled.c */

#define X86_PMU_EVENTS (1u << 12)
#define X86_PMU_IBS    (X86_PMU_EVENTS << 8) /* after all selects */

/* A `select' without a model, or X86_PMU_IBS, counts. */
void x86_pmu_unmodelled(uint32_t what);
void x86_pmu_stats_init(void);

/* tcg-predictor.c */

/* A branch retires, as for helper_cnt_retire(): was it predicted wrongly? */
bool x86_predictor_misses(X86PMU *pmu, uint32_t info, uint64_t from,
                          uint64_t to);
extern const VMStateDescription vmstate_x86_predictor;

/* tcg-lbr.c */

/* Does the stack record? */
bool x86_lbr_on(const X86PMU *pmu);
/* X86_CNT_WANTS_* in the current mode */
uint32_t x86_lbr_wants(CPUArchState *env, X86PMU *pmu);
/* An instruction has retired. */
void x86_lbr_retire(CPUArchState *env, X86PMU *pmu, const X86CntInsn *insn);
/* An interrupt or exception is going to be delivered; it has been. */
void x86_lbr_interrupt(CPUArchState *env, X86PMU *pmu);
void x86_lbr_interrupted(CPUArchState *env, X86PMU *pmu);
/* True: the MSR belongs to the stack and is done; *gp: raise #GP(0). */
bool x86_lbr_rdmsr(CPUArchState *env, X86PMU *pmu, uint32_t msr,
                   uint64_t *value);
bool x86_lbr_wrmsr(CPUArchState *env, X86PMU *pmu, uint32_t msr,
                   uint64_t value, bool *gp);
/* LBR virtualization: in VMRUN, the guest begins; in #VMEXIT, it ends. */
void x86_lbr_vmrun(CPUArchState *env);
void x86_lbr_vmexit(CPUArchState *env);
extern const VMStateDescription vmstate_x86_lbr;

/* tcg-pmu.c */

/* The bits of IA32_DEBUGCTL that are there with the counters. */
uint64_t x86_pmu_debugctl(CPUArchState *env);

/* True: the MSR belongs to the counters and is done; *gp: raise #GP(0). */
bool x86_pmu_rdmsr(CPUArchState *env, uint32_t msr, uint64_t *value, bool *gp);
bool x86_pmu_wrmsr(CPUArchState *env, uint32_t msr, uint64_t value, bool *gp);
/* RDPMC; false: #GP(0) */
bool x86_pmu_rdpmc(CPUArchState *env, uint32_t index, uint64_t *value);

/* Registers have been written or loaded: does any counter count now? */
void x86_pmu_changed(CPUArchState *env);

/* The counters among those who count. */
extern const X86CntUser x86_pmu_user;
/*
 * An interrupt or exception is delivered; `insn': INT n and the like; @hard: an
 * interrupt from outside.
 */
void x86_pmu_interrupt(CPUArchState *env, int vector, bool insn, bool hard);
/*
 * At a place where x-x86-pmu-row may let the counters of CPL 3 count too much;
 * or before a return, which may lead to CPL 3.
 */
void x86_pmu_place(CPUArchState *env, enum pmc_place place);
void x86_pmu_returns(CPUArchState *env, enum pmc_place place);
/* It has been delivered: EIP is that of its handler. */
void x86_pmu_interrupted(CPUArchState *env);
void x86_pmu_smi(CPUArchState *env);
/* VMRUN has loaded the guest's state; it retires at the guest's CPL. */
void x86_pmu_vmrun(CPUArchState *env);
/* #VMEXIT, between x86_cnt_leave_mode() and x86_cnt_enter_mode(). */
void x86_pmu_vmexit(CPUArchState *env);

#endif /* !CONFIG_USER_ONLY */
#endif
