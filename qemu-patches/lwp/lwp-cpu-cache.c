/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP: CPU properties of the model of the data caches.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qom/object.h"
#include "system/tcg.h"
#include "cpu.h"
#include "lwp/lwp-cpu.h"
#include "lwp_cache.h"

static const char *const lwp_cache_names[] = {
    "lwp-cache-l1d", "lwp-cache-l2", "lwp-cache-l3", "lwp-cache-ram",
};

/* The numbers that a CPU has or will have. */
static struct lwp_cache_geometry lwp_cache_of(const X86LWPProps *p)
{
    return p->cache ? *p->cache : lwp_cache_epyc;
}

/* SIZE/WAYS/LATENCY; "none" for no L2 or L3. */
static bool lwp_parse_level(const char *text, bool may_be_none,
                            struct lwp_cache_level *level)
{
    uint64_t size;
    const char *end;

    if (may_be_none && g_str_equal(text, "none")) {
        *level = (struct lwp_cache_level) { 0 };
        return true;
    }
    if (qemu_strtosz(text, &end, &size) || !size || size > UINT32_MAX ||
        *end != '/' || qemu_strtoui(end + 1, &end, 10, &level->ways) ||
        *end != '/') {
        return false;
    }
    level->size = size;
    return !qemu_strtoui(end + 1, NULL, 10, &level->latency);
}

static void lwp_get_level(Object *obj, Visitor *v, const char *name,
                          void *opaque, Error **errp)
{
    struct lwp_cache_geometry g = lwp_cache_of(&X86_CPU(obj)->lwp_props);
    const struct lwp_cache_level *level = &g.level[(uintptr_t)opaque];
    g_autofree char *text = NULL;

    if (!level->size) {
        text = g_strdup("none");
    } else if (level->size % KiB) {
        text = g_strdup_printf("%u/%u/%u", level->size, level->ways,
                               level->latency);
    } else {
        text = g_strdup_printf("%uK/%u/%u", level->size / (uint32_t)KiB,
                               level->ways, level->latency);
    }
    visit_type_str(v, name, &text, errp);
}

static struct lwp_cache_geometry *lwp_own_cache(X86LWPProps *p)
{
    if (!p->cache) {
        p->cache = g_memdup2(&lwp_cache_epyc, sizeof(lwp_cache_epyc));
    }
    return p->cache;
}

static void lwp_set_level(Object *obj, Visitor *v, const char *name,
                          void *opaque, Error **errp)
{
    uintptr_t i = (uintptr_t)opaque;
    struct lwp_cache_level level;
    g_autofree char *text = NULL;

    if (!x86_lwp_settable(obj, name, errp) ||
        !visit_type_str(v, name, &text, errp)) {
        return;
    }
    if (!lwp_parse_level(text, i, &level)) {
        error_setg(errp, "%s is SIZE/WAYS/LATENCY as in 32K/8/4%s, not '%s'",
                   name, i ? " or none" : "", text);
        return;
    }
    lwp_own_cache(&X86_CPU(obj)->lwp_props)->level[i] = level;
}

static void lwp_get_ram(Object *obj, Visitor *v, const char *name,
                        void *opaque, Error **errp)
{
    struct lwp_cache_geometry g = lwp_cache_of(&X86_CPU(obj)->lwp_props);

    visit_type_uint32(v, name, &g.ram_latency, errp);
}

static void lwp_set_ram(Object *obj, Visitor *v, const char *name,
                        void *opaque, Error **errp)
{
    uint32_t latency;

    if (x86_lwp_settable(obj, name, errp) &&
        visit_type_uint32(v, name, &latency, errp)) {
        lwp_own_cache(&X86_CPU(obj)->lwp_props)->ram_latency = latency;
    }
}

static bool lwp_get_ibs_cache(Object *obj, Error **errp)
{
    return X86_CPU(obj)->lwp_props.ibs_cache;
}

static void lwp_set_ibs_cache(Object *obj, bool value, Error **errp)
{
    if (x86_lwp_settable(obj, "ibs-cache", errp)) {
        X86_CPU(obj)->lwp_props.ibs_cache = value;
    }
}

void x86_lwp_cache_class_init(ObjectClass *oc)
{
    uintptr_t i;

    object_class_property_add_bool(oc, "ibs-cache", lwp_get_ibs_cache,
                                   lwp_set_ibs_cache);
    object_class_property_set_description(oc, "ibs-cache", "IBS has a model of "
                                          "the data caches for itself (TCG)");

    for (i = 0; i < LWP_CACHE_LEVELS; i++) {
        object_class_property_add(oc, lwp_cache_names[i], "str", lwp_get_level,
                                  lwp_set_level, NULL, (void *)i);
        object_class_property_set_description(oc, lwp_cache_names[i],
            "size, ways and latency of a modelled data cache");
    }
    object_class_property_add(oc, lwp_cache_names[i], "uint32", lwp_get_ram,
                              lwp_set_ram, NULL, NULL);
    object_class_property_set_description(oc, lwp_cache_names[i],
        "latency of a load that no modelled data cache serves");
}

static bool lwp_cache_right(const struct lwp_cache_geometry *g, Error **errp)
{
    uint32_t level;
    const char *wrong = lwp_cache_wrong(g, &level);

    if (wrong) {
        error_setg(errp, "%s: a data cache %s", lwp_cache_names[level], wrong);
    }
    return !wrong;
}

bool x86_lwp_cache_check(const X86LWPProps *p, const struct lwp_caps *caps,
                         Error **errp)
{
    struct lwp_cache_geometry g = lwp_cache_of(p);
    bool has = lwp_caps_has(caps, LWP_KIND_DME);

    if (p->cache && !has && !p->ibs_cache) {
        error_setg(errp, "lwp-cache-* need lwp-dme=on");
        return false;
    }
    if (has && !caps->latency_max) {
        error_setg(errp, "lwp-dme=on needs lwp-latency-max=10 to 31");
        return false;
    }
    return lwp_cache_right(&g, errp);
}

bool x86_lwp_ibs_cache_check(X86CPU *cpu, Error **errp)
{
    struct lwp_cache_geometry g = lwp_cache_of(&cpu->lwp_props);

    if (!cpu->lwp_props.ibs_cache) {
        return true;
    }
    if (!tcg_enabled() ||
        !(cpu->env.features[FEAT_8000_0001_ECX] & CPUID_EXT3_IBS)) {
        error_setg(errp, "ibs-cache=on needs TCG, pmu=on and ibs=on");
        return false;
    }
    return lwp_cache_right(&g, errp);
}

bool x86_lwp_cache_alike(const X86LWPProps *p, const X86LWPProps *q)
{
    struct lwp_cache_geometry a = lwp_cache_of(p), b = lwp_cache_of(q);

    return !memcmp(&a, &b, sizeof(a));
}
