/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Performance counters under TCG: CPU properties, CPUID, reset and migration.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/error-report.h"
#include "cpu.h"
#include "migration/vmstate.h"
#include "count/qemu-compat.h"
#include "count/x86-cache-props.h"
#include "count/x86-loads.h"
#include "system/tcg.h"
#include "pmu/x86-pmu.h"

#define INTEL_MAX_VERSION 5

/*
 * Leaf 0Ah of Intel's models.  Version 3 only adds AnyThread, of which there is
 * no model, so the models with version 3 have 2.
 */
typedef struct IntelModel {
    uint8_t first, last;      /* models of family 6 */
    uint8_t version, counters, fixed, width;
} IntelModel;

static const IntelModel intel_models[] = {
    { 0x0e, 0x0e, 1, 2, 0, 40 },                   /* Core Duo */
    { 0x0f, 0x19, 2, 2, X86_PMU_INTEL_FIXED, 40 }, /* Core 2 */
    { 0x1c, 0x1c, 2, 2, X86_PMU_INTEL_FIXED, 40 }, /* Atom */
    { 0x1d, 0x1d, 2, 2, X86_PMU_INTEL_FIXED, 40 }, /* Core 2 */
    { 0x4e, 0x4e, 4, 4, X86_PMU_INTEL_FIXED, 48 }, /* Skylake */
    { 0x55, 0x55, 4, 4, X86_PMU_INTEL_FIXED, 48 },
    { 0x5c, 0x5c, 4, 4, X86_PMU_INTEL_FIXED, 48 }, /* Goldmont */
    { 0x5e, 0x5f, 4, 4, X86_PMU_INTEL_FIXED, 48 }, /* Skylake, Goldmont */
    { 0x6a, 0x6c, 5, 8, X86_PMU_INTEL_FIXED, 48 }, /* Ice Lake */
    { 0x7a, 0x7a, 4, 4, X86_PMU_INTEL_FIXED, 48 }, /* Goldmont */
    { 0x7d, 0x7e, 5, 8, X86_PMU_INTEL_FIXED, 48 }, /* Ice Lake */
    { 0x85, 0x85, 2, 2, X86_PMU_INTEL_FIXED, 40 }, /* Knights Mill */
    { 0x86, 0x86, 5, 4, X86_PMU_INTEL_FIXED, 48 }, /* Snow Ridge */
    { 0x8e, 0x8e, 4, 4, X86_PMU_INTEL_FIXED, 48 }, /* Kaby Lake */
    { 0x8c, 0x8d, 5, 8, X86_PMU_INTEL_FIXED, 48 }, /* Tiger Lake */
    { 0x8f, 0x8f, 5, 8, X86_PMU_INTEL_FIXED, 48 }, /* Sapphire Rapids */
    { 0x9e, 0x9e, 4, 4, X86_PMU_INTEL_FIXED, 48 }, /* Kaby Lake */
    { 0xad, 0xdd, 5, 8, X86_PMU_INTEL_FIXED, 48 }, /* Granite Rapids on */
    { 0x1a, 0xff, 2, 4, X86_PMU_INTEL_FIXED, 48 }, /* Nehalem on, others */
};

static void pmu_get_version(Object *obj, Visitor *v, const char *name,
                            void *opaque, Error **errp)
{
    visit_type_uint8(v, name, &X86_CPU(obj)->tcg_pmu_props.version, errp);
}

static void pmu_set_version(Object *obj, Visitor *v, const char *name,
                            void *opaque, Error **errp)
{
    uint8_t value;

    if (!x86_cnt_settable(obj, name, errp) ||
        !visit_type_uint8(v, name, &value, errp)) {
        return;
    }
    if (value > INTEL_MAX_VERSION) {
        error_setg(errp, "pmu-version is at most %d", INTEL_MAX_VERSION);
        return;
    }
    X86_CPU(obj)->tcg_pmu_props.version = value;
}

static bool pmu_get_counting(Object *obj, Error **errp)
{
    return X86_CPU(obj)->env.x86_count.kernel;
}

