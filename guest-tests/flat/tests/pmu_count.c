// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * AMD's core performance counters: registers, and what the events count, exactly. An instruction counts in the mode
 * in which it began; INT n is an instruction and a far transfer, a fault is a far transfer only.
 */
#include "lwp_fixture.h"
#include "pmu.h"
#include "test.h"

#define CR4_PCE (1ul << 8)
#define TEN "nop\nnop\nnop\nnop\nnop\nnop\nnop\nnop\nnop\nnop\n"

extern char pmc_code[], pmc_fault[], pmc_rdpmc[], pmc_rep[];

USER_CODE(".globl pmc_code, pmc_fault\n"
	  /* 10 + 1 + 6 + 3 + INT = 21 instructions; 3 conditional (2 taken) + 3 near branches. */
	  "pmc_code: " TEN "mov $3, %ecx\n"
	  "1: dec %ecx\n"
	  "jnz 1b\n"
	  "call 2f\n"
	  "jmp 3f\n"
	  "2: ret\n"
	  "3: user_exit\n"
	  "pmc_fault: nop\n"
	  "nop\n"
	  "ud2\n"
	  "pmc_rdpmc: xor %ecx, %ecx\n"
	  "rdpmc\n"
	  "mov %eax, %ebx\n"
	  "nop\n"
	  "nop\n"
	  "nop\n"
	  "nop\n"
	  "rdpmc\n"
	  "user_exit\n"
	  /* MOV, REP STOS, NOP, INT */
	  "pmc_rep: mov $100, %ecx\n"
	  "rep stosb\n"
	  "nop\n"
	  "user_exit\n");

static struct user u;

static void test_registers(void)
{
	for (u32 n = 0; n < PERF_COUNTERS; n++) {
		wrmsr(MSR_PERF_CTL(n), 0x100 + n);
		wrmsr(MSR_PERF_CTR(n), ~0ul - n);
	}
	for (u32 n = 0; n < PERF_COUNTERS; n++) {
		report_eq(rdmsr(MSR_PERF_CTL(n)), 0x100 + n, "PERF_CTL%u", n);
		report_eq(rdmsr(MSR_PERF_CTR(n)), 0xffffffffffff - n, "PERF_CTR%u has 48 bits", n);
	}
	for (u32 n = 0; n < 4; n++) {
		report_eq(rdmsr(MSR_LEGACY_CTL(n)), 0x100 + n, "legacy PerfEvtSel%u is PERF_CTL%u",
			  n, n);
		wrmsr(MSR_LEGACY_CTR(n), 7 + n);
		report_eq(rdmsr(MSR_PERF_CTR(n)), 7 + n, "legacy PerfCtr%u is PERF_CTR%u", n, n);
	}
	wrmsr(MSR_PERF_CTL(5), ~0ul & ~PERF_EN);
	report_eq(rdmsr(MSR_PERF_CTL(5)), 0x30fff97fffful, "reserved bits of PERF_CTL stay 0");
	wrmsr(MSR_PERF_CTL(5), 0);
	for (u32 n = 0; n < PERF_COUNTERS; n++)
		wrmsr(MSR_PERF_CTL(n), 0);
}

static void test_events(void)
{
	static const struct {
		u64 event, user;
		const char *name;
	} events[] = {
		{ PERF_INSNS, 21, "instructions" },
		{ PERF_CYCLES, 21, "cycles: one per instruction" },
		{ PERF_BRANCHES, 7, "branches: six near, one far" },
		{ PERF_TAKEN, 6, "taken branches" },
		{ PERF_CONDITIONAL, 3, "conditional branches" },
		{ PERF_FAR, 1, "far transfers" },
		{ PERF_MISPREDICTED, 0, "mispredicted branches: none" },
		{ PERF_REFERENCE, 42, "reference cycles: two per cycle" },
		{ 0x41, 0, "an event that is not modelled" },
	};

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		report_eq(pmu_counted(events[i].event | PERF_USR, pmc_code), events[i].user,
			  "USR %s", events[i].name);
	}
	/* All at once, from 1000. */
	for (size_t i = 0; i < PERF_COUNTERS; i++)
		pmu_start((u32)i, events[i].event | PERF_USR, 1000);
	user_go(&u, pmc_code);
	for (size_t i = 0; i < PERF_COUNTERS; i++)
		report_eq(pmu_stop((u32)i), 1000 + events[i].user, "six at once: %s",
			  events[i].name);
	pmu_start(1, PERF_INSNS | PERF_OS, 0);
	report_eq(pmu_counted(PERF_INSNS | PERF_USR, pmc_code), 21,
		  "IRET to CPL 3 is no instruction of CPL 3, also when another counter counts it");
	report(pmu_stop(1) > 0, "the other counter counts it");
	report_eq(pmu_counted(PERF_INSNS | PERF_USR, pmc_fault), 2,
		  "a faulting instruction does not count");
	report_eq(pmu_counted(PERF_FAR | PERF_USR, pmc_fault), 1,
		  "its exception is a far transfer");
	report_eq(pmu_counted(PERF_INSNS | PERF_USR, pmc_rep), 4,
		  "a REP string instruction counts once");
	report_eq(pmu_counted(PERF_INSNS, pmc_code), 0, "neither USR nor OS: nothing");
	pmu_start(0, PERF_INSNS | PERF_USR, 0);
	wrmsr(MSR_PERF_CTL(0), PERF_INSNS | PERF_USR);
	user_go(&u, pmc_code);
	report_eq(pmu_stop(0), 0, "EN clear: nothing");
}

