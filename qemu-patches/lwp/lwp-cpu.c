/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP: CPU properties, what they make of the CPU, and CPUID leaf 8000_001C.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qom/object.h"
#include "cpu.h"
#include "system/kvm.h"
#include "system/tcg.h"
#include "count/qemu-compat.h"
#include "count/x86-cache-props.h"
#include "lwp/tcg-lwp.h"
#include "lwp/kvm-lwp.h"
#include "lwp_cpuid.h"
#include "lwp/lwp-vmstate.h"
#include "lwp_names.h"

/* What a CPU has only if the user asks for it; KVM: see kvm_lwp_check() */
#define LWP_OPT_IN LWP_F_DME

/* Features that KVM has only if the host has counters. */
#define LWP_MAYBE_IN_KVM (LWP_F_CNH | LWP_F_RNH)

static uint32_t lwp_lacking(const X86CPU *cpu)
{
    return cpu && kvm_enabled() ? LWP_MAYBE_IN_KVM & ~kvm_lwp_features() : 0;
}

/* What a CPU that lacks something else cannot do; no CPU lacks nothing. */
static uint32_t lwp_lacking_in(const X86CPU *cpu)
{
    return !cpu || cpu->env.features[FEAT_1_EDX] & CPUID_APIC ? 0 : LWP_F_INT;
}

/* The defaults of this host. */
static struct {
    X86LWPProps props;
    bool announce;
} lwp_host;

/* A property with a word or a number as value. */
typedef struct LWPProp {
    const char *name;
    const char *type;
    const QEnumLookup *lookup;
    size_t offset;          /* of a uint32_t in X86LWPProps */
    uint32_t bit;           /* LWP_HAS_*, 0: not of the host's file */
    const char *text;
    uint32_t max;           /* of a number */
    size_t caps_offset;     /* of a uint8_t in struct lwp_caps, 0: none */
    bool flip;              /* of a bool: off is 1 */
} LWPProp;

QEMU_BUILD_BUG_ON(X86_LWP_REVISION_43724 != LWP_REV_43724);
QEMU_BUILD_BUG_ON(X86_LWP_REVISION_2007 != LWP_REV_2007);

static const LWPProp lwp_props[] = {
    { "lwp-rev", "X86LwpRevision", &X86LwpRevision_lookup,
      offsetof(X86LWPProps, rev), LWP_HAS_REV, "revision of LWP" },
    { "lwp-context", "X86LwpContext", &X86LwpContext_lookup,
      offsetof(X86LWPProps, os_context), LWP_HAS_CONTEXT,
      "who tells one thread's profile from another's" },
    { "lwp-profile", "X86LwpProfile", &X86LwpProfile_lookup,
      offsetof(X86LWPProps, fam15h), LWP_HAS_PROFILE,
      "numbers of the CPUID leaf" },
    { "lwp-delivery", "X86LwpDelivery", &X86LwpDelivery_lookup,
      offsetof(X86LWPProps, prompt), LWP_HAS_DELIVERY,
      "which instruction a record names (default: prompt if KVM can, else exact)" },
    { "lwp-preset", "bool", NULL, offsetof(X86LWPProps, no_preset),
      LWP_HAS_PRESET, "reset switches LWP on (lwp-context=auto)",
      .flip = true },
    { "lwp-vmcb", "bool", NULL, offsetof(X86LWPProps, vmcb), 0,
      "VMLOAD and VMSAVE switch LWP" },
    { "lwp-host-file", "bool", NULL, offsetof(X86LWPProps, no_host_file), 0,
      "what is not said is as this host's file says", .flip = true },
    { "lwp-max-events", "uint32", NULL, offsetof(X86LWPProps, max_events),
      LWP_HAS_MAX_EVENTS,
      "highest EventId (43724), number of event slots (2007)",
      LWP_LAST_EVENT_ID, offsetof(struct lwp_caps, max_events) },
    { "lwp-min-buffer", "uint32", NULL, offsetof(X86LWPProps, min_buffer),
      LWP_HAS_MIN_BUFFER, "smallest ring in units of 32 records",
      255, offsetof(struct lwp_caps, min_buffer) },
    { "lwp-latency-max", "uint32", NULL, offsetof(X86LWPProps, latency_max),
      LWP_HAS_LATENCY_MAX, "bits of the latency counters",
      31, offsetof(struct lwp_caps, latency_max) },
    { "lwp-latency-rounding", "uint32", NULL,
      offsetof(X86LWPProps, latency_rnd), LWP_HAS_LATENCY_RND,
      "low bits of a latency that are rounded to 0",
      4, offsetof(struct lwp_caps, latency_rnd) },
    { "lwp-context-age", "uint32", NULL, offsetof(X86LWPProps, context_age),
      LWP_HAS_CONTEXT_AGE,
      "seconds until a context that is not used is looked at, 0: never",
      86400 },
};

