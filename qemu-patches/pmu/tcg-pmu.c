/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Performance counters under TCG: what counts, overflow, interrupts.
 *
 * An instruction or branch counts in the mode (CPL, SVM guest or host) in which
 * it begins, a far transfer in the mode that it leaves.  WRMSR, RDMSR and RDPMC
 * use the counters without themselves, and count if the counter is enabled
 * after them.  VMRUN does not count.  An interrupt from outside and an SMI count
 * in the mode that they interrupt.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "cpu.h"
#include "count/x86-loads.h"
#include "pmu/x86-pmu.h"

#define NEVER UINT64_MAX

/* Instructions between the interrupts of a burst. */
#define BURST_GAP 500

/* Numbers of events that have happened. */
typedef struct PMUEvents {
    int64_t insns;
    int64_t cycles;      /* that begin */
    int64_t near;
    uint32_t conditional, taken, taken_conditional, far;
    uint32_t far_insns;  /* those of far that are instructions */
    uint32_t mispredicted;
    uint32_t accesses;   /* X86_PMU_LOADS, ...: what the instruction does */
    uint32_t interrupts, smis;
    uint32_t excess[PMC_EVENTS]; /* counted too many */
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

static int64_t pmu_events(const X86PMUCounter *c, const PMUEvents *e)
{
    switch (c->event) {
    case X86_PMU_EVENT_CYCLES:
        return e->cycles;
    case X86_PMU_EVENT_INSNS:
        return e->insns + e->excess[PMC_INSNS];
    case X86_PMU_EVENT_REFERENCE:
        return e->cycles * X86_CNT_REF_PER_CYC;
    case X86_PMU_EVENT_BRANCHES:
        return e->near + e->far + e->excess[PMC_BRANCHES];
    case X86_PMU_EVENT_TAKEN:
        return e->taken + e->far;
    case X86_PMU_EVENT_FAR:
        return e->far + e->excess[PMC_FAR];
    case X86_PMU_EVENT_CONDITIONAL:
        return e->conditional;
    case X86_PMU_EVENT_BRANCH_INSNS:
        return e->near + e->far_insns;
    case X86_PMU_EVENT_FAR_INSNS:
        return e->far_insns;
    case X86_PMU_EVENT_TAKEN_NEAR:
        return e->taken;
    case X86_PMU_EVENT_TAKEN_CONDITIONAL:
        return e->taken_conditional;
    case X86_PMU_EVENT_MISPREDICTED:
        return e->mispredicted;
    case X86_PMU_EVENT_ACCESSES:
        return !!(e->accesses & c->units);
    case X86_PMU_EVENT_INTERRUPTS:
        return e->interrupts;
    case X86_PMU_EVENT_SMIS:
        return e->smis;
    case X86_PMU_EVENT_NONE:
        break;
    }
    return 0;
}

/*
 * CounterMask compares with the events of one cycle where cycles count, of one
 * instruction elsewhere: never more than one, but of the reference clock.
 */
static int64_t pmu_increment(const X86PMUCounter *c, const PMUEvents *e)
{
    int64_t n = pmu_events(c, e), all = e->insns, hits;

    if (!c->cmask) {
        return n;
    }
    hits = c->cmask == 1 ? n : 0;
    if (c->event == X86_PMU_EVENT_CYCLES) {
        all = e->cycles;
    } else if (c->event == X86_PMU_EVENT_REFERENCE) {
        all = e->cycles;
        hits = c->cmask <= X86_CNT_REF_PER_CYC ? all : 0;
    }
    return c->invert ? all - hits : hits;
}

/* The same with edge detection; e is of one instruction, which is stepped. */
static int64_t pmu_edge(X86PMU *pmu, int n, const PMUEvents *e)
{
    bool before = pmu->asserted >> n & 1;
    bool now = pmu_increment(&pmu->counter[n], e) > 0;

    if (now || e->insns) {
        pmu->asserted = deposit32(pmu->asserted, n, 1, now);
    }
    return now && !before;
}

/* Cycles that have begun with so many instructions, which may be negative. */
static int64_t pmu_begun(int64_t insns, int64_t ipc)
{
    const int64_t bias = X86_CNT_MAX_INSNS;

    return (insns + bias * ipc + ipc - 1) / ipc - bias;
}

/*
 * A cycle counts when it begins, and takes pmu->ipc instructions.  RDPMC, WRMSR
 * and a change of the mode end it sooner, so that the numbers do not depend on
 * what came before.
 */
static void pmu_set_cycles(X86PMU *pmu, PMUEvents *e)
{
    int64_t ipc = pmu->ipc;
    int64_t end = pmu->phase + e->insns;

    e->cycles = pmu_begun(end, ipc) - pmu_begun(pmu->phase, ipc);
    pmu->phase = (end + ipc * X86_CNT_MAX_INSNS) % ipc;
}

/* Instructions to the beginning of the cycle after so many. */
static uint64_t pmu_insns_to(const X86PMU *pmu, uint64_t cycles)
{
    uint32_t ipc = pmu->ipc;

    if (cycles == NEVER) {
        return NEVER;
    }
    return (pmu->phase ? ipc - pmu->phase : 0) + (cycles - 1) * ipc + 1;
}

static void pmu_deliver(CPUX86State *env)
{
    X86PMU *pmu = pmu_of(env);

    BQL_LOCK_GUARD();
    x86_cnt_sample("pmu");
    pmu->vendor->deliver(env, pmu);
}

static void pmu_overflow(CPUX86State *env, X86PMU *pmu, int n)
{
    pmu->vendor->overflow(env, pmu, n);
    if (!pmu->counter[n].interrupts || pmu->skid_left) {
        return;
    }
    pmu->skid_left = x86_pmu_next_skid(pmu);
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

static void pmu_happened(CPUX86State *env, PMUEvents *e, bool user)
{
    X86PMU *pmu = pmu_of(env);
    int n;

    pmu_pass(env, pmu, e->insns);
    pmu_set_cycles(pmu, e);
    x86_ibs_count(pmu, e->insns, e->cycles);
    for (n = 0; n < pmu->counters; n++) {
        const X86PMUCounter *c = &pmu->counter[n];
        int64_t add;

        if (!pmu_counts(env, c, user)) {
            continue;
        }
        add = c->edge ? pmu_edge(pmu, n, e) : pmu_increment(c, e);
        if (add) {
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

static void pmu_fold(CPUX86State *env, int32_t insns, int32_t near)
{
    const uint32_t *branches = env->x86_count.branches;
    PMUEvents e = {
        .insns = insns,
        .near = near,
        .conditional = branches[X86_CNT_BRANCH_CONDITIONAL],
        .taken = branches[X86_CNT_BRANCH_TAKEN_CONDITIONAL],
        .taken_conditional = branches[X86_CNT_BRANCH_TAKEN_CONDITIONAL],
    };
    uint32_t always = branches[X86_CNT_BRANCH_RELATIVE] +
                      branches[X86_CNT_BRANCH_CALL_RELATIVE] +
                      branches[X86_CNT_BRANCH_ABSOLUTE];

    e.taken += always;
    if (env->x86_count.kernel && (e.insns || e.near)) {
        pmu_happened(env, &e, pmu_user(env));
    }
}

/* Does a counter count an event in this mode? */
static bool pmu_counting(CPUX86State *env, const X86PMU *pmu,
                         X86PMUEvent event, bool user)
{
    int n;

    for (n = 0; n < pmu->counters; n++) {
        const X86PMUCounter *c = &pmu->counter[n];

        if (c->event == event && pmu_counts(env, c, user)) {
            return true;
        }
    }
    return false;
}

/* What only a helper sees of an instruction: predictions and accesses. */
static void pmu_look(CPUX86State *env, X86PMU *pmu, const X86CntInsn *insn,
                     PMUEvents *e)
{
    bool user = !(insn->info & X86_CNT_CPL0);

    if (pmu->predicts &&
        pmu_counting(env, pmu, X86_PMU_EVENT_MISPREDICTED, user)) {
        e->mispredicted = x86_predictor_misses(pmu, insn->info, insn->address,
                                               x86_cnt_linear(env, env->eip));
    }
    if (env->x86_count.wants & X86_CNT_WANTS_NOTES) {
        e->accesses = x86_ibs_accesses(pmu);
    }
}

static void pmu_retire(CPUX86State *env, const X86CntInsn *insn)
{
    X86PMU *pmu = pmu_of(env);
    uint32_t info = insn->info;
    uint32_t class = info & X86_CNT_BRANCH_CLASS;
    PMUEvents e = {
        .insns = 1,
        .near = class != 0,
        .conditional = class == X86_CNT_BRANCH_CONDITIONAL,
        .taken = class && (info & X86_CNT_BRANCH_TAKEN),
        .far = !!(info & X86_CNT_FAR),
        .far_insns = !!(info & X86_CNT_FAR),
    };

    if (!env->x86_count.kernel) {
        return;
    }
    e.taken_conditional = e.conditional && e.taken;
    pmu_look(env, pmu, insn, &e);
    x86_lbr_retire(env, pmu, insn);
    x86_ibs_retire(env, pmu, insn->address, info);
    if (env->x86_count.wants & X86_CNT_WANTS_NOTES) {
        x86_ibs_end(pmu);
    }
    pmu_happened(env, &e, !(info & X86_CNT_CPL0));
    if (pmu_user(env) == !!(info & X86_CNT_CPL0)) {
        /* It has left the mode that it counts for. */
        pmu->phase = 0;
    }
}

/* Counts too many, of those that count CPL 3. */
static void pmu_place(CPUX86State *env, enum pmc_place place)
{
    PMUEvents e = { 0 };

    if ((env->hflags & HF_CPL_MASK) == 3 &&
        x86_pmu_excess(pmu_of(env), place, e.excess)) {
        pmu_happened(env, &e, true);
    }
}

void x86_pmu_place(CPUX86State *env, enum pmc_place place)
{
    x86_cnt_fold(env);
    pmu_place(env, place);
    x86_cnt_update(env);
}

void x86_pmu_returns(CPUX86State *env, enum pmc_place place)
{
    pmu_of(env)->returns = place;
}

void x86_pmu_interrupt(CPUX86State *env, int vector, bool insn, bool hard)
{
    PMUEvents e = {
        .insns = insn, .far = 1, .far_insns = insn, .interrupts = hard,
    };

    if (env->x86_count.kernel) {
        x86_cnt_fold(env);
        x86_lbr_interrupt(env, pmu_of(env));
        if (insn) {
            x86_ibs_retire(env, pmu_of(env), x86_cnt_linear(env, env->eip),
                           X86_CNT_FAR |
                           (pmu_user(env) ? 0 : X86_CNT_CPL0));
        }
        pmu_happened(env, &e, pmu_user(env));
        if (insn || vector == EXCP0E_PAGE) {
            pmu_place(env, insn ? PMC_INTN : PMC_PF);
        }
        x86_cnt_update(env);
    }
}

void x86_pmu_interrupted(CPUX86State *env)
{
    x86_lbr_interrupted(env, pmu_of(env));
}

void x86_pmu_smi(CPUX86State *env)
{
    PMUEvents e = { .smis = 1 };

    x86_cnt_fold(env);
    pmu_happened(env, &e, pmu_user(env));
    pmu_place(env, PMC_SMI);
    x86_cnt_update(env);
}

/* X86_CNT_WANTS_* and distance of IBS */
static uint32_t pmu_sample(CPUX86State *env, X86PMU *pmu, uint64_t *insns)
{
    uint32_t flags = 0;
    bool cycles;
    uint64_t left;

    if (x86_ibs_fetches_left(pmu, &left)) {
        flags |= X86_CNT_WANTS_COUNT;
        if (left) {
            *insns = MIN(*insns, left);
        } else {
            flags |= X86_CNT_WANTS_STEP;
        }
    }
    if (x86_ibs_left(pmu, &cycles, &left)) {
        flags |= X86_CNT_WANTS_COUNT;
        flags |= pmu->cache ? X86_CNT_WANTS_ALL_LOADS : 0;
        if (left) {
            left = cycles ? pmu_insns_to(pmu, left) : left;
            *insns = MIN(*insns, left);
        } else {
            flags |= X86_CNT_WANTS_STEP | X86_CNT_WANTS_NOTES;
        }
    }
    return flags;
}

static uint32_t pmu_wants(CPUX86State *env, uint64_t *insns,
                          uint64_t *branches)
{
    X86PMU *pmu = pmu_of(env);
    uint32_t flags;
    int n;

    if (!env->x86_count.kernel) {
        return 0;
    }
    flags = x86_lbr_wants(env, pmu);
    if (pmu->skid_left) {
        flags |= X86_CNT_WANTS_COUNT;
        *insns = pmu->skid_left;
    }
    flags |= pmu_sample(env, pmu, insns);
    for (n = 0; n < pmu->counters; n++) {
        const X86PMUCounter *c = &pmu->counter[n];
        uint64_t left;

        if (!pmu_counts(env, c, pmu_user(env))) {
            continue;
        }
        left = c->exact ? pmu->mask + 1 - *c->value : NEVER;
        if (c->edge) {
            flags |= X86_CNT_WANTS_STEP;
        }
        switch (c->event) {
        case X86_PMU_EVENT_CYCLES:
            left = pmu_insns_to(pmu, left);
            *insns = MIN(*insns, left);
            flags |= X86_CNT_WANTS_COUNT;
            break;
        case X86_PMU_EVENT_INSNS:
            *insns = MIN(*insns, left);
            flags |= X86_CNT_WANTS_COUNT;
            break;
        case X86_PMU_EVENT_REFERENCE:
            left = DIV_ROUND_UP(left, X86_CNT_REF_PER_CYC);
            left = pmu_insns_to(pmu, left);
            *insns = MIN(*insns, left);
            flags |= X86_CNT_WANTS_COUNT;
            break;
        case X86_PMU_EVENT_TAKEN:
        case X86_PMU_EVENT_CONDITIONAL:
        case X86_PMU_EVENT_TAKEN_NEAR:
        case X86_PMU_EVENT_TAKEN_CONDITIONAL:
            flags |= X86_CNT_WANTS_CLASSES;
            /* fall through */
        case X86_PMU_EVENT_BRANCHES:
        case X86_PMU_EVENT_FAR:
        case X86_PMU_EVENT_BRANCH_INSNS:
        case X86_PMU_EVENT_FAR_INSNS:
            /* With INV, cycles without a branch count. */
            *branches = MIN(*branches, left);
            if (c->invert) {
                *insns = MIN(*insns, left);
            }
            flags |= X86_CNT_WANTS_COUNT | X86_CNT_WANTS_BRANCHES;
            break;
        case X86_PMU_EVENT_MISPREDICTED:
            *branches = MIN(*branches, left);
            if (c->invert) {
                *insns = MIN(*insns, left);
            }
            flags |= X86_CNT_WANTS_COUNT | X86_CNT_WANTS_LAST;
            break;
        case X86_PMU_EVENT_ACCESSES:
            flags |= X86_CNT_WANTS_COUNT | X86_CNT_WANTS_STEP |
                     X86_CNT_WANTS_NOTES |
                     (pmu->cache ? X86_CNT_WANTS_ALL_LOADS : 0);
            break;
        case X86_PMU_EVENT_INTERRUPTS:
        case X86_PMU_EVENT_SMIS:
        case X86_PMU_EVENT_NONE:
            break;
        }
    }
    return flags;
}

static void pmu_begin(CPUX86State *env, uint64_t rip, uintptr_t ra)
{
    if (env->x86_count.wants & X86_CNT_WANTS_NOTES) {
        x86_ibs_begin(pmu_of(env), rip);
    }
}

static void pmu_note(CPUX86State *env, uint64_t address, uint32_t info)
{
    x86_ibs_note(env, pmu_of(env), address, info);
}

static void pmu_load(CPUX86State *env, uint64_t address, uint32_t size,
                     uint32_t info, uintptr_t ra)
{
    X86PMU *pmu = pmu_of(env);

    if (pmu && x86_ibs_sees_loads(env, pmu) &&
        x86_load_reads_ram(env, address, size, ra)) {
        x86_load_done(env, pmu->cache, x86_lines_of(address, size));
    }
}

static struct x86_cache *pmu_cache(CPUX86State *env, bool now)
{
    X86PMU *pmu = pmu_of(env);

    return pmu && (!now || x86_ibs_sees_loads(env, pmu)) ? pmu->cache : NULL;
}

static void pmu_leave_mode(CPUX86State *env)
{
    if (env->x86_count.kernel) {
        pmu_of(env)->phase = 0;
    }
}

static void pmu_enter_mode(CPUX86State *env, bool ring)
{
    X86PMU *pmu = pmu_of(env);
    int n;

    if (!env->x86_count.kernel) {
        return;
    }
    if (ring && pmu->returns) {
        pmu_place(env, pmu->returns);
    }
    pmu->returns = 0;
    /* Where a counter does not count its events have ended. */
    for (n = 0; pmu->asserted && n < pmu->counters; n++) {
        if (!pmu_counts(env, &pmu->counter[n], pmu_user(env))) {
            pmu->asserted &= ~(1u << n);
        }
    }
}

const X86CntUser x86_pmu_user = {
    .wants = pmu_wants,
    .fold = pmu_fold,
    .leave = pmu_leave_mode,
    .enter = pmu_enter_mode,
    .begin = pmu_begin,
    .retire = pmu_retire,
    .note = pmu_note,
    .load = pmu_load,
    .cache = pmu_cache,
};

void x86_pmu_changed(CPUX86State *env)
{
    X86PMU *pmu = pmu_of(env);
    bool ibs = x86_ibs_on(pmu) || x86_ibs_fetches(pmu);
    bool any = pmu->skid_left || pmu->held || x86_lbr_on(pmu) || ibs;
    int n;

    pmu->vendor->derive(env, pmu);
    if (ibs) {
        x86_pmu_unmodelled(X86_PMU_IBS);
    }
    for (n = 0; n < pmu->counters; n++) {
        const X86PMUCounter *c = &pmu->counter[n];

        any |= c->where != 0;
        if (c->where && c->event == X86_PMU_EVENT_NONE) {
            x86_pmu_unmodelled(c->select);
        }
        if (!c->where || !c->edge) {
            pmu->asserted &= ~(1u << n);
        }
    }
    env->x86_count.kernel = any;
    x86_cnt_update(env);
}

void x86_pmu_vmrun(CPUX86State *env)
{
    uint32_t inject = x86_ldl_phys(env_cpu(env), env->vm_vmcb +
                                   offsetof(struct vmcb, control.event_inj));

    x86_pmu_place(env, pmu_of(env)->exited);
    if (inject & SVM_EVTINJ_VALID) {
        x86_pmu_place(env, PMC_INJECT);
    }
}

void x86_pmu_vmexit(CPUX86State *env)
{
    X86PMU *pmu = pmu_of(env);
    uint64_t code = x86_ldq_phys(env_cpu(env), env->vm_vmcb +
                                 offsetof(struct vmcb, control.exit_code));

    pmu->exited = pmc_place_of_exit(code, env->dr[6] & DR6_BS);
    if (pmu->held) {
        pmu->held = 0;
        pmu_deliver(env);
    }
}

uint64_t x86_pmu_debugctl(CPUX86State *env)
{
    X86PMU *pmu = pmu_of(env);

    return pmu ? pmu->vendor->debugctl(env, pmu) : 0;
}

bool x86_pmu_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *value, bool *gp)
{
    X86PMU *pmu = pmu_of(env);

    if (!pmu) {
        return false;
    }
    x86_cnt_fold(env);
    return pmu->vendor->rdmsr(env, pmu, msr, value, gp);
}

bool x86_pmu_wrmsr(CPUX86State *env, uint32_t msr, uint64_t value, bool *gp)
{
    X86PMU *pmu = pmu_of(env);
    /* Does helper_cnt_retire() retire the WRMSR? */
    bool retires = env->x86_count.kernel_flags >> HF_CNT_MODE_SHIFT;
    PMUEvents e = { .insns = 1 };

    if (!pmu) {
        return false;
    }
    x86_cnt_fold(env);
    if (!pmu->vendor->wrmsr(env, pmu, msr, value, gp)) {
        return false;
    }
    pmu->phase = 0;
    x86_pmu_changed(env);
    if (!retires && env->x86_count.kernel && !*gp) {
        /* What it has enabled counts it. */
        pmu_happened(env, &e, pmu_user(env));
        x86_cnt_update(env);
    }
    return true;
}

bool x86_pmu_rdpmc(CPUX86State *env, uint32_t index, uint64_t *value)
{
    X86PMU *pmu = pmu_of(env);

    if (!pmu) {
        return false;
    }
    x86_cnt_fold(env);
    if (pmu->phase) {
        pmu->phase = 0;
        x86_cnt_update(env); /* overflows come sooner */
    }
    return pmu->vendor->rdpmc(env, pmu, index, value);
}
