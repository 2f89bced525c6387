// SPDX-License-Identifier: GPL-2.0-or-later
/* Intel models without pmu=on have no counters: the leaf is empty, RDPMC is an unknown instruction as before. */
#include "lwp_fixture.h"
#include "pmu_intel.h"
#include "test.h"

FLAT_TEST(pmu_intel_off)
{
	struct cpuid r = cpuid(0xa, 0);

	report(!r.a && !r.b && !r.c && !r.d, "leaf 0Ah is empty");
	report_eq(cpuid(1, 0).c >> 15 & 1, 0, "no PDCM");
	wrmsr(MSR_PERFEVTSEL(0), ARCH_INSNS | SEL_OS | SEL_EN);
	report_eq(rdmsr(MSR_PERFEVTSEL(0)), 0, "no select");
	report_eq(rdmsr(MSR_PMC(0)), 0, "no counter");
	report_eq(rdmsr(MSR_MISC_ENABLE) & 0x80, 0, "IA32_MISC_ENABLE[7] is clear");
	wrmsr(MSR_DEBUGCTL, DEBUGCTL_FREEZE);
	report_eq(rdmsr(MSR_DEBUGCTL), 0, "IA32_DEBUGCTL[12] is not there");
}
