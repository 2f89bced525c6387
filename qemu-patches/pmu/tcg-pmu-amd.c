/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AMD's core performance counters under TCG: their registers.
 */
#include "qemu/osdep.h"
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
#define MSR_GLOBAL_SET    0xc0000303
#define MSR_IRPERF        0xc00000e9

#define CTL_UNITS_SHIFT 8
#define CTL_USR         (1ull << 16)
#define CTL_OS          (1ull << 17)
#define CTL_EDGE        (1ull << 18)
#define CTL_INT         (1ull << 20)
#define CTL_EN          (1ull << 22)
#define CTL_INV         (1ull << 23)
#define CTL_CMASK_SHIFT 24
#define CTL_GUEST_ONLY  (1ull << 40)
#define CTL_HOST_ONLY   (1ull << 41)
/* The other bits are reserved and stay zero. */
#define CTL_VALID       0x0000030fffd7ffffull

/* Leaf 8000_0022 EBX */
#define LBR_SIZE_SHIFT  4

/* Unit masks of event AAh */
#define DISPATCHED_UNITS 0x300
/* Those of event 29h */
#define ACCESS_UNITS (X86_PMU_LOADS | X86_PMU_STORES | X86_PMU_LOAD_STORES)
#define L2_DATA_READ 0x8000 /* of 60h */
#define L2_DATA_MISS 0x0800 /* of 64h */

#define HWCR_IRPERF_EN   (1ull << 30)

/* The counter after those of PERF_CTL counts instructions for IRPERF. */
#define IRPERF X86_PMU_AMD_COUNTERS

#define ALL_COUNTERS ((1ull << X86_PMU_AMD_COUNTERS) - 1)

static bool amd_v2(CPUX86State *env)
{
    return env->features[FEAT_8000_0022_EAX] & CPUID_8000_0022_EAX_PERFMON_V2;
}

static bool amd_freezes(CPUX86State *env)
{
    return env->features[FEAT_8000_0022_EAX] & CPUID_8000_0022_EAX_FREEZE;
}

static bool amd_irperf(CPUX86State *env)
{
    return env->features[FEAT_8000_0008_EBX] & CPUID_8000_0008_EBX_IRPERF;
}

static bool amd_zen(CPUX86State *env)
{
    uint32_t eax = env->cpuid_version;

    return (eax >> 8 & 0xf) + (eax >> 20 & 0xff) >= 0x17;
}

/* PERF_CTL[35:32,7:0], and the unit mask */
static uint32_t amd_select(uint64_t ctl)
{
    return (ctl & 0xff) | (ctl >> 24 & 0xf00) | (ctl & 0xff00) << 4;
}

/* The event; *units of X86_PMU_EVENT_ACCESSES. */
static X86PMUEvent amd_event(CPUX86State *env, const X86PMU *pmu, uint64_t ctl,
                             uint32_t *units)
{
    bool zen = amd_zen(env), misses = zen && pmu->cache;

    *units = ACCESS_UNITS;
    switch (amd_select(ctl) % X86_PMU_EVENTS) {
    case 0x029: /* loads, stores, both: by unit masks */
        *units &= ctl >> CTL_UNITS_SHIFT;
        return X86_PMU_EVENT_ACCESSES;
    case 0x040:
        return X86_PMU_EVENT_ACCESSES;
    case 0x060: /* requests to L2: those of data miss L1D */
        *units = X86_PMU_L1D_MISSES;
        return misses && (ctl & L2_DATA_READ) ? X86_PMU_EVENT_ACCESSES :
                                                X86_PMU_EVENT_NONE;
    case 0x064: /* and what became of them */
        *units = X86_PMU_L2_MISSES;
        return misses && (ctl & L2_DATA_MISS) ? X86_PMU_EVENT_ACCESSES :
                                                X86_PMU_EVENT_NONE;
    case 0x02b:
        return X86_PMU_EVENT_SMIS;
    case 0x02c:
        return X86_PMU_EVENT_INTERRUPTS;
    case 0x076:
        return X86_PMU_EVENT_CYCLES;
    case 0x0aa: /* dispatched ops, by who decoded them */
        return ctl & DISPATCHED_UNITS ? X86_PMU_EVENT_INSNS :
                                        X86_PMU_EVENT_NONE;
    case 0x080: /* fetches: that of an instruction is one, as for IBS */
    case 0x0c0:
    case 0x0c1: /* ops: an instruction is one */
        return X86_PMU_EVENT_INSNS;
    case 0x0c2:
        return X86_PMU_EVENT_BRANCHES;
    case 0x0c4:
        return X86_PMU_EVENT_TAKEN;
    case 0x0c6:
        return X86_PMU_EVENT_FAR;
    case 0x0d1: /* once: dispatch stalls */
        return zen ? X86_PMU_EVENT_CONDITIONAL : X86_PMU_EVENT_NONE;
    case 0x120:
        return X86_PMU_EVENT_REFERENCE;
    case 0x0c3: /* mispredicted branches */
        return pmu->predicts ? X86_PMU_EVENT_MISPREDICTED :
                               X86_PMU_EVENT_NONE;
    default:
        return X86_PMU_EVENT_NONE;
    }
}

