/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intel's architectural performance monitoring under TCG: its registers.
 *
 * The registers are those that KVM's guests have, in CPUX86State.  Of the
 * architectural events those that have a model are announced.  Of the events of
 * Intel's models the branches are known: BR_INST_RETIRED.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "hw/i386/apic.h"
#include "pmu/x86-pmu.h"

QEMU_BUILD_BUG_ON(X86_PMU_INTEL_FIXED > MAX_FIXED_COUNTERS);
QEMU_BUILD_BUG_ON(X86_PMU_INTEL_GP > MAX_GP_COUNTERS);

#define MSR_FULL_WIDTH_PMC0    0x4c1
#define MSR_GLOBAL_STATUS_SET  0x391
#define MSR_GLOBAL_INUSE       0x392

#define SEL_USR         (1ull << 16)
#define SEL_OS          (1ull << 17)
#define SEL_EDGE        (1ull << 18)
#define SEL_INT         (1ull << 20)
#define SEL_EN          (1ull << 22)
#define SEL_INV         (1ull << 23)
#define SEL_CMASK_SHIFT 24
/* All but AnyThread, which leaf 0Ah says is deprecated. */
#define SEL_VALID       0xffdfffffull

/* IA32_FIXED_CTR_CTRL: four bits for each counter, bit 2 is AnyThread. */
#define FIXED_BITS  4
#define FIXED_OS    1
#define FIXED_USR   2
#define FIXED_PMI   8
#define FIXED_VALID (FIXED_OS | FIXED_USR | FIXED_PMI)

/* IA32_PERF_GLOBAL_*: the counters of variable function, then the fixed. */
#define GLOBAL_FIXED_SHIFT 32
#define STATUS_LBR_FRZ   (1ull << 58)
#define STATUS_CTR_FRZ   (1ull << 59)
#define STATUS_ASCI      (1ull << 60)
#define STATUS_UNCORE    (1ull << 61)
#define STATUS_OVF_BUF   (1ull << 62)
#define STATUS_COND_CHGD (1ull << 63)
#define INUSE_PMI        (1ull << 63)

/* Versions in which something arrived */
#define VERSION_GLOBAL 2
#define VERSION_UNCORE 3
#define VERSION_STREAM 4 /* the streamlined freeze */
#define VERSION_BITMAP 5 /* leaf 0Ah ECX */

/* Leaf 0Ah EBX: the architectural events that are not there. */
#define ARCH_EVENTS        7
#define ARCH_LLC           (1 << 3 /* references */ | 1 << 4 /* misses */)
#define ARCH_BRANCH_MISSES (1 << 6)

/* IA32_MISC_ENABLE, read-only: counters, neither BTS nor PEBS. */
#define MISC_ENABLE_COUNTERS ((1ull << 7) | (1ull << 11) | (1ull << 12))

static bool intel_version(const X86PMU *pmu, int version)
{
    return pmu->version >= version;
}

static int intel_gp(const X86PMU *pmu)
{
    return pmu->counters - pmu->fixed;
}

/* Bits of the counters in IA32_PERF_GLOBAL_CTRL. */
static uint64_t intel_all(const X86PMU *pmu)
{
    return MAKE_64BIT_MASK(0, intel_gp(pmu)) |
           MAKE_64BIT_MASK(GLOBAL_FIXED_SHIFT, pmu->fixed);
}

static int intel_global_bit(const X86PMU *pmu, int n)
{
    return n < intel_gp(pmu) ? n : GLOBAL_FIXED_SHIFT + n - intel_gp(pmu);
}

static uint32_t intel_fixed_ctl(CPUX86State *env, int i)
{
    return env->msr_fixed_ctr_ctrl >> (i * FIXED_BITS) & FIXED_VALID;
}

/* The event of a unit mask and an event select. */
static X86PMUEvent intel_event(const X86PMU *pmu, uint64_t sel)
{
    /* Ice Lake gave BR_INST_RETIRED new unit masks. */
    bool ice_lake = intel_version(pmu, VERSION_BITMAP);

    switch (sel & 0xffff) {
    case 0x003c:
        return X86_PMU_EVENT_CYCLES;
    case 0x013c:
        return X86_PMU_EVENT_REFERENCE;
    case 0x00c0:
        return X86_PMU_EVENT_INSNS;
    case 0x00c4:
        return X86_PMU_EVENT_BRANCH_INSNS;
    case 0x01c4:
        return ice_lake ? X86_PMU_EVENT_TAKEN_CONDITIONAL :
                          X86_PMU_EVENT_CONDITIONAL;
    case 0x11c4:
        return ice_lake ? X86_PMU_EVENT_CONDITIONAL : X86_PMU_EVENT_NONE;
    case 0x7ec4: /* Snow Ridge */
        return ice_lake ? X86_PMU_EVENT_CONDITIONAL : X86_PMU_EVENT_NONE;
    case 0x20c4:
        return X86_PMU_EVENT_TAKEN_NEAR;
    case 0x40c4:
        return X86_PMU_EVENT_FAR_INSNS;
    case 0x00c5:
        return pmu->predicts ? X86_PMU_EVENT_MISPREDICTED : X86_PMU_EVENT_NONE;
    default:
        return X86_PMU_EVENT_NONE;
    }
}

