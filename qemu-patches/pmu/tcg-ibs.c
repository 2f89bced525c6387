/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AMD's instruction-based sampling of ops and of fetches, under TCG.
 *
 * An instruction is one op.  When the count of cycles or instructions reaches
 * the maximum, the next instruction that retires is the sample.  It runs in a
 * TB of its own (X86_CNT_MODE_STEP), whose loads and stores are noted.  The
 * interrupt comes right after it.  Then the low seven bits of the count are
 * random (xorshift64*, the same in every run), and it stands still until
 * software clears IbsOpVal.  All modes count, SVM guests included.
 *
 * Latencies: an op retires one cycle after it is tagged, and when it is
 * complete; a load that misses, as many cycles later as its miss takes.  Loads
 * miss by a model of the data caches, if the CPU has one.  There is no model of
 * the TLBs: none misses, and each page has 4 KiB.
 *
 * A fetch is that of one instruction that retires, whole and from the
 * instruction cache, without a latency.  After a sample the count stays at
 * the maximum until software writes it; with IbsRandEn the write draws the low
 * four bits, which no register shows.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/host-utils.h"
#include "qemu/main-loop.h"
#include "cpu.h"
#include "exec/target_page.h"
#include "hw/i386/apic.h"
#include "migration/vmstate.h"
#include "count/qemu-compat.h"
#include "count/x86-loads.h"
#include "pmu/x86-pmu.h"

#define MSR_FETCH_CTL  0xc0011030
#define MSR_FETCH_LIN  0xc0011031
#define MSR_FETCH_PHYS 0xc0011032
#define MSR_OP_CTL    0xc0011033
#define MSR_OP_RIP    0xc0011034
#define MSR_OP_DATA   0xc0011035
#define MSR_OP_DATA2  0xc0011036
#define MSR_OP_DATA3  0xc0011037
#define MSR_DC_LIN    0xc0011038
#define MSR_DC_PHYS   0xc0011039
#define MSR_CTL       0xc001103a
#define MSR_BR_TARGET 0xc001103b

/* Leaf 8000_001B EAX */
#define CAPS_VALID       (1 << 0)
#define CAPS_FETCH       (1 << 1)
#define CAPS_OP          (1 << 2)
#define CAPS_RDWR_COUNT  (1 << 3)
#define CAPS_OP_COUNT    (1 << 4)
#define CAPS_BR_TARGET   (1 << 5)
#define CAPS_COUNT_EXT   (1 << 6)

/* IBS_FETCH_CTL; maximum and count have bits 19:4. */
#define FETCH_COUNT_BITS 16
#define FETCH_COUNT      16
#define FETCH_LOW_BITS   4
#define FETCH_EN         (1ull << 48)
#define FETCH_VAL        (1ull << 49)
#define FETCH_COMPLETE   (1ull << 50)
#define FETCH_PHYSICAL   (1ull << 52)
#define FETCH_RANDOM     (1ull << 57)
#define FETCH_CTL_VALID  0x3fffffffffffffffull

/* IBS_OP_CTL */
#define OP_MAX_BITS      16 /* bits 19:4 of the maximum */
#define OP_MAX_SHIFT     4
#define OP_EN            (1ull << 17)
#define OP_VAL           (1ull << 18)
#define OP_COUNTS_OPS    (1ull << 19)
#define OP_MAX_EXT       20 /* bits 26:20 */
#define OP_MAX_EXT_BITS  7
#define OP_COUNT         32
#define OP_COUNT_BITS    27
#define OP_CTL_VALID     0x07ffffff07feffffull
#define RANDOM_COUNT     128

/* IBS_OP_DATA */
#define DATA_TAG_TO_RET  16
#define DATA_RETURN      (1ull << 34)
#define DATA_TAKEN       (1ull << 35)
#define DATA_BRANCH      (1ull << 37)

/* IBS_OP_DATA2: who had the data */
#define DATA2_CACHE      2
#define DATA2_DRAM       3