static uint32_t *lwp_field(X86LWPProps *p, const LWPProp *prop)
{
    return (void *)p + prop->offset;
}

/* A feature's bit in X86LWPProps: that of 43724's EDX. */
static uint32_t lwp_prop_bit(const struct lwp_feature *f)
{
    return lwp_feature_flag(f, LWP_REV_43724);
}

/*
 * What is read is what was asked for, and once the CPU's features have been
 * expanded (query-cpu-model-expansion, realize), what the CPU has.
 */
static void lwp_get_feature(Object *obj, Visitor *v, const char *name,
                            void *opaque, Error **errp)
{
    const struct lwp_feature *f = opaque;
    X86CPU *cpu = X86_CPU(obj);
    bool value = cpu->lwp_props.on & lwp_prop_bit(f);

    if (cpu->lwp_caps) {
        value = cpu->lwp_caps->features &
                lwp_feature_flag(f, cpu->lwp_caps->rev);
    }
    visit_type_bool(v, name, &value, errp);
}

static bool lwp_take_feature(Visitor *v, const struct lwp_feature *f,
                              X86LWPProps *p, Error **errp)
{
    bool value;

    if (!visit_type_bool(v, f->property, &value, errp)) {
        return false;
    }
    *(value ? &p->on : &p->off) |= lwp_prop_bit(f);
    *(value ? &p->off : &p->on) &= ~lwp_prop_bit(f);
    return true;
}

static void lwp_set_feature(Object *obj, Visitor *v, const char *name,
                            void *opaque, Error **errp)
{
    if (x86_cnt_settable(obj, name, errp)) {
        lwp_take_feature(v, opaque, &X86_CPU(obj)->lwp_props, errp);
    }
}

/* Input or output, as the visitor says. */
static bool lwp_visit_value(Visitor *v, const LWPProp *prop, uint32_t *value,
                            Error **errp)
{
    int word = *value;
    bool on = *value ^ prop->flip, done;

    if (prop->max) {
        return visit_type_uint32(v, prop->name, value, errp);
    }
    done = prop->lookup ?
           visit_type_enum(v, prop->name, &word, prop->lookup, errp) :
           visit_type_bool(v, prop->name, &on, errp);
    *value = prop->lookup ? word : on ^ prop->flip;
    return done;
}

uint32_t x86_lwp_context_age(const X86LWPProps *p)
{
    return p->given & LWP_HAS_CONTEXT_AGE ? p->context_age :
           LWP_CTX_AGE_DEFAULT / 1000;
}

static void lwp_get_prop(Object *obj, Visitor *v, const char *name,
                         void *opaque, Error **errp)
{
    const LWPProp *prop = opaque;
    X86CPU *cpu = X86_CPU(obj);
    uint32_t value = *lwp_field(&cpu->lwp_props, prop);

    if (prop->bit == LWP_HAS_CONTEXT_AGE) {
        value = x86_lwp_context_age(&cpu->lwp_props);
    } else if (cpu->lwp_caps && prop->caps_offset) {
        value = *((uint8_t *)cpu->lwp_caps + prop->caps_offset);
    }
    lwp_visit_value(v, prop, &value, errp);
}

static bool lwp_take_prop(Visitor *v, const LWPProp *prop, X86LWPProps *p,
                          Error **errp)
{
    uint32_t value = 0;

    if (!lwp_visit_value(v, prop, &value, errp)) {
        return false;
    }
    if (prop->max && value > prop->max) {
        error_setg(errp, "%s is at most %u, not %u", prop->name, prop->max,
                   value);
        return false;
    }
    *lwp_field(p, prop) = value;
    p->given |= prop->bit;
    return true;
}

static void lwp_set_prop(Object *obj, Visitor *v, const char *name,
                         void *opaque, Error **errp)
{
    if (x86_cnt_settable(obj, name, errp)) {
        lwp_take_prop(v, opaque, &X86_CPU(obj)->lwp_props, errp);
    }
}

