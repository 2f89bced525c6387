// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * AMD's counters: the events of a known measurement (ops, dispatched ops, instructions, cycles, interrupts, SMIs),
 * edge detection, and cycles of several instructions (ipc=N on the command line, as x-x86-pmu-row's).
 */
#include "apic.h"
#include "lwp_fixture.h"
#include "pmu.h"
#include "test.h"

#define VECTOR 0x53u
#define PERF_OPS 0xc1ul
#define PERF_DISPATCHED 0xaaul
#define PERF_INTERRUPTS 0x2cul
#define UNITS(n) ((u64)(n) << 8)
#define FOUR "nop\nnop\nnop\nnop\n"

extern char pmc_code[], pme_code[], pme_runs[], pme_exit[], pme_ud[], pme_memory[];

USER_CODE(/* 12 + INT = 13 instructions */
	  "pme_code: " FOUR FOUR FOUR "user_exit\n"
	  /* NOP, two jumps in a row, NOP, a jump, INT: branches begin three times, jumps twice. */
	  "pme_runs: nop\n"
	  "jmp 1f\n"
	  "1: jmp 2f\n"
	  "2: nop\n"
	  "jmp 3f\n"
	  "3: nop\n"
	  "pme_exit: user_exit\n"
	  "pme_ud: nop\nnop\nnop\nud2\n"
	  /* Loads: MOV, POP, RET, MOV SS. Stores: MOV, PUSH, CALL, STOSB, MOV. Both: ADD, LOCK ADD, MOVSB, REP MOVSB. */
	  "pme_memory: lea -64(%rsp), %rsi\n"
	  "lea -128(%rsp), %rdi\n"
	  "mov (%rsi), %eax\n"
	  "mov %eax, 8(%rsi)\n"
	  "addl $1, (%rsi)\n"
	  "lock addl $1, (%rsi)\n"
	  "push %rax\n"
	  "pop %rax\n"
	  "call 1f\n"
	  "stosb\n"
	  "movsb\n"
	  "mov $3, %ecx\n"
	  "rep movsb\n"
	  "mov %ss, -16(%rsp)\n"
	  "mov -16(%rsp), %ss\n" /* holds interrupts off after the next one */
	  "nop\n"
	  "user_exit\n"
	  "1: ret\n");

static u32 ipc;

static void test_events(void)
{
	report_eq(pmu_counted(PERF_OPS | PERF_USR, pme_code), 13, "ops: one per instruction");
	report_eq(pmu_counted(PERF_DISPATCHED | UNITS(3) | PERF_USR, pme_code), 13,
		  "dispatched ops: the same");
	report_eq(pmu_counted(PERF_DISPATCHED | PERF_USR, pme_code), 0, "of no unit: none");
	report_eq(pmu_counted(0x80 | PERF_USR, pme_code), 13, "fetches: one per instruction");
	report_eq(pmu_counted(PERF_CONDITIONAL | PERF_USR, pmc_code),
		  option_is("family", "15h") ? 0 : 3, "conditional branches; 0 before Zen");
	report_eq(pmu_counted(PERF_CYCLES | PERF_USR, pme_code), (13 + ipc - 1) / ipc,
		  "cycles: the last one is cut by the change of mode");
	report_eq(pmu_counted(PERF_REFERENCE | PERF_USR, pme_code), 2 * ((13 + ipc - 1) / ipc),
		  "reference cycles: two per cycle");
	report_eq(pmu_counted(PERF_CYCLES | PERF_USR | PERF_CMASK(2), pme_code), 0,
		  "CounterMask 2 of cycles: never");
	report_eq(pmu_counted(PERF_REFERENCE | PERF_USR | PERF_CMASK(2), pme_code),
		  (13 + ipc - 1) / ipc, "CounterMask 2 of reference cycles: each cycle once");
}

#define PERF_ACCESSES 0x29ul
#define LOADS UNITS(1)
#define STORES UNITS(2)
#define LOAD_STORES UNITS(4)

static u64 accesses(u64 units)
{
	return pmu_counted(PERF_ACCESSES | units | PERF_USR, pme_memory);
}

static void test_accesses(void)
{
	struct user u;

	report_eq(accesses(LOADS), 4, "29h: instructions that load");
	report_eq(accesses(STORES), 5, "that store");
	report_eq(accesses(LOAD_STORES), 4, "that do both, a repeated one once");
	report_eq(accesses(LOADS | STORES | LOAD_STORES), 13, "all");
	report_eq(accesses(0), 0, "of no unit: none");
	report_eq(pmu_counted(0x40 | PERF_USR, pme_memory), 13, "40h: all, without units");

	irq_set_handler(VEC_NMI, note_nmi);
	apic_set_lvtpc(0x400);
	pmu_start(1, PERF_INSNS | PERF_USR, 0);
	pmu_start(0, PERF_ACCESSES | STORES | PERF_USR | PERF_INT, -1ul);
	user_go(&u, pme_memory);
	report_eq(pmu_stop(1), 18, "a counter of instructions beside it");
	report_eq(pmu_stop(0), 4, "an overflow with the first store");
	report_eq(nmis, 1, "an interrupt");
	report_eq(*(const u8 *)nmi_rip, 0x83, "after it: ADD is next");
	apic_set_lvtpc(0x10000);
}

static void test_interrupts(void)
{
	irq_set_handler(VECTOR, count_irq);
	pmu_start(0, PERF_INTERRUPTS | PERF_OS, 0);
	pmu_start(1, PERF_INTERRUPTS | PERF_USR, 0);
	apic_send(apic_id(), VECTOR);
	let_in();
	apic_send(apic_id(), VECTOR);
	let_in();
	report_eq(irqs, 2, "two interrupts arrive");
	report_eq(pmu_stop(0), 2, "interrupts taken at CPL 0");
	report_eq(pmu_stop(1), 0, "not at CPL 3");
	report_eq(pmu_counted(PERF_INTERRUPTS | PERF_USR, pme_code), 0, "INT n is no interrupt");
}

static void test_edge(void)
{
	report_eq(pmu_counted(PERF_BRANCHES | PERF_USR, pme_runs), 4, "branches: three jumps, INT");
	report_eq(pmu_counted(PERF_BRANCHES | PERF_EDGE | PERF_USR, pme_runs), 3,
		  "edge: they begin three times");
	report_eq(pmu_counted(PERF_CONDITIONAL | PERF_EDGE | PERF_USR, pme_runs), 0,
		  "edge of what never happens: 0");
	report_eq(pmu_counted(PERF_INSNS | PERF_EDGE | PERF_USR, pme_code), 1,
		  "instructions begin once, and a second time after another mode");
	report_eq(pmu_counted(PERF_BRANCHES | PERF_CMASK(1) | PERF_INV | PERF_EDGE | PERF_USR,
			      pme_runs),
		  3, "edge, inverted: the stretches without branches");
}

/* From RDPMC to RDPMC: MOV, and n NOPs. */
#define BETWEEN(nops)                                         \
	({                                                    \
		u32 first, last;                              \
		asm volatile("rdpmc\n"                        \
			     "mov %%eax, %1\n" nops "rdpmc\n" \
			     : "=&a"(last), "=&r"(first)      \
			     : "c"(0)                         \
			     : "rdx");                        \
		last - first;                                 \
	})

/* Cycles of one instruction at CPL 3, after some at CPL 0, where another counter counts. */
#define ENTERED(nops)                                      \
	({                                                 \
		struct user u;                             \
		user_init64(&u, (u64)pme_exit, STACK_TOP); \
		pmu_start(1, PERF_CYCLES | PERF_OS, 0);    \
		pmu_start(0, PERF_CYCLES | PERF_USR, 0);   \
		asm volatile(nops);                        \
		user_run(&u);                              \
		pmu_stop(1);                               \
		pmu_stop(0);                               \
	})

/* Cycles at CPL 0 after so many NOPs at CPL 3, which end in an exception; `more` changes how many instructions run. */
static u64 behind(u32 nops, u32 more)
{
	struct user u;

	user_init64(&u, (u64)pme_ud + 3 - nops, STACK_TOP);
	pmu_start(1, PERF_CYCLES | PERF_USR, 0);
	pmu_start(0, PERF_CYCLES | PERF_OS, 0);
	user_run(&u);
	while (more--)
		asm volatile("nop");
	pmu_stop(1);
	return pmu_stop(0);
}

static void test_cycles(void)
{
	u32 floor, four;

	report_eq(ENTERED("") + ENTERED("nop\n") + ENTERED("nop\nnop\n") +
			  ENTERED("nop\nnop\nnop\n"),
		  4, "a cycle begins at CPL 3, whatever has run at CPL 0");
	for (u32 nops = 1; nops < 4; nops++) {
		for (u32 more = 0; more < 4; more++)
			report_eq(behind(nops, more) - behind(0, more), 0,
				  "an exception ends a cycle of CPL 3");
	}

	pmu_start(0, PERF_CYCLES | PERF_OS, 0);
	floor = BETWEEN("");
	four = BETWEEN(FOUR);
	pmu_stop(0);
	report_eq(floor, (2 + ipc - 1) / ipc, "RDPMC, MOV: whole cycles");
	report_eq(four, (6 + ipc - 1) / ipc, "RDPMC, MOV, four NOPs: whole cycles");
	if (ipc == 4)
		report_eq(four - floor, 1, "four NOPs are one cycle");
}

/* The overflow of a cycle counter comes after the first instruction of a cycle. */
static void test_overflow(void)
{
	struct user u;

	irq_set_handler(VEC_NMI, note_nmi);
	apic_set_lvtpc(0x400);
	pmu_start(0, PERF_CYCLES | PERF_USR | PERF_INT, -3ul);
	user_go(&u, pme_code);
	pmu_stop(0);
	report_eq(nmi_rip, (u64)pme_code + 2 * ipc + 1,
		  "the third cycle overflows: after its first instruction");
}

USER_TEST(pmu_events)
{
	ipc = option_number("ipc", 1);
	test_events();
	test_interrupts();
	test_accesses();
	test_edge();
	test_cycles();
	test_overflow();
}
