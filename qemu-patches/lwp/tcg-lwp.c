/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP under TCG: set-up and reset of a vCPU's engine, its MSRs, the XSAVE
 * component, and the flags of translated code that follow from its state.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/units.h"
#include "cpu.h"
#include "count/qemu-compat.h"
#include "hw/i386/apic.h"
#include "tcg/helper-tcg.h"
#include "lwp/lwp-agree.h"
#include "lwp/lwp-vmstate.h"
#include "lwp/tcg-lwp.h"

bool x86_lwp_canonical(uint64_t address, uint32_t len, uint8_t va_bits)
{
    uint64_t last = address + len - 1;
    int unused = 64 - va_bits;

    return last >= address &&
           (uint64_t)((int64_t)(address << unused) >> unused) == address &&
           (uint64_t)((int64_t)(last << unused) >> unused) == last;
}

/* 43724-217 */
static uint64_t lwp_timestamp(void *vcpu)
{
    CPUX86State *env = vcpu;

    x86_cnt_sample("lwp");
    return cpu_get_tsc(env) + env->tsc_offset;
}

/*
 * The TB that stores a record ends there.  So the interrupt is taken before
 * the next instruction if RFLAGS.IF and the APIC's priorities allow it
 * (43724-206, 43724-811, 2007-805).
 */
static void lwp_interrupt(void *vcpu, uint8_t vector)
{
    CPUX86State *env = vcpu;

    BQL_LOCK_GUARD();
    apic_deliver_fixed(env_archcpu(env)->apic_state, vector);
}

void x86_lwp_realize(X86CPU *cpu)
{
    CPUX86State *env = &cpu->env;
    X86LWP *lwp;

    if (!cpu->lwp_caps) {
        return;
    }
    lwp = g_new0(X86LWP, 1);
    lwp->ops.mem = x86_lwp_mem_ops;
    lwp->ops.interrupt = lwp_interrupt;
    lwp->ops.timestamp = lwp_timestamp;
    lwp_engine_init(&lwp->engine, cpu->lwp_caps, !cpu->lwp_props.os_context,
                    cpu->lwp_props.prompt ? LWP_DELIVERY_PROMPT :
                    LWP_DELIVERY_EXACT, &lwp->ops, env);
    if (x86_lwp_auto(lwp)) {
        x86_lwp_context_init(x86_lwp_context_age(&cpu->lwp_props) * 1000ull);
    }
    x86_lwp_agree_init(cpu);
    x86_lwp_stats_init();
    x86_lwp_accel = &tcg_lwp_accel;
    x86_lwp_make_cache(cpu, lwp);
    x86_lwp_free(env);
    env->lwp = lwp;
    x86_cnt_register(&x86_lwp_user);
}

void x86_lwp_unrealize(X86CPU *cpu)
{
    CPUX86State *env = &cpu->env;

    /* A vCPU that takes a context over may still look at this one's state. */
    if (env->lwp) {
        x86_lwp_context_park(env);
    }
}

/* 43724-214 */
void x86_lwp_reset(X86CPU *cpu)
{
    CPUX86State *env = &cpu->env;
    X86LWP *lwp = env->lwp;

    if (!lwp) {
        return;
    }
    lwp_engine_reset(&lwp->engine, x86_lwp_presets(&cpu->lwp_props),
                     cpu->apic_id);
    lwp->engine.xcr0_lwp = false;
    x86_cnt_forget(env);
    lwp->steps = 0;
    lwp->llwpcb_faulted = false;
    lwp->entered = false;
    lwp->lookup = false;
    lwp->unreadable = false;
    x86_lwp_empty_cache(env);
    x86_cnt_update(env);
}

/* The MSRs have the block's linear address. */
static const struct lwp_ds lwp_flat = {
    .limit = UINT64_MAX,
    .long_mode = true,
};

