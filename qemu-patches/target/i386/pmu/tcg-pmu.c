/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Performance counters under TCG: what counts, overflow, interrupts.
 *
 * An instruction or branch counts in the mode (CPL, SVM guest or host) in which
 * it begins, a far transfer in the mode that it leaves.  WRMSR, RDMSR and RDPMC
 * use the counters without themselves, and count if the counter is enabled
 * after them.  VMRUN does not count.  One cycle is one instruction.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "cpu.h"
#include "pmu/x86-pmu.h"

#define NEVER UINT64_MAX

/* Instructions between the interrupts of a burst. */
#define BURST_GAP 500

/* Numbers of events that have happened. */
typedef struct PMUEvents {
    int64_t insns;
    uint32_t near, conditional, taken, taken_conditional, far;
    uint32_t far_insns;  /* those of far that are instructions */
    uint32_t far_excess; /* counted too many, of far only */
} PMUEvents;

static X86PMU *pmu_of(CPUX86State *env)
{
    return env_archcpu(env)->tcg_pmu;
}

/* Does the counter count in this mode? */
static bool pmu_counts(CPUX86State *env, const X86PMUCounter *c, bool user)
{
    bool guest = (env->hflags & HF_GUEST_MASK) && (env->efer & MSR_EFER_SVME);

    return (c->where & (user ? X86_PMU_USER : X86_PMU_KERNEL)) &&
           (c->where & (guest ? X86_PMU_GUEST : X86_PMU_HOST));
}

/*
 * CounterMask compares with the events of one cycle, which is one instruction:
 * never more than one.  Edge detection has no effect.
 */
static int64_t pmu_increment(const X86PMUCounter *c, const PMUEvents *e)
{
    int64_t n = 0;

    switch (c->event) {
    case X86_PMU_EVENT_CYCLES:
    case X86_PMU_EVENT_INSNS:
        n = e->insns;
        break;
    case X86_PMU_EVENT_REFERENCE:
        n = e->insns * X86_LWP_RNH_PER_CNH;
        break;
    case X86_PMU_EVENT_BRANCHES:
        n = e->near + e->far;
        break;
    case X86_PMU_EVENT_TAKEN:
        n = e->taken + e->far;
        break;
    case X86_PMU_EVENT_FAR:
        n = e->far + e->far_excess;
        break;
    case X86_PMU_EVENT_CONDITIONAL:
        n = e->conditional;
        break;
    case X86_PMU_EVENT_BRANCH_INSNS:
        n = e->near + e->far_insns;
        break;
    case X86_PMU_EVENT_FAR_INSNS:
        n = e->far_insns;
        break;
    case X86_PMU_EVENT_TAKEN_NEAR:
        n = e->taken;
        break;
    case X86_PMU_EVENT_TAKEN_CONDITIONAL:
        n = e->taken_conditional;
        break;
    case X86_PMU_EVENT_NONE:
        return 0;
    }
    if (!c->cmask) {
        return n;
    }
    if (c->invert) {
        return c->cmask == 1 ? e->insns - n : e->insns;
    }
    return c->cmask == 1 ? n : 0;
}

static void pmu_deliver(CPUX86State *env)
{
    X86PMU *pmu = pmu_of(env);

    BQL_LOCK_GUARD();
    pmu->vendor->deliver(env, pmu);
}

static void pmu_overflow(CPUX86State *env, X86PMU *pmu, int n)
{
    pmu->vendor->overflow(env, pmu, n);
    if (!pmu->counter[n].interrupts || pmu->skid_left) {
        return;
    }
    pmu->skid_left = x86_pmu_next_skid(&env_archcpu(env)->tcg_pmu_props,
                                       pmu);
    if (!pmu->skid_left && !pmu->held) {
        pmu_deliver(env);
    }
    if (pmu->skid_left == NEVER) {
        pmu->skid_left = 0; /* lost */
    }
}

