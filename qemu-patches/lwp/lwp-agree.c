/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP: what the two sides of a migration must agree on.
 *
 * The guest has read leaf 8000_001C and relies on it.  So the leaf, and the
 * policies that show in the records, are sent before everything else: when
 * migration is set up and the guest still runs at the source.  A destination
 * that differs refuses.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "cpu.h"
#include "migration/vmstate.h"
#include "system/reset.h"
#include "lwp/lwp-agree.h"
#include "lwp_cpuid.h"
#include "lwp_state.h"

typedef struct X86LWPTerms {
    uint8_t rev;
    uint8_t os_context;
    uint8_t prompt;
    uint8_t version;
    uint8_t max_events;
    uint8_t event_offset;
    uint8_t event_size;
    uint8_t min_buffer;
    uint8_t latency_max;
    uint8_t latency_rnd;
    uint16_t cb_size;
    uint32_t features;      /* in the positions of the revision's Flags */
    uint32_t ecx_features;
    uint8_t context_format; /* LWP_CTX_FORMAT_VERSION */
    uint8_t preset;         /* lwp-preset */
} X86LWPTerms;

static struct {
    X86LWPTerms here;
    X86LWPTerms source;     /* on the wire */
    bool registered;
    bool agreed;            /* since the last machine reset */
} agreement;

/* A property with two words as values. */
typedef struct LWPWord {
    const char *property;
    const char *value[2];
    size_t offset;
} LWPWord;

static const LWPWord lwp_words[] = {
    { "lwp-rev", { "43724", "2007" }, offsetof(X86LWPTerms, rev) },
    { "lwp-context", { "auto", "os" }, offsetof(X86LWPTerms, os_context) },
    { "lwp-delivery", { "exact", "prompt" }, offsetof(X86LWPTerms, prompt) },
    { "lwp-preset", { "off", "on" }, offsetof(X86LWPTerms, preset) },
};

/* A number, and whether both hosts can offer the smaller or the larger one. */
typedef struct LWPTerm {
    const char *format;     /* of what is offered */
    const char *property;
    size_t offset;
    bool larger;
} LWPTerm;

static const LWPTerm lwp_terms[] = {
    { "%u events", "lwp-max-events", offsetof(X86LWPTerms, max_events) },
    { "rings of at least %u times 32 records", "lwp-min-buffer",
      offsetof(X86LWPTerms, min_buffer), true },
    { "latencies of %u bits", "lwp-latency-max",
      offsetof(X86LWPTerms, latency_max) },
};

static bool lwp_words_agree(const X86LWPTerms *source, const X86LWPTerms *here)
{
    int i;

    for (i = 0; i < ARRAY_SIZE(lwp_words); i++) {
        const LWPWord *w = &lwp_words[i];
        uint8_t theirs = *((const uint8_t *)source + w->offset);
        uint8_t ours = *((const uint8_t *)here + w->offset);

        if (theirs > 1) {
            error_report("LWP: source has an unknown %s (%u), this host %s",
                         w->property, theirs, w->value[ours]);
            return false;
        }
        if (theirs != ours) {
            error_report("LWP: source has %s=%s, this host %s: start both "
                         "with the same", w->property, w->value[theirs],
                         w->value[ours]);
            return false;
        }
    }
    return true;
}

/* 43724-117, 2007-109 */
static bool lwp_numbers_agree(const X86LWPTerms *source,
                              const X86LWPTerms *here)
{
    int i;

    for (i = 0; i < ARRAY_SIZE(lwp_terms); i++) {
        const LWPTerm *t = &lwp_terms[i];
        uint8_t theirs = *((const uint8_t *)source + t->offset);
        uint8_t ours = *((const uint8_t *)here + t->offset);
        g_autofree char *offer = g_strdup_printf(t->format, theirs);

        if (theirs != ours) {
            error_report("LWP: source offers %s, this host %u: start both "
                         "with %s=%u", offer, ours, t->property,
                         t->larger ? MAX(theirs, ours) : MIN(theirs, ours));
            return false;
        }
    }
    return true;
}

/* 43724-117, 2007-109 */
static bool lwp_features_agree(const X86LWPTerms *source,
                               const X86LWPTerms *here)
{
    uint32_t differ = source->features ^ here->features;
    const char *name, *text;
    uint32_t bit;

    if (!differ) {
        return true;
    }
    bit = 1u << ctz32(differ);
    name = x86_lwp_feature_name(here->rev, bit, &text);
    if (!name) {
        error_report("LWP: source and this host differ in feature bit %d",
                     ctz32(differ));
    } else if (source->features & bit) {
        error_report("LWP: source offers %s, this host does not: start both "
                     "with %s=off", text, name);
    } else {
        error_report("LWP: this host offers %s, source does not: start both "
                     "with %s=off", text, name);
    }
    return false;
}

/* A source of format 1 does not send its number, nor lwp-preset=on any source. */
static int lwp_terms_pre_load(void *opaque)
{
    agreement.source.context_format = 1;
    agreement.source.preset = 1;
    return 0;
}

