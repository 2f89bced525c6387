// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * AMD's core performance counters: the interrupt of an overflow, through LVTPC, after the very instruction
 * (skid=N on the command line: N instructions later); beside LWP each of the two counts as if alone.
 */
#include "apic.h"
#include "lwp_fixture.h"
#include "pmu.h"
#include "test.h"

#define VECTOR 0x52u
#define MAX_SEEN 16u

extern char pmo_code[], pmo_loop[], pmo_loop_top[], pmo_loop_end[], pmo_lwp[], pmo_lwp_first[];

USER_CODE("pmo_code: .fill 60, 1, 0x90\n"
	  "user_exit\n"
	  "pmo_loop: mov $50, %ecx\n"
	  "pmo_loop_top: nop\n"
	  "dec %ecx\n"
	  "jnz pmo_loop_top\n"
	  "pmo_loop_end: user_exit\n"
	  "pmo_lwp: llwpcb %rax\n"
	  "pmo_lwp_first: .fill 30, 1, 0x90\n"
	  "flush_exit\n");

static u64 seen[MAX_SEEN];
static u32 count;
static u64 reload; /* 0: count on */

static void note(struct regs *r)
{
	if (count < MAX_SEEN)
		seen[count] = r->rip;
	count++;
	if (reload)
		wrmsr(MSR_PERF_CTR(0), reload & PERF_MASK);
}

static void on_vector(struct regs *r)
{
	note(r);
	apic_eoi();
}

static void run(const char *code, u64 ctl, u64 to_overflow, u64 rflags)
{
	struct user u;

	count = 0;
	seen[0] = 0;
	user_init64(&u, (u64)code, STACK_TOP);
	u.r.rflags |= rflags;
	pmu_start(0, ctl, -to_overflow);
	user_run(&u);
	pmu_stop(0);
}

static void test_delivery(u32 skid)
{
	const u64 insns = PERF_INSNS | PERF_USR | PERF_INT;

	apic_set_lvtpc(VECTOR);
	run(pmo_code, insns, 5, RFLAGS_IF);
	report_eq(count, 1, "a fixed vector: one interrupt");
	report_eq(seen[0], (u64)pmo_code + 5 + skid, "after the fifth instruction");
	run(pmo_code, insns, 40, RFLAGS_IF);
	report_eq(seen[0], (u64)pmo_code + 40 + skid, "after the fortieth");
	run(pmo_code, insns, 5, 0);
	report_eq(count, 0, "RFLAGS.IF clear: none");
	let_in();
	report_eq(count, 1, "it waits until IF is set");
	run(pmo_code, insns & ~PERF_INT, 5, RFLAGS_IF);
	report_eq(count, 0, "PERF_CTL.INT clear: none");
	run(pmo_code, insns, 100, RFLAGS_IF);
	report_eq(count, 0, "no overflow: none");
	apic_set_lvtpc(VECTOR | LVT_MASKED);
	run(pmo_code, insns, 5, RFLAGS_IF);
	let_in();
	report_eq(count, 0, "LVTPC masked: none");
	apic_set_lvtpc(LVT_NMI);
	run(pmo_code, insns, 5, 0);
	report_eq(count, 1, "NMI: one, whatever IF");
	report_eq(seen[0], (u64)pmo_code + 5 + skid, "after the fifth instruction");
}

static void test_branches(void)
{
	/* 50 turns: the jump of the seventh is taken. */
	run(pmo_loop, PERF_BRANCHES | PERF_USR | PERF_INT, 7, 0);
	report_eq(count, 1, "branches: one");
	report_eq(seen[0], (u64)pmo_loop_top, "after the seventh, where it led");
	run(pmo_loop, PERF_CONDITIONAL | PERF_USR | PERF_INT, 50, 0);
	report_eq(seen[0], (u64)pmo_loop_end, "the fiftieth is not taken");
	reload = -10ul;
	run(pmo_loop, PERF_TAKEN | PERF_USR | PERF_INT, 10, 0);
	reload = 0;
	/* 49 jumps are taken; INT is the 50th taken transfer. */
	report_eq(count, 5, "a handler that reloads: every tenth of 50");
}

static void test_both(struct lwp *l)
{
	bool ok;

	apic_set_lvtpc(LVT_NMI);
	count = 0;
	reload = -7ul;
	lwp_prepare(l, EVENT(EV_IRE, 9, 9), pmo_lwp);
	pmu_start(0, PERF_INSNS | PERF_USR | PERF_INT, -7ul);
	pmu_start(1, PERF_INSNS | PERF_USR, 0);
	lwp_resume(l);
	pmu_stop(0);
	reload = 0;
	/* LLWPCB, 30 NOPs, SLWPCB, INT */
	report_eq(pmu_stop(1), 33, "beside LWP: every instruction is counted");
	report_eq(count, 4, "an interrupt after each seventh");
	ok = seen[0] == (u64)pmo_lwp_first + 6 && seen[1] == (u64)pmo_lwp_first + 13 &&
	     seen[2] == (u64)pmo_lwp_first + 20 && seen[3] == (u64)pmo_lwp_first + 27;
	report(ok, "where they belong");
	EXPECT_IRE(l, "LWP records each tenth, as if alone", pmo_lwp_first + 9, pmo_lwp_first + 19,
		   pmo_lwp_first + 29);
	report_eq(cb_counter(l, EV_IRE), 9, "and has 9 to go");
}

FLAT_TEST(pmu_overflow)
{
	u32 skid = option_number("skid", 0);
	struct lwp l;

	irq_set_handler(VEC_NMI, note);
	irq_set_handler(VECTOR, on_vector);
	if (cpuid(0x80000001, 0).c & LWP_CPUID_PRESENT_ECX)
		lwp_init(&l);
	else
		lwp_map(&l, kernel_cr3());
	test_delivery(skid);
	if (skid)
		return;
	test_branches();
	if (cpuid(0x80000001, 0).c & LWP_CPUID_PRESENT_ECX)
		test_both(&l);
	else
		report_skip("8000_0001 ECX[15] is clear", "counters beside LWP");
}