static void pmu_add(CPUX86State *env, X86PMU *pmu, int n, int64_t add)
{
    uint64_t sum = *pmu->counter[n].value + add;

    *pmu->counter[n].value = sum & pmu->mask;
    if (add > 0 && sum > pmu->mask) {
        pmu_overflow(env, pmu, n);
    }
}

/* `insns` have retired: count down to the interrupts of overflows. */
static void pmu_pass(CPUX86State *env, X86PMU *pmu, int64_t insns)
{
    if (!pmu->skid_left) {
        return;
    }
    if (insns < 0 || (uint64_t)insns < pmu->skid_left) {
        pmu->skid_left -= insns;
        return;
    }
    pmu->skid_left = 0;
    if (pmu->burst) {
        pmu->burst--;
        pmu->skid_left = BURST_GAP;
    }
    pmu_deliver(env);
}

static void pmu_happened(CPUX86State *env, const PMUEvents *e, bool user)
{
    X86PMU *pmu = pmu_of(env);
    int n;

    pmu_pass(env, pmu, e->insns);
    for (n = 0; n < pmu->counters; n++) {
        int64_t add = pmu_increment(&pmu->counter[n], e);

        if (add && pmu_counts(env, &pmu->counter[n], user)) {
            pmu_add(env, pmu, n, add);
        }
    }
    if (pmu->rederive) {
        pmu->rederive = false;
        pmu->vendor->derive(env, pmu);
    }
}

/* PERF_CTL's USR counts at CPL 1 to 3, OS at CPL 0. */
static bool pmu_user(CPUX86State *env)
{
    return env->hflags & HF_CPL_MASK;
}

void x86_pmu_count(CPUX86State *env, int32_t insns, const uint32_t *branches)
{
    PMUEvents e = {
        .insns = insns,
        .conditional = branches[X86_LWP_BRANCH_CONDITIONAL],
        .taken = branches[X86_LWP_BRANCH_TAKEN_CONDITIONAL],
        .taken_conditional = branches[X86_LWP_BRANCH_TAKEN_CONDITIONAL],
    };
    uint32_t always = branches[X86_LWP_BRANCH_RELATIVE] +
                      branches[X86_LWP_BRANCH_CALL_RELATIVE] +
                      branches[X86_LWP_BRANCH_ABSOLUTE];

    e.near = e.conditional + always;
    e.taken += always;
    if (e.insns || e.near) {
        pmu_happened(env, &e, pmu_user(env));
    }
}

void x86_pmu_retire(CPUX86State *env, uint32_t info)
{
    uint32_t class = info & X86_LWP_BRANCH_CLASS;
    PMUEvents e = {
        .insns = 1,
        .near = class != 0,
        .conditional = class == X86_LWP_BRANCH_CONDITIONAL,
        .taken = class && (info & X86_LWP_BRANCH_TAKEN),
        .far = !!(info & X86_LWP_FAR),
        .far_insns = !!(info & X86_LWP_FAR),
    };

    e.taken_conditional = e.conditional && e.taken;

    pmu_happened(env, &e, !(info & X86_LWP_CPL0));
}

void x86_pmu_interrupt(CPUX86State *env, bool insn)
{
    PMUEvents e = { .insns = insn, .far = 1, .far_insns = insn };

    if (env->lwp_count.pmu) {
        x86_lwp_fold(env);
        pmu_happened(env, &e, pmu_user(env));
        x86_lwp_update(env);
    }
}

