// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In which mode an instruction counts: USR is CPL 1 to 3, OS is CPL 0; also where an I/O breakpoint traps after it,
 * and for MWAIT shortly before an overflow, where instructions are stepped.
 */
#include "lwp_fixture.h"
#include "pmu.h"
#include "test.h"

#define PORT 0x80
#define FAR_AWAY 1000000ul
#define STEPPED 40u

extern char pmm_code[];

USER_CODE("pmm_code: .fill 20, 1, 0x90\n"
	  "user_exit\n");

static u64 counted(u64 ctl, u32 cpl)
{
	struct user u;

	(cpl == 1 ? user_init_cpl1 : user_init64)(&u, (u64)pmm_code, STACK_TOP);
	pmu_start(0, PERF_INSNS | ctl, 0);
	user_run(&u);
	return pmu_stop(0);
}

static void test_cpl1(void)
{
	u64 kernel = counted(PERF_OS, 3);

	report_eq(counted(PERF_USR, 3), 21, "USR at CPL 3: 20 NOPs and INT");
	report_eq(counted(PERF_USR, 1), 21, "USR at CPL 1: the same");
	report_eq(counted(PERF_OS, 1), kernel, "OS: as when CPL 3 runs the code");
}

/* Beside a counter of the kernel's instructions. */
static u64 out_counted(u64 ctl, u64 dr7)
{
	u64 count;

	asm volatile("mov %0, %%dr0; mov %1, %%dr7" : : "r"((u64)PORT), "r"(dr7));
	pmu_start(1, PERF_INSNS | PERF_OS, 0);
	pmu_start(0, PERF_INSNS | ctl, 0);
	/* The trap's address is that of the NOP. */
	asm volatile("out %%al, $0x80\n"
		     "1: nop\n"
		     "2:\n" EX_TABLE("1b", "2b")
		     :
		     :
		     : "r8", "memory");
	count = pmu_stop(0);
	pmu_stop(1);
	asm volatile("mov %0, %%dr7" : : "r"(DR7_NONE));
	return count;
}

static void test_io_break(void)
{
	write_cr4(read_cr4() | CR4_DE);
	report_eq(out_counted(PERF_USR, DR7_IO_0), 0,
		  "OUT of the kernel that hits an I/O breakpoint does not count as USR");
	report(out_counted(PERF_OS, DR7_IO_0) > out_counted(PERF_OS, 0),
	       "it counts as OS, and so does the handler");
}

/* Instructions of the kernel with the counter so far from its overflow. */
static u64 mwait_counted(u64 distance)
{
	u64 at;

	pmu_start(0, PERF_INSNS | PERF_OS, -distance);
	asm volatile("xor %%ecx, %%ecx\n"
		     "xor %%edx, %%edx\n"
		     "lea %0, %%rax\n"
		     "monitor\n"
		     "xor %%eax, %%eax\n"
		     "mwait\n"
		     "nop\n"
		     "nop\n"
		     : "=m"(at)
		     :
		     : "rax", "rcx", "rdx", "memory");
	return (pmu_stop(0) + distance) & PERF_MASK;
}

static void test_mwait(void)
{
	u64 all = mwait_counted(FAR_AWAY);
	u32 wrong = 0;

	for (u32 i = 1; i < STEPPED; i++)
		wrong += mwait_counted(i) != all;
	report_eq(wrong, 0, "MWAIT counts wherever the overflow is");
}

FLAT_TEST(pmu_modes)
{
	test_cpl1();
	test_io_break();
	test_mwait();
}
