/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU properties of a model of the data caches.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qom/object.h"
#include "count/x86-cache-props.h"

static const char *const cache_names[] = { "l1d", "l2", "l3", "ram" };

typedef struct CacheProp {
    size_t offset;      /* in X86CPU, of the pointer to the geometry */
    int level;
} CacheProp;

bool x86_cnt_settable(Object *obj, const char *name, Error **errp)
{
    if (DEVICE(obj)->realized) {
        error_setg(errp, "%s cannot be changed once the CPU exists", name);
        return false;
    }
    return true;
}

static struct x86_cache_geometry **cache_at(Object *obj, const CacheProp *p)
{
    return (void *)X86_CPU(obj) + p->offset;
}

/* The numbers that a CPU has or will have. */
static struct x86_cache_geometry cache_of(const struct x86_cache_geometry *g)
{
    return g ? *g : x86_cache_epyc;
}

/* SIZE/WAYS/LATENCY; "none" for no L2 or L3. */
static bool cache_parse_level(const char *text, bool may_be_none,
                              struct x86_cache_level *level)
{
    uint64_t size;
    const char *end;

    if (may_be_none && g_str_equal(text, "none")) {
        *level = (struct x86_cache_level) { 0 };
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

static void cache_get_level(Object *obj, Visitor *v, const char *name,
                            void *opaque, Error **errp)
{
    const CacheProp *p = opaque;
    struct x86_cache_geometry g = cache_of(*cache_at(obj, p));
    const struct x86_cache_level *level = &g.level[p->level];
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

static struct x86_cache_geometry *cache_own(Object *obj, const CacheProp *p)
{
    struct x86_cache_geometry **g = cache_at(obj, p);

    if (!*g) {
        *g = g_memdup2(&x86_cache_epyc, sizeof(x86_cache_epyc));
    }
    return *g;
}

static void cache_set_level(Object *obj, Visitor *v, const char *name,
                            void *opaque, Error **errp)
{
    const CacheProp *p = opaque;
    struct x86_cache_level level;
    g_autofree char *text = NULL;

    if (!x86_cnt_settable(obj, name, errp) ||
        !visit_type_str(v, name, &text, errp)) {
        return;
    }
    if (!cache_parse_level(text, p->level, &level)) {
        error_setg(errp, "%s is SIZE/WAYS/LATENCY as in 32K/8/4%s, not '%s'",
                   name, p->level ? " or none" : "", text);
        return;
    }
    cache_own(obj, p)->level[p->level] = level;
}

static void cache_get_ram(Object *obj, Visitor *v, const char *name,
                          void *opaque, Error **errp)
{
    struct x86_cache_geometry g = cache_of(*cache_at(obj, opaque));

    visit_type_uint32(v, name, &g.ram_latency, errp);
}

static void cache_set_ram(Object *obj, Visitor *v, const char *name,
                          void *opaque, Error **errp)
{
    uint32_t latency;

    if (x86_cnt_settable(obj, name, errp) &&
        visit_type_uint32(v, name, &latency, errp)) {
        cache_own(obj, opaque)->ram_latency = latency;
    }
}

void x86_cache_class_init(ObjectClass *oc, const char *prefix, size_t offset)
{
    int i;

    for (i = 0; i <= X86_CACHE_LEVELS; i++) {
        g_autofree char *name = g_strdup_printf("%s-%s", prefix,
                                                cache_names[i]);
        CacheProp *p = g_new(CacheProp, 1); /* as long as the class */
        bool ram = i == X86_CACHE_LEVELS;

        *p = (CacheProp) { offset, i };
        object_class_property_add(oc, name, ram ? "uint32" : "str",
                                  ram ? cache_get_ram : cache_get_level,
                                  ram ? cache_set_ram : cache_set_level,
                                  NULL, p);
        object_class_property_set_description(oc, name, ram ?
            "latency of a load that no modelled data cache serves" :
            "size, ways and latency of a modelled data cache");
    }
}

bool x86_cache_check(const char *prefix, const struct x86_cache_geometry *g,
                     Error **errp)
{
    struct x86_cache_geometry real = cache_of(g);
    uint32_t level;
    const char *wrong = x86_cache_wrong(&real, &level);

    if (wrong) {
        error_setg(errp, "%s-%s: a data cache %s", prefix, cache_names[level],
                   wrong);
    }
    return !wrong;
}

bool x86_cache_alike(const struct x86_cache_geometry *a,
                     const struct x86_cache_geometry *b)
{
    struct x86_cache_geometry x = cache_of(a), y = cache_of(b);

    return !memcmp(&x, &y, sizeof(x));
}