/* IBS_OP_DATA3 */
#define DATA3_LOAD       (1ull << 0)
#define DATA3_STORE      (1ull << 1)
#define DATA3_MISS       (1ull << 7)
#define DATA3_MISALIGNED (1ull << 8)
#define DATA3_LOCKED     (1ull << 15)
#define DATA3_LINEAR     (1ull << 17)
#define DATA3_PHYSICAL   (1ull << 18)
#define DATA3_L2_MISS    (1ull << 20)
#define DATA3_WIDTH      22
#define DATA3_LATENCY    32

/* IBS_CTL: the entry of the extended local vector table */
#define CTL_LVT          1
#define CTL_LVT_VALID    (1ull << 8)

static bool ibs_has(CPUX86State *env)
{
    return env->features[FEAT_8000_0001_ECX] & CPUID_EXT3_IBS;
}

static uint64_t ibs_max(const X86IBS *ibs)
{
    return (extract64(ibs->op_ctl, 0, OP_MAX_BITS) << OP_MAX_SHIFT) |
           (extract64(ibs->op_ctl, OP_MAX_EXT, OP_MAX_EXT_BITS) <<
            (OP_MAX_SHIFT + OP_MAX_BITS));
}

static uint64_t ibs_at(const X86IBS *ibs)
{
    return extract64(ibs->op_ctl, OP_COUNT, OP_COUNT_BITS);
}

static void ibs_set_at(X86IBS *ibs, uint64_t count)
{
    ibs->op_ctl = deposit64(ibs->op_ctl, OP_COUNT, OP_COUNT_BITS, count);
}

bool x86_ibs_on(const X86PMU *pmu)
{
    return (pmu->ibs.op_ctl & OP_EN) && !(pmu->ibs.op_ctl & OP_VAL) &&
           ibs_max(&pmu->ibs);
}

bool x86_ibs_left(const X86PMU *pmu, bool *cycles, uint64_t *left)
{
    const X86IBS *ibs = &pmu->ibs;

    if (!x86_ibs_on(pmu)) {
        return false;
    }
    *cycles = !(ibs->op_ctl & OP_COUNTS_OPS);
    *left = ibs_max(ibs) - MIN(ibs_at(ibs), ibs_max(ibs));
    return true;
}

static uint64_t fetch_max(const X86IBS *ibs)
{
    return extract64(ibs->fetch_ctl, 0, FETCH_COUNT_BITS) << FETCH_LOW_BITS;
}

static uint64_t fetch_at(const X86IBS *ibs)
{
    return (extract64(ibs->fetch_ctl, FETCH_COUNT, FETCH_COUNT_BITS) <<
            FETCH_LOW_BITS) | ibs->fetch_low;
}

static void fetch_set_at(X86IBS *ibs, uint64_t count)
{
    ibs->fetch_low = extract64(count, 0, FETCH_LOW_BITS);
    ibs->fetch_ctl = deposit64(ibs->fetch_ctl, FETCH_COUNT, FETCH_COUNT_BITS,
                               count >> FETCH_LOW_BITS);
}

bool x86_ibs_fetches(const X86PMU *pmu)
{
    return (pmu->ibs.fetch_ctl & FETCH_EN) &&
           !(pmu->ibs.fetch_ctl & FETCH_VAL) && fetch_max(&pmu->ibs);
}

bool x86_ibs_fetches_left(const X86PMU *pmu, uint64_t *left)
{
    uint64_t max = fetch_max(&pmu->ibs);

    *left = max - MIN(fetch_at(&pmu->ibs), max);
    return x86_ibs_fetches(pmu);
}

static void fetch_count(X86PMU *pmu, int64_t insns)
{
    X86IBS *ibs = &pmu->ibs;
    uint64_t max = fetch_max(ibs), at = fetch_at(ibs);

    if (x86_ibs_fetches(pmu) && at < max) {
        fetch_set_at(ibs, MIN(MAX((int64_t)at + insns, 0), max));
    }
}

void x86_ibs_count(X86PMU *pmu, int64_t insns, int64_t cycles)
{
    X86IBS *ibs = &pmu->ibs;
    uint64_t max = ibs_max(ibs), at = ibs_at(ibs);
    int64_t add = ibs->op_ctl & OP_COUNTS_OPS ? insns : cycles;

    if (x86_ibs_on(pmu) && at < max) {
        ibs_set_at(ibs, MIN(MAX((int64_t)at + add, 0), max));
    }
    fetch_count(pmu, insns);
}

