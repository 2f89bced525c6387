/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AMD's core performance counters under TCG: MSRs, what counts, overflow.
 *
 * An instruction or branch counts in the mode (CPL, SVM guest or host) in which
 * it begins, a far transfer in the mode that it leaves.  WRMSR, RDMSR and RDPMC
 * use the counters without themselves, and count if the counter is enabled
 * after them.  VMRUN does not count.  One cycle is one instruction.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "cpu.h"
#include "hw/i386/apic.h"
#include "pmu/x86-pmu.h"

#define MSR_LEGACY_CTL    0xc0010000 /* 4 PERF_CTL, then 4 PERF_CTR */
#define MSR_LEGACY_CTR    0xc0010004
#define LEGACY_COUNTERS   4
#define MSR_CORE          0xc0010200 /* 6 pairs of PERF_CTL, PERF_CTR */
#define MSR_GLOBAL_STATUS 0xc0000300
#define MSR_GLOBAL_CTL    0xc0000301
#define MSR_GLOBAL_CLEAR  0xc0000302

#define CTL_USR         (1ull << 16)
#define CTL_OS          (1ull << 17)
#define CTL_INT         (1ull << 20)
#define CTL_EN          (1ull << 22)
#define CTL_INV         (1ull << 23)
#define CTL_CMASK_SHIFT 24
#define CTL_GUEST_ONLY  (1ull << 40)
#define CTL_HOST_ONLY   (1ull << 41)
/* The other bits are reserved and stay zero. */
#define CTL_VALID       0x0000030fffd7ffffull
#define CTR_MASK        ((1ull << 48) - 1)

#define NEVER UINT64_MAX

/* Instructions between the interrupts of a burst. */
#define BURST_GAP 500

/* PERF_CTL[35:32,7:0]; all other events never count. */
enum {
    EVENT_CYCLES = 0x076,
    EVENT_INSNS = 0x0c0,
    EVENT_BRANCHES = 0x0c2,
    EVENT_MISPREDICTED = 0x0c3,
    EVENT_TAKEN = 0x0c4,
    EVENT_FAR = 0x0c6,
    EVENT_CONDITIONAL = 0x0d1,
    EVENT_REFERENCE = 0x120,
};

/* Numbers of events that have happened. */
typedef struct PMUEvents {
    int64_t insns;
    uint32_t near, conditional, taken, far;
    uint32_t far_excess; /* counted too many, of far only */
} PMUEvents;

static X86PMU *pmu_of(CPUX86State *env)
{
    return env_archcpu(env)->amd_pmu;
}

static bool pmu_v2(CPUX86State *env)
{
    return env->features[FEAT_8000_0022_EAX] & CPUID_8000_0022_EAX_PERFMON_V2;
}

static uint32_t pmu_event(uint64_t ctl)
{
    return (ctl & 0xff) | (ctl >> 24 & 0xf00);
}

static bool pmu_enabled(CPUX86State *env, const X86PMU *pmu, int n)
{
    return (pmu->ctl[n] & CTL_EN) &&
           (!pmu_v2(env) || (pmu->global_ctl >> n & 1));
}

/* Does counter n count in this mode? */
static bool pmu_counts(CPUX86State *env, const X86PMU *pmu, int n, bool user)
{
    uint64_t ctl = pmu->ctl[n];
    bool guest = env->hflags & HF_GUEST_MASK;

    if (!pmu_enabled(env, pmu, n) || !(ctl & (user ? CTL_USR : CTL_OS))) {
        return false;
    }
    if (!(ctl & CTL_GUEST_ONLY) == !(ctl & CTL_HOST_ONLY)) {
        return true;
    }
    if (ctl & CTL_GUEST_ONLY) {
        return guest && (env->efer & MSR_EFER_SVME);
    }
    return !guest;
}

/*
 * CounterMask compares with the events of one cycle, which is one instruction:
 * never more than one.  Edge detection has no effect.
 */
static int64_t pmu_increment(uint64_t ctl, const PMUEvents *e)
{
    uint32_t cmask = ctl >> CTL_CMASK_SHIFT & 0xff;
    int64_t n = 0;

    switch (pmu_event(ctl)) {
    case EVENT_CYCLES:
    case EVENT_INSNS:
        n = e->insns;
        break;
    case EVENT_REFERENCE:
        n = e->insns * X86_LWP_RNH_PER_CNH;
        break;
    case EVENT_BRANCHES:
        n = e->near + e->far;
        break;
    case EVENT_TAKEN:
        n = e->taken + e->far;
        break;
    case EVENT_FAR:
        n = e->far + e->far_excess;
        break;
    case EVENT_CONDITIONAL:
        n = e->conditional;
        break;
    case EVENT_MISPREDICTED: /* the predictor is perfect */
    default:
        return 0;
    }
    if (!cmask) {
        return n;
    }
    if (ctl & CTL_INV) {
        return cmask == 1 ? e->insns - n : e->insns;
    }
    return cmask == 1 ? n : 0;
}

static void pmu_deliver(CPUX86State *env)
{
    BQL_LOCK_GUARD();
    apic_deliver_pmi(env_archcpu(env)->apic_state);
}

