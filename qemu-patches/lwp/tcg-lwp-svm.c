/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP under TCG: the state in the VMCB, 128 bytes at F80h.  VMLOAD loads them
 * and VMSAVE stores them; VMRUN and #VMEXIT do not use them.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/target_page.h"
#include "count/qemu-compat.h"
#include "lwp/tcg-lwp.h"

QEMU_BUILD_BUG_ON(sizeof(struct vmcb) > LWP_VMCB_OFFSET);
QEMU_BUILD_BUG_ON(LWP_VMCB_OFFSET + LWP_IMAGE_SIZE != TARGET_PAGE_SIZE);

typedef union LWPVmcbImage {
    uint8_t bytes[LWP_IMAGE_SIZE];
    uint64_t words[LWP_IMAGE_SIZE / 8];
} LWPVmcbImage;

static bool lwp_in_vmcb(CPUX86State *env)
{
    return env->lwp->engine.caps.ecx_features & LWP_ECX_VMCB_AREA;
}

/*
 * The guest may have wider addresses than the hypervisor at VMLOAD (43724-913).
 */
static bool lwp_reachable(CPUX86State *env, const struct lwp_state *st)
{
    const struct lwp_caps *caps = &env->lwp->engine.caps;
    uint8_t bits = env->features[FEAT_7_0_ECX] & CPUID_7_0_ECX_LA57 ? 57 : 48;

    return !lwp_state_on(st) ||
           (x86_lwp_canonical(st->cb_addr, caps->cb_size, bits) &&
            (lwp_state_deferred(st) ||
             x86_lwp_canonical(st->base, st->size, bits)));
}

/*
 * The hypervisor may have written any bytes.  An image that is not valid turns
 * LWP off and clears LWP_CFG (43724-912, 2007-907).
 */
void x86_lwp_vmload(CPUX86State *env, uint64_t vmcb, int mmu_idx)
{
    struct lwp_engine *e = &env->lwp->engine;
    struct lwp_state st;
    LWPVmcbImage image;
    int i;

    if (!lwp_in_vmcb(env)) {
        return;
    }
    for (i = 0; i < ARRAY_SIZE(image.words); i++) {
        image.words[i] = cpu_to_le64(
            cpu_ldq_mmuidx_ra(env, vmcb + LWP_VMCB_OFFSET + i * 8, mmu_idx, 0));
    }
    x86_cnt_fold(env);
    if (lwp_state_decode(image.bytes, &e->caps, &st) ||
        !lwp_reachable(env, &st)) {
        memset(&st, 0, sizeof(st));
    }
    lwp_engine_load(e, &st);
    x86_lwp_empty_cache(env);
    x86_cnt_update(env);
}

/* 43724-912, 2007-907 */
void x86_lwp_vmsave(CPUX86State *env, uint64_t vmcb, int mmu_idx)
{
    struct lwp_engine *e = &env->lwp->engine;
    LWPVmcbImage image;
    int i;

    if (!lwp_in_vmcb(env)) {
        return;
    }
    x86_cnt_fold(env);
    lwp_state_encode(&e->st, &e->caps, image.bytes);
    for (i = 0; i < ARRAY_SIZE(image.words); i++) {
        cpu_stq_mmuidx_ra(env, vmcb + LWP_VMCB_OFFSET + i * 8,
                          le64_to_cpu(image.words[i]), mmu_idx, 0);
    }
}
