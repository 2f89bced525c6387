/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What other versions of QEMU have elsewhere or call otherwise: QEMU 10.0.
 */
#ifndef I386_PMU_QEMU_COMPAT_H
#define I386_PMU_QEMU_COMPAT_H

#include "cpu.h"
#include "qapi/qapi-types-misc-target.h"
#include "system/cpu-timers.h"
#ifdef CONFIG_TCG
#include "exec/cpu_ldst.h"
#include "exec/exec-all.h"
#endif
#ifdef CONFIG_USER_ONLY
#include "user/page-protection.h"
#else
#include "exec/address-spaces.h"
#include "exec/memory.h"
#endif

typedef void X86ClassData;

/* Do the features raise the levels of CPUID? */
static inline bool x86_cpu_auto_level(X86CPU *cpu)
{
    return cpu->full_cpuid_auto_level;
}

static inline bool cpu_single_stepping(CPUState *cpu)
{
    return cpu->singlestep_enabled;
}

/* Does the CPU's model take all that the accelerator has ("max")? */
static inline bool x86_cpu_takes_all(X86CPU *cpu)
{
    return cpu->max_features;
}

#if defined(CONFIG_TCG) && defined(CONFIG_USER_ONLY)
/* A page with translated code may be stored into; its code is forgotten. */
static inline bool cpu_unprotect(CPUState *cpu, vaddr address)
{
    return page_unprotect(address, 0);
}
#endif

#if defined(CONFIG_TCG) && !defined(CONFIG_USER_ONLY)
/* The part of the TLB of an MMU mode that generated code uses. */
static inline CPUTLBDescFast *cpu_tlb_fast(CPUState *cpu, int mmu_idx)
{
    return &cpu->neg.tlb.f[mmu_idx];
}
#endif

#endif