static bool pmu_get_ibs_cache(Object *obj, Error **errp)
{
    return X86_CPU(obj)->tcg_pmu_props.ibs_cache;
}

static void pmu_set_ibs_cache(Object *obj, bool value, Error **errp)
{
    if (x86_cnt_settable(obj, "ibs-cache", errp)) {
        X86_CPU(obj)->tcg_pmu_props.ibs_cache = value;
    }
}

void x86_pmu_class_init(ObjectClass *oc)
{
    object_class_property_add_bool(oc, "x-pmu-counting", pmu_get_counting,
                                   NULL);
    object_class_property_set_description(oc, "x-pmu-counting",
                                          "a counter counts, for tests");
    object_class_property_add(oc, "pmu-version", "uint8", pmu_get_version,
                              pmu_set_version, NULL, NULL);
    object_class_property_set_description(oc, "pmu-version", "version of "
                                          "Intel's performance monitoring "
                                          "(TCG), 0: the model's");
    object_class_property_add_bool(oc, "ibs-cache", pmu_get_ibs_cache,
                                   pmu_set_ibs_cache);
    object_class_property_set_description(oc, "ibs-cache", "IBS and counters "
                                          "have data caches of a model (TCG)");
    x86_cache_class_init(oc, "ibs-cache",
                         offsetof(X86CPU, tcg_pmu_props.ibs_geometry));
}

/* What an Intel CPU has, or NULL. */
static const IntelModel *pmu_intel_model(X86CPU *cpu)
{
    uint32_t eax = cpu->env.cpuid_version;
    int family = (eax >> 8 & 0xf) + (eax >> 20 & 0xff);
    int model = (eax >> 4 & 0xf) | (eax >> 12 & 0xf0);
    int i;

    if (!IS_INTEL_CPU(&cpu->env) || family != 6) {
        return NULL;
    }
    for (i = 0; i < ARRAY_SIZE(intel_models); i++) {
        if (model >= intel_models[i].first && model <= intel_models[i].last) {
            return &intel_models[i];
        }
    }
    return NULL;
}

/* -cpu max has them where they are possible. */
static bool pmu_wanted(X86CPU *cpu)
{
    return cpu->enable_pmu && cpu->tcg_pmu_props.offered &&
           (IS_AMD_CPU(&cpu->env) || pmu_intel_model(cpu));
}

static int pmu_intel_version(X86CPU *cpu)
{
    int version = cpu->tcg_pmu_props.version;

    return version ? version : pmu_intel_model(cpu)->version;
}

/* IA32_PERF_CAPABILITIES, with full-width writes from version 4 on */
static void pmu_expand_intel(X86CPU *cpu)
{
    CPUX86State *env = &cpu->env;

    if (pmu_intel_version(cpu) >= 4) {
        env->features[FEAT_1_ECX] |= CPUID_EXT_PDCM &
                                     ~env->user_features[FEAT_1_ECX];
        env->features[FEAT_PERF_CAPABILITIES] |=
            PERF_CAP_FULL_WRITE & ~env->user_features[FEAT_PERF_CAPABILITIES];
    }
    if (!(env->features[FEAT_1_ECX] & CPUID_EXT_PDCM)) {
        env->features[FEAT_PERF_CAPABILITIES] &= ~PERF_CAP_FULL_WRITE;
    }
}