static void pmu_overflow(CPUX86State *env, X86PMU *pmu, int n)
{
    if (pmu_v2(env)) {
        pmu->global_status |= 1ull << n;
    }
    if (!(pmu->ctl[n] & CTL_INT) || pmu->skid_left) {
        return;
    }
    pmu->skid_left = x86_pmu_next_skid(&env_archcpu(env)->amd_pmu_props,
                                       pmu);
    if (!pmu->skid_left && !pmu->held) {
        pmu_deliver(env);
    }
    if (pmu->skid_left == NEVER) {
        pmu->skid_left = 0; /* lost */
    }
}

static void pmu_add(CPUX86State *env, X86PMU *pmu, int n, int64_t add)
{
    uint64_t sum = pmu->ctr[n] + add;

    pmu->ctr[n] = sum & CTR_MASK;
    if (add > 0 && sum > CTR_MASK) {
        pmu_overflow(env, pmu, n);
    }
}

/* `insns` have retired: count down to the interrupts of overflows. */
static void pmu_pass(CPUX86State *env, X86PMU *pmu, int64_t insns)
{
    if (!pmu->skid_left) {
        return;
    }
    if (insns < 0 || (uint64_t)insns < pmu->skid_left) {
        pmu->skid_left -= insns;
        return;
    }
    pmu->skid_left = 0;
    if (pmu->burst) {
        pmu->burst--;
        pmu->skid_left = BURST_GAP;
    }
    pmu_deliver(env);
}

static void pmu_happened(CPUX86State *env, const PMUEvents *e, bool user)
{
    X86PMU *pmu = pmu_of(env);
    int n;

    pmu_pass(env, pmu, e->insns);
    for (n = 0; n < X86_PMU_COUNTERS; n++) {
        int64_t add = pmu_increment(pmu->ctl[n], e);

        if (add && pmu_counts(env, pmu, n, user)) {
            pmu_add(env, pmu, n, add);
        }
    }
}

/* PERF_CTL's USR counts at CPL 1 to 3, OS at CPL 0. */
static bool pmu_user(CPUX86State *env)
{
    return env->hflags & HF_CPL_MASK;
}

void x86_pmu_count(CPUX86State *env, int32_t insns, const uint32_t *branches)
{
    PMUEvents e = {
        .insns = insns,
        .conditional = branches[X86_LWP_BRANCH_CONDITIONAL],
        .taken = branches[X86_LWP_BRANCH_TAKEN_CONDITIONAL],
    };
    uint32_t always = branches[X86_LWP_BRANCH_RELATIVE] +
                      branches[X86_LWP_BRANCH_CALL_RELATIVE] +
                      branches[X86_LWP_BRANCH_ABSOLUTE];

    e.near = e.conditional + always;
    e.taken += always;
    if (e.insns || e.near) {
        pmu_happened(env, &e, pmu_user(env));
    }
}

void x86_pmu_retire(CPUX86State *env, uint32_t info)
{
    uint32_t class = info & X86_LWP_BRANCH_CLASS;
    PMUEvents e = {
        .insns = 1,
        .near = class != 0,
        .conditional = class == X86_LWP_BRANCH_CONDITIONAL,
        .taken = class && (info & X86_LWP_BRANCH_TAKEN),
        .far = !!(info & X86_LWP_FAR),
    };

    pmu_happened(env, &e, !(info & X86_LWP_CPL0));
}

void x86_pmu_interrupt(CPUX86State *env, bool insn)
{
    PMUEvents e = { .insns = insn, .far = 1 };

    if (env->lwp_count.pmu) {
        x86_lwp_fold(env);
        pmu_happened(env, &e, pmu_user(env));
        x86_lwp_update(env);
    }
}

uint32_t x86_pmu_wants(CPUX86State *env, uint64_t *insns, uint64_t *branches)
{
    X86PMU *pmu = pmu_of(env);
    uint32_t flags = 0;
    int n;

    *insns = *branches = NEVER;
    if (pmu->skid_left) {
        flags |= X86_LWP_WANTS_COUNT;
        *insns = pmu->skid_left;
    }
    for (n = 0; n < X86_PMU_COUNTERS; n++) {
        uint64_t ctl = pmu->ctl[n];
        uint64_t left = ctl & CTL_INT || pmu_v2(env) ?
                        CTR_MASK + 1 - pmu->ctr[n] : NEVER;

        if (!pmu_counts(env, pmu, n, pmu_user(env))) {
            continue;
        }
        switch (pmu_event(ctl)) {
        case EVENT_CYCLES:
        case EVENT_INSNS:
            *insns = MIN(*insns, left);
            flags |= X86_LWP_WANTS_COUNT;
            break;
        case EVENT_REFERENCE:
            left = DIV_ROUND_UP(left, X86_LWP_RNH_PER_CNH);
            *insns = MIN(*insns, left);
            flags |= X86_LWP_WANTS_COUNT;
            break;
        case EVENT_BRANCHES:
        case EVENT_TAKEN:
        case EVENT_CONDITIONAL:
        case EVENT_FAR:
            /* With INV, cycles without a branch count. */
            *branches = MIN(*branches, left);
            if (ctl & CTL_INV) {
                *insns = MIN(*insns, left);
            }
            flags |= X86_LWP_WANTS_COUNT | X86_LWP_WANTS_CLASSES;
            break;
        }
    }
    return flags;
}

