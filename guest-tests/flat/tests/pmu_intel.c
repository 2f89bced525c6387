// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Intel's architectural performance monitoring: leaf 0Ah, and each register by version: how many there are, what they
 * keep, and what is #GP(0). The command line says what the model has: version=N gp=N width=N.
 */
#include "lwp_fixture.h"
#include "pmu_intel.h"
#include "test.h"

static u32 version, gp, fixed, width;

static void gp_of(u32 msr, u64 value, const char *what)
{
	report_eq(try_wrmsr(msr, value), FAULT(VEC_GP, 0), "%s: #GP(0)", what);
}

static void no_msr(u32 msr, const char *what)
{
	u64 value;

	report_eq(try_rdmsr(msr, &value), FAULT(VEC_GP, 0), "RDMSR of %s: #GP(0)", what);
	report_eq(try_wrmsr(msr, 0), FAULT(VEC_GP, 0), "WRMSR of %s: #GP(0)", what);
}

static void test_leaf(void)
{
	struct cpuid r = cpuid(0xa, 0);

	report_eq(r.a & 0xff, version, "EAX[7:0]: the version");
	report_eq(r.a >> 8 & 0xff, gp, "EAX[15:8]: the counters");
	report_eq(r.a >> 16 & 0xff, width, "EAX[23:16]: their width");
	report_eq(r.a >> 24, 7, "EAX[31:24]: seven architectural events");
	report_eq(r.b, 0x58, "EBX: LLC references and misses, branch misses are not there");
	report_eq(r.d & 0x1f, fixed, "EDX[4:0]: the fixed counters");
	report_eq(r.d >> 5 & 0xff, fixed ? width : 0, "EDX[12:5]: their width");
	report_eq(r.d >> 15 & 1, version >= 3, "EDX[15]: AnyThread is deprecated");
	report_eq(r.c, version >= 5 ? 7 : 0, "ECX: the fixed counters as a bitmap");
	report_eq(rdmsr(MSR_MISC_ENABLE) & 0x1880, 0x1880,
		  "IA32_MISC_ENABLE: counters, neither BTS nor PEBS");
}

static void test_selects(void)
{
	for (u32 n = 0; n < gp; n++)
		wrmsr(MSR_PERFEVTSEL(n), 0xff9bff00 + n);
	for (u32 n = 0; n < gp; n++)
		report_eq(rdmsr(MSR_PERFEVTSEL(n)), 0xff9bff00 + n, "IA32_PERFEVTSEL%u", n);
	for (u32 n = 0; n < gp; n++)
		wrmsr(MSR_PERFEVTSEL(n), 0);
	gp_of(MSR_PERFEVTSEL(0), SEL_ANY, "IA32_PERFEVTSEL0[21], AnyThread");
	gp_of(MSR_PERFEVTSEL(0), 1ul << 32, "IA32_PERFEVTSEL0[32]");
	gp_of(MSR_PERFEVTSEL(0), 1ul << 63, "IA32_PERFEVTSEL0[63]");
	report_eq(rdmsr(MSR_PERFEVTSEL(0)), 0, "a write that faults changes nothing");
	report_eq(try_wrmsr(MSR_PERFEVTSEL(0), SEL_PC), NO_FAULT, "pin control is a bit");
	wrmsr(MSR_PERFEVTSEL(0), 0);
	if (gp < 8) {
		no_msr(MSR_PERFEVTSEL(gp), "the select after the last");
		no_msr(MSR_PMC(gp), "the counter after the last");
	}
}

