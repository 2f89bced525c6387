// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * AMD's last branch records, version 2: the leaf, the registers, the branches of known code by each filter, the 16
 * youngest of many, interrupts and exceptions, and the interrupt of a counter that stops them.
 */
#include "apic.h"
#include "lwp_fixture.h"
#include "pmu.h"
#include "test.h"

extern char lbr_code[], lbr_jmp[], lbr_call[], lbr_back[], lbr_f[], lbr_callm[], lbr_g[],
	lbr_there[], lbr_jmpm[], lbr_jcc[], lbr_j[], lbr_exit[], lbr_loop[], lbr_jnz[], lbr_ud[],
	lbr32[], lbr32_call[], lbr32_back[], lbr32_f[];

USER_CODE("lbr_code: nop\n"
	  "lbr_jmp: jmp lbr_call\n"
	  "nop\n"
	  "lbr_call: call lbr_f\n"
	  "lbr_back: lea lbr_g(%rip), %rax\n"
	  "lbr_callm: call *%rax\n"
	  "lbr_there: lea lbr_j(%rip), %rax\n"
	  "lbr_jmpm: jmp *%rax\n"
	  "nop\n"
	  "lbr_j: xor %ecx, %ecx\n"
	  "jnz lbr_code\n"
	  "lbr_jcc: jz lbr_exit\n"
	  "nop\n"
	  "lbr_exit: user_exit\n"
	  "lbr_f: ret\n"
	  "lbr_g: ret\n"
	  "lbr_loop: mov $40, %ecx\n"
	  "1: nop\n"
	  "dec %ecx\n"
	  "lbr_jnz: jnz 1b\n"
	  "user_exit\n"
	  "lbr_ud: ud2\n"
	  ".code32\n"
	  "lbr32: jmp lbr32_call\n"
	  "nop\n"
	  "lbr32_call: call lbr32_f\n"
	  "lbr32_back: user_exit\n"
	  "lbr32_f: ret\n"
	  ".code64\n");

#define LOOP_TOP ((u64)lbr_loop + 5) /* after MOV */

static const struct branch {
	char *from, *to;
	u32 filter;
} branches[] = {
	/* the youngest first */
	{ lbr_jcc, lbr_exit, NO_CONDITIONAL },
	{ lbr_jmpm, lbr_j, NO_JMP_ABSOLUTE },
	{ lbr_g, lbr_there, NO_RET },
	{ lbr_callm, lbr_g, NO_CALL_ABSOLUTE },
	{ lbr_f, lbr_back, NO_RET },
	{ lbr_call, lbr_f, NO_CALL_RELATIVE },
	{ lbr_jmp, lbr_call, NO_JMP_RELATIVE },
	{ NULL, lbr_code, NO_FAR }, /* the kernel's IRET */
};
#define BRANCHES (sizeof(branches) / sizeof(branches[0]))

static struct user u;

static void run_prepared(u32 select)
{
	for (u32 n = 0; n < LBR_ENTRIES; n++) {
		wrmsr(MSR_LBR_FROM(n), 0);
		wrmsr(MSR_LBR_TO(n), 0);
	}
	wrmsr(MSR_LBR_SELECT, select);
	/* With edge=1 each instruction is stepped. */
	if (option_number("edge", 0))
		pmu_start(5, PERF_INSNS | PERF_USR | PERF_EDGE, 0);
	wrmsr(MSR_DBG_EXTN_CFG, LBRV2EN);
	user_run(&u);
	wrmsr(MSR_DBG_EXTN_CFG, 0);
}

static void run(const char *code, u32 select)
{
	user_init64(&u, (u64)code, STACK_TOP);
	run_prepared(select);
}

static void test_registers(void)
{
	u64 value;

	report(cpuid(0x80000022, 0).a & 2, "8000_0022 EAX[1]");
	report_eq(cpuid(0x80000022, 0).b >> 4 & 0x3f, LBR_ENTRIES, "EBX[9:4]: 16 entries");
	for (u32 n = 0; n < LBR_ENTRIES; n++) {
		wrmsr(MSR_LBR_FROM(n), 100 + n);
		wrmsr(MSR_LBR_TO(n), 200 + n);
	}
	for (u32 n = 0; n < LBR_ENTRIES; n++) {
		report_eq(rdmsr(MSR_LBR_FROM(n)), 100 + n, "FROM%u", n);
		report_eq(rdmsr(MSR_LBR_TO(n)), 200 + n, "TO%u", n);
	}
	wrmsr(MSR_LBR_SELECT, 0x1ff);
	report_eq(rdmsr(MSR_LBR_SELECT), 0x1ff, "LBR_SELECT has nine filters");
	report_eq(try_wrmsr(MSR_LBR_SELECT, 0x200), FAULT(VEC_GP, 0), "a tenth: #GP(0)");
	report_eq(rdmsr(MSR_LBR_SELECT), 0x1ff, "and nothing has changed");
	report_eq(try_wrmsr(MSR_DBG_EXTN_CFG, 1), FAULT(VEC_GP, 0),
		  "a reserved bit of DBG_EXTN_CFG: #GP(0)");
	report_eq(rdmsr(MSR_DBG_EXTN_CFG), 0, "nothing records");
	wrmsr(MSR_DEBUGCTL, FREEZE_LBR | FREEZE_PMC);
	report_eq(rdmsr(MSR_DEBUGCTL), FREEZE_LBR | FREEZE_PMC, "DEBUGCTL[12:11]");
	wrmsr(MSR_DEBUGCTL, 0);
	report_eq(try_rdmsr(MSR_LBR_TO(15), &value), NO_FAULT, "the last register");
}