/* The TLB has the page: the instruction has just accessed it. */
static bool ibs_physical(CPUX86State *env, uint64_t linear, uint32_t info,
                         MMUAccessType access, uint64_t *physical)
{
    int mmu_idx = x86_mmu_index_pl(env, info & X86_CNT_CPL0 ? 0 : 3);
    CPUTLBEntryFull *full;
    void *host;
    int flags;

    /* If it has lost it, a page table may lie in a device. */
    assert(env_cpu(env)->neg.can_do_io);
    flags = probe_access_full(env, linear, 1, access, mmu_idx, true, &host,
                              &full, 0);
    if (flags & TLB_INVALID_MASK) {
        return false;
    }
    *physical = full->phys_addr | (linear & ~TARGET_PAGE_MASK);
    return true;
}

static void ibs_deliver(CPUX86State *env)
{
    BQL_LOCK_GUARD();
    x86_cnt_sample("ibs");
    apic_deliver_extended(env_archcpu(env)->apic_state, CTL_LVT);
}

static void fetch_retire(CPUX86State *env, X86PMU *pmu, uint64_t rip,
                         uint32_t info)
{
    X86IBS *ibs = &pmu->ibs;

    if (!x86_ibs_fetches(pmu) || fetch_at(ibs) < fetch_max(ibs)) {
        return;
    }
    ibs->fetch_lin = rip;
    ibs->fetch_ctl |= FETCH_VAL | FETCH_COMPLETE;
    if (ibs_physical(env, rip, info, MMU_INST_FETCH, &ibs->fetch_phys)) {
        ibs->fetch_ctl |= FETCH_PHYSICAL;
    }
    ibs_deliver(env);
}

static void ibs_branch(CPUX86State *env, X86IBS *ibs, uint32_t info)
{
    if (!(info & (X86_CNT_BRANCH_CLASS | X86_CNT_FAR))) {
        return;
    }
    ibs->op_data |= DATA_BRANCH;
    if (info & X86_CNT_RET) {
        ibs->op_data |= DATA_RETURN;
    }
    if (info & (X86_CNT_BRANCH_TAKEN | X86_CNT_FAR)) {
        ibs->op_data |= DATA_TAKEN;
        ibs->br_target = x86_cnt_linear(env, env->eip);
    }
}

/* What the loads and stores of the instruction have noted. */
static void ibs_data(CPUX86State *env, X86IBS *ibs, uint32_t info)
{
    ibs->op_data2 = ibs->note.data2;
    ibs->op_data3 = ibs->note.data3;
    if (!(ibs->op_data3 & (DATA3_LOAD | DATA3_STORE))) {
        return;
    }
    ibs->dc_lin = ibs->note.address;
    ibs->op_data3 |= DATA3_LINEAR;
    if (ibs_physical(env, ibs->note.address, info, MMU_DATA_LOAD,
                     &ibs->dc_phys)) {
        ibs->op_data3 |= DATA3_PHYSICAL;
    }
    ibs->op_data += extract64(ibs->op_data3, DATA3_LATENCY, 16) <<
                    DATA_TAG_TO_RET;
}

void x86_ibs_begin(X86PMU *pmu, uint64_t rip)
{
    if (pmu->ibs.note.rip != rip) {
        x86_ibs_end(pmu);
        pmu->ibs.note.rip = rip;
    }
}

void x86_ibs_end(X86PMU *pmu)
{
    memset(&pmu->ibs.note, 0, sizeof(pmu->ibs.note));
}

void x86_ibs_retire(CPUX86State *env, X86PMU *pmu, uint64_t rip, uint32_t info)
{
    X86IBS *ibs = &pmu->ibs;

    fetch_retire(env, pmu, rip, info);
    if (!x86_ibs_on(pmu) || ibs_at(ibs) < ibs_max(ibs)) {
        return;
    }
    ibs->op_rip = rip;
    ibs->op_data = 1ull << DATA_TAG_TO_RET;
    ibs->br_target = ibs->dc_lin = ibs->dc_phys = 0;
    ibs_branch(env, ibs, info);
    ibs_data(env, ibs, info);
    ibs->op_ctl |= OP_VAL;
    ibs_set_at(ibs, x86_pmu_random(&ibs->seed, RANDOM_COUNT));
    x86_ibs_end(pmu);
    ibs_deliver(env);
}