static uint32_t amd_where(CPUX86State *env, const X86PMU *pmu, int n)
{
    uint64_t ctl = pmu->ctl[n];
    uint32_t where = 0;

    if (!(ctl & CTL_EN) || (amd_v2(env) && !(pmu->global_ctl >> n & 1)) ||
        (pmu->global_status & X86_PMU_AMD_PMC_FROZEN)) {
        return 0;
    }
    if (ctl & CTL_USR) {
        where |= X86_PMU_USER;
    }
    if (ctl & CTL_OS) {
        where |= X86_PMU_KERNEL;
    }
    if (!(ctl & CTL_GUEST_ONLY) == !(ctl & CTL_HOST_ONLY)) {
        where |= X86_PMU_GUEST | X86_PMU_HOST;
    } else {
        where |= ctl & CTL_GUEST_ONLY ? X86_PMU_GUEST : X86_PMU_HOST;
    }
    return where;
}

static void amd_derive(CPUX86State *env, X86PMU *pmu)
{
    int n;

    for (n = 0; n < X86_PMU_AMD_COUNTERS; n++) {
        uint64_t ctl = pmu->ctl[n];
        uint32_t units;
        X86PMUEvent event = amd_event(env, pmu, ctl, &units);

        pmu->counter[n] = (X86PMUCounter) {
            .value = &pmu->ctr[n],
            .select = amd_select(ctl),
            .event = event,
            .units = units,
            .where = amd_where(env, pmu, n),
            .cmask = ctl >> CTL_CMASK_SHIFT,
            .invert = ctl & CTL_INV,
            .edge = ctl & CTL_EDGE,
            .interrupts = ctl & CTL_INT,
            .exact = (ctl & CTL_INT) || amd_v2(env),
        };
    }
    pmu->counter[IRPERF] = (X86PMUCounter) {
        .value = &pmu->irperf,
        .event = X86_PMU_EVENT_INSNS,
        .where = amd_irperf(env) && (env->msr_hwcr & HWCR_IRPERF_EN) ?
                 X86_PMU_USER | X86_PMU_KERNEL | X86_PMU_GUEST | X86_PMU_HOST :
                 0,
    };
}

/* The global control allows all counters; none is enabled. */
static void amd_reset(CPUX86State *env, X86PMU *pmu)
{
    pmu->global_ctl = ALL_COUNTERS;
}

static void amd_overflow(CPUX86State *env, X86PMU *pmu, int n)
{
    if (amd_v2(env) && n != IRPERF) {
        pmu->global_status |= 1ull << n;
    }
}

/* The interrupt may stop the counters and the stack of branches. */
static void amd_deliver(CPUX86State *env, X86PMU *pmu)
{
    if (amd_freezes(env)) {
        if (env->msr_debugctl & DEBUGCTL_FREEZE_LBR) {
            pmu->global_status |= X86_PMU_AMD_LBR_FROZEN;
        }
        if (env->msr_debugctl & DEBUGCTL_FREEZE_PERFMON) {
            pmu->global_status |= X86_PMU_AMD_PMC_FROZEN;
            pmu->rederive = true;
        }
    }
    apic_deliver_pmi(env_archcpu(env)->apic_state, false);
}

static void amd_cpuid(CPUX86State *env, X86PMU *pmu, uint32_t index,
                      uint32_t *regs)
{
    if (index == 0x8000001b &&
        (env->features[FEAT_8000_0001_ECX] & CPUID_EXT3_IBS)) {
        regs[0] = x86_ibs_caps();
    }
    if (index == 0x80000022 && env->features[FEAT_8000_0022_EAX]) {
        regs[0] = env->features[FEAT_8000_0022_EAX];
        regs[1] = X86_PMU_AMD_COUNTERS;
        if (regs[0] & CPUID_8000_0022_EAX_LBR_V2) {
            regs[1] |= X86_LBR_ENTRIES << LBR_SIZE_SHIFT;
        }
    }
}