static void test_counters(void)
{
	u64 mask = (1ul << width) - 1;

	for (u32 n = 0; n < gp; n++)
		wrmsr(MSR_PMC(n), 0x80000000ul + n);
	for (u32 n = 0; n < gp; n++)
		report_eq(rdmsr(MSR_PMC(n)), (0xffffffff80000000ul + n) & mask,
			  "IA32_PMC%u: bit 31 is the sign", n);
	wrmsr(MSR_PMC(0), 0xdeadbeef7fffffff);
	report_eq(rdmsr(MSR_PMC(0)), 0x7fffffff, "bits 63:32 of a write count for nothing");
	wrmsr(MSR_PMC(0), 0);
	if (version < 4) {
		report_eq(cpuid(1, 0).c >> 15 & 1, 0, "no PDCM");
		no_msr(MSR_PERF_CAPABILITIES, "IA32_PERF_CAPABILITIES");
		no_msr(MSR_FULL_PMC(0), "IA32_A_PMC0");
		return;
	}
	report_eq(cpuid(1, 0).c >> 15 & 1, 1, "PDCM");
	report_eq(rdmsr(MSR_PERF_CAPABILITIES), 1ul << 13, "IA32_PERF_CAPABILITIES: FW_WRITE");
	gp_of(MSR_PERF_CAPABILITIES, 0, "a write to IA32_PERF_CAPABILITIES");
	wrmsr(MSR_FULL_PMC(0), mask - 1);
	report_eq(rdmsr(MSR_PMC(0)), mask - 1, "IA32_A_PMC0 writes all bits");
	report_eq(rdmsr(MSR_FULL_PMC(0)), mask - 1, "and reads them");
	gp_of(MSR_FULL_PMC(0), mask + 1, "a bit above the width");
	wrmsr(MSR_FULL_PMC(0), 0);
}

static void test_fixed(void)
{
	u64 mask = (1ul << width) - 1;

	if (version < 2) {
		no_msr(MSR_FIXED_CTR(0), "IA32_FIXED_CTR0");
		no_msr(MSR_FIXED_CTR_CTRL, "IA32_FIXED_CTR_CTRL");
		return;
	}
	for (u32 n = 0; n < fixed; n++) {
		wrmsr(MSR_FIXED_CTR(n), mask - n);
		report_eq(rdmsr(MSR_FIXED_CTR(n)), mask - n, "IA32_FIXED_CTR%u", n);
		gp_of(MSR_FIXED_CTR(n), mask + 1, "a bit above its width");
		wrmsr(MSR_FIXED_CTR(n), 0);
	}
	no_msr(MSR_FIXED_CTR(fixed), "the fixed counter after the last");
	wrmsr(MSR_FIXED_CTR_CTRL, 0xbbb);
	report_eq(rdmsr(MSR_FIXED_CTR_CTRL), 0xbbb, "IA32_FIXED_CTR_CTRL");
	gp_of(MSR_FIXED_CTR_CTRL, FIXED(0, FIXED_ANY), "AnyThread");
	gp_of(MSR_FIXED_CTR_CTRL, FIXED(fixed, FIXED_OS), "a fixed counter after the last");
	wrmsr(MSR_FIXED_CTR_CTRL, 0);
}

static void test_global(void)
{
	u64 all = ((1ul << gp) - 1) | 7ul << 32;

	if (version < 2) {
		no_msr(MSR_GLOBAL_CTRL, "IA32_PERF_GLOBAL_CTRL");
		no_msr(MSR_GLOBAL_STATUS, "IA32_PERF_GLOBAL_STATUS");
		no_msr(MSR_GLOBAL_OVF_CTRL, "IA32_PERF_GLOBAL_OVF_CTRL");
		return;
	}
	report_eq(rdmsr(MSR_GLOBAL_CTRL), (1ul << gp) - 1,
		  "IA32_PERF_GLOBAL_CTRL at reset: all but the fixed counters");
	wrmsr(MSR_GLOBAL_CTRL, all);
	report_eq(rdmsr(MSR_GLOBAL_CTRL), all, "it has a bit for each counter");
	gp_of(MSR_GLOBAL_CTRL, 1ul << gp, "a counter after the last");
	gp_of(MSR_GLOBAL_CTRL, 1ul << 35, "a fixed counter after the last");
	report_eq(rdmsr(MSR_GLOBAL_STATUS), 0, "IA32_PERF_GLOBAL_STATUS");
	gp_of(MSR_GLOBAL_STATUS, 0, "a write to it");
	report_eq(try_wrmsr(MSR_GLOBAL_OVF_CTRL, all | STATUS_OVF_BUF | STATUS_COND_CHGD), NO_FAULT,
		  "IA32_PERF_GLOBAL_OVF_CTRL has its bits, OvfBuf and CondChgd");
	gp_of(MSR_GLOBAL_OVF_CTRL, 1ul << gp, "a counter after the last");
	gp_of(MSR_GLOBAL_OVF_CTRL, 1ul << 50, "bit 50");
	report_eq(rdmsr(MSR_GLOBAL_OVF_CTRL), 0, "it reads as 0");
}

