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
#define ARCH_EVENTS  7
#define ARCH_MISSING (1 << 3 /* LLC references */ | 1 << 4 /* LLC misses */ | \
                      1 << 6 /* branch misses */)

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
    regs[1] = ARCH_MISSING;
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

/* A range of the MSRs: where it begins, and how many there are. */
typedef enum IntelRange {
    INTEL_NONE, INTEL_PMC, INTEL_SEL, INTEL_FULL, INTEL_FIXED,
} IntelRange;

static bool intel_pdcm(CPUX86State *env)
{
    return env->features[FEAT_1_ECX] & CPUID_EXT_PDCM;
}

/*
 * The range of an MSR, and the register's number in it.  *gp: there is no such
 * register.
 */
static IntelRange intel_decode(CPUX86State *env, const X86PMU *pmu,
                               uint32_t msr, int *n, bool *gp)
{
    static const struct {
        uint32_t first;
        int places;
    } ranges[] = {
        [INTEL_PMC] = { MSR_P6_PERFCTR0, X86_PMU_INTEL_GP },
        [INTEL_SEL] = { MSR_P6_EVNTSEL0, X86_PMU_INTEL_GP },
        [INTEL_FULL] = { MSR_FULL_WIDTH_PMC0, X86_PMU_INTEL_GP },
        [INTEL_FIXED] = { MSR_CORE_PERF_FIXED_CTR0, X86_PMU_INTEL_FIXED + 1 },
    };
    IntelRange r;

    for (r = INTEL_PMC; r <= INTEL_FIXED; r++) {
        if (msr - ranges[r].first < ranges[r].places) {
            *n = msr - ranges[r].first;
            *gp = *n >= (r == INTEL_FIXED ? pmu->fixed : intel_gp(pmu));
            if (r == INTEL_FULL && !(env->features[FEAT_PERF_CAPABILITIES] &
                                     PERF_CAP_FULL_WRITE)) {
                *gp = true;
            }
            return r;
        }
    }
    return INTEL_NONE;
}

/* The version with which a register came that stands alone; 0: none of ours */
static int intel_since(uint32_t msr)
{
    switch (msr) {
    case MSR_CORE_PERF_FIXED_CTR_CTRL:
    case MSR_CORE_PERF_GLOBAL_STATUS:
    case MSR_CORE_PERF_GLOBAL_CTRL:
    case MSR_CORE_PERF_GLOBAL_OVF_CTRL:
        return VERSION_GLOBAL;
    case MSR_GLOBAL_STATUS_SET:
    case MSR_GLOBAL_INUSE:
        return VERSION_STREAM;
    default:
        return 0;
    }
}

static uint64_t intel_read_single(CPUX86State *env, const X86PMU *pmu,
                                  uint32_t msr)
{
    switch (msr) {
    case MSR_CORE_PERF_FIXED_CTR_CTRL:
        return env->msr_fixed_ctr_ctrl;
    case MSR_CORE_PERF_GLOBAL_STATUS:
        return env->msr_global_status;
    case MSR_CORE_PERF_GLOBAL_CTRL:
        return env->msr_global_ctrl;
    case MSR_GLOBAL_INUSE:
        return intel_inuse(env, pmu);
    default: /* what clears and sets the status */
        return 0;
    }
}

static bool intel_rdmsr(CPUX86State *env, X86PMU *pmu, uint32_t msr,
                        uint64_t *value, bool *gp)
{
    int n = 0;

    IntelRange range = intel_decode(env, pmu, msr, &n, gp);

    *value = 0;
    if (*gp) {
        return true;
    }
    switch (range) {
    case INTEL_PMC:
    case INTEL_FULL:
        *value = env->msr_gp_counters[n];
        return true;
    case INTEL_SEL:
        *value = env->msr_gp_evtsel[n];
        return true;
    case INTEL_FIXED:
        *value = env->msr_fixed_counters[n];
        return true;
    case INTEL_NONE:
        break;
    }
    if (msr == MSR_IA32_PERF_CAPABILITIES) {
        *value = env->features[FEAT_PERF_CAPABILITIES];
        *gp = !intel_pdcm(env);
        return true;
    }
    if (!intel_since(msr)) {
        return false;
    }
    *value = intel_read_single(env, pmu, msr);
    *gp = !intel_version(pmu, intel_since(msr));
    return true;
}

/* False: #GP(0) */
static bool intel_write(uint64_t *reg, uint64_t value, uint64_t valid)
{
    if (value & ~valid) {
        return false;
    }
    *reg = value;
    return true;
}

static bool intel_write_single(CPUX86State *env, const X86PMU *pmu,
                               uint32_t msr, uint64_t value)
{
    uint64_t valid = intel_status_valid(pmu);

    switch (msr) {
    case MSR_CORE_PERF_FIXED_CTR_CTRL:
        return intel_write(&env->msr_fixed_ctr_ctrl, value,
                           intel_fixed_valid(pmu));
    case MSR_CORE_PERF_GLOBAL_CTRL:
        return intel_write(&env->msr_global_ctrl, value, intel_all(pmu));
    case MSR_CORE_PERF_GLOBAL_OVF_CTRL:
        if (value & ~(valid | STATUS_COND_CHGD)) {
            return false;
        }
        env->msr_global_status &= ~value;
        return true;
    case MSR_GLOBAL_STATUS_SET:
        if (value & ~valid) {
            return false;
        }
        env->msr_global_status |= value;
        return true;
    default: /* status and in-use are read-only */
        return false;
    }
}

static bool intel_wrmsr(CPUX86State *env, X86PMU *pmu, uint32_t msr,
                        uint64_t value, bool *gp)
{
    int n = 0;
    IntelRange range = intel_decode(env, pmu, msr, &n, gp);

    if (*gp) {
        return true;
    }
    switch (range) {
    case INTEL_PMC: /* bits 31:0, sign-extended */
        env->msr_gp_counters[n] = (int64_t)(int32_t)value & pmu->mask;
        return true;
    case INTEL_FULL:
        *gp = !intel_write(&env->msr_gp_counters[n], value, pmu->mask);
        return true;
    case INTEL_SEL:
        *gp = !intel_write(&env->msr_gp_evtsel[n], value, SEL_VALID);
        return true;
    case INTEL_FIXED:
        *gp = !intel_write(&env->msr_fixed_counters[n], value, pmu->mask);
        return true;
    case INTEL_NONE:
        break;
    }
    if (msr == MSR_IA32_PERF_CAPABILITIES) {
        *gp = true;
        return true;
    }
    if (!intel_since(msr)) {
        return false;
    }
    *gp = !intel_version(pmu, intel_since(msr)) ||
          !intel_write_single(env, pmu, msr, value);
    return true;
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
