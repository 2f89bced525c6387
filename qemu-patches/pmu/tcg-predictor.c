/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A branch predictor for the event of mispredicted branches: predictor=2bit.
 *
 * A conditional branch has a counter of two bits, by its address modulo the
 * size of the table: 0 and 1 predict that it is not taken.  A jump or call by
 * address is predicted to go where the last one of its entry has gone.  Other
 * branches are predicted right: relative ones, returns, far transfers.
 *
 * It learns from branches that retire while a counter counts the event, in a
 * mode in which the counter counts.  At reset all counters and targets are 0.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "cpu.h"
#include "migration/vmstate.h"
#include "pmu/x86-pmu.h"

#define COUNTER_MAX   3
#define COUNTER_TAKEN 2 /* this and above: predicted taken */

static bool predict_condition(X86Predictor *p, uint64_t from, bool taken)
{
    uint8_t *counter = &p->counter[from % X86_PREDICTOR_COUNTERS];
    bool missed = (*counter >= COUNTER_TAKEN) != taken;

    if (taken) {
        *counter = MIN(*counter + 1, COUNTER_MAX);
    } else if (*counter) {
        --*counter;
    }
    return missed;
}

static bool predict_target(X86Predictor *p, uint64_t from, uint64_t to)
{
    uint64_t *target = &p->target[from % X86_PREDICTOR_TARGETS];
    bool missed = *target != to;

    *target = to;
    return missed;
}

bool x86_predictor_misses(X86PMU *pmu, uint32_t info, uint64_t from,
                          uint64_t to)
{
    switch (info & X86_CNT_BRANCH_CLASS) {
    case X86_CNT_BRANCH_CONDITIONAL:
        return predict_condition(&pmu->predictor, from,
                                 info & X86_CNT_BRANCH_TAKEN);
    case X86_CNT_BRANCH_ABSOLUTE:
        return !(info & X86_CNT_RET) &&
               predict_target(&pmu->predictor, from, to);
    default:
        return false;
    }
}

static bool predictor_needed(void *opaque)
{
    X86PMU *pmu = X86_CPU(opaque)->tcg_pmu;

    return pmu && pmu->predicts &&
           !buffer_is_zero(&pmu->predictor, sizeof(X86Predictor));
}

static int predictor_post_load(void *opaque, int version_id)
{
    X86PMU *pmu = X86_CPU(opaque)->tcg_pmu;
    int i;

    if (!pmu || !pmu->predicts) {
        return -EINVAL;
    }
    for (i = 0; i < X86_PREDICTOR_COUNTERS; i++) {
        if (pmu->predictor.counter[i] > COUNTER_MAX) {
            return -EINVAL;
        }
    }
    return 0;
}

X86_PMU_SECTION(
    vmstate_x86_predictor, "cpu/tcg_pmu_predictor", predictor_needed,
    predictor_post_load,
    VMSTATE_UINT8_ARRAY(predictor.counter, X86PMU, X86_PREDICTOR_COUNTERS),
    VMSTATE_UINT64_ARRAY(predictor.target, X86PMU, X86_PREDICTOR_TARGETS)
);