void x86_lwp_wrmsr(CPUX86State *env, uint32_t msr, uint64_t value,
                   uintptr_t ra)
{
    X86LWP *lwp = env->lwp;
    struct lwp_engine *e = &lwp->engine;
    struct lwp_exc exc = { .kind = LWP_EXC_NONE };
    struct lwp_ds ds = lwp_flat;
    uint64_t old;

    x86_cnt_fold(env);
    if (msr == LWP_MSR_CFG) {
        if (!lwp_engine_write_cfg(e, value)) {
            exc.kind = LWP_EXC_GP;
        }
    } else if (!e->rev->cbaddr_executes) {
        if (!lwp_engine_write_cbaddr(e, value)) {
            exc.kind = LWP_EXC_GP;
        }
    } else {
        ds.va_bits = x86_lwp_va_bits(env);
        x86_lwp_before_llwpcb(env, ra);
        do {
            lwp_llwpcb(e, value, &ds, env->hflags & HF_CPL_MASK, &old, &exc);
            x86_lwp_after_llwpcb(env);
            x86_cnt_update(env);
        } while (!x86_lwp_raise(env, &exc, ra));
    }
    x86_cnt_update(env);
    x86_lwp_raise(env, &exc, ra);
}

/* 43724-204, 43724-210, 43724-315, 2007-206 */
uint64_t x86_lwp_rdmsr(CPUX86State *env, uint32_t msr, uintptr_t ra)
{
    struct lwp_engine *e = &env->lwp->engine;
    struct lwp_ds ds = lwp_flat;
    struct lwp_exc exc;
    uint64_t value;

    if (msr == LWP_MSR_CFG) {
        return e->st.cfg;
    }
    if (!e->rev->cbaddr_executes) {
        return e->st.cb_addr;
    }
    ds.va_bits = x86_lwp_va_bits(env);
    x86_cnt_fold(env);
    do {
        lwp_slwpcb(e, &ds, &value, &exc);
        x86_cnt_update(env);
    } while (!x86_lwp_raise(env, &exc, ra));
    return value;
}

bool x86_lwp_enabled(CPUX86State *env)
{
    return (env->cr[4] & CR4_OSXSAVE_MASK) && (env->xcr0 & XSTATE_LWP_MASK);
}

void x86_lwp_xcr0_changed(CPUX86State *env)
{
    struct lwp_engine *e = &env->lwp->engine;

    if (e->xcr0_lwp != x86_lwp_enabled(env)) {
        x86_cnt_fold(env);
        e->xcr0_lwp = !e->xcr0_lwp;
        x86_cnt_update(env);
    }
}

bool x86_lwp_xinuse(CPUX86State *env)
{
    return lwp_engine_on(&env->lwp->engine);
}

/* 43724-306, 43724-313, 43724-901 */
void x86_lwp_xsave(CPUX86State *env, uint8_t image[128])
{
    QEMU_BUILD_BUG_ON(LWP_XSAVE_SIZE != 128);

    x86_cnt_fold(env);
    lwp_state_encode_xsave(&env->lwp->engine.st, image);
}

/* 43724-213, 43724-308, 43724-312, 43724-901 */
void x86_lwp_xrstor(CPUX86State *env, const uint8_t *image)
{
    X86LWP *lwp = env->lwp;
    struct lwp_engine *e = &lwp->engine;
    struct lwp_state st = e->st;
    uint8_t bits = x86_lwp_va_bits(env);

    x86_cnt_fold(env);
    if (!image ||
        lwp_state_decode_xsave(image, &e->caps, lwp_engine_avail(e), &st) ||
        !x86_lwp_canonical(st.cb_addr, e->caps.cb_size, bits) ||
        !x86_lwp_canonical(st.base, st.size, bits)) {
        lwp_state_off(&st);
    }
    if (st.cb_addr != e->st.cb_addr) {
        x86_lwp_replaced(env);
    }
    lwp_engine_load(e, &st);
    x86_lwp_empty_cache(env);
    x86_cnt_update(env);
}

void x86_lwp_user_entered(CPUX86State *env)
{
    X86LWP *lwp = env->lwp;

    if (env->hflags & HF_SMM_MASK) {
        return;
    }
    lwp->entered = true;
    x86_lwp_context_user_entered(env);
    if (x86_lwp_outstanding(&lwp->engine)) {
        x86_lwp_step(env);
        x86_cnt_update(env);
    }
}

void x86_lwp_smm_left(CPUX86State *env)
{
    x86_lwp_thread_changed(env);
    if ((env->hflags & HF_CPL_MASK) == 3) {
        x86_lwp_user_entered(env);
    }
    x86_cnt_update(env);
}