/* Those of the code that a filter leaves. */
static void test_filter(u32 select, const char *what)
{
	u32 n = 0;

	run(lbr_code, select | NO_KERNEL);
	for (size_t i = 0; i < BRANCHES; i++) {
		const struct branch *b = &branches[i];

		if (b->filter & select)
			continue;
		if (b->from)
			report_eq(rdmsr(MSR_LBR_FROM(n)), (u64)b->from, "%s: FROM%u", what, n);
		report_eq(rdmsr(MSR_LBR_TO(n)), (u64)b->to | LBR_VALID, "%s: TO%u", what, n);
		n++;
	}
	report_eq(rdmsr(MSR_LBR_TO(n)), 0, "%s: no more", what);
}

static void test_filters(void)
{
	test_filter(0, "all that end at CPL 3");
	test_filter(NO_CONDITIONAL, "no conditional ones");
	test_filter(NO_CALL_RELATIVE, "no relative calls");
	test_filter(NO_CALL_ABSOLUTE, "no calls by address");
	test_filter(NO_RET, "no returns");
	test_filter(NO_JMP_ABSOLUTE, "no jumps by address");
	test_filter(NO_JMP_RELATIVE, "no relative jumps");
	test_filter(NO_FAR, "no far ones");
	run(lbr_code, NO_KERNEL | NO_USER);
	report_eq(rdmsr(MSR_LBR_TO(0)), 0, "no mode: none");
}

static void test_code32(void)
{
	user_init32(&u, (u32)(u64)lbr32, STACK_TOP);
	run_prepared(NO_KERNEL);
	report_eq(rdmsr(MSR_LBR_FROM(0)), (u64)lbr32_f, "32-bit code: FROM0 is RET");
	report_eq(rdmsr(MSR_LBR_TO(0)), (u64)lbr32_back | LBR_VALID, "TO0");
	report_eq(rdmsr(MSR_LBR_FROM(1)), (u64)lbr32_call, "FROM1 is CALL");
	report_eq(rdmsr(MSR_LBR_TO(1)), (u64)lbr32_f | LBR_VALID, "TO1");
	report_eq(rdmsr(MSR_LBR_FROM(2)), (u64)lbr32, "FROM2 is JMP");
	report_eq(rdmsr(MSR_LBR_TO(3)), (u64)lbr32 | LBR_VALID, "TO3: the kernel's IRET");
}

static u64 gate(u32 vector)
{
	struct {
		u16 limit;
		u64 base;
	} __attribute__((packed)) idt;
	const u32 *g;

	asm volatile("sidt %0" : "=m"(idt));
	g = (const u32 *)(idt.base + 16ul * vector);
	return (g[0] & 0xffff) | (g[1] & 0xffff0000) | (u64)g[2] << 32;
}

/* To bits 60:0 of an address. */
static u64 to(u64 address)
{
	return (address & 0x1ffffffffffffffful) | LBR_VALID;
}

static void test_interrupts(void)
{
	const u32 only_far = 0xff & ~(NO_KERNEL | NO_USER);

	run(lbr_code, only_far | NO_USER);
	report_eq(rdmsr(MSR_LBR_FROM(0)), (u64)lbr_exit, "INT n: from itself");
	report_eq(rdmsr(MSR_LBR_TO(0)), to(gate(0x80)), "to its handler");
	run(lbr_ud, only_far | NO_USER);
	report_eq(rdmsr(MSR_LBR_FROM(0)), (u64)lbr_ud, "an exception: from its instruction");
	report_eq(rdmsr(MSR_LBR_TO(0)), to(gate(VEC_UD)), "to its handler");
	report_eq(rdmsr(MSR_LBR_TO(1)), 0, "no more");
}

