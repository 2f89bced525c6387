// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A row that is planted in QEMU's counters: they count too much at CPL 3 where the row says so, each event by its own
 * number, and nowhere else. The numbers are those of the row pmu_row in runner/table.py.
 */
#include "apic.h"
#include "lwp_fixture.h"
#include "pmu.h"
#include "svm.h"
#include "test.h"

#define OVER_CPUID 3
#define OVER_CPUID_BRANCHES 5
#define OVER_CPUID_FAR 7
#define OVER_STEP 50
#define OVER_BP 70
#define OVER_PF 110
#define OVER_INTN 130
#define OVER_IRET 170
#define OVER_SYSCALL 190
#define OVER_SYSRET 230

#define DR7_EXECUTE_0 0x401ul

extern char pmr_guest[], pmr_sys[], pmr_fault[];

USER_CODE("pmr_guest: .fill 10, 1, 0x90\n"
	  "vmmcall\n"
	  "pmr_sys: nop\n"
	  "syscall\n"
	  "pmr_fault: nop\n"
	  "mov %eax, 0x10\n");

static u64 user_counts(char *code, u64 event, bool sysret)
{
	struct user u;

	user_init64(&u, (u64)code, 0);
	u.enter_by_sysret = sysret;
	pmu_start(0, event | PERF_USR, 0);
	user_run(&u);
	return pmu_stop(0);
}

static u64 guest_counts(struct guest *g, char *code, u64 event, u64 exit)
{
	u64 code_of;

	if (code)
		lwp_put64(g->vmcb + VMCB_RIP, (u64)code);
	pmu_start(0, event | PERF_USR | PERF_GUEST_ONLY, 0);
	code_of = guest_vmrun(g);
	report_eq(code_of, exit, "the guest's exit");
	return pmu_stop(0);
}

static void test_program(void)
{
	report_eq(user_counts(lwp_nop_2, PERF_INSNS, false), 2 + OVER_IRET + OVER_INTN,
		  "IRET to CPL 3 and INT n");
	report_eq(user_counts(lwp_nop_2, PERF_INSNS, true), 2 + OVER_SYSRET + OVER_INTN, "SYSRET");
	report_eq(user_counts(pmr_sys, PERF_INSNS, false), 2 + OVER_IRET + OVER_SYSCALL, "SYSCALL");
	report_eq(user_counts(pmr_fault, PERF_INSNS, false), 1 + OVER_IRET + OVER_PF, "#PF");
	report_eq(user_counts(lwp_nop_2, PERF_BRANCHES, false), 1, "no branch too many there");
}

static void test_guest(struct guest *g)
{
	u64 rflags = lwp_get64(g->vmcb + VMCB_RFLAGS);

	guest_counts(g, pmr_guest, PERF_INSNS, EXIT_VMMCALL);
	report_eq(guest_counts(g, pmr_guest, PERF_INSNS, EXIT_VMMCALL), 10 + OVER_CPUID,
		  "an entry after an exit without a place is as after CPUID's");
	report_eq(guest_counts(g, pmr_guest, PERF_BRANCHES, EXIT_VMMCALL), OVER_CPUID_BRANCHES,
		  "branches have a number of their own");
	report_eq(guest_counts(g, pmr_guest, PERF_FAR, EXIT_VMMCALL), OVER_CPUID_FAR,
		  "and far transfers");
	asm volatile("mov %0, %%dr0" : : "r"(pmr_guest + 2));
	lwp_put64(g->vmcb + VMCB_DR7, DR7_EXECUTE_0);
	guest_counts(g, pmr_guest, PERF_INSNS, EXIT_DB);
	lwp_put64(g->vmcb + VMCB_DR7, DR7_EXECUTE_0 - 1);
	report_eq(guest_counts(g, pmr_guest, PERF_INSNS, EXIT_VMMCALL), 10 + OVER_BP,
		  "an entry after a breakpoint");
	lwp_put64(g->vmcb + VMCB_RFLAGS, rflags | RFLAGS_TF);
	guest_counts(g, pmr_guest, PERF_INSNS, EXIT_DB);
	report_eq(guest_counts(g, pmr_guest, PERF_INSNS, EXIT_DB), 1 + OVER_STEP,
		  "an entry after a step");
	lwp_put64(g->vmcb + VMCB_RFLAGS, rflags);
	lwp_put64(g->vmcb + VMCB_DR6, lwp_get64(g->vmcb + VMCB_DR6) & ~DR6_BS);
}

/* What an entry counts too much brings an overflow nearer. */
static void test_overflow(struct guest *g)
{
	irq_set_handler(VEC_NMI, note_nmi);
	apic_set_lvtpc(LVT_NMI);
	guest_counts(g, pmr_guest, PERF_INSNS, EXIT_VMMCALL);
	lwp_put64(g->vmcb + VMCB_RIP, (u64)pmr_guest);
	pmu_start(0, PERF_INSNS | PERF_USR | PERF_GUEST_ONLY | PERF_INT, -(OVER_CPUID + 4ul));
	report_eq(guest_vmrun(g), EXIT_NMI, "an overflow after an entry");
	report_eq(lwp_get64(g->vmcb + VMCB_RIP), (u64)pmr_guest + 4, "comes when it is due");
	pmu_stop(0);
}

USER_TEST(pmu_row)
{
	struct guest g;

	svm_init();
	guest_init(&g, l->cr3, (u64)pmr_guest, STACK_TOP, true);
	test_program();
	test_guest(&g);
	test_overflow(&g);
}
