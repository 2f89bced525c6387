/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Performance counters under TCG: CPU properties, CPUID, reset and migration.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/cutils.h"
#include "cpu.h"
#include "migration/vmstate.h"
#include "system/cpu-timers.h"
#include "system/tcg.h"
#include "pmu/x86-pmu.h"

typedef struct PMUNumber {
    const char *name;
    size_t offset;
    const char *text;
} PMUNumber;

static const PMUNumber pmu_numbers[] = {
    { "pmu-overcount-vmrun", offsetof(X86PMUProps, overcount_vmrun),
      "instructions counted too many per VMRUN" },
    { "pmu-overcount-ring", offsetof(X86PMUProps, overcount_ring),
      "instructions counted too many per change to or from CPL 3" },
    { "pmu-overcount-far", offsetof(X86PMUProps, overcount_far),
      "far transfers counted too many per VMRUN" },
};

static const char *const pmu_presets[] = {
    [X86_PMU_SKID_ZEN2] = "zen2",
    [X86_PMU_SKID_ZEN3] = "zen3",
    [X86_PMU_SKID_ADVERSARIAL] = "adversarial",
};

static bool pmu_settable(Object *obj, const char *name, Error **errp)
{
    if (DEVICE(obj)->realized) {
        error_setg(errp, "%s cannot be changed once the CPU exists", name);
        return false;
    }
    return true;
}

static void pmu_get_number(Object *obj, Visitor *v, const char *name,
                           void *opaque, Error **errp)
{
    const PMUNumber *n = opaque;

    visit_type_uint32(v, name, (void *)&X86_CPU(obj)->tcg_pmu_props +
                      n->offset, errp);
}

static void pmu_set_number(Object *obj, Visitor *v, const char *name,
                           void *opaque, Error **errp)
{
    const PMUNumber *n = opaque;

    if (pmu_settable(obj, name, errp)) {
        visit_type_uint32(v, name, (void *)&X86_CPU(obj)->tcg_pmu_props +
                          n->offset, errp);
    }
}

static char *pmu_get_skid(Object *obj, Error **errp)
{
    const X86PMUProps *p = &X86_CPU(obj)->tcg_pmu_props;

    if (p->skid == X86_PMU_SKID_FIXED) {
        return g_strdup_printf("%u", p->skid_insns);
    }
    if (p->skid_divisor > 1) {
        return g_strdup_printf("%s/%u", pmu_presets[p->skid], p->skid_divisor);
    }
    return g_strdup(pmu_presets[p->skid]);
}

static void pmu_set_skid(Object *obj, const char *value, Error **errp)
{
    X86PMUProps *p = &X86_CPU(obj)->tcg_pmu_props;
    unsigned int n;
    const char *rest;
    int i;

    if (!pmu_settable(obj, "pmu-skid", errp)) {
        return;
    }
    if (!qemu_strtoui(value, NULL, 10, &n)) {
        p->skid = X86_PMU_SKID_FIXED;
        p->skid_insns = n;
        return;
    }
    n = 1;
    for (i = X86_PMU_SKID_ZEN2; i <= X86_PMU_SKID_ADVERSARIAL; i++) {
        if (strstart(value, pmu_presets[i], &rest) &&
            (!*rest || (*rest == '/' &&
                        !qemu_strtoui(rest + 1, NULL, 10, &n) && n))) {
            p->skid = i;
            p->skid_divisor = n;
            return;
        }
    }
    error_setg(errp, "pmu-skid is a number of instructions, or zen2, zen3 or "
               "adversarial, of which /N makes an N-th, not '%s'", value);
}

static bool pmu_get_counting(Object *obj, Error **errp)
{
    return X86_CPU(obj)->env.lwp_count.pmu;
}

void x86_pmu_class_init(ObjectClass *oc)
{
    int i;

    object_class_property_add_bool(oc, "x-pmu-counting", pmu_get_counting,
                                   NULL);
    object_class_property_set_description(oc, "x-pmu-counting",
                                          "a counter counts, for tests");

    object_class_property_add_str(oc, "pmu-skid", pmu_get_skid, pmu_set_skid);
    object_class_property_set_description(oc, "pmu-skid", "how late the "
                                          "interrupt of a counter comes (TCG)");
    for (i = 0; i < ARRAY_SIZE(pmu_numbers); i++) {
        const PMUNumber *n = &pmu_numbers[i];

        object_class_property_add(oc, n->name, "uint32", pmu_get_number,
                                  pmu_set_number, NULL, (void *)n);
        object_class_property_set_description(oc, n->name, n->text);
    }
}