static void test_many(void)
{
	run(lbr_loop, NO_KERNEL);
	for (u32 n = 0; n < LBR_ENTRIES; n++) {
		report_eq(rdmsr(MSR_LBR_FROM(n)), (u64)lbr_jnz, "40 turns: FROM%u", n);
		report_eq(rdmsr(MSR_LBR_TO(n)), LOOP_TOP | LBR_VALID, "TO%u", n);
	}
	user_go(&u, lbr_code);
	report_eq(rdmsr(MSR_LBR_FROM(0)), (u64)lbr_jnz, "LBRV2EN clear: nothing is added");
	wrmsr(MSR_LBR_SELECT, 0);
	pmu_counted(PERF_INSNS | PERF_USR | PERF_OS, lbr_code);
	report_eq(rdmsr(MSR_LBR_FROM(0)), (u64)lbr_jnz, "nor by interrupts while a counter counts");
}

static u64 frozen;

static void on_nmi(struct regs *r)
{
	note_nmi(r);
	frozen = rdmsr(MSR_GLOBAL_STATUS);
}

/* The third branch of the code overflows a counter; another counts instructions. */
static u64 overflow(u64 debugctl)
{
	nmis = 0;
	wrmsr(MSR_DEBUGCTL, debugctl);
	pmu_start(0, PERF_BRANCHES | PERF_USR | PERF_INT, -3ul);
	pmu_start(1, PERF_INSNS | PERF_USR, 0);
	run(lbr_code, NO_KERNEL);
	wrmsr(MSR_DEBUGCTL, 0);
	pmu_stop(0);
	return pmu_stop(1);
}

static void test_freeze(void)
{
	u64 insns;

	irq_set_handler(VEC_NMI, on_nmi);
	apic_set_lvtpc(LVT_NMI);

	insns = overflow(0);
	report_eq(nmis, 1, "the third branch overflows");
	report_eq(frozen, 1, "the status has the counter");
	report_eq(rdmsr(MSR_LBR_FROM(0)), (u64)lbr_jcc, "records continue");
	report_eq(insns, 13, "counters, too");
	wrmsr(MSR_GLOBAL_CLEAR, 1);

	insns = overflow(FREEZE_LBR);
	report_eq(frozen, LBR_FROZEN | 1, "FREEZE_LBRS_ON_PMI: the status says it");
	report_eq(nmi_rip, (u64)lbr_back, "the interrupt comes after the third");
	report_eq(rdmsr(MSR_LBR_FROM(0)), (u64)lbr_f, "the youngest is the one that overflowed");
	report_eq(rdmsr(MSR_LBR_FROM(1)), (u64)lbr_call, "after the second");
	report_eq(insns, 13, "counters continue");
	run(lbr_code, NO_KERNEL);
	report_eq(rdmsr(MSR_LBR_TO(0)), 0, "nothing is recorded");
	wrmsr(MSR_GLOBAL_CLEAR, LBR_FROZEN | 1);
	run(lbr_code, NO_KERNEL);
	report_eq(rdmsr(MSR_LBR_FROM(0)), (u64)lbr_jcc, "until the bit is cleared");

	insns = overflow(FREEZE_PMC);
	report_eq(frozen, PMC_FROZEN | 1, "FREEZE_PERFMON_ON_PMI: the status says it");
	report_eq(insns, 4, "NOP, JMP, CALL, RET: counters stop");
	report_eq(rdmsr(MSR_LBR_FROM(0)), (u64)lbr_jcc, "records continue");
	wrmsr(MSR_GLOBAL_CLEAR, PMC_FROZEN | 1);
	report_eq(rdmsr(MSR_GLOBAL_STATUS), 0, "cleared");
}

static void test_set(void)
{
	wrmsr(MSR_GLOBAL_SET, ~0ul);
	report_eq(rdmsr(MSR_GLOBAL_STATUS), LBR_FROZEN | PMC_FROZEN | 0x3f,
		  "C000_0303 sets bits of the status");
	report_eq(rdmsr(MSR_GLOBAL_SET), 0, "and reads as 0");
	run(lbr_code, NO_KERNEL);
	report_eq(rdmsr(MSR_LBR_TO(0)), 0, "it freezes");
	wrmsr(MSR_GLOBAL_CLEAR, ~0ul);
}

static void test_counts(void)
{
	pmu_start(0, PERF_BRANCHES | PERF_USR, 0);
	pmu_start(1, PERF_CONDITIONAL | PERF_USR, 0);
	pmu_start(2, PERF_INSNS | PERF_USR, 0);
	pmu_start(3, PERF_TAKEN | PERF_USR, 0);
	run(lbr_code, NO_KERNEL);
	report_eq(pmu_stop(0), 9, "counters beside it: branches");
	report_eq(pmu_stop(1), 2, "conditional ones");
	report_eq(pmu_stop(2), 13, "instructions");
	report_eq(pmu_stop(3), 8, "taken ones");
}

USER_TEST(pmu_lbr)
{
	test_registers();
	test_filters();
	test_code32();
	test_interrupts();
	test_many();
	test_counts();
	test_freeze();
	test_set();
}
