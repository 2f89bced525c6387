/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AMD's core performance counters. */
#ifndef FLAT_PMU_H
#define FLAT_PMU_H

#include "lwp_fixture.h"
#include "x86.h"

#define MSR_PERF_CTL(n) (0xc0010200u + 2 * (n))
#define MSR_PERF_CTR(n) (0xc0010201u + 2 * (n))
#define MSR_LEGACY_CTL(n) (0xc0010000u + (n))
#define MSR_LEGACY_CTR(n) (0xc0010004u + (n))
#define MSR_GLOBAL_STATUS 0xc0000300u
#define MSR_GLOBAL_CTL 0xc0000301u
#define MSR_GLOBAL_CLEAR 0xc0000302u
#define MSR_GLOBAL_SET 0xc0000303u

#define PERF_USR (1ul << 16)
#define PERF_OS (1ul << 17)
#define PERF_EDGE (1ul << 18)
#define PERF_INT (1ul << 20)
#define PERF_EN (1ul << 22)
#define PERF_INV (1ul << 23)
#define PERF_CMASK(n) ((u64)(n) << 24)
#define PERF_GUEST_ONLY (1ul << 40)
#define PERF_HOST_ONLY (1ul << 41)

#define PERF_SMIS 0x2bul
#define PERF_CYCLES 0x76ul
#define PERF_INSNS 0xc0ul
#define PERF_BRANCHES 0xc2ul
#define PERF_MISPREDICTED 0xc3ul
#define PERF_TAKEN 0xc4ul
#define PERF_FAR 0xc6ul
#define PERF_CONDITIONAL 0xd1ul
#define PERF_REFERENCE 0x100000020ul

/* Last branch records, version 2. */
#define MSR_LBR_SELECT 0xc000010eu
#define MSR_DBG_EXTN_CFG 0xc000010fu
#define MSR_LBR_FROM(n) (0xc0010300u + 2 * (n))
#define MSR_LBR_TO(n) (0xc0010301u + 2 * (n))
#define LBRV2EN (1ul << 6) /* of DBG_EXTN_CFG */
#define FREEZE_LBR (1ul << 11) /* of DEBUGCTL */
#define FREEZE_PMC (1ul << 12)
#define LBR_FROZEN (1ul << 58) /* of the global status */
#define PMC_FROZEN (1ul << 59)
#define LBR_VALID (1ul << 63)
#define LBR_ENTRIES 16u
/* Branches that are not recorded */
#define NO_KERNEL 1u
#define NO_USER 2u
#define NO_CONDITIONAL 4u
#define NO_CALL_RELATIVE 8u
#define NO_CALL_ABSOLUTE 16u
#define NO_RET 32u
#define NO_JMP_ABSOLUTE 64u
#define NO_JMP_RELATIVE 128u
#define NO_FAR 256u

#define PERF_COUNTERS 6u
#define PERF_MASK 0xfffffffffffful

static inline bool pmu_present(void)
{
	return cpuid(0x80000001, 0).c & 1u << 23;
}

/* Counter n from a value, at once. */
static inline void pmu_start(u32 n, u64 ctl, u64 value)
{
	wrmsr(MSR_PERF_CTL(n), 0);
	wrmsr(MSR_PERF_CTR(n), value & PERF_MASK);
	wrmsr(MSR_PERF_CTL(n), ctl | PERF_EN);
}

static inline u64 pmu_stop(u32 n)
{
	wrmsr(MSR_PERF_CTL(n), 0);
	return rdmsr(MSR_PERF_CTR(n));
}

/* What counter 0 counts while code runs at CPL 3. */
static inline u64 pmu_counted(u64 ctl, const char *code)
{
	struct user u;

	pmu_start(0, ctl, 0);
	user_go(&u, code);
	return pmu_stop(0);
}

#endif
