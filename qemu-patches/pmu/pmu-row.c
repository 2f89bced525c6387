/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x-x86-pmu-row: a processor for the counters.  What is wrong with them is a
 * row (pmc_row.h): TCG counts too much where it says so, and interrupts so
 * late; all draws are the same in each run.  rate and freeze change
 * nothing.  CPUs that are created from then on have so many instructions (ipc)
 * in a cycle of the counters and of `late', and a predictor of branches.
 */
#include "qemu/osdep.h"
#include "qemu/rcu.h"
#include "qapi/error.h"
#include "qapi/qapi-types-qom.h"
#include "qapi/visitor.h"
#include "qom/object_interfaces.h"
#include "cpu.h"
#include "count/qemu-compat.h"
#include "pmu/x86-pmu.h"

#define TYPE_X86_PMU_ROW "x-x86-pmu-row"
OBJECT_DECLARE_SIMPLE_TYPE(X86PMURow, X86_PMU_ROW)

#define MAX_IPC 16

/* What vCPUs read while it is set. */
typedef struct PMUFacts {
    struct rcu_head rcu;
    struct pmc_row row;
    bool adversarial;
} PMUFacts;

struct X86PMURow {
    Object parent;
    struct pmc_row row;
    bool adversarial;
    uint8_t ipc;
    X86PmuPredictor predictor;
};

static X86PMURow *the_row;
static PMUFacts *the_facts;

/* So many of a million interrupts come no later. */
static const uint32_t shares[PMC_LATES] = {
    [PMC_MEDIAN] = 500000, [PMC_P99] = 990000, [PMC_P999] = 999000,
    [PMC_P9999] = 999900, [PMC_MAX] = 1000000,
};

uint32_t x86_pmu_ipc(void)
{
    return the_row ? the_row->ipc : 1;
}

bool x86_pmu_predicts(void)
{
    return the_row && the_row->predictor == X86_PMU_PREDICTOR_2BIT;
}

/* xorshift64*, by Marsaglia and Vigna */
uint32_t x86_pmu_random(uint64_t *seed, uint32_t below)
{
    uint64_t x = *seed ? *seed : 0x9e3779b97f4a7c15;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *seed = x;
    return (x * 0x2545f4914f6cdd1d >> 32) % below;
}

static uint64_t pmu_draw(X86PMU *pmu, const uint32_t *late)
{
    uint32_t share = x86_pmu_random(&pmu->skid_seed, 1000001);
    int i = 0;

    while (share > shares[i + 1]) {
        i++;
    }
    return late[i] + (uint64_t)(late[i + 1] - late[i]) *
                     (share - shares[i]) / (shares[i + 1] - shares[i]);
}

/* In turn: on time; drawn; far too late; a burst of four; held; lost. */
static uint64_t pmu_adversarial(X86PMU *pmu, const uint32_t *late)
{
    switch (pmu->skid_number % 6) {
    case 0:
        return 0;
    case 2:
        return 20000;
    case 3:
        pmu->burst = 3;
        return 100;
    case 4:
        pmu->held = 1;
        return 0;
    case 5:
        return UINT64_MAX;
    default:
        return pmu_draw(pmu, late);
    }
}

uint64_t x86_pmu_next_skid(X86PMU *pmu)
{
    const PMUFacts *f;
    uint64_t cycles;

    RCU_READ_LOCK_GUARD();
    f = qatomic_rcu_read(&the_facts);
    if (!f) {
        return 0;
    }
    if (f->adversarial) {
        cycles = pmu_adversarial(pmu, f->row.late);
    } else if (f->row.lost && !x86_pmu_random(&pmu->skid_seed, f->row.lost)) {
        cycles = UINT64_MAX;
    } else {
        cycles = pmu_draw(pmu, f->row.late);
    }
    pmu->skid_number++;
    return cycles == UINT64_MAX ? cycles : cycles * pmu->ipc;
}

bool x86_pmu_excess(X86PMU *pmu, enum pmc_place place,
                    uint32_t excess[PMC_EVENTS])
{
    const PMUFacts *f;
    bool any = false;
    int i;

    RCU_READ_LOCK_GUARD();
    f = qatomic_rcu_read(&the_facts);
    for (i = 0; f && i < PMC_EVENTS; i++) {
        const struct pmc_over *o = &f->row.over[i][place];
        /* What nobody knows varies. */
        uint32_t most = o->most == PMC_UNKNOWN ? 9 : o->most;

        excess[i] = o->least;
        if (most > o->least) {
            excess[i] += x86_pmu_random(&pmu->skid_seed, most - o->least + 1);
        }
        any |= excess[i] != 0;
    }
    return any;
}

static void pmu_row_publish(X86PMURow *r)
{
    PMUFacts *old = the_facts, *new = NULL;

    if (r) {
        new = g_new0(PMUFacts, 1);
        new->row = r->row;
        new->adversarial = r->adversarial;
    }
    qatomic_rcu_set(&the_facts, new);
    if (old) {
        g_free_rcu(old, rcu);
    }
}

static void pmu_row_changed(X86PMURow *r)
{
    if (the_row == r) {
        pmu_row_publish(r);
    }
}

static char *pmu_row_get(Object *obj, Error **errp)
{
    char text[PMC_ROW_SIZE];

    pmc_row_format(&X86_PMU_ROW(obj)->row, text, sizeof(text));
    return g_strdup(text);
}

static void pmu_row_set(Object *obj, const char *value, Error **errp)
{
    X86PMURow *r = X86_PMU_ROW(obj);
    struct pmc_row_error err;
    struct pmc_row row;
    int i;

    if (!pmc_row_parse(value, strlen(value), &row, &err)) {
        error_setg(errp, "row: %s, at '%.20s'", err.message, value + err.at);
        return;
    }
    for (i = 0; i < PMC_EVENTS; i++) {
        if (row.over[i][PMC_REP].most || row.over[i][PMC_LOCK].most) {
            error_setg(errp, "row: TCG has nothing that counts too much at "
                       "%s.%s", pmc_event_name(i),
                       pmc_place_name(row.over[i][PMC_REP].most ? PMC_REP :
                                      PMC_LOCK));
            return;
        }
    }
    r->row = row;
    pmu_row_changed(r);
}

static bool pmu_row_get_adversarial(Object *obj, Error **errp)
{
    return X86_PMU_ROW(obj)->adversarial;
}

static void pmu_row_set_adversarial(Object *obj, bool value, Error **errp)
{
    X86_PMU_ROW(obj)->adversarial = value;
    pmu_row_changed(X86_PMU_ROW(obj));
}

static void pmu_row_get_ipc(Object *obj, Visitor *v, const char *name,
                            void *opaque, Error **errp)
{
    visit_type_uint8(v, name, &X86_PMU_ROW(obj)->ipc, errp);
}

static void pmu_row_set_ipc(Object *obj, Visitor *v, const char *name,
                            void *opaque, Error **errp)
{
    uint8_t value;

    if (!visit_type_uint8(v, name, &value, errp)) {
        return;
    }
    if (!value || value > MAX_IPC) {
        error_setg(errp, "ipc is 1 to %d", MAX_IPC);
        return;
    }
    X86_PMU_ROW(obj)->ipc = value;
}

static int pmu_row_get_predictor(Object *obj, Error **errp)
{
    return X86_PMU_ROW(obj)->predictor;
}

static void pmu_row_set_predictor(Object *obj, int value, Error **errp)
{
    X86_PMU_ROW(obj)->predictor = value;
}

static void pmu_row_complete(UserCreatable *uc, Error **errp)
{
    if (the_row) {
        error_setg(errp, "there is one " TYPE_X86_PMU_ROW " already");
        return;
    }
    the_row = X86_PMU_ROW(uc);
    pmu_row_publish(the_row);
}

static void pmu_row_init(Object *obj)
{
    X86_PMU_ROW(obj)->ipc = 1;
}

static void pmu_row_finalize(Object *obj)
{
    if (the_row == X86_PMU_ROW(obj)) {
        the_row = NULL;
        pmu_row_publish(NULL);
    }
}

static void pmu_row_class_init(ObjectClass *oc, X86ClassData *data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(oc);

    ucc->complete = pmu_row_complete;
    object_class_property_add_str(oc, "row", pmu_row_get, pmu_row_set);
    object_class_property_add_bool(oc, "adversarial", pmu_row_get_adversarial,
                                   pmu_row_set_adversarial);
    object_class_property_add(oc, "ipc", "uint8", pmu_row_get_ipc,
                              pmu_row_set_ipc, NULL, NULL);
    object_class_property_add_enum(oc, "predictor", "X86PmuPredictor",
                                   &X86PmuPredictor_lookup,
                                   pmu_row_get_predictor,
                                   pmu_row_set_predictor);
}

static const TypeInfo pmu_row_types[] = {
    {
        .name = TYPE_X86_PMU_ROW,
        .parent = TYPE_OBJECT,
        .instance_size = sizeof(X86PMURow),
        .instance_init = pmu_row_init,
        .instance_finalize = pmu_row_finalize,
        .class_init = pmu_row_class_init,
        .interfaces = (InterfaceInfo[]) {
            { TYPE_USER_CREATABLE },
            { }
        },
    },
};

DEFINE_TYPES(pmu_row_types)