void x86_pmu_changed(CPUX86State *env)
{
    X86PMU *pmu = pmu_of(env);
    bool any = pmu->skid_left || pmu->held;
    int n;

    for (n = 0; n < X86_PMU_COUNTERS; n++) {
        any |= pmu_enabled(env, pmu, n);
    }
    env->lwp_count.pmu = any;
    x86_lwp_update(env);
}

void x86_pmu_leave_mode(CPUX86State *env)
{
    x86_lwp_fold(env);
}

static void pmu_overcount(CPUX86State *env, uint32_t insns, uint32_t far)
{
    PMUEvents e = { .insns = insns, .far_excess = far };

    if (insns || far) {
        pmu_happened(env, &e, pmu_user(env));
    }
}

void x86_pmu_enter_mode(CPUX86State *env, bool ring)
{
    if (ring) {
        pmu_overcount(env, env_archcpu(env)->amd_pmu_props.overcount_ring, 0);
    }
    x86_lwp_update(env);
}

void x86_pmu_vmrun(CPUX86State *env)
{
    const X86PMUProps *props = &env_archcpu(env)->amd_pmu_props;

    pmu_overcount(env, props->overcount_vmrun, props->overcount_far);
}

void x86_pmu_vmexit(CPUX86State *env)
{
    X86PMU *pmu = pmu_of(env);

    if (pmu->held) {
        pmu->held = 0;
        pmu_deliver(env);
    }
}

/* Find the register of an MSR: counter n, and PERF_CTL or PERF_CTR. */
static bool pmu_decode(CPUX86State *env, uint32_t msr, int *n, bool *ctl)
{
    uint32_t core = msr - MSR_CORE;

    if (msr >= MSR_LEGACY_CTL && msr < MSR_LEGACY_CTR + LEGACY_COUNTERS) {
        *n = msr & (LEGACY_COUNTERS - 1);
        *ctl = msr < MSR_LEGACY_CTR;
        return true;
    }
    if (core < 2 * X86_PMU_COUNTERS &&
        (env->features[FEAT_8000_0001_ECX] & CPUID_EXT3_PERFCORE)) {
        *n = core / 2;
        *ctl = !(core & 1);
        return true;
    }
    return false;
}

static bool pmu_global(CPUX86State *env, uint32_t msr)
{
    return msr >= MSR_GLOBAL_STATUS && msr <= MSR_GLOBAL_CLEAR && pmu_v2(env);
}

bool x86_pmu_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *value)
{
    X86PMU *pmu = pmu_of(env);
    bool ctl;
    int n;

    if (!pmu) {
        return false;
    }
    if (pmu_decode(env, msr, &n, &ctl)) {
        x86_lwp_fold(env);
        *value = ctl ? pmu->ctl[n] : pmu->ctr[n];
        return true;
    }
    if (!pmu_global(env, msr)) {
        return false;
    }
    x86_lwp_fold(env);
    *value = 0;
    if (msr == MSR_GLOBAL_STATUS) {
        *value = pmu->global_status;
    } else if (msr == MSR_GLOBAL_CTL) {
        *value = pmu->global_ctl;
    }
    return true;
}

bool x86_pmu_wrmsr(CPUX86State *env, uint32_t msr, uint64_t value, bool *gp)
{
    X86PMU *pmu = pmu_of(env);
    uint64_t all = (1ull << X86_PMU_COUNTERS) - 1;
    bool ctl;
    int n;

    if (!pmu) {
        return false;
    }
    if (pmu_decode(env, msr, &n, &ctl)) {
        x86_lwp_fold(env);
        if (ctl) {
            pmu->ctl[n] = value & CTL_VALID;
        } else {
            pmu->ctr[n] = value & CTR_MASK;
        }
        x86_pmu_changed(env);
        return true;
    }
    if (!pmu_global(env, msr)) {
        return false;
    }
    x86_lwp_fold(env);
    if (msr == MSR_GLOBAL_CTL) {
        pmu->global_ctl = value & all;
    } else if (msr == MSR_GLOBAL_CLEAR) {
        pmu->global_status &= ~value;
    } else {
        *gp = true; /* the status is read-only */
    }
    x86_pmu_changed(env);
    return true;
}

bool x86_pmu_rdpmc(CPUX86State *env, uint32_t index, uint64_t *value)
{
    X86PMU *pmu = pmu_of(env);
    bool core = env->features[FEAT_8000_0001_ECX] & CPUID_EXT3_PERFCORE;

    if (!pmu || index >= (core ? X86_PMU_COUNTERS : LEGACY_COUNTERS)) {
        return false;
    }
    x86_lwp_fold(env);
    *value = pmu->ctr[index];
    return true;
}
