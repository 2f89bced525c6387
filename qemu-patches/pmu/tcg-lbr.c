/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AMD's last branch records, version 2, under TCG: a stack of the branches that
 * were taken last.
 *
 * While the stack records, translated code pushes each near branch that is taken
 * (gen_cnt_push()), and helper_cnt_retire() those that it retires.  Interrupts
 * and exceptions are far branches from the instruction that they interrupt, or
 * from the one that is next.  Addresses are linear.  No branch is predicted
 * wrongly or speculative.
 *
 * With LBR virtualization VMRUN exchanges the stack, LBR_SELECT, DBG_EXTN_CFG
 * and DEBUGCTL for those of the VMCB, and #VMEXIT exchanges them again.  The
 * hypervisor's lie in the host save area meanwhile.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "cpu.h"
#include "migration/vmstate.h"
#include "pmu/x86-pmu.h"
#include "svm.h"

#define MSR_SELECT   0xc000010e
#define MSR_EXTN_CFG 0xc000010f
#define MSR_STACK    0xc0010300 /* pairs of from, to; the youngest first */

#define SELECT_VALID 0x1ff

#define EXTN_CFG_LBRV2EN     (1 << 6)

static bool lbr_has(CPUX86State *env)
{
    return env->features[FEAT_8000_0022_EAX] & CPUID_8000_0022_EAX_LBR_V2;
}

bool x86_lbr_on(const X86PMU *pmu)
{
    return (pmu->lbr.extn_cfg & EXTN_CFG_LBRV2EN) &&
           !(pmu->global_status & X86_PMU_AMD_LBR_FROZEN);
}

uint32_t x86_lbr_wants(CPUX86State *env, X86PMU *pmu)
{
    uint32_t select = env->hflags & HF_CPL_MASK ? X86_LBR_USER : X86_LBR_KERNEL;

    if (!x86_lbr_on(pmu)) {
        return 0;
    }
    env->x86_count.lbr = &pmu->lbr;
    /* A far branch may end at another CPL: a helper retires it in any mode. */
    return X86_CNT_WANTS_COUNT |
           (pmu->lbr.select & select ? 0 : X86_CNT_WANTS_TRACE);
}

/* A branch has been taken, into the mode that the CPU is in. */
static void lbr_push(CPUX86State *env, X86PMU *pmu, uint32_t filter,
                     uint64_t from)
{
    X86LBR *lbr = &pmu->lbr;
    uint64_t to = x86_cnt_linear(env, env->eip);

    filter |= env->hflags & HF_CPL_MASK ? X86_LBR_USER : X86_LBR_KERNEL;
    if (lbr->select & filter) {
        return;
    }
    lbr->top = (lbr->top + 1) % X86_LBR_ENTRIES;
    lbr->from[lbr->top] = from & X86_LBR_FROM_ADDRESS;
    lbr->to[lbr->top] = (to & X86_LBR_TO_ADDRESS) | X86_LBR_TO_VALID;
}

void x86_lbr_retire(CPUX86State *env, X86PMU *pmu, const X86CntInsn *insn)
{
    uint32_t info = insn->info;
    bool near = (info & X86_CNT_BRANCH_CLASS) && (info & X86_CNT_BRANCH_TAKEN);

    if ((near || (info & X86_CNT_FAR)) && x86_lbr_on(pmu)) {
        lbr_push(env, pmu, x86_lbr_filter(info), insn->address);
    }
}

void x86_lbr_interrupt(CPUX86State *env, X86PMU *pmu)
{
    pmu->lbr.interrupted = x86_cnt_linear(env, env->eip);
}

void x86_lbr_interrupted(CPUX86State *env, X86PMU *pmu)
{
    if (x86_lbr_on(pmu)) {
        lbr_push(env, pmu, X86_LBR_FAR, pmu->lbr.interrupted);
    }
}

/* The register of an MSR, or NULL; *valid: its bits. */
static uint64_t *lbr_register(CPUX86State *env, X86PMU *pmu, uint32_t msr,
                              uint64_t *valid)
{
    X86LBR *lbr = &pmu->lbr;
    uint32_t n = msr - MSR_STACK;

    *valid = UINT64_MAX;
    if (!lbr_has(env)) {
        return NULL;
    }
    if (msr == MSR_SELECT) {
        *valid = SELECT_VALID;
        return &lbr->select;
    }
    if (msr == MSR_EXTN_CFG) {
        *valid = EXTN_CFG_LBRV2EN;
        return &lbr->extn_cfg;
    }
    if (n < 2 * X86_LBR_ENTRIES) {
        uint32_t i = (lbr->top - n / 2) % X86_LBR_ENTRIES;

        return n & 1 ? &lbr->to[i] : &lbr->from[i];
    }
    return NULL;
}

bool x86_lbr_rdmsr(CPUX86State *env, X86PMU *pmu, uint32_t msr,
                   uint64_t *value)
{
    uint64_t valid;
    const uint64_t *reg = lbr_register(env, pmu, msr, &valid);

    if (reg) {
        *value = *reg;
    }
    return reg;
}

