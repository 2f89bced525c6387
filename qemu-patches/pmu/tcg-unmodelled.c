/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that a guest has programmed and that have no model, and IBS if it was on:
 * each has one line of -d unimp, and query-stats their number.
 */
#include "qemu/osdep.h"
#include "qapi/util.h"
#include "qemu/atomic.h"
#include "qemu/bitops.h"
#include "qemu/log.h"
#include "cpu.h"
#include "system/stats.h"
#include "pmu/x86-pmu.h"

static const char name[] = "unmodelled";
static unsigned long said[BITS_TO_LONGS(X86_PMU_IBS + 1)];
static uint32_t number;

void x86_pmu_unmodelled(uint32_t what)
{
    unsigned long bit = BIT_MASK(what);

    if (qatomic_fetch_or(&said[BIT_WORD(what)], bit) & bit) {
        return;
    }
    qatomic_inc(&number);
    if (what == X86_PMU_IBS) {
        qemu_log_mask(LOG_UNIMP, "pmu: IBS has no model of TLBs, predictions "
                      "and the fetching of code, nor without ibs-cache=on of "
                      "data caches\n");
    } else {
        qemu_log_mask(LOG_UNIMP, "pmu: no model of event %03xh, unit mask %02xh"
                      ": it counts 0\n",
                      what % X86_PMU_EVENTS, what / X86_PMU_EVENTS);
    }
}

static void pmu_query_stats(StatsResultList **result, StatsTarget target,
                            strList *names, strList *targets, Error **errp)
{
    StatsList *list = NULL;
    Stats *stat;

    if (target == STATS_TARGET_VM && apply_str_list_filter(name, names)) {
        stat = g_new0(Stats, 1);
        stat->name = g_strdup(name);
        stat->value = g_new0(StatsValue, 1);
        stat->value->type = QTYPE_QNUM;
        stat->value->u.scalar = qatomic_read(&number);
        QAPI_LIST_PREPEND(list, stat);
        add_stats_entry(result, STATS_PROVIDER_TCG_PMU, NULL, list);
    }
}

static void pmu_query_stats_schemas(StatsSchemaList **result, Error **errp)
{
    StatsSchemaValueList *list = NULL;
    StatsSchemaValue *value = g_new0(StatsSchemaValue, 1);

    value->name = g_strdup(name);
    value->type = STATS_TYPE_CUMULATIVE;
    QAPI_LIST_PREPEND(list, value);
    add_stats_schema(result, STATS_PROVIDER_TCG_PMU, STATS_TARGET_VM, list);
}

void x86_pmu_stats_init(void)
{
    static bool added;

    if (!added) {
        added = true;
        add_stats_callbacks(STATS_PROVIDER_TCG_PMU, pmu_query_stats,
                            pmu_query_stats_schemas);
    }
}
