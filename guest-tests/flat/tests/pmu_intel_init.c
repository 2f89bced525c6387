// SPDX-License-Identifier: GPL-2.0-or-later
/* INIT leaves Intel's counters as they are, and those that count continue. */
#include "lwp_fixture.h"
#include "pmu_intel.h"
#include "smp.h"
#include "test.h"

static u64 select, counter, status, control, more;

static void start(void *arg)
{
	wrmsr(MSR_GLOBAL_CTRL, 1);
	wrmsr(MSR_FIXED_CTR(1), 77);
	intel_start(0, ARCH_INSNS | SEL_OS, 1ul << 30);
	wrmsr(MSR_GLOBAL_STATUS_SET, GLOBAL_FIXED(2));
}

static void look(void *arg)
{
	counter = rdmsr(MSR_PMC(0));
	more = rdmsr(MSR_PMC(0));
	select = rdmsr(MSR_PERFEVTSEL(0));
	status = rdmsr(MSR_GLOBAL_STATUS);
	control = rdmsr(MSR_GLOBAL_CTRL);
}

FLAT_TEST(pmu_intel_init)
{
	smp_start();
	smp_call(1, start, NULL);
	smp_init_others();
	smp_start();
	smp_call(1, look, NULL);
	report_eq(select, ARCH_INSNS | SEL_OS | SEL_EN, "IA32_PERFEVTSEL0 is as it was");
	report(counter > 1ul << 30, "IA32_PMC0 has not been cleared");
	report(more > counter, "and counts on");
	report_eq(status, GLOBAL_FIXED(2), "IA32_PERF_GLOBAL_STATUS is as it was");
	report_eq(control, 1, "IA32_PERF_GLOBAL_CTRL is as it was");
}