uint32_t x86_pmu_wants(CPUX86State *env, uint64_t *insns, uint64_t *branches)
{
    X86PMU *pmu = pmu_of(env);
    uint32_t flags = 0;
    int n;

    *insns = *branches = NEVER;
    if (pmu->skid_left) {
        flags |= X86_LWP_WANTS_COUNT;
        *insns = pmu->skid_left;
    }
    for (n = 0; n < pmu->counters; n++) {
        const X86PMUCounter *c = &pmu->counter[n];
        uint64_t left;

        if (!pmu_counts(env, c, pmu_user(env))) {
            continue;
        }
        left = c->exact ? pmu->mask + 1 - *c->value : NEVER;
        switch (c->event) {
        case X86_PMU_EVENT_CYCLES:
        case X86_PMU_EVENT_INSNS:
            *insns = MIN(*insns, left);
            flags |= X86_LWP_WANTS_COUNT;
            break;
        case X86_PMU_EVENT_REFERENCE:
            left = DIV_ROUND_UP(left, X86_LWP_RNH_PER_CNH);
            *insns = MIN(*insns, left);
            flags |= X86_LWP_WANTS_COUNT;
            break;
        case X86_PMU_EVENT_BRANCHES:
        case X86_PMU_EVENT_TAKEN:
        case X86_PMU_EVENT_CONDITIONAL:
        case X86_PMU_EVENT_FAR:
        case X86_PMU_EVENT_BRANCH_INSNS:
        case X86_PMU_EVENT_FAR_INSNS:
        case X86_PMU_EVENT_TAKEN_NEAR:
        case X86_PMU_EVENT_TAKEN_CONDITIONAL:
            /* With INV, cycles without a branch count. */
            *branches = MIN(*branches, left);
            if (c->invert) {
                *insns = MIN(*insns, left);
            }
            flags |= X86_LWP_WANTS_COUNT | X86_LWP_WANTS_CLASSES;
            break;
        case X86_PMU_EVENT_NONE:
            break;
        }
    }
    return flags;
}

void x86_pmu_changed(CPUX86State *env)
{
    X86PMU *pmu = pmu_of(env);
    bool any = pmu->skid_left || pmu->held;
    int n;

    pmu->vendor->derive(env, pmu);
    for (n = 0; n < pmu->counters; n++) {
        any |= pmu->counter[n].where != 0;
    }
    env->lwp_count.pmu = any;
    x86_lwp_update(env);
}

void x86_pmu_leave_mode(CPUX86State *env)
{
    x86_lwp_fold(env);
}

static void pmu_overcount(CPUX86State *env, uint32_t insns, uint32_t far)
{
    PMUEvents e = { .insns = insns, .far_excess = far };

    if (insns || far) {
        pmu_happened(env, &e, pmu_user(env));
    }
}

void x86_pmu_enter_mode(CPUX86State *env, bool ring)
{
    if (ring) {
        pmu_overcount(env, env_archcpu(env)->tcg_pmu_props.overcount_ring, 0);
    }
    x86_lwp_update(env);
}

void x86_pmu_vmrun(CPUX86State *env)
{
    const X86PMUProps *props = &env_archcpu(env)->tcg_pmu_props;

    pmu_overcount(env, props->overcount_vmrun, props->overcount_far);
}

void x86_pmu_vmexit(CPUX86State *env)
{
    X86PMU *pmu = pmu_of(env);

    if (pmu->held) {
        pmu->held = 0;
        pmu_deliver(env);
    }
}

bool x86_pmu_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *value, bool *gp)
{
    X86PMU *pmu = pmu_of(env);

    if (!pmu) {
        return false;
    }
    x86_lwp_fold(env);
    return pmu->vendor->rdmsr(env, pmu, msr, value, gp);
}

bool x86_pmu_wrmsr(CPUX86State *env, uint32_t msr, uint64_t value, bool *gp)
{
    X86PMU *pmu = pmu_of(env);

    if (!pmu) {
        return false;
    }
    x86_lwp_fold(env);
    if (!pmu->vendor->wrmsr(env, pmu, msr, value, gp)) {
        return false;
    }
    x86_pmu_changed(env);
    return true;
}

bool x86_pmu_rdpmc(CPUX86State *env, uint32_t index, uint64_t *value)
{
    X86PMU *pmu = pmu_of(env);

    if (!pmu) {
        return false;
    }
    x86_lwp_fold(env);
    return pmu->vendor->rdpmc(env, pmu, index, value);
}
