/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What other versions of QEMU have elsewhere or call otherwise: QEMU 10.2.
 */
#ifndef I386_PMU_QEMU_COMPAT_H
#define I386_PMU_QEMU_COMPAT_H

#include "cpu.h"
#include "exec/icount.h"
#include "exec/tlb-flags.h"
#include "qapi/qapi-types-misc-i386.h"
#ifdef CONFIG_TCG
#include "accel/tcg/cpu-ldst.h"
#include "accel/tcg/probe.h"
#endif
#ifndef CONFIG_USER_ONLY
#include "system/address-spaces.h"
#include "system/memory.h"
#endif

/* Does the CPU's model take all that the accelerator has ("max")? */
static inline bool x86_cpu_takes_all(X86CPU *cpu)
{
    return X86_CPU_GET_CLASS(cpu)->max_features;
}

#endif
