/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP: statistics, by query-stats.  Under KVM they are KVM's own.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/util.h"
#include "cpu.h"
#include "system/stats.h"
#include "lwp/lwp-vmstate.h"
#include "lwp/tcg-lwp.h"

typedef struct LWPStat {
    const char *name;
    size_t offset;          /* of a u64 in struct lwp_stats or lwp_ctx_stats */
    bool context;           /* of the whole machine */
    bool folded;            /* translated code has a part of it */
} LWPStat;

#define LWP_STAT(n, field) \
    { n, offsetof(struct lwp_stats, field), false, false }
#define LWP_CTX_STAT(n, field) \
    { "contexts-" n, offsetof(struct lwp_ctx_stats, field), true, false }

static const LWPStat lwp_stats[] = {
    LWP_STAT("records", records),
    LWP_STAT("missed", missed), /* records that found the ring full */
    LWP_STAT("faults", faults),
    LWP_STAT("interrupts", interrupts),
    LWP_STAT("turned-off", turned_off), /* blocks or rings that were not RAM */
#define LWP_EVENT(kind, id, event, interval, property, records, text) \
    { "counted-" event, \
      offsetof(struct lwp_stats, counted[LWP_KIND_##kind]), false, true },
#include "lwp_events.h"
    LWP_CTX_STAT("created", created),
    LWP_CTX_STAT("parked", parked),
    LWP_CTX_STAT("resumed", resumed),
    LWP_CTX_STAT("taken-over", taken_over), /* contexts taken from another vCPU */
    LWP_CTX_STAT("dropped", dropped), /* contexts that did not verify */
    LWP_CTX_STAT("collected", collected), /* contexts whose program was gone */
    LWP_CTX_STAT("evicted", evicted), /* contexts that found the table full */
    LWP_CTX_STAT("unreadable", unreadable), /* lookups that could not read */
};

static uint64_t lwp_stat_value(X86CPU *cpu, const LWPStat *stat)
{
    X86LWP *lwp = cpu->env.lwp;
    struct lwp_ctx_stats contexts;

    if (!lwp) {
        return 0;
    }
    if (stat->context) {
        contexts = x86_lwp_accel->context_stats();
        return *(const uint64_t *)((const void *)&contexts + stat->offset);
    }
    if (stat->folded && x86_lwp_accel->fold) {
        x86_lwp_accel->fold(cpu);
    }
    return *(const uint64_t *)((const void *)&lwp->engine.stats +
                               stat->offset);
}

/* Those of a vCPU, or of the machine, that are asked for. */
static StatsList *lwp_stats_of(X86CPU *cpu, bool context, strList *names)
{
    StatsList *list = NULL, **tail = &list;
    int i;

    for (i = 0; i < ARRAY_SIZE(lwp_stats); i++) {
        const LWPStat *stat = &lwp_stats[i];
        Stats *value;

        if (stat->context != context ||
            !apply_str_list_filter(stat->name, names)) {
            continue;
        }
        value = g_new0(Stats, 1);
        value->name = g_strdup(stat->name);
        value->value = g_new0(StatsValue, 1);
        value->value->type = QTYPE_QNUM;
        value->value->u.scalar = lwp_stat_value(cpu, stat);
        QAPI_LIST_APPEND(tail, value);
    }
    return list;
}

static void lwp_query_stats(StatsResultList **result, StatsTarget target,
                            strList *names, strList *targets, Error **errp)
{
    StatsList *list;
    CPUState *cs;

    if (target == STATS_TARGET_VM) {
        list = lwp_stats_of(X86_CPU(first_cpu), true, names);
        if (list) {
            add_stats_entry(result, STATS_PROVIDER_LWP, NULL, list);
        }
        return;
    }
    if (target != STATS_TARGET_VCPU) {
        return;
    }
    CPU_FOREACH(cs) {
        const char *path = cs->parent_obj.canonical_path;

        if (!apply_str_list_filter(path, targets)) {
            continue;
        }
        list = lwp_stats_of(X86_CPU(cs), false, names);
        if (list) {
            add_stats_entry(result, STATS_PROVIDER_LWP, path, list);
        }
    }
}

static StatsSchemaValueList *lwp_schema_of(bool context)
{
    StatsSchemaValueList *list = NULL, **tail = &list;
    int i;

    for (i = 0; i < ARRAY_SIZE(lwp_stats); i++) {
        StatsSchemaValue *value;

        if (lwp_stats[i].context == context) {
            value = g_new0(StatsSchemaValue, 1);
            value->name = g_strdup(lwp_stats[i].name);
            value->type = STATS_TYPE_CUMULATIVE;
            QAPI_LIST_APPEND(tail, value);
        }
    }
    return list;
}

static void lwp_query_stats_schemas(StatsSchemaList **result, Error **errp)
{
    add_stats_schema(result, STATS_PROVIDER_LWP, STATS_TARGET_VM,
                     lwp_schema_of(true));
    add_stats_schema(result, STATS_PROVIDER_LWP, STATS_TARGET_VCPU,
                     lwp_schema_of(false));
}

void x86_lwp_stats_init(void)
{
    static bool added;

    if (!added) {
        added = true;
        add_stats_callbacks(STATS_PROVIDER_LWP, lwp_query_stats,
                            lwp_query_stats_schemas);
    }
}