bool x86_lbr_wrmsr(CPUX86State *env, X86PMU *pmu, uint32_t msr,
                   uint64_t value, bool *gp)
{
    uint64_t valid;
    uint64_t *reg = lbr_register(env, pmu, msr, &valid);

    if (reg) {
        if (value & ~valid) {
            *gp = true;
        } else {
            *reg = value;
        }
    }
    return reg;
}

/* Does the SVM guest, or the one that begins, have a stack of its own? */
static bool lbr_virtualized(CPUX86State *env)
{
    return env_archcpu(env)->tcg_pmu && lbr_has(env) &&
           (x86_ldq_phys(env_cpu(env),
                         env->vm_vmcb + offsetof(struct vmcb,
                                                 control.lbr_ctl)) &
            V_LBR_ENABLED_MASK);
}

static void lbr_save(CPUX86State *env, const X86LBR *lbr, uint64_t vmcb)
{
    CPUState *cs = env_cpu(env);
    uint64_t stack = vmcb + offsetof(struct vmcb, save.lbr_stack);
    uint32_t n;

    x86_stq_phys(cs, vmcb + offsetof(struct vmcb, save.dbgctl),
                 env->msr_debugctl);
    x86_stq_phys(cs, vmcb + offsetof(struct vmcb, save.dbg_extn_cfg),
                 lbr->extn_cfg);
    x86_stq_phys(cs, vmcb + offsetof(struct vmcb, save.lbr_select),
                 lbr->select);
    for (n = 0; n < X86_LBR_ENTRIES; n++, stack += 16) {
        uint32_t i = (lbr->top - n) % X86_LBR_ENTRIES;

        x86_stq_phys(cs, stack, lbr->from[i]);
        x86_stq_phys(cs, stack + 8, lbr->to[i]);
    }
}

static void lbr_load(CPUX86State *env, X86LBR *lbr, uint64_t vmcb)
{
    CPUState *cs = env_cpu(env);
    uint64_t stack = vmcb + offsetof(struct vmcb, save.lbr_stack);
    uint32_t n;

    env->msr_debugctl =
        x86_ldq_phys(cs, vmcb + offsetof(struct vmcb, save.dbgctl)) &
        x86_pmu_debugctl(env);
    lbr->extn_cfg =
        x86_ldq_phys(cs, vmcb + offsetof(struct vmcb, save.dbg_extn_cfg)) &
        EXTN_CFG_LBRV2EN;
    lbr->select =
        x86_ldq_phys(cs, vmcb + offsetof(struct vmcb, save.lbr_select)) &
        SELECT_VALID;
    lbr->top = X86_LBR_ENTRIES - 1;
    for (n = 0; n < X86_LBR_ENTRIES; n++, stack += 16) {
        lbr->from[lbr->top - n] = x86_ldq_phys(cs, stack);
        lbr->to[lbr->top - n] = x86_ldq_phys(cs, stack + 8);
    }
}

static void lbr_exchange(CPUX86State *env, uint64_t save, uint64_t load)
{
    X86PMU *pmu = env_archcpu(env)->tcg_pmu;

    lbr_save(env, &pmu->lbr, save);
    lbr_load(env, &pmu->lbr, load);
    x86_pmu_changed(env);
}

void x86_lbr_vmrun(CPUX86State *env)
{
    if (lbr_virtualized(env)) {
        lbr_exchange(env, env->vm_hsave, env->vm_vmcb);
    }
}

void x86_lbr_vmexit(CPUX86State *env)
{
    /* A VMRUN that is refused before the guest begins has exchanged nothing. */
    if ((env->hflags & HF_GUEST_MASK) && lbr_virtualized(env)) {
        lbr_exchange(env, env->vm_vmcb, env->vm_hsave);
    }
}

static bool lbr_needed(void *opaque)
{
    X86CPU *cpu = opaque;

    return cpu->tcg_pmu && lbr_has(&cpu->env) &&
           !buffer_is_zero(&cpu->tcg_pmu->lbr, sizeof(X86LBR));
}

static int lbr_post_load(void *opaque, int version_id)
{
    X86CPU *cpu = opaque;

    if (!cpu->tcg_pmu || cpu->tcg_pmu->lbr.top >= X86_LBR_ENTRIES) {
        return -EINVAL;
    }
    return x86_pmu_post_load(opaque, version_id);
}

X86_PMU_SECTION(
    vmstate_x86_lbr, "cpu/amd_lbr", lbr_needed, lbr_post_load,
    VMSTATE_UINT64(lbr.select, X86PMU),
    VMSTATE_UINT64(lbr.extn_cfg, X86PMU),
    VMSTATE_UINT32(lbr.top, X86PMU),
    VMSTATE_UINT64_ARRAY(lbr.from, X86PMU, X86_LBR_ENTRIES),
    VMSTATE_UINT64_ARRAY(lbr.to, X86PMU, X86_LBR_ENTRIES)
);
