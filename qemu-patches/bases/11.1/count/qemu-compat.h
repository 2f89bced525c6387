/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What other versions of QEMU have elsewhere or call otherwise: QEMU 11.1.
 */
#ifndef I386_PMU_QEMU_COMPAT_H
#define I386_PMU_QEMU_COMPAT_H

#include "cpu.h"
#include "exec/icount.h"
#include "exec/tlb-flags.h"
#include "qapi/qapi-types-misc-i386.h"
#ifdef CONFIG_TCG
#include "accel/tcg/cpu-ldst.h"
#include "accel/tcg/cpu-loop.h"
#include "accel/tcg/probe.h"
#include "tcg/tcg-cpu.h"
#endif
#ifdef CONFIG_USER_ONLY
#include "exec/mmap-lock.h"
#include "user/page-protection.h"
#else
#include "system/address-spaces.h"
#include "system/memory.h"
#endif

#define cpu_ldl_data_ra cpu_ldl_le_data_ra
#define cpu_ldq_mmuidx_ra cpu_ldq_le_mmuidx_ra
#define cpu_stq_mmuidx_ra cpu_stq_le_mmuidx_ra

typedef const void X86ClassData;

#if defined(CONFIG_TCG) && defined(CONFIG_USER_ONLY)
/* A page with translated code may be stored into; its code is forgotten. */
static inline bool cpu_unprotect(CPUState *cpu, vaddr address)
{
    return page_unprotect(NULL, address, 0); /* no TB is left at once */
}
#endif

/* Do the features raise the levels of CPUID? */
static inline bool x86_cpu_auto_level(X86CPU *cpu)
{
    return true;
}

/* Does the CPU's model take all that the accelerator has ("max")? */
static inline bool x86_cpu_takes_all(X86CPU *cpu)
{
    return X86_CPU_GET_CLASS(cpu)->max_features;
}

#endif
