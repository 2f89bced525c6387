// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mispredicted branches (C3h) with predictor=2bit: a counter of two bits for each conditional branch, which begins
 * at 0 (not taken); the last target of each branch by address; nothing else is mispredicted. What a code learns stays.
 */
#include "apic.h"
#include "lwp_fixture.h"
#include "pmu.h"
#include "test.h"

extern char prd_loop[], prd_alternate[], prd_same[], prd_targets[], prd_two[], prd_direct[],
	prd_late[], prd_top[];

USER_CODE(/* JNZ is taken nine times. */
	  "prd_loop: mov $10, %ecx\n"
	  "1: dec %ecx\n"
	  "jnz 1b\n"
	  "user_exit\n"
	  /* JZ is taken with each even number, JNZ seven times. */
	  "prd_alternate: mov $8, %ecx\n"
	  "1: test $1, %cl\n"
	  "jz 2f\n"
	  "2: dec %ecx\n"
	  "jnz 1b\n"
	  "user_exit\n"
	  /* A jump with one target, three times; JNZ is taken twice. */
	  "prd_same: mov $3, %ecx\n"
	  "lea 2f(%rip), %rax\n"
	  "1: jmp *%rax\n"
	  "2: dec %ecx\n"
	  "jnz 1b\n"
	  "user_exit\n"
	  /* A call with two targets in turns, four times; JNZ is taken three times. */
	  "prd_targets: mov $4, %ecx\n"
	  "lea 2f(%rip), %rax\n"
	  "lea 3f(%rip), %rdx\n"
	  "1: call *%rax\n"
	  "xchg %rax, %rdx\n"
	  "dec %ecx\n"
	  "jnz 1b\n"
	  "user_exit\n"
	  "2: ret\n"
	  "3: ret\n"
	  /* Two jumps, each with one target, three times; JNZ is taken twice. */
	  "prd_two: mov $3, %ecx\n"
	  "lea 2f(%rip), %rax\n"
	  "lea 3f(%rip), %rdx\n"
	  "1: jmp *%rax\n"
	  "2: jmp *%rdx\n"
	  "3: dec %ecx\n"
	  "jnz 1b\n"
	  "user_exit\n"
	  "prd_direct: call 1f\n"
	  "jmp 2f\n"
	  "1: ret\n"
	  "2: user_exit\n"
	  "prd_late: mov $10, %ecx\n"
	  "prd_top: dec %ecx\n"
	  "jnz prd_top\n"
	  "user_exit\n");

static u64 turns;

static void on_nmi(struct regs *r)
{
	note_nmi(r);
	turns = r->rcx;
}

static u64 mispredicted(const char *code)
{
	return pmu_counted(PERF_MISPREDICTED | PERF_USR, code);
}

USER_TEST(pmu_predictor)
{
	struct user u;

	report_eq(mispredicted(prd_loop), 3, "a loop: two until it has learnt, and the end");
	report_eq(mispredicted(prd_loop), 1, "the same again: the end");
	report_eq(mispredicted(prd_alternate), 4 + 3, "a branch in turns: each that is taken");
	report_eq(mispredicted(prd_same), 1 + 3, "a jump with one target: the first");
	report_eq(mispredicted(prd_same), 2, "again: only JNZ, taken with 1, and not with 3");
	report_eq(mispredicted(prd_targets), 4 + 3, "a call with two targets in turns: each");
	report_eq(mispredicted(prd_two), 2 + 3,
		  "two jumps, each with one target: the first of each");
	report_eq(mispredicted(prd_direct), 0, "direct branches and returns: none");
	report_eq(pmu_counted(PERF_BRANCHES | PERF_USR, prd_targets), 4 + 4 + 4 + 1,
		  "branches: CALL, RET, JNZ, INT");
	report_eq(mispredicted(prd_targets), 4 + 1, "it has learnt only while C3h counted");
	/* It learns nothing at CPL 3, although all is stepped there. */
	pmu_start(1, PERF_INSNS | PERF_USR | PERF_EDGE, 0);
	pmu_counted(PERF_MISPREDICTED | PERF_OS, prd_late);
	pmu_stop(1);

	irq_set_handler(VEC_NMI, on_nmi);
	apic_set_lvtpc(LVT_NMI);
	pmu_start(0, PERF_MISPREDICTED | PERF_USR | PERF_INT, -2ul);
	user_go(&u, prd_late);
	report_eq(pmu_stop(0), 1, "OS has not learnt it: the second overflows, a third follows");
	report_eq(nmis, 1, "an interrupt");
	report_eq(nmi_rip, (u64)prd_top, "after the branch");
	report_eq(turns, 8, "in the second turn");
}
