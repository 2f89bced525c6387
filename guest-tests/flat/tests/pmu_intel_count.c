// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Intel's counters: what the architectural events and BR_INST_RETIRED count, exactly; USR is CPL 1 to 3, OS is CPL 0;
 * CMASK and INV; EN and the global control; the fixed counters. INT n is a branch instruction, an exception is none.
 */
#include "lwp_fixture.h"
#include "pmu_intel.h"
#include "test.h"

extern char pmc_code[], pmc_fault[]; /* pmu_count.c */

static struct user u;

static u64 counted_at(u64 sel, const char *code, u32 cpl)
{
	(cpl == 1 ? user_init_cpl1 : user_init64)(&u, (u64)code, STACK_TOP);
	intel_start(0, sel, 0);
	user_run(&u);
	return intel_stop(0);
}

static u64 counted(u64 sel, const char *code)
{
	return counted_at(sel, code, 3);
}

static void test_events(void)
{
	bool predicts = option_is("predictor", "2bit");
	const struct {
		u64 event, user;
		const char *name;
	} events[] = {
		{ ARCH_CYCLES, 21, "core cycles: one per instruction" },
		{ ARCH_INSNS, 21, "instructions retired" },
		{ ARCH_REFERENCE, 42, "reference cycles: two per cycle" },
		{ ARCH_BRANCHES, 7, "branch instructions: six near, INT n" },
		{ 0x40c4, 1, "far branches: INT n" },
		{ 0x20c4, 5, "near taken branches" },
		{ 0x4f2e, 0, "LLC references, which are not announced" },
		{ 0x412e, 0, "LLC misses, which are not announced" },
		{ 0x00c5, predicts ? 3 : 0, "branch misses: JNZ until it has learnt, and its end" },
		{ 0x01c0, 0, "another unit mask of an architectural event" },
	};
	bool ice_lake = intel_version() >= 5;

	report_eq(cpuid(0xa, 0).b >> 6 & 1, !predicts, "EBX: branch misses are there or not");
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		report_eq(counted(events[i].event | SEL_USR, pmc_code), events[i].user, "USR %s",
			  events[i].name);
	report_eq(counted(0x01c4 | SEL_USR, pmc_code), ice_lake ? 2 : 3, "C4h/01h: %s",
		  ice_lake ? "taken conditional branches" : "conditional branches");
	report_eq(counted(0x11c4 | SEL_USR, pmc_code), ice_lake ? 3 : 0, "C4h/11h: %s",
		  ice_lake ? "conditional branches" : "nothing");
	report_eq(counted(ARCH_INSNS | SEL_USR, pmc_fault), 2,
		  "an instruction that faults does not retire");
	report_eq(counted(ARCH_BRANCHES | SEL_USR, pmc_fault), 0,
		  "an exception is no branch instruction");
}

static void test_modes(void)
{
	u64 kernel = counted(ARCH_INSNS | SEL_OS, pmc_code), both;

	report_eq(counted_at(ARCH_INSNS | SEL_USR, pmc_code, 1), 21, "USR counts at CPL 1");
	report_eq(counted_at(ARCH_INSNS | SEL_OS, pmc_code, 1), kernel,
		  "OS counts as when CPL 3 runs the code");
	report_eq(counted(ARCH_INSNS, pmc_code), 0, "neither USR nor OS: nothing");
	both = counted(ARCH_INSNS | SEL_USR | SEL_OS, pmc_code);
	report_eq(both, kernel + 21, "USR and OS: both");
	intel_start(0, ARCH_INSNS | SEL_USR, 0);
	wrmsr(MSR_PERFEVTSEL(0), ARCH_INSNS | SEL_USR);
	user_go(&u, pmc_code);
	report_eq(intel_stop(0), 0, "EN clear: nothing");
}

static void test_compare(void)
{
	const u64 branches = ARCH_BRANCHES | SEL_USR;

	report_eq(counted(branches | SEL_CMASK(1), pmc_code), 7, "CMASK 1: as without");
	report_eq(counted(branches | SEL_CMASK(2), pmc_code), 0, "CMASK 2: never in one cycle");
	report_eq(counted(branches | SEL_CMASK(1) | SEL_INV, pmc_code), 14,
		  "CMASK 1, INV: the cycles without");
	report_eq(counted(branches | SEL_CMASK(2) | SEL_INV, pmc_code), 21,
		  "CMASK 2, INV: every cycle");
	report_eq(counted(branches | SEL_INV, pmc_code), 7, "CMASK 0: INV is ignored");
}

/* All counters at once, and the fixed ones. */
static void test_global(void)
{
	u32 gp = cpuid(0xa, 0).a >> 8 & 0xff;

	if (report_lacks(intel_version() < 2, "version 1", "fixed counters and global control"))
		return;
	wrmsr(MSR_GLOBAL_CTRL, 0);
	for (u32 n = 0; n < gp; n++)
		intel_start(n, ARCH_INSNS | SEL_USR, n);
	wrmsr(MSR_FIXED_CTR_CTRL, FIXED(0, FIXED_USR) | FIXED(1, FIXED_USR) | FIXED(2, FIXED_USR));
	user_go(&u, pmc_code);
	report_eq(rdmsr(MSR_PMC(0)), 0, "global control 0: nothing");
	report_eq(rdmsr(MSR_FIXED_CTR(0)), 0, "nor the fixed counter");
	wrmsr(MSR_GLOBAL_CTRL, ((1ul << gp) - 2) | GLOBAL_FIXED(0) | GLOBAL_FIXED(2));
	user_go(&u, pmc_code);
	wrmsr(MSR_GLOBAL_CTRL, 0);
	report_eq(intel_stop(0), 0, "its bit clear: nothing");
	for (u32 n = 1; n < gp; n++)
		report_eq(intel_stop(n), 21 + n, "its bit set: counter %u counts", n);
	report_eq(rdmsr(MSR_FIXED_CTR(0)), 21, "fixed counter 0: instructions");
	report_eq(rdmsr(MSR_FIXED_CTR(1)), 0, "fixed counter 1 is not allowed");
	report_eq(rdmsr(MSR_FIXED_CTR(2)), 42, "fixed counter 2: reference cycles");
	wrmsr(MSR_FIXED_CTR(0), 0);
	wrmsr(MSR_FIXED_CTR_CTRL, FIXED(0, FIXED_OS) | FIXED(1, FIXED_USR));
	wrmsr(MSR_GLOBAL_CTRL, GLOBAL_FIXED(0) | GLOBAL_FIXED(1));
	user_go(&u, pmc_code);
	wrmsr(MSR_GLOBAL_CTRL, 0);
	report_eq(rdmsr(MSR_FIXED_CTR(1)), 21, "fixed counter 1: core cycles");
	report(rdmsr(MSR_FIXED_CTR(0)) > 0 && rdmsr(MSR_FIXED_CTR(0)) != 21,
	       "fixed counter 0 at CPL 0: the kernel's");
	wrmsr(MSR_FIXED_CTR_CTRL, 0);
}

USER_TEST(pmu_intel_count)
{
	test_events();
	test_modes();
	test_compare();
	test_global();
}