static void ibs_access(X86IBS *ibs, uint64_t address, uint32_t info)
{
    uint32_t size = info & X86_CNT_LOAD_SIZE;
    uint64_t *data3 = &ibs->note.data3;

    if (!*data3) {
        ibs->note.address = address;
        if (is_power_of_2(size)) {
            *data3 |= (ctz32(size) + 1ull) << DATA3_WIDTH;
            *data3 |= address & (size - 1) ? DATA3_MISALIGNED : 0;
        }
    }
    *data3 |= info & X86_CNT_LOAD_STORE ? DATA3_STORE : DATA3_LOAD;
    if (info & X86_CNT_LOAD_LOCKED) {
        *data3 |= DATA3_STORE | DATA3_LOCKED;
    }
}

static void ibs_missed(X86IBS *ibs, const struct x86_cache_miss *miss)
{
    if (ibs->note.data3 & DATA3_MISS) {
        return;
    }
    ibs->note.data3 |= DATA3_MISS | (uint64_t)MIN(miss->latency, UINT16_MAX) <<
                                    DATA3_LATENCY;
    if (miss->level > 1) {
        ibs->note.data3 |= DATA3_L2_MISS;
        ibs->note.data2 = miss->level > 2 ? DATA2_DRAM : DATA2_CACHE;
    }
}

void x86_ibs_note(CPUX86State *env, X86PMU *pmu, uint64_t address,
                  uint32_t info)
{
    X86Lines lines = x86_lines_of(address, info & X86_CNT_LOAD_SIZE);
    struct x86_cache *model = x86_ibs_sees_loads(env, pmu) ?
                              pmu->cache : x86_cnt_cache(env);
    struct x86_cache_miss miss;

    ibs_access(&pmu->ibs, address, info);
    if (!(info & X86_CNT_LOAD_STORE) && model &&
        x86_load_reads_ram(env, address, info & X86_CNT_LOAD_SIZE, 0) &&
        x86_load_misses(model, address, lines, &miss)) {
        ibs_missed(&pmu->ibs, &miss);
    }
}

bool x86_ibs_sees_loads(CPUX86State *env, const X86PMU *pmu)
{
    return pmu->cache && (env->x86_count.wants & X86_CNT_WANTS_ALL_LOADS);
}

void x86_ibs_forget(CPUX86State *env, X86PMU *pmu)
{
    if (pmu->cache) {
        x86_cache_forget(env, pmu->cache);
    }
}

uint32_t x86_ibs_accesses(const X86PMU *pmu)
{
    uint64_t data3 = pmu->ibs.note.data3;
    uint32_t kind = data3 & (DATA3_LOAD | DATA3_STORE);

    QEMU_BUILD_BUG_ON(DATA3_LOAD != X86_PMU_LOADS ||
                      DATA3_STORE != X86_PMU_STORES);
    return (kind == (DATA3_LOAD | DATA3_STORE) ? X86_PMU_LOAD_STORES : kind) |
           (data3 & DATA3_MISS ? X86_PMU_L1D_MISSES : 0) |
           (data3 & DATA3_L2_MISS ? X86_PMU_L2_MISSES : 0);
}

uint32_t x86_ibs_caps(void)
{
    return CAPS_VALID | CAPS_FETCH | CAPS_OP | CAPS_RDWR_COUNT | CAPS_OP_COUNT |
           CAPS_BR_TARGET | CAPS_COUNT_EXT;
}