void x86_lwp_class_init(ObjectClass *oc)
{
    const struct lwp_feature *f;
    int i;

    for (f = lwp_features; f->property; f++) {
        object_class_property_add(oc, f->property, "bool", lwp_get_feature,
                                  lwp_set_feature, NULL, (void *)f);
        object_class_property_set_description(oc, f->property, f->text);
    }
    for (i = 0; i < ARRAY_SIZE(lwp_props); i++) {
        const LWPProp *prop = &lwp_props[i];

        object_class_property_add(oc, prop->name, prop->type, lwp_get_prop,
                                  lwp_set_prop, NULL, (void *)prop);
        object_class_property_set_description(oc, prop->name, prop->text);
    }
    x86_cache_class_init(oc, "lwp-cache", offsetof(X86CPU, lwp_props.cache));
    x86_lwp_debug_class_init(oc);
#ifdef CONFIG_TCG
    x86_lwp_tcg_debug_class_init(oc);
#endif
#ifndef _WIN32
    x86_lwp_host_read();
#endif
}

const char *x86_lwp_feature_name(uint32_t rev, uint32_t bit, const char **text)
{
    const struct lwp_feature *f = lwp_feature_by_flag(rev, bit);

    if (!f) {
        return NULL;
    }
    *text = f->text;
    return f->property;
}

static bool lwp_apply_features(const X86LWPProps *p, const X86CPU *cpu,
                               struct lwp_caps *caps, Error **errp)
{
    const struct lwp_rev *rev = lwp_rev_get(p->rev);
    const struct lwp_feature *f;

    for (f = lwp_features; f->property; f++) {
        uint32_t prop = lwp_prop_bit(f);
        uint32_t bit = lwp_feature_flag(f, p->rev);

        if (prop & (lwp_lacking(cpu) | lwp_lacking_in(cpu) | p->off |
                    LWP_OPT_IN)) {
            caps->features &= ~bit;
        }
        if (!(prop & p->on)) {
            continue;
        }
        if (!bit) {
            error_setg(errp, "%s=on: revision %s of LWP has no %s", f->property,
                       rev->name, f->text);
            return false;
        }
        if (prop & lwp_lacking(cpu)) {
            error_setg(errp, "%s=on: KVM on this host has no %s", f->property,
                       f->text);
            return false;
        }
        if (prop & lwp_lacking_in(cpu)) {
            error_setg(errp, "%s=on needs apic=on", f->property);
            return false;
        }
        if (f->kind != LWP_KIND_NONE &&
            rev->event_id[f->kind] > caps->max_events) {
            error_setg(errp, "%s=on needs lwp-max-events=%u or more",
                       f->property, rev->event_id[f->kind]);
            return false;
        }
        caps->features |= bit;
    }
    return true;
}

static bool lwp_apply_numbers(const X86LWPProps *p, struct lwp_caps *caps,
                              Error **errp)
{
    if ((p->given & LWP_HAS_MAX_EVENTS) &&
        !lwp_caps_set_max_events(caps, p->max_events)) {
        error_setg(errp, "lwp-max-events is 1 to %d for revision %s, not %u",
                   lwp_rev_get(p->rev)->max_event_id,
                   lwp_rev_get(p->rev)->name, p->max_events);
        return false;
    }
    if (p->given & LWP_HAS_MIN_BUFFER) {
        caps->min_buffer = p->min_buffer;
    }
    if (p->given & LWP_HAS_LATENCY_MAX) {
        if (p->latency_max && p->latency_max < 10) {
            error_setg(errp, "lwp-latency-max is 0 or 10 to 31, not %u",
                       p->latency_max);
            return false;
        }
        caps->latency_max = p->latency_max;
    }
    if (p->given & LWP_HAS_LATENCY_RND) {
        if (p->latency_rnd && p->rev == LWP_REV_2007) {
            error_setg(errp, "lwp-latency-rounding: revision 2007 of LWP "
                       "has none");
            return false;
        }
        caps->latency_rnd = p->latency_rnd;
    }
    return true;
}

/* Can a CPU with these numbers in the leaf have the caches it was given? */
static bool lwp_cache_check(const X86LWPProps *p, const struct lwp_caps *caps,
                            Error **errp)
{
    bool has = lwp_caps_has(caps, LWP_KIND_DME);

    if (p->cache && !has) {
        error_setg(errp, "lwp-cache-* need lwp-dme=on");
        return false;
    }
    if (has && !caps->latency_max) {
        error_setg(errp, "lwp-dme=on needs lwp-latency-max=10 to 31");
        return false;
    }
    return x86_cache_check("lwp-cache", p->cache, errp);
}