bool x86_pmu_expand_features(X86CPU *cpu, Error **errp)
{
    CPUX86State *env = &cpu->env;

    if (!tcg_enabled()) {
        return true;
    }
    if (pmu_wanted(cpu) && IS_INTEL_CPU(env)) {
        pmu_expand_intel(cpu);
    } else {
        /* No model has it, but -cpu max has all that TCG has. */
        env->features[FEAT_1_ECX] &= ~CPUID_EXT_PDCM;
        env->features[FEAT_PERF_CAPABILITIES] &= ~PERF_CAP_FULL_WRITE;
    }
    if (!pmu_wanted(cpu) || !IS_AMD_CPU(env)) {
        /*
         * Without a word: libvirt's host-model names what -cpu max has, and
         * does not say pmu=on.
         */
        env->features[FEAT_8000_0001_ECX] &=
            ~(CPUID_EXT3_PERFCORE | CPUID_EXT3_IBS | CPUID_EXT3_EXTAPIC);
        env->features[FEAT_8000_0008_EBX] &= ~CPUID_8000_0008_EBX_IRPERF;
        env->features[FEAT_8000_0022_EAX] = 0;
        env->features[FEAT_SVM] &= ~CPUID_SVM_LBRV;
        return true;
    }
    if (!(env->features[FEAT_8000_0022_EAX] & CPUID_8000_0022_EAX_LBR_V2)) {
        env->features[FEAT_SVM] &= ~CPUID_SVM_LBRV;
    }
    if (env->features[FEAT_8000_0001_ECX] & CPUID_EXT3_IBS) {
        /* Its interrupt is described there. */
        env->features[FEAT_8000_0001_ECX] |= CPUID_EXT3_EXTAPIC;
    }
    if (x86_cpu_takes_all(cpu)) {
        /* Linux switches it on, and then everything is counted. */
        env->features[FEAT_8000_0008_EBX] &=
            ~CPUID_8000_0008_EBX_IRPERF | env->user_features[FEAT_8000_0008_EBX];
    }
    if ((env->features[FEAT_8000_0022_EAX] & CPUID_8000_0022_EAX_PERFMON_V2) &&
        !(env->features[FEAT_8000_0001_ECX] & CPUID_EXT3_PERFCORE)) {
        error_setg(errp, "perfmon-v2=on needs perfctr-core=on");
        return false;
    }
    if ((env->features[FEAT_8000_0022_EAX] & CPUID_8000_0022_EAX_FREEZE) &&
        !(env->features[FEAT_8000_0022_EAX] & CPUID_8000_0022_EAX_PERFMON_V2)) {
        error_setg(errp, "amd-lbr-pmc-freeze=on needs perfmon-v2=on");
        return false;
    }
    return true;
}

static bool pmu_check_ibs_cache(X86CPU *cpu, Error **errp)
{
    const X86PMUProps *p = &cpu->tcg_pmu_props;

    if (p->ibs_geometry && !p->ibs_cache) {
        error_setg(errp, "ibs-cache-* need ibs-cache=on");
        return false;
    }
    if (p->ibs_cache && (!tcg_enabled() ||
        !(cpu->env.features[FEAT_8000_0001_ECX] & CPUID_EXT3_IBS))) {
        error_setg(errp, "ibs-cache=on needs TCG, pmu=on and ibs=on");
        return false;
    }
    return x86_cache_check("ibs-cache", p->ibs_geometry, errp);
}

bool x86_pmu_check(X86CPU *cpu, Error **errp)
{
    if (cpu->tcg_pmu_props.version &&
        (!tcg_enabled() || !pmu_wanted(cpu) || IS_AMD_CPU(&cpu->env))) {
        error_setg(errp, "pmu-version: this CPU has no such counters of TCG; "
                   "leave it out, or take accel=tcg, pmu=on, and a CPU model "
                   "and a machine type that have them");
        return false;
    }
    return pmu_check_ibs_cache(cpu, errp);
}

static void pmu_realize_intel(X86CPU *cpu, X86PMU *pmu)
{
    const IntelModel *model = pmu_intel_model(cpu);

    pmu->vendor = &x86_pmu_intel;
    pmu->version = pmu_intel_version(cpu);
    pmu->fixed = pmu->version > 1 ? X86_PMU_INTEL_FIXED : 0;
    pmu->counters = model->counters + pmu->fixed;
    pmu->mask = MAKE_64BIT_MASK(0, model->width);
}

static void pmu_free(X86CPU *cpu)
{
    if (cpu->tcg_pmu) {
        g_free(cpu->tcg_pmu->cache);
        g_clear_pointer(&cpu->tcg_pmu, g_free);
    }
}