static void test_streamlined(void)
{
	if (version < 4) {
		no_msr(MSR_GLOBAL_STATUS_SET, "IA32_PERF_GLOBAL_STATUS_SET");
		no_msr(MSR_GLOBAL_INUSE, "IA32_PERF_GLOBAL_INUSE");
		if (version >= 2)
			gp_of(MSR_GLOBAL_OVF_CTRL, STATUS_CTR_FRZ, "CTR_Frz before version 4");
		return;
	}
	wrmsr(MSR_GLOBAL_STATUS_SET, 1 | GLOBAL_FIXED(1) | STATUS_CTR_FRZ);
	report_eq(rdmsr(MSR_GLOBAL_STATUS), 1 | GLOBAL_FIXED(1) | STATUS_CTR_FRZ,
		  "IA32_PERF_GLOBAL_STATUS_SET sets bits");
	wrmsr(MSR_GLOBAL_OVF_CTRL, 1 | STATUS_CTR_FRZ);
	report_eq(rdmsr(MSR_GLOBAL_STATUS), GLOBAL_FIXED(1), "RESET clears those that are named");
	wrmsr(MSR_GLOBAL_OVF_CTRL, GLOBAL_FIXED(1));
	gp_of(MSR_GLOBAL_STATUS_SET, 1ul << gp, "SET of a counter after the last");
	gp_of(MSR_GLOBAL_STATUS_SET, STATUS_COND_CHGD, "SET of CondChgd");
	report_eq(rdmsr(MSR_GLOBAL_INUSE), 0, "IA32_PERF_GLOBAL_INUSE: none");
	wrmsr(MSR_PERFEVTSEL(1), ARCH_INSNS);
	wrmsr(MSR_FIXED_CTR_CTRL, FIXED(2, FIXED_USR));
	report_eq(rdmsr(MSR_GLOBAL_INUSE), 2 | GLOBAL_FIXED(2), "a select, a fixed counter");
	wrmsr(MSR_PERFEVTSEL(1), SEL_INT);
	report_eq(rdmsr(MSR_GLOBAL_INUSE), GLOBAL_FIXED(2) | 1ul << 63, "an interrupt");
	wrmsr(MSR_PERFEVTSEL(1), 0);
	wrmsr(MSR_FIXED_CTR_CTRL, 0);
	gp_of(MSR_GLOBAL_INUSE, 0, "a write to it");
}

static void test_rdpmc(void)
{
	for (u32 n = 0; n < gp; n++)
		report_eq(try_rdpmc(n), NO_FAULT, "RDPMC %u", n);
	report_eq(try_rdpmc(gp), FAULT(VEC_GP, 0), "RDPMC after the last: #GP(0)");
	for (u32 n = 0; n < fixed; n++)
		report_eq(try_rdpmc(0x40000000 + n), NO_FAULT, "RDPMC 4000_000%u", n);
	report_eq(try_rdpmc(0x40000000 + fixed), FAULT(VEC_GP, 0),
		  "RDPMC after the last fixed: #GP(0)");
	report_eq(try_rdpmc(0x20000000), FAULT(VEC_GP, 0), "RDPMC of metrics: #GP(0)");
	report_eq(try_rdpmc(0x80000000), FAULT(VEC_GP, 0), "fast RDPMC: #GP(0)");
}

FLAT_TEST(pmu_intel)
{
	version = option_number("version", 2);
	gp = option_number("gp", 4);
	width = option_number("width", 48);
	fixed = version >= 2 ? 3 : 0;
	test_leaf();
	test_selects();
	test_counters();
	test_fixed();
	test_global();
	test_streamlined();
	test_rdpmc();
}
