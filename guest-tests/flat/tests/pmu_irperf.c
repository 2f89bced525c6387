// SPDX-License-Identifier: GPL-2.0-or-later
/* AMD's counter of retired instructions, C000_00E9: it counts in every mode while HWCR[30] is set. */
#include "lwp_fixture.h"
#include "pmu.h"
#include "test.h"

#define MSR_IRPERF 0xc00000e9u
#define MSR_HWCR 0xc0010015u
#define IRPERF_EN (1ul << 30)

extern char irp_code[];

USER_CODE("irp_code: .fill 100, 1, 0x90\n"
	  "user_exit\n");

/* Instructions from one RDMSR to the next: itself, MOV, four NOPs. */
static u64 six(void)
{
	u64 first, last;

	asm volatile("rdmsr\n"
		     "mov %%rax, %0\n"
		     "nop\nnop\nnop\nnop\n"
		     "rdmsr\n"
		     : "=&r"(first), "=a"(last)
		     : "c"(MSR_IRPERF)
		     : "rdx");
	return (u32)(last - first);
}

USER_TEST(pmu_irperf)
{
	struct user u;
	u64 first, without;

	report(cpuid(0x80000008, 0).b & 2, "8000_0008 EBX[1]");
	report_eq(rdmsr(MSR_HWCR) & IRPERF_EN, 0, "it is off at reset");
	report_eq(six(), 0, "HWCR[30] clear: it stands still");
	wrmsr(MSR_HWCR, IRPERF_EN);
	report_eq(rdmsr(MSR_HWCR), IRPERF_EN, "HWCR[30] is kept");
	report_eq(six(), 6, "RDMSR, MOV, four NOPs");
	report_eq(try_wrmsr(MSR_IRPERF, 0), FAULT(VEC_GP, 0), "it cannot be written");

	first = rdmsr(MSR_IRPERF);
	user_go(&u, irp_code + 100);
	without = rdmsr(MSR_IRPERF) - first;
	first = rdmsr(MSR_IRPERF);
	user_go(&u, irp_code);
	report_eq(rdmsr(MSR_IRPERF) - first, without + 100, "it counts at CPL 3, too");

	report_eq(pmu_counted(PERF_INSNS | PERF_USR, irp_code), 101,
		  "beside it a counter counts what it does alone");
	report_eq(cpuid(0x80000022, 0).b & 0xf, PERF_COUNTERS, "it is none of the six");

	wrmsr(MSR_HWCR, 0);
	first = rdmsr(MSR_IRPERF);
	report(first > 0, "it keeps its value");
	report_eq(rdmsr(MSR_IRPERF), first, "and stands still again");
}