static bool lwp_format_agrees(const X86LWPTerms *source,
                              const X86LWPTerms *here)
{
    if (source->context_format == here->context_format) {
        return true;
    }
    error_report("LWP: source sends contexts in format %u, this host takes "
                 "format %u: start both with the same version of QEMU",
                 source->context_format, here->context_format);
    return false;
}

static int lwp_terms_pre_save(void *opaque)
{
    agreement.source = agreement.here;
    return 0;
}

static int lwp_terms_post_load(void *opaque, int version_id)
{
    const X86LWPTerms *source = &agreement.source, *here = &agreement.here;

    agreement.agreed = false;
    if (!lwp_format_agrees(source, here) || !lwp_words_agree(source, here) ||
        !lwp_numbers_agree(source, here) || !lwp_features_agree(source, here)) {
        return -EINVAL;
    }
    if ((source->ecx_features ^ here->ecx_features) == LWP_ECX_VMCB_AREA) {
        error_report("LWP: source and this host differ in lwp-vmcb: start both "
                     "with lwp-vmcb=off");
        return -EINVAL;
    }
    /* The other numbers have no property of their own. */
    if (source->version != here->version ||
        source->event_offset != here->event_offset ||
        source->event_size != here->event_size ||
        source->latency_rnd != here->latency_rnd ||
        source->cb_size != here->cb_size ||
        source->ecx_features != here->ecx_features) {
        error_report("LWP: leaf 8000_001C has other numbers at the source "
                     "(block of %u bytes, version %u, ECX %08x) than on this "
                     "host (%u, %u, %08x): start both with the same "
                     "lwp-profile", source->cb_size, source->version,
                     source->ecx_features, here->cb_size, here->version,
                     here->ecx_features);
        return -EINVAL;
    }
    agreement.agreed = true;
    return 0;
}

/* An older QEMU, whose vCPUs would be preset at INIT, refuses the subsection. */
static bool lwp_preset_needed(void *opaque)
{
    return !agreement.here.preset;
}

static const VMStateDescription vmstate_lwp_preset = {
    .name = "x86-lwp/preset",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = lwp_preset_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT8(preset, X86LWPTerms),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_lwp_terms = {
    .name = "x86-lwp",
    .early_setup = true,
    .version_id = 2,
    .minimum_version_id = 1,
    .priority = MIG_PRI_MAX - 1,
    .pre_save = lwp_terms_pre_save,
    .pre_load = lwp_terms_pre_load,
    .post_load = lwp_terms_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT8(rev, X86LWPTerms),
        VMSTATE_UINT8(os_context, X86LWPTerms),
        VMSTATE_UINT8(prompt, X86LWPTerms),
        VMSTATE_UINT8(version, X86LWPTerms),
        VMSTATE_UINT8(max_events, X86LWPTerms),
        VMSTATE_UINT8(event_offset, X86LWPTerms),
        VMSTATE_UINT8(event_size, X86LWPTerms),
        VMSTATE_UINT8(min_buffer, X86LWPTerms),
        VMSTATE_UINT8(latency_max, X86LWPTerms),
        VMSTATE_UINT8(latency_rnd, X86LWPTerms),
        VMSTATE_UINT16(cb_size, X86LWPTerms),
        VMSTATE_UINT32(features, X86LWPTerms),
        VMSTATE_UINT32(ecx_features, X86LWPTerms),
        VMSTATE_UINT8_V(context_format, X86LWPTerms, 2),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &vmstate_lwp_preset,
        NULL
    }
};

/* A machine is reset before a stream is loaded into it. */
static void lwp_agree_reset(void *opaque)
{
    agreement.agreed = false;
}

void x86_lwp_agree_init(X86CPU *cpu)
{
    const struct lwp_caps *caps = cpu->lwp_caps;

    if (agreement.registered) {
        return;
    }
    agreement.registered = true;
    agreement.here = (X86LWPTerms) {
        .rev = caps->rev,
        .os_context = cpu->lwp_props.os_context,
        .prompt = cpu->lwp_props.prompt,
        .version = caps->version,
        .max_events = caps->max_events,
        .event_offset = caps->event_offset,
        .event_size = caps->event_size,
        .min_buffer = caps->min_buffer,
        .latency_max = caps->latency_max,
        .latency_rnd = caps->latency_rnd,
        .cb_size = caps->cb_size,
        .features = caps->features,
        .ecx_features = caps->ecx_features,
        .context_format = LWP_CTX_FORMAT_VERSION,
        .preset = !cpu->lwp_props.no_preset,
    };
    qemu_register_reset(lwp_agree_reset, NULL);
    vmstate_register(NULL, 0, &vmstate_lwp_terms, &agreement.source);
}

bool x86_lwp_agreed(X86CPU *cpu)
{
    if (!cpu->lwp_caps || agreement.agreed) {
        return true;
    }
    error_report("LWP: CPU %d comes without LWP and has it here: start this "
                 "machine without lwp", CPU(cpu)->cpu_index);
    return false;
}