/* Does the global control let counter n count? */
static bool intel_allowed(CPUX86State *env, const X86PMU *pmu, int n)
{
    if (!intel_version(pmu, VERSION_GLOBAL)) {
        return true;
    }
    if (intel_version(pmu, VERSION_STREAM) &&
        (env->msr_global_status & STATUS_CTR_FRZ)) {
        return false;
    }
    return env->msr_global_ctrl >> intel_global_bit(pmu, n) & 1;
}

static uint32_t intel_where(bool user, bool kernel)
{
    return (user ? X86_PMU_USER : 0) | (kernel ? X86_PMU_KERNEL : 0) |
           X86_PMU_GUEST | X86_PMU_HOST;
}

static void intel_derive_gp(CPUX86State *env, X86PMU *pmu, int n)
{
    uint64_t sel = env->msr_gp_evtsel[n];
    bool on = (sel & SEL_EN) && intel_allowed(env, pmu, n);

    env->msr_gp_counters[n] &= pmu->mask;
    pmu->counter[n] = (X86PMUCounter) {
        .value = &env->msr_gp_counters[n],
        .select = (sel & 0xff) | (sel & 0xff00) << 4,
        .event = intel_event(pmu, sel),
        .where = on ? intel_where(sel & SEL_USR, sel & SEL_OS) : 0,
        .cmask = sel >> SEL_CMASK_SHIFT,
        .invert = sel & SEL_INV,
        .edge = sel & SEL_EDGE,
        .interrupts = sel & SEL_INT,
        .exact = (sel & SEL_INT) || intel_version(pmu, VERSION_GLOBAL),
    };
}

static void intel_derive_fixed(CPUX86State *env, X86PMU *pmu, int i)
{
    static const X86PMUEvent events[X86_PMU_INTEL_FIXED] = {
        X86_PMU_EVENT_INSNS, X86_PMU_EVENT_CYCLES, X86_PMU_EVENT_REFERENCE,
    };
    int n = intel_gp(pmu) + i;
    uint32_t ctl = intel_fixed_ctl(env, i);
    bool on = (ctl & (FIXED_OS | FIXED_USR)) && intel_allowed(env, pmu, n);

    env->msr_fixed_counters[i] &= pmu->mask;
    pmu->counter[n] = (X86PMUCounter) {
        .value = &env->msr_fixed_counters[i],
        .event = events[i],
        .where = on ? intel_where(ctl & FIXED_USR, ctl & FIXED_OS) : 0,
        .interrupts = ctl & FIXED_PMI,
        .exact = true,
    };
}

static void intel_derive(CPUX86State *env, X86PMU *pmu)
{
    int i;

    for (i = 0; i < intel_gp(pmu); i++) {
        intel_derive_gp(env, pmu, i);
    }
    for (i = 0; i < pmu->fixed; i++) {
        intel_derive_fixed(env, pmu, i);
    }
}

/* Counters of variable function are allowed, fixed ones are not. */
static void intel_reset(CPUX86State *env, X86PMU *pmu)
{
    if (intel_version(pmu, VERSION_GLOBAL)) {
        env->msr_global_ctrl = MAKE_64BIT_MASK(0, intel_gp(pmu));
    }
}

static void intel_overflow(CPUX86State *env, X86PMU *pmu, int n)
{
    if (intel_version(pmu, VERSION_GLOBAL)) {
        env->msr_global_status |= 1ull << intel_global_bit(pmu, n);
    }
}

/*
 * With IA32_DEBUGCTL.Freeze_PerfMon_On_PMI the counters stop: up to version 3
 * by losing their global control, from version 4 on by a bit of the status.
 */
static void intel_deliver(CPUX86State *env, X86PMU *pmu)
{
    if (env->msr_debugctl & DEBUGCTL_FREEZE_PERFMON) {
        if (intel_version(pmu, VERSION_STREAM)) {
            env->msr_global_status |= STATUS_CTR_FRZ;
        } else {
            env->msr_global_ctrl = 0;
        }
        pmu->rederive = true;
    }
    apic_deliver_pmi(env_archcpu(env)->apic_state, true);
}

