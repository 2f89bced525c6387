/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intel's architectural performance monitoring. */
#ifndef FLAT_PMU_INTEL_H
#define FLAT_PMU_INTEL_H

#include "x86.h"

#define MSR_PMC(n) (0xc1u + (n))
#define MSR_PERFEVTSEL(n) (0x186u + (n))
#define MSR_FULL_PMC(n) (0x4c1u + (n))
#define MSR_FIXED_CTR(n) (0x309u + (n))
#define MSR_FIXED_CTR_CTRL 0x38du
#define MSR_GLOBAL_STATUS 0x38eu
#define MSR_GLOBAL_CTRL 0x38fu
#define MSR_GLOBAL_OVF_CTRL 0x390u
#define MSR_GLOBAL_STATUS_SET 0x391u
#define MSR_GLOBAL_INUSE 0x392u
#define MSR_PERF_CAPABILITIES 0x345u
#define MSR_MISC_ENABLE 0x1a0u

#define SEL_USR (1ul << 16)
#define SEL_OS (1ul << 17)
#define SEL_EDGE (1ul << 18)
#define SEL_PC (1ul << 19)
#define SEL_INT (1ul << 20)
#define SEL_ANY (1ul << 21)
#define SEL_EN (1ul << 22)
#define SEL_INV (1ul << 23)
#define SEL_CMASK(n) ((u64)(n) << 24)

#define ARCH_CYCLES 0x003cul
#define ARCH_REFERENCE 0x013cul
#define ARCH_INSNS 0x00c0ul
#define ARCH_BRANCHES 0x00c4ul

#define FIXED(n, bits) ((u64)(bits) << (4 * (n)))
#define FIXED_OS 1u
#define FIXED_USR 2u
#define FIXED_ANY 4u
#define FIXED_PMI 8u

#define GLOBAL_FIXED(n) (1ul << (32 + (n)))
#define STATUS_CTR_FRZ (1ul << 59)
#define STATUS_OVF_BUF (1ul << 62)
#define STATUS_COND_CHGD (1ul << 63)
#define DEBUGCTL_FREEZE (1ul << 12)

static inline u32 intel_version(void)
{
	return cpuid(0xa, 0).a & 0xff;
}

/* Counter n from a value below 2^31, or above -2^31, at once. */
static inline void intel_start(u32 n, u64 sel, u64 value)
{
	wrmsr(MSR_PERFEVTSEL(n), 0);
	wrmsr(MSR_PMC(n), value & 0xffffffff);
	wrmsr(MSR_PERFEVTSEL(n), sel | SEL_EN);
}

static inline u64 intel_stop(u32 n)
{
	wrmsr(MSR_PERFEVTSEL(n), 0);
	return rdmsr(MSR_PMC(n));
}

#endif