/* -cpu max has them where they are possible. */
static bool pmu_wanted(X86CPU *cpu)
{
    return cpu->enable_pmu && IS_AMD_CPU(&cpu->env) &&
           !(cpu->max_features && icount_enabled());
}

bool x86_pmu_expand_features(X86CPU *cpu, Error **errp)
{
    CPUX86State *env = &cpu->env;

    if (!tcg_enabled()) {
        return true;
    }
    if (!pmu_wanted(cpu)) {
        /*
         * Without a word: libvirt's host-model names what -cpu max has, and
         * does not say pmu=on.
         */
        env->features[FEAT_8000_0001_ECX] &= ~CPUID_EXT3_PERFCORE;
        env->features[FEAT_8000_0022_EAX] &= ~CPUID_8000_0022_EAX_PERFMON_V2;
        return true;
    }
    if ((env->features[FEAT_8000_0022_EAX] & CPUID_8000_0022_EAX_PERFMON_V2) &&
        !(env->features[FEAT_8000_0001_ECX] & CPUID_EXT3_PERFCORE)) {
        error_setg(errp, "perfmon-v2=on needs perfctr-core=on");
        return false;
    }
    return true;
}

bool x86_pmu_check(X86CPU *cpu, Error **errp)
{
    if (tcg_enabled() && icount_enabled() && pmu_wanted(cpu)) {
        error_setg(errp, "pmu=on cannot be combined with -icount or "
                   "record/replay: both count instructions in translated "
                   "code; leave one of them out");
        return false;
    }
    return true;
}

void x86_pmu_realize(X86CPU *cpu)
{
    if (tcg_enabled() && pmu_wanted(cpu)) {
        g_free(cpu->tcg_pmu);
        cpu->tcg_pmu = g_new0(X86PMU, 1);
        cpu->tcg_pmu->vendor = &x86_pmu_amd;
        cpu->tcg_pmu->counters = X86_PMU_AMD_COUNTERS;
        cpu->tcg_pmu->mask = MAKE_64BIT_MASK(0, 48);
    }
}

void x86_pmu_finalize(X86CPU *cpu)
{
    g_clear_pointer(&cpu->tcg_pmu, g_free);
}

void x86_pmu_reset(X86CPU *cpu)
{
    X86PMU *pmu = cpu->tcg_pmu;

    if (pmu) {
        memset(&pmu->start_reset_fields, 0,
               offsetof(X86PMU, end_reset_fields) -
               offsetof(X86PMU, start_reset_fields));
        pmu->vendor->reset(&cpu->env, pmu);
        pmu->vendor->derive(&cpu->env, pmu);
    }
}

bool x86_pmu_cpuid(X86CPU *cpu, uint32_t *eax, uint32_t *ebx)
{
    if (!cpu->tcg_pmu) {
        return false;
    }
    *eax = cpu->env.features[FEAT_8000_0022_EAX];
    *ebx = *eax ? X86_PMU_AMD_COUNTERS : 0;
    return true;
}

static bool pmu_needed(void *opaque)
{
    return X86_CPU(opaque)->tcg_pmu;
}

static int pmu_pre_save(void *opaque)
{
    X86CPU *cpu = opaque;

    if (tcg_enabled()) {
        x86_lwp_fold(&cpu->env);
    }
    return 0;
}

static int pmu_post_load(void *opaque, int version_id)
{
    X86CPU *cpu = opaque;

    if (tcg_enabled()) {
        cpu->env.lwp_count.left = cpu->env.lwp_count.folded;
        x86_pmu_changed(&cpu->env);
    }
    return 0;
}

static const VMStateDescription vmstate_pmu_state = {
    .name = "cpu/amd_pmu/state",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64_ARRAY(ctl, X86PMU, X86_PMU_AMD_COUNTERS),
        VMSTATE_UINT64_ARRAY(ctr, X86PMU, X86_PMU_AMD_COUNTERS),
        VMSTATE_UINT64(global_ctl, X86PMU),
        VMSTATE_UINT64(global_status, X86PMU),
        VMSTATE_UINT64(skid_left, X86PMU),
        VMSTATE_UINT32(burst, X86PMU),
        VMSTATE_UINT32(held, X86PMU),
        VMSTATE_UINT64(skid_seed, X86PMU),
        VMSTATE_UINT32(skid_number, X86PMU),
        VMSTATE_END_OF_LIST()
    }
};

const VMStateDescription vmstate_x86_pmu = {
    .name = "cpu/amd_pmu",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = pmu_needed,
    .pre_save = pmu_pre_save,
    .post_load = pmu_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(tcg_pmu, X86CPU, vmstate_pmu_state,
                               X86PMU),
        VMSTATE_END_OF_LIST()
    }
};