static void intel_cpuid(CPUX86State *env, X86PMU *pmu, uint32_t index,
                        uint32_t *regs)
{
    int width = ctpop64(pmu->mask);

    if (index != 0xa) {
        return;
    }
    regs[0] = pmu->version | intel_gp(pmu) << 8 | width << 16 |
              ARCH_EVENTS << 24;
    regs[1] = ARCH_LLC | (pmu->predicts ? 0 : ARCH_BRANCH_MISSES);
    if (intel_version(pmu, VERSION_BITMAP)) {
        regs[2] = MAKE_64BIT_MASK(0, pmu->fixed);
    }
    if (intel_version(pmu, VERSION_GLOBAL)) {
        regs[3] = pmu->fixed | width << 5;
    }
    if (intel_version(pmu, VERSION_UNCORE)) {
        regs[3] |= 1 << 15; /* AnyThread is deprecated */
    }
}

/* What may be cleared, and from version 4 on set, in the global status. */
static uint64_t intel_status_valid(const X86PMU *pmu)
{
    uint64_t valid = intel_all(pmu) | STATUS_OVF_BUF;

    if (intel_version(pmu, VERSION_UNCORE)) {
        valid |= STATUS_UNCORE;
    }
    if (intel_version(pmu, VERSION_STREAM)) {
        valid |= STATUS_LBR_FRZ | STATUS_CTR_FRZ | STATUS_ASCI;
    }
    return valid;
}

static uint64_t intel_fixed_valid(const X86PMU *pmu)
{
    uint64_t valid = 0;
    int i;

    for (i = 0; i < pmu->fixed; i++) {
        valid |= (uint64_t)FIXED_VALID << (i * FIXED_BITS);
    }
    return valid;
}

/* The counters that some software has taken, by their settings. */
static uint64_t intel_inuse(CPUX86State *env, const X86PMU *pmu)
{
    uint64_t inuse = 0;
    int i;

    for (i = 0; i < intel_gp(pmu); i++) {
        if (env->msr_gp_evtsel[i] & 0xff) {
            inuse |= 1ull << i;
        }
        if (env->msr_gp_evtsel[i] & SEL_INT) {
            inuse |= INUSE_PMI;
        }
    }
    for (i = 0; i < pmu->fixed; i++) {
        uint32_t ctl = intel_fixed_ctl(env, i);

        if (ctl & (FIXED_OS | FIXED_USR)) {
            inuse |= 1ull << (GLOBAL_FIXED_SHIFT + i);
        }
        if (ctl & FIXED_PMI) {
            inuse |= INUSE_PMI;
        }
    }
    return inuse;
}

static bool intel_pdcm(CPUX86State *env)
{
    return env->features[FEAT_1_ECX] & CPUID_EXT_PDCM;
}

/*
 * The register of an MSR that software writes as a whole, or NULL; *valid: its
 * bits, *gp: this CPU has no such register.
 */
static uint64_t *intel_register(CPUX86State *env, const X86PMU *pmu,
                                uint32_t msr, uint64_t *valid, bool *gp)
{
    static const struct {
        uint32_t first;
        uint32_t places;
        size_t at; /* in CPUX86State */
    } ranges[] = {
        { MSR_P6_PERFCTR0, X86_PMU_INTEL_GP,
          offsetof(CPUX86State, msr_gp_counters) },
        { MSR_FULL_WIDTH_PMC0, X86_PMU_INTEL_GP,
          offsetof(CPUX86State, msr_gp_counters) },
        { MSR_P6_EVNTSEL0, X86_PMU_INTEL_GP,
          offsetof(CPUX86State, msr_gp_evtsel) },
        { MSR_CORE_PERF_FIXED_CTR0, X86_PMU_INTEL_FIXED + 1,
          offsetof(CPUX86State, msr_fixed_counters) },
    };
    int i;

    for (i = 0; i < ARRAY_SIZE(ranges); i++) {
        uint32_t first = ranges[i].first, n = msr - first;

        if (n >= ranges[i].places) {
            continue;
        }
        *valid = first == MSR_P6_EVNTSEL0 ? SEL_VALID : pmu->mask;
        *gp = n >= (first == MSR_CORE_PERF_FIXED_CTR0 ? pmu->fixed :
                                                        intel_gp(pmu)) ||
              (first == MSR_FULL_WIDTH_PMC0 &&
               !(env->features[FEAT_PERF_CAPABILITIES] & PERF_CAP_FULL_WRITE));
        return (uint64_t *)((void *)env + ranges[i].at) + n;
    }
    *gp = !intel_version(pmu, VERSION_GLOBAL);
    if (msr == MSR_CORE_PERF_FIXED_CTR_CTRL) {
        *valid = intel_fixed_valid(pmu);
        return &env->msr_fixed_ctr_ctrl;
    }
    *valid = intel_all(pmu);
    return msr == MSR_CORE_PERF_GLOBAL_CTRL ? &env->msr_global_ctrl : NULL;
}