/* Of a CPU, or, @cpu NULL, of the host's defaults alone (43724-116). */
static bool lwp_make_caps(const X86LWPProps *p, const X86CPU *cpu,
                          struct lwp_caps *caps, Error **errp)
{
    if (p->fam15h && p->rev != LWP_REV_43724) {
        error_setg(errp, "lwp-profile=fam15h is silicon of revision 43724, "
                   "lwp-rev=%s has none", lwp_rev_get(p->rev)->name);
        return false;
    }
    lwp_caps_profile(caps, p->fam15h ? LWP_PROFILE_FAM15H : LWP_PROFILE_FULL,
                     p->rev);
    caps->ecx_features &= ~LWP_ECX_BRANCH_PREDICTION;
    if (p->vmcb) {
        caps->ecx_features |= LWP_ECX_VMCB_AREA;
    }
    return lwp_apply_numbers(p, caps, errp) &&
           lwp_apply_features(p, cpu, caps, errp) &&
           lwp_cache_check(p, caps, errp);
}

bool x86_lwp_host_set(Visitor *v, const char *name, Error **errp)
{
    const struct lwp_feature *f = lwp_feature_by_property(name);
    X86LWPProps *p = &lwp_host.props;
    int i;

    if (g_str_equal(name, "announce")) {
        return visit_type_bool(v, name, &lwp_host.announce, errp);
    }
    if (f) {
        return lwp_take_feature(v, f, p, errp);
    }
    for (i = 0; i < ARRAY_SIZE(lwp_props); i++) {
        if (g_str_equal(name, lwp_props[i].name) &&
            lwp_props[i].bit & ~LWP_HAS_CONTEXT_AGE) {
            return lwp_take_prop(v, &lwp_props[i], p, errp);
        }
    }
    error_setg(errp, "'%s' is not a name for this file", name);
    return false;
}

bool x86_lwp_host_check(Error **errp)
{
    struct lwp_caps caps;

    return lwp_make_caps(&lwp_host.props, NULL, &caps, errp);
}

void x86_lwp_announce(X86CPU *cpu)
{
    FeatureWord w = FEAT_8000_0001_ECX;

    if (lwp_host.announce && x86_cpu_takes_all(cpu) &&
        !(cpu->env.user_features[w] & CPUID_EXT3_LWP)) {
        cpu->env.features[w] |= CPUID_EXT3_LWP;
        cpu->lwp_props.announced = true;
    }
}

/* What the user has not said is as the host's file says, of its revision. */
static void lwp_take_host(X86LWPProps *p)
{
    X86LWPProps *host = &lwp_host.props;
    uint32_t unsaid = ~(p->on | p->off);
    int i;

    if (p->no_host_file || ((p->given & LWP_HAS_REV) && p->rev != host->rev)) {
        return;
    }
    for (i = 0; i < ARRAY_SIZE(lwp_props); i++) {
        if (host->given & ~p->given & lwp_props[i].bit) {
            *lwp_field(p, &lwp_props[i]) = *lwp_field(host, &lwp_props[i]);
        }
    }
    p->on |= host->on & unsaid;
    p->off |= host->off & unsaid;
    p->given |= host->given;
}

