/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP in user mode: memory, life and properties.  The engine's state is that of
 * the thread.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "count/qemu-compat.h"
#include "exec/page-protection.h"
#include "tcg/helper-tcg.h"
#include "lwp/tcg-lwp.h"
#include "lwp_cpuid.h"
#include "user/x86-user.h"

/*
 * What a fault of the program's own access would say (43724-818).  The lock keeps
 * the page as it is while the engine uses it.  A page with translated code is
 * made writable, and its code forgotten; the TB that runs ends behind the store.
 */
static bool lwp_page(CPUX86State *env, uint64_t gva, bool write,
                     uint32_t *error_code)
{
    int flags, wanted = write ? PAGE_WRITE_ORG : PAGE_READ;

    if (!have_mmap_lock()) {
        mmap_lock();
    }
    flags = guest_addr_valid_untagged(gva) ? page_get_flags(gva) : 0;
    if (!(flags & wanted)) {
        *error_code = PG_ERROR_U_MASK | (write ? PG_ERROR_W_MASK : 0) |
                      (flags & PAGE_VALID ? PG_ERROR_P_MASK : 0);
        return false;
    }
    return !write || (flags & PAGE_WRITE) || cpu_unprotect(env_cpu(env), gva);
}

static enum lwp_mem_result lwp_map(void *vcpu, struct lwp_span *span,
                                   bool write, struct lwp_fault *fault)
{
    uint64_t end = span->gva + span->len - 1;

    fault->addr = span->gva;
    if (!lwp_page(vcpu, span->gva, write, &fault->error_code)) {
        return LWP_MEM_FAULT;
    }
    if ((span->gva ^ end) & TARGET_PAGE_MASK) {
        fault->addr = end & TARGET_PAGE_MASK;
        if (!lwp_page(vcpu, fault->addr, write, &fault->error_code)) {
            return LWP_MEM_FAULT;
        }
    }
    span->direct = g2h_untagged(span->gva);
    return LWP_MEM_OK;
}

uint8_t *x86_lwp_tlb_hit(CPUX86State *env, uint64_t gva, uint32_t len,
                         bool write)
{
    uint32_t error_code;

    if (len > TARGET_PAGE_SIZE - (gva & ~TARGET_PAGE_MASK) ||
        !lwp_page(env, gva, write, &error_code)) {
        return NULL;
    }
    return g2h_untagged(gva);
}

/* 43724-217 */
static uint64_t lwp_timestamp(void *vcpu)
{
    return cpu_get_tsc(vcpu);
}

/* 43724-112; no interrupt, and no data cache misses */
bool x86_lwp_expand_features(X86CPU *cpu, Error **errp)
{
    struct lwp_caps caps;

    if (!(cpu->env.features[FEAT_8000_0001_ECX] & CPUID_EXT3_LWP)) {
        return true;
    }
    lwp_caps_profile(&caps, LWP_PROFILE_FULL, LWP_REV_43724);
    caps.ecx_features &= ~LWP_ECX_BRANCH_PREDICTION;
    caps.features &= ~(LWP_F_DME | LWP_F_INT);
    g_free(cpu->lwp_caps);
    cpu->lwp_caps = g_memdup2(&caps, sizeof(caps));
    return true;
}

/* 43724-103, 43724-109 */
void x86_lwp_cpuid(CPUX86State *env, uint32_t *eax, uint32_t *ebx,
                   uint32_t *ecx, uint32_t *edx)
{
    struct lwp_leaf leaf;

    lwp_leaf_encode(env_archcpu(env)->lwp_caps,
                    lwp_engine_avail(&env->lwp->engine), &leaf);
    *eax = leaf.eax;
    *ebx = leaf.ebx;
    *ecx = leaf.ecx;
    *edx = leaf.edx;
}

void x86_lwp_realize(X86CPU *cpu)
{
    X86LWP *lwp;

    if (!cpu->lwp_caps) {
        return;
    }
    lwp = g_new0(X86LWP, 1);
    lwp->ops.mem.map = lwp_map;
    lwp->ops.timestamp = lwp_timestamp;
    lwp_engine_init(&lwp->engine, cpu->lwp_caps, true, LWP_DELIVERY_EXACT,
                    &lwp->ops, &cpu->env);
    cpu->env.lwp = lwp;
    x86_cnt_register(&x86_lwp_user);
}

void x86_lwp_finalize(X86CPU *cpu)
{
    g_clear_pointer(&cpu->env.lwp, g_free);
    g_clear_pointer(&cpu->lwp_caps, g_free);
}

void x86_lwp_reset(X86CPU *cpu)
{
    CPUX86State *env = &cpu->env;

    if (env->lwp) {
        lwp_engine_reset(&env->lwp->engine, true, CPU(cpu)->cpu_index);
        env->lwp->entered = false;
        x86_cnt_forget(env);
        x86_cnt_update(env);
    }
}

void x86_lwp_user_entered(CPUX86State *env)
{
    env->lwp->entered = true;
    if (x86_lwp_outstanding(&env->lwp->engine)) {
        x86_cnt_update(env);
    }
}

void x86_user_enter(CPUX86State *env)
{
    if (env->lwp) {
        x86_lwp_user_entered(env);
    }
    x86_user_count_enter(env);
}

void x86_user_new_thread(CPUX86State *env, X86LWP *lwp)
{
    env->lwp = lwp;
    x86_user_count_new_thread(env);
    x86_cnt_forget(env);
    x86_cnt_update(env);
    x86_lwp_reset(env_archcpu(env));
}