static void test_compare(void)
{
	report_eq(pmu_counted(PERF_BRANCHES | PERF_USR | PERF_CMASK(1), pmc_code), 7,
		  "CounterMask 1: as without");
	report_eq(pmu_counted(PERF_BRANCHES | PERF_USR | PERF_CMASK(2), pmc_code), 0,
		  "CounterMask 2: never two in a cycle");
	report_eq(pmu_counted(PERF_BRANCHES | PERF_USR | PERF_CMASK(1) | PERF_INV, pmc_code), 14,
		  "inverted: the cycles without a branch");
	report_eq(pmu_counted(PERF_BRANCHES | PERF_USR | PERF_CMASK(2) | PERF_INV, pmc_code), 21,
		  "CounterMask 2 inverted: every cycle");
}

/* RDPMC, MOV, four NOPs between the two reads. */
static u64 kernel_six(void)
{
	u32 first, last;

	asm volatile("rdpmc\n"
		     "mov %%eax, %1\n"
		     "nop\nnop\nnop\nnop\n"
		     "rdpmc\n"
		     : "=&a"(last), "=&r"(first)
		     : "c"(0)
		     : "rdx");
	return last - first;
}

static void test_modes(void)
{
	pmu_start(0, PERF_INSNS | PERF_OS, 0);
	report_eq(kernel_six(), 6, "OS: RDPMC shows what was before it, and counts");
	wrmsr(MSR_PERF_CTL(0), PERF_INSNS | PERF_USR | PERF_EN);
	report_eq(kernel_six(), 0, "USR: nothing at CPL 0");
	pmu_stop(0);

	user_go(&u, pmc_rdpmc);
	report(u.r.vector == VEC_GP && !u.r.error && u.r.rip == (u64)pmc_rdpmc + 2,
	       "RDPMC at CPL 3: #GP(0)");
	write_cr4(read_cr4() | CR4_PCE);
	pmu_start(0, PERF_INSNS | PERF_USR, 0);
	user_go(&u, pmc_rdpmc);
	report_eq(u.r.rbx, 1, "with CR4.PCE: XOR");
	report_eq(u.r.rax - u.r.rbx, 6, "RDPMC, MOV, four NOPs");
	pmu_stop(0);
	write_cr4(read_cr4() & ~CR4_PCE);
}

static void test_rdpmc(void)
{
	for (u32 n = 0; n < PERF_COUNTERS; n++)
		report_eq(try_rdpmc(n), NO_FAULT, "RDPMC %u", n);
	report_eq(try_rdpmc(PERF_COUNTERS), FAULT(VEC_GP, 0), "RDPMC 6: #GP(0)");
}

static void test_global(void)
{
	report_eq(cpuid(0x80000022, 0).b & 0xf, PERF_COUNTERS, "8000_0022 EBX: six core counters");
	report_eq(rdmsr(MSR_GLOBAL_CTL), 0x3f, "all are allowed at reset");
	wrmsr(MSR_GLOBAL_CTL, 0x3e);
	report_eq(pmu_counted(PERF_INSNS | PERF_USR, pmc_code), 0,
		  "global control bit clear: nothing");
	wrmsr(MSR_GLOBAL_CTL, 0x3f);
	report_eq(pmu_counted(PERF_INSNS | PERF_USR, pmc_code), 21, "set again: counts");
	pmu_start(3, PERF_INSNS | PERF_USR, PERF_MASK - 4);
	user_go(&u, pmc_code);
	report_eq(pmu_stop(3), 16, "five to the overflow, sixteen after");
	report_eq(rdmsr(MSR_GLOBAL_STATUS), 8, "the status has its bit");
	wrmsr(MSR_GLOBAL_CLEAR, 1);
	report_eq(rdmsr(MSR_GLOBAL_STATUS), 8, "clearing another bit leaves it");
	wrmsr(MSR_GLOBAL_CLEAR, 8);
	report_eq(rdmsr(MSR_GLOBAL_STATUS), 0, "clearing it clears it");
	report_eq(try_wrmsr(MSR_GLOBAL_STATUS, 0), FAULT(VEC_GP, 0),
		  "the status cannot be written");
}

USER_TEST(pmu_count)
{
	test_registers();
	test_events();
	test_compare();
	test_modes();
	test_rdpmc();
	test_global();
}