/* Find the register of an MSR: counter n, and PERF_CTL or PERF_CTR. */
static bool amd_decode(CPUX86State *env, uint32_t msr, int *n, bool *ctl)
{
    uint32_t core = msr - MSR_CORE;

    if (msr >= MSR_LEGACY_CTL && msr < MSR_LEGACY_CTR + LEGACY_COUNTERS) {
        *n = msr & (LEGACY_COUNTERS - 1);
        *ctl = msr < MSR_LEGACY_CTR;
        return true;
    }
    if (core < 2 * X86_PMU_AMD_COUNTERS &&
        (env->features[FEAT_8000_0001_ECX] & CPUID_EXT3_PERFCORE)) {
        *n = core / 2;
        *ctl = !(core & 1);
        return true;
    }
    return false;
}

static bool amd_global(CPUX86State *env, uint32_t msr)
{
    return msr >= MSR_GLOBAL_STATUS && msr <= MSR_GLOBAL_SET && amd_v2(env);
}

/* The bits that the global status can have. */
static uint64_t amd_status_bits(CPUX86State *env)
{
    return ALL_COUNTERS | (amd_freezes(env) ? X86_PMU_AMD_LBR_FROZEN |
                                              X86_PMU_AMD_PMC_FROZEN : 0);
}

static bool amd_rdmsr(CPUX86State *env, X86PMU *pmu, uint32_t msr,
                      uint64_t *value, bool *gp)
{
    bool ctl;
    int n;

    if (amd_decode(env, msr, &n, &ctl)) {
        *value = ctl ? pmu->ctl[n] : pmu->ctr[n];
        return true;
    }
    if (amd_irperf(env) && (msr == MSR_IRPERF || msr == MSR_K7_HWCR)) {
        *value = msr == MSR_IRPERF ? pmu->irperf : env->msr_hwcr;
        return true;
    }
    if (x86_lbr_rdmsr(env, pmu, msr, value) ||
        x86_ibs_rdmsr(env, pmu, msr, value)) {
        return true;
    }
    if (!amd_global(env, msr)) {
        return false;
    }
    *value = 0;
    if (msr == MSR_GLOBAL_STATUS) {
        *value = pmu->global_status;
    } else if (msr == MSR_GLOBAL_CTL) {
        *value = pmu->global_ctl;
    }
    return true;
}

static bool amd_wrmsr(CPUX86State *env, X86PMU *pmu, uint32_t msr,
                      uint64_t value, bool *gp)
{
    bool ctl;
    int n;

    if (amd_decode(env, msr, &n, &ctl)) {
        if (ctl) {
            pmu->ctl[n] = value & CTL_VALID;
        } else {
            pmu->ctr[n] = value & pmu->mask;
        }
        return true;
    }
    if (amd_irperf(env) && msr == MSR_IRPERF) {
        *gp = true;
        return true;
    }
    if (amd_irperf(env) && msr == MSR_K7_HWCR) {
        env->msr_hwcr = value & HWCR_IRPERF_EN;
        return true;
    }
    if (x86_lbr_wrmsr(env, pmu, msr, value, gp) ||
        x86_ibs_wrmsr(env, pmu, msr, value, gp)) {
        return true;
    }
    if (!amd_global(env, msr)) {
        return false;
    }
    if (msr == MSR_GLOBAL_CTL) {
        pmu->global_ctl = value & ALL_COUNTERS;
    } else if (msr == MSR_GLOBAL_CLEAR) {
        pmu->global_status &= ~value;
    } else if (msr == MSR_GLOBAL_SET) {
        pmu->global_status |= value & amd_status_bits(env);
    } else {
        *gp = true; /* the status is read-only */
    }
    return true;
}

static bool amd_rdpmc(CPUX86State *env, X86PMU *pmu, uint32_t index,
                      uint64_t *value)
{
    bool core = env->features[FEAT_8000_0001_ECX] & CPUID_EXT3_PERFCORE;

    if (index >= (core ? X86_PMU_AMD_COUNTERS : LEGACY_COUNTERS)) {
        return false;
    }
    *value = pmu->ctr[index];
    return true;
}

static uint64_t amd_debugctl(CPUX86State *env, X86PMU *pmu)
{
    return amd_freezes(env) ? DEBUGCTL_FREEZE_LBR | DEBUGCTL_FREEZE_PERFMON : 0;
}

const X86PMUVendor x86_pmu_amd = {
    .reset = amd_reset,
    .derive = amd_derive,
    .overflow = amd_overflow,
    .deliver = amd_deliver,
    .cpuid = amd_cpuid,
    .rdmsr = amd_rdmsr,
    .wrmsr = amd_wrmsr,
    .debugctl = amd_debugctl,
    .rdpmc = amd_rdpmc,
};