void x86_pmu_realize(X86CPU *cpu)
{
    X86PMU *pmu;

    if (!tcg_enabled() || !pmu_wanted(cpu)) {
        return;
    }
    pmu_free(cpu);
    pmu = g_new0(X86PMU, 1);
    cpu->tcg_pmu = pmu;
    if (IS_INTEL_CPU(&cpu->env)) {
        pmu_realize_intel(cpu, pmu);
    } else {
        pmu->vendor = &x86_pmu_amd;
        pmu->counters = X86_PMU_AMD_COUNTERS + 1; /* IRPERF */
        pmu->mask = MAKE_64BIT_MASK(0, 48);
    }
    pmu->ipc = x86_pmu_ipc();
    pmu->predicts = x86_pmu_predicts();
    if (cpu->tcg_pmu_props.ibs_cache) {
        pmu->cache = x86_cache_new(cpu->tcg_pmu_props.ibs_geometry);
    }
    x86_cnt_register(&x86_pmu_user);
    x86_pmu_stats_init();
}

void x86_pmu_finalize(X86CPU *cpu)
{
    pmu_free(cpu);
    g_clear_pointer(&cpu->tcg_pmu_props.ibs_geometry, g_free);
}

#define PMU_RESET_BYTES (offsetof(X86PMU, end_reset_fields) - \
                         offsetof(X86PMU, start_reset_fields))

/* Registers, and what else is of the guest, as reset leaves them. */
static void pmu_clear(CPUX86State *env, X86PMU *pmu)
{
    memset(&pmu->start_reset_fields, 0, PMU_RESET_BYTES);
    pmu->vendor->reset(env, pmu);
}

void x86_pmu_reset(X86CPU *cpu)
{
    X86PMU *pmu = cpu->tcg_pmu;

    if (tcg_enabled() && pmu) {
        pmu_clear(&cpu->env, pmu);
        x86_ibs_forget(&cpu->env, pmu);
        pmu->vendor->derive(&cpu->env, pmu);
    }
}

void x86_pmu_init(X86CPU *cpu)
{
    if (tcg_enabled() && cpu->tcg_pmu) {
        x86_pmu_changed(&cpu->env);
    }
}

bool x86_pmu_cpuid(X86CPU *cpu, uint32_t index, uint32_t *eax, uint32_t *ebx,
                   uint32_t *ecx, uint32_t *edx)
{
    uint32_t regs[4] = { 0 };

    if (!cpu->tcg_pmu) {
        return false;
    }
    cpu->tcg_pmu->vendor->cpuid(&cpu->env, cpu->tcg_pmu, index, regs);
    *eax = regs[0];
    *ebx = regs[1];
    *ecx = regs[2];
    *edx = regs[3];
    return true;
}

/* A machine that has not touched them can go where there are none. */
static bool pmu_needed(void *opaque)
{
    X86CPU *cpu = opaque;
    X86PMU *pmu = cpu->tcg_pmu;
    g_autofree X86PMU *clear = NULL;

    if (!pmu || !IS_AMD_CPU(&cpu->env)) {
        return false;
    }
    clear = g_memdup2(pmu, sizeof(*pmu));
    pmu_clear(&cpu->env, clear);
    return memcmp(&pmu->start_reset_fields, &clear->start_reset_fields,
                  PMU_RESET_BYTES);
}

int x86_pmu_pre_save(void *opaque)
{
    X86CPU *cpu = opaque;

    if (tcg_enabled() && cpu->tcg_pmu) {
        x86_cnt_fold(&cpu->env);
    }
    return 0;
}

/* A stream without the registers means that all of them are 0. */
int x86_pmu_pre_load(void *opaque)
{
    X86CPU *cpu = opaque;

    if (tcg_enabled()) {
        cpu->env.msr_global_ctrl = 0;
    }
    return 0;
}

int x86_pmu_load_needs(void *opaque)
{
    X86CPU *cpu = opaque;

    if (!cpu->tcg_pmu) {
        error_report("the stream has performance counters of TCG, and CPU %d "
                     "has none: take the source's CPU model with pmu=on, and "
                     "a machine type that has them, or "
                     "-global x86_64-cpu.x-tcg-pmu=on",
                     CPU(cpu)->cpu_index);
        return -EINVAL;
    }
    return 0;
}