/* The version with which a register of the status came; 0: it is none. */
static int intel_status_since(uint32_t msr)
{
    switch (msr) {
    case MSR_CORE_PERF_GLOBAL_STATUS:
    case MSR_CORE_PERF_GLOBAL_OVF_CTRL:
        return VERSION_GLOBAL;
    case MSR_GLOBAL_STATUS_SET:
    case MSR_GLOBAL_INUSE:
        return VERSION_STREAM;
    default:
        return 0;
    }
}

static bool intel_rdmsr(CPUX86State *env, X86PMU *pmu, uint32_t msr,
                        uint64_t *value, bool *gp)
{
    uint64_t valid;
    const uint64_t *reg = intel_register(env, pmu, msr, &valid, gp);

    *value = 0;
    if (reg) {
        *value = *gp ? 0 : *reg;
        return true;
    }
    if (msr == MSR_IA32_PERF_CAPABILITIES) {
        *value = env->features[FEAT_PERF_CAPABILITIES];
        *gp = !intel_pdcm(env);
        return true;
    }
    if (msr == MSR_CORE_PERF_GLOBAL_STATUS) {
        *value = env->msr_global_status;
    } else if (msr == MSR_GLOBAL_INUSE) {
        *value = intel_inuse(env, pmu);
    }
    *gp = !intel_version(pmu, intel_status_since(msr));
    return intel_status_since(msr);
}

/* False: #GP(0) */
static bool intel_write_status(CPUX86State *env, const X86PMU *pmu,
                               uint32_t msr, uint64_t value)
{
    uint64_t valid = intel_status_valid(pmu);

    if (msr == MSR_CORE_PERF_GLOBAL_OVF_CTRL &&
        !(value & ~(valid | STATUS_COND_CHGD))) {
        env->msr_global_status &= ~value;
        return true;
    }
    if (msr == MSR_GLOBAL_STATUS_SET && !(value & ~valid)) {
        env->msr_global_status |= value;
        return true;
    }
    return false; /* status and in-use are read-only */
}

static bool intel_wrmsr(CPUX86State *env, X86PMU *pmu, uint32_t msr,
                        uint64_t value, bool *gp)
{
    uint64_t valid;
    uint64_t *reg = intel_register(env, pmu, msr, &valid, gp);

    if (reg) {
        if (msr - MSR_P6_PERFCTR0 < X86_PMU_INTEL_GP) {
            /* Bits 31:0, sign-extended */
            value = (int64_t)(int32_t)value & valid;
        }
        *gp = *gp || (value & ~valid);
        if (!*gp) {
            *reg = value;
        }
        return true;
    }
    if (msr == MSR_IA32_PERF_CAPABILITIES) {
        *gp = true;
        return true;
    }
    *gp = !intel_version(pmu, intel_status_since(msr)) ||
          !intel_write_status(env, pmu, msr, value);
    return intel_status_since(msr);
}

/* ECX[31:16]: 0 variable function, 4000h fixed; ECX[15:0] the number */
static bool intel_rdpmc(CPUX86State *env, X86PMU *pmu, uint32_t index,
                        uint64_t *value)
{
    uint32_t type = index >> 16;
    uint32_t n = index & 0xffff;

    if (type == 0 && n < intel_gp(pmu)) {
        *value = env->msr_gp_counters[n];
        return true;
    }
    if (type == 0x4000 && n < pmu->fixed) {
        *value = env->msr_fixed_counters[n];
        return true;
    }
    return false;
}

static uint64_t intel_debugctl(CPUX86State *env, X86PMU *pmu)
{
    return intel_version(pmu, VERSION_GLOBAL) ? DEBUGCTL_FREEZE_PERFMON : 0;
}

const X86PMUVendor x86_pmu_intel = {
    .reset = intel_reset,
    .derive = intel_derive,
    .overflow = intel_overflow,
    .deliver = intel_deliver,
    .cpuid = intel_cpuid,
    .rdmsr = intel_rdmsr,
    .wrmsr = intel_wrmsr,
    .debugctl = intel_debugctl,
    .rdpmc = intel_rdpmc,
};

uint64_t x86_pmu_misc_enable(CPUX86State *env, uint64_t value)
{
    X86PMU *pmu = env_archcpu(env)->tcg_pmu;

    return pmu && pmu->version ? value | MISC_ENABLE_COUNTERS : value;
}