/* The register of an MSR, or NULL. */
static uint64_t *ibs_register(X86IBS *ibs, uint32_t msr)
{
#define PLACE(msr, member) [(msr) - MSR_FETCH_CTL] = offsetof(X86IBS, member)
    static const size_t places[] = {
        PLACE(MSR_FETCH_CTL, fetch_ctl),
        PLACE(MSR_FETCH_LIN, fetch_lin),
        PLACE(MSR_FETCH_PHYS, fetch_phys),
        PLACE(MSR_OP_CTL, op_ctl),
        PLACE(MSR_OP_RIP, op_rip),
        PLACE(MSR_OP_DATA, op_data),
        PLACE(MSR_OP_DATA2, op_data2),
        PLACE(MSR_OP_DATA3, op_data3),
        PLACE(MSR_DC_LIN, dc_lin),
        PLACE(MSR_DC_PHYS, dc_phys),
        PLACE(MSR_BR_TARGET, br_target),
    };
    uint32_t n = msr - MSR_FETCH_CTL;

    return n < ARRAY_SIZE(places) && msr != MSR_CTL ?
           (void *)ibs + places[n] : NULL;
}

bool x86_ibs_rdmsr(CPUX86State *env, X86PMU *pmu, uint32_t msr,
                   uint64_t *value)
{
    const uint64_t *reg = ibs_register(&pmu->ibs, msr);

    if (!ibs_has(env) || (!reg && msr != MSR_CTL)) {
        return false;
    }
    *value = reg ? *reg : CTL_LVT_VALID | CTL_LVT;
    return true;
}

bool x86_ibs_wrmsr(CPUX86State *env, X86PMU *pmu, uint32_t msr,
                   uint64_t value, bool *gp)
{
    uint64_t *reg = ibs_register(&pmu->ibs, msr);

    if (!ibs_has(env) || (!reg && msr != MSR_CTL)) {
        return false;
    }
    switch (msr) {
    case MSR_CTL:
        *gp = true; /* firmware's, read-only */
        break;
    case MSR_OP_CTL:
        if (value & ~*reg & OP_EN) {
            x86_ibs_forget(env, pmu);
        }
        *reg = value & OP_CTL_VALID;
        break;
    case MSR_FETCH_CTL:
        *reg = value & FETCH_CTL_VALID;
        pmu->ibs.fetch_low = value & FETCH_RANDOM ?
            x86_pmu_random(&pmu->ibs.seed, 1 << FETCH_LOW_BITS) : 0;
        break;
    default:
        *reg = value;
        break;
    }
    return true;
}

static bool ibs_needed(void *opaque)
{
    X86CPU *cpu = opaque;

    return cpu->tcg_pmu && ibs_has(&cpu->env) &&
           !buffer_is_zero(&cpu->tcg_pmu->ibs, sizeof(X86IBS));
}

static int ibs_post_load(void *opaque, int version_id)
{
    X86CPU *cpu = opaque;

    if (!cpu->tcg_pmu || !ibs_has(&cpu->env)) {
        return -EINVAL;
    }
    x86_ibs_forget(&cpu->env, cpu->tcg_pmu);
    cpu->tcg_pmu->ibs.op_ctl &= OP_CTL_VALID;
    cpu->tcg_pmu->ibs.fetch_ctl &= FETCH_CTL_VALID;
    cpu->tcg_pmu->ibs.fetch_low &= (1 << FETCH_LOW_BITS) - 1;
    return x86_pmu_post_load(opaque, version_id);
}

X86_PMU_SECTION(
    vmstate_x86_ibs, "cpu/amd_ibs", ibs_needed, ibs_post_load,
    VMSTATE_UINT64(ibs.fetch_ctl, X86PMU),
    VMSTATE_UINT64(ibs.fetch_lin, X86PMU),
    VMSTATE_UINT64(ibs.fetch_phys, X86PMU),
    VMSTATE_UINT32(ibs.fetch_low, X86PMU),
    VMSTATE_UINT64(ibs.op_ctl, X86PMU),
    VMSTATE_UINT64(ibs.op_rip, X86PMU),
    VMSTATE_UINT64(ibs.op_data, X86PMU),
    VMSTATE_UINT64(ibs.op_data2, X86PMU),
    VMSTATE_UINT64(ibs.op_data3, X86PMU),
    VMSTATE_UINT64(ibs.dc_lin, X86PMU),
    VMSTATE_UINT64(ibs.dc_phys, X86PMU),
    VMSTATE_UINT64(ibs.br_target, X86PMU),
    VMSTATE_UINT64(ibs.seed, X86PMU)
);