/* 43724-112 */
static bool lwp_expand(X86CPU *cpu, Error **errp)
{
    CPUX86State *env = &cpu->env;
    X86LWPProps *p = &cpu->lwp_props;
    uint32_t xlevel = env->cpuid_xlevel;
    struct lwp_caps caps;

    lwp_take_host(p);
    if (kvm_enabled() && !kvm_lwp_check(cpu, errp)) {
        return false;
    }
    if (kvm_enabled() && (p->given & LWP_HAS_CONTEXT_AGE)) {
        error_setg(errp, "lwp-context-age: with KVM it is the file "
                   "kvm/lwp/context_age in the host's debugfs");
        return false;
    }
    if (p->os_context && !(env->features[FEAT_1_ECX] & CPUID_EXT_XSAVE)) {
        error_setg(errp, "lwp-context=os needs xsave=on");
        return false;
    }
    if (p->vmcb && !(env->features[FEAT_8000_0001_ECX] & CPUID_EXT3_SVM)) {
        error_setg(errp, "lwp-vmcb=on needs svm=on");
        return false;
    }
    if (p->vmcb && !p->os_context) {
        error_setg(errp, "lwp-vmcb=on needs lwp-context=os: with "
                   "lwp-context=auto SVM guests have no LWP");
        return false;
    }
    if (xlevel == UINT32_MAX && !x86_cpu_auto_level(cpu)) {
        xlevel = env->cpuid_min_xlevel; /* of the model, for good */
    }
    if (xlevel < LWP_CPUID_LEAF) {
        error_setg(errp, "lwp=on needs xlevel=0x%x or more", LWP_CPUID_LEAF);
        return false;
    }
    if (!lwp_make_caps(p, cpu, &caps, errp)) {
        return false;
    }
    if (!tcg_enabled() && !kvm_enabled()) {
        error_setg(errp, "lwp=on: this accelerator has no LWP; use TCG or KVM");
        return false;
    }
    g_free(cpu->lwp_caps);
    cpu->lwp_caps = g_memdup2(&caps, sizeof(caps));
    return true;
}

bool x86_lwp_expand_features(X86CPU *cpu, Error **errp)
{
    uint64_t *ecx = &cpu->env.features[FEAT_8000_0001_ECX];
    X86LWPProps asked = cpu->lwp_props;

    if (!(*ecx & CPUID_EXT3_LWP) ||
        lwp_expand(cpu, asked.announced ? NULL : errp)) {
        return true;
    }
    /* What a host announces and this accelerator cannot give is left out. */
    *ecx &= ~CPUID_EXT3_LWP;
    cpu->lwp_props = asked;
    return asked.announced;
}

/* Does a guest see the same LWP on both? */
static bool lwp_alike(X86CPU *a, X86CPU *b)
{
    const X86LWPProps *p = &a->lwp_props, *q = &b->lwp_props;
    struct lwp_leaf leaf_a, leaf_b;

    if (!a->lwp_caps || !b->lwp_caps) {
        return !a->lwp_caps && !b->lwp_caps;
    }
    lwp_leaf_encode(a->lwp_caps, 0, &leaf_a);
    lwp_leaf_encode(b->lwp_caps, 0, &leaf_b);
    return leaf_a.ebx == leaf_b.ebx && leaf_a.ecx == leaf_b.ecx &&
           leaf_a.edx == leaf_b.edx && p->rev == q->rev &&
           p->os_context == q->os_context && p->prompt == q->prompt &&
           p->no_preset == q->no_preset &&
           x86_lwp_context_age(p) == x86_lwp_context_age(q) &&
           x86_cache_alike(p->cache, q->cache);
}

/*
 * Contexts and streams are the machine's: all CPUs have the same LWP.  The CPU
 * itself is not among the others yet.
 */
bool x86_lwp_check(X86CPU *cpu, Error **errp)
{
    CPUState *other;

    CPU_FOREACH(other) {
        if (!lwp_alike(cpu, X86_CPU(other))) {
            error_setg(errp, "lwp and lwp-* must be the same for all CPUs, "
                       "and CPU %d has others", other->cpu_index);
            return false;
        }
    }
    return true;
}

void x86_lwp_free(CPUX86State *env)
{
    if (env->lwp) {
        g_free(env->lwp->cache);
        timer_free(env->lwp->stop_timer);
        g_clear_pointer(&env->lwp, g_free);
    }
}

void x86_lwp_finalize(X86CPU *cpu)
{
    x86_lwp_free(&cpu->env);
    g_clear_pointer(&cpu->lwp_props.cache, g_free);
    g_clear_pointer(&cpu->lwp_caps, g_free);
}

/* 43724-103, 43724-109 */
void x86_lwp_cpuid(CPUX86State *env, uint32_t *eax, uint32_t *ebx,
                   uint32_t *ecx, uint32_t *edx)
{
    /* KVM fills in EAX, which follows LWP_CFG, itself. */
    uint32_t avail = env->lwp ? lwp_engine_avail(&env->lwp->engine) : 0;
    struct lwp_leaf leaf;

    lwp_leaf_encode(env_archcpu(env)->lwp_caps, avail, &leaf);
    *eax = leaf.eax;
    *ebx = leaf.ebx;
    *ecx = leaf.ecx;
    *edx = leaf.edx;
}