/* Does one of Intel's counters count, by QEMU's own fields? */
static bool pmu_intel_enabled(const CPUX86State *env)
{
    bool any = env->msr_fixed_ctr_ctrl;
    int i;

    for (i = 0; i < MAX_GP_COUNTERS; i++) {
        any |= env->msr_gp_evtsel[i] != 0;
    }
    return any;
}

int x86_pmu_post_load(void *opaque, int version_id)
{
    X86CPU *cpu = opaque;

    if (tcg_enabled() && pmu_intel_enabled(&cpu->env) &&
        x86_pmu_load_needs(cpu)) {
        return -EINVAL;
    }
    if (tcg_enabled() && cpu->tcg_pmu) {
        x86_cnt_forget(&cpu->env);
        x86_pmu_changed(&cpu->env);
    }
    return 0;
}

X86_PMU_SECTION(
    vmstate_x86_pmu, "cpu/amd_pmu", pmu_needed, x86_pmu_post_load,
    VMSTATE_UINT64_ARRAY(ctl, X86PMU, X86_PMU_AMD_COUNTERS),
    VMSTATE_UINT64_ARRAY(ctr, X86PMU, X86_PMU_AMD_COUNTERS),
    VMSTATE_UINT64(global_ctl, X86PMU),
    VMSTATE_UINT64(global_status, X86PMU),
    VMSTATE_UINT64(skid_left, X86PMU),
    VMSTATE_UINT32(burst, X86PMU),
    VMSTATE_UINT32(held, X86PMU),
    VMSTATE_UINT64(skid_seed, X86PMU),
    VMSTATE_UINT32(skid_number, X86PMU)
);

static bool pmu_irperf_needed(void *opaque)
{
    X86CPU *cpu = opaque;

    return cpu->tcg_pmu && cpu->tcg_pmu->irperf;
}

X86_PMU_SECTION(
    vmstate_x86_pmu_irperf, "cpu/amd_irperf", pmu_irperf_needed,
    x86_pmu_post_load,
    VMSTATE_UINT64(irperf, X86PMU)
);

/* Interrupts of Intel's counters that are still to come; x-x86-pmu-row's draws. */
static bool pmu_late_needed(void *opaque)
{
    X86CPU *cpu = opaque;
    X86PMU *pmu = cpu->tcg_pmu;

    return pmu && !IS_AMD_CPU(&cpu->env) &&
           (pmu->skid_left || pmu->held || pmu->skid_number);
}

X86_PMU_SECTION(
    vmstate_x86_pmu_late, "cpu/tcg_pmu_late", pmu_late_needed,
    x86_pmu_post_load,
    VMSTATE_UINT64(skid_left, X86PMU),
    VMSTATE_UINT32(burst, X86PMU),
    VMSTATE_UINT32(held, X86PMU),
    VMSTATE_UINT64(skid_seed, X86PMU),
    VMSTATE_UINT32(skid_number, X86PMU)
);

/* A cycle or an edge that has begun. */
static bool pmu_cycle_needed(void *opaque)
{
    X86PMU *pmu = X86_CPU(opaque)->tcg_pmu;

    return pmu && (pmu->phase || pmu->asserted);
}

static int pmu_cycle_post_load(void *opaque, int version_id)
{
    X86CPU *cpu = opaque;
    X86PMU *pmu = cpu->tcg_pmu;

    if (!pmu) {
        return -EINVAL;
    }
    pmu->phase %= pmu->ipc;
    return x86_pmu_post_load(opaque, version_id);
}

X86_PMU_SECTION(
    vmstate_x86_pmu_cycle, "cpu/tcg_pmu_cycle", pmu_cycle_needed,
    pmu_cycle_post_load,
    VMSTATE_UINT32(phase, X86PMU),
    VMSTATE_UINT32(asserted, X86PMU)
);
