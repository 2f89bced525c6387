// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Intel's counters: an overflow sets its bit of the global status, and interrupts by LVTPC, after the very instruction
 * (skid=N on the command line: N instructions later); LVTPC masks itself; the interrupt freezes the counters if
 * IA32_DEBUGCTL says so.
 */
#include "apic.h"
#include "lwp_fixture.h"
#include "pmu_intel.h"
#include "test.h"

#define VECTOR 0x52u

extern char pio_code[];

USER_CODE("pio_code: .fill 60, 1, 0x90\n"
	  "user_exit\n");

static u64 seen;
static u32 count;
static bool unmask;

static void note(struct regs *r)
{
	if (!count)
		seen = r->rip;
	count++;
	if (unmask) {
		intel_start(0, ARCH_INSNS | SEL_USR | SEL_INT, -10ul);
		apic_set_lvtpc(VECTOR);
	}
}

static void on_vector(struct regs *r)
{
	note(r);
	apic_eoi();
}

static void run(void)
{
	struct user u;

	count = 0;
	seen = 0;
	user_init64(&u, (u64)pio_code, STACK_TOP);
	u.r.rflags |= RFLAGS_IF;
	user_run(&u);
}

static void run_from(u64 sel, u64 to_overflow)
{
	intel_start(0, sel, -to_overflow);
	run();
	wrmsr(MSR_PERFEVTSEL(0), 0);
}

static void test_delivery(u32 skid)
{
	const u64 insns = ARCH_INSNS | SEL_USR | SEL_INT;

	apic_set_lvtpc(VECTOR);
	run_from(insns, 5);
	report_eq(count, 1, "a fixed vector: one interrupt");
	report_eq(seen, (u64)pio_code + 5 + skid, "after the fifth instruction");
	report_eq(apic_lvtpc(), VECTOR | LVT_MASKED, "LVTPC has masked itself");
	run_from(insns, 5);
	report_eq(count, 0, "masked: none");
	apic_set_lvtpc(LVT_NMI);
	run_from(insns, 7);
	report_eq(count, 1, "NMI: one");
	report_eq(apic_lvtpc(), LVT_NMI | LVT_MASKED, "LVTPC has masked itself");
	apic_set_lvtpc(VECTOR);
	run_from(insns & ~SEL_INT, 5);
	report_eq(count, 0, "INT clear: none");
	report_eq(apic_lvtpc(), VECTOR, "and nothing is masked");
	if (skid)
		return;
	unmask = true;
	run_from(insns, 10);
	unmask = false;
	report_eq(count, 6, "a handler that unmasks and reloads: each tenth of 61");
}

static void test_status(void)
{
	wrmsr(MSR_GLOBAL_OVF_CTRL, rdmsr(MSR_GLOBAL_STATUS));
	apic_set_lvtpc(VECTOR);
	run_from(ARCH_INSNS | SEL_USR, 5);
	report_eq(rdmsr(MSR_GLOBAL_STATUS), 1, "an overflow without INT has its bit");
	wrmsr(MSR_GLOBAL_OVF_CTRL, 2);
	report_eq(rdmsr(MSR_GLOBAL_STATUS), 1, "clearing another bit leaves it");
	wrmsr(MSR_GLOBAL_OVF_CTRL, 1);
	report_eq(rdmsr(MSR_GLOBAL_STATUS), 0, "clearing it clears it");
	wrmsr(MSR_GLOBAL_CTRL, 1 | GLOBAL_FIXED(0));
	wrmsr(MSR_FIXED_CTR(0), (1ul << (cpuid(0xa, 0).d >> 5 & 0xff)) - 8);
	wrmsr(MSR_FIXED_CTR_CTRL, FIXED(0, FIXED_USR | FIXED_PMI));
	run();
	wrmsr(MSR_FIXED_CTR_CTRL, 0);
	report_eq(count, 1, "a fixed counter: one interrupt");
	report_eq(seen, (u64)pio_code + 8, "after the eighth instruction");
	report_eq(rdmsr(MSR_GLOBAL_STATUS), GLOBAL_FIXED(0), "its status is bit 32");
	report_eq(rdmsr(MSR_FIXED_CTR(0)), 53, "and it counts on");
	wrmsr(MSR_GLOBAL_OVF_CTRL, GLOBAL_FIXED(0));
	wrmsr(MSR_FIXED_CTR(0), 0);
}

static void test_freeze(void)
{
	wrmsr(MSR_DEBUGCTL, DEBUGCTL_FREEZE);
	report_eq(rdmsr(MSR_DEBUGCTL), DEBUGCTL_FREEZE, "IA32_DEBUGCTL[12] is there");
	apic_set_lvtpc(VECTOR);
	wrmsr(MSR_GLOBAL_CTRL, 3);
	intel_start(1, ARCH_INSNS | SEL_USR, 100);
	intel_start(0, ARCH_INSNS | SEL_USR | SEL_INT, -5ul);
	run();
	wrmsr(MSR_PERFEVTSEL(0), 0);
	report_eq(count, 1, "freeze on the interrupt: one");
	report_eq(rdmsr(MSR_PMC(0)), 0, "the counter stands where it overflowed");
	report_eq(rdmsr(MSR_PMC(1)), 105, "the other one, too");
	if (intel_version() < 4) {
		report_eq(rdmsr(MSR_GLOBAL_CTRL), 0, "the global control is 0");
		wrmsr(MSR_GLOBAL_CTRL, 3);
	} else {
		report_eq(rdmsr(MSR_GLOBAL_CTRL), 3, "the global control is as it was");
		report_eq(rdmsr(MSR_GLOBAL_STATUS), 1 | STATUS_CTR_FRZ, "CTR_Frz is set");
		run();
		report_eq(rdmsr(MSR_PMC(1)), 105, "while it is, nothing counts");
		wrmsr(MSR_GLOBAL_OVF_CTRL, STATUS_CTR_FRZ);
	}
	run();
	report_eq(intel_stop(1), 105 + 61, "then they count again");
	wrmsr(MSR_GLOBAL_OVF_CTRL, 1);
	wrmsr(MSR_DEBUGCTL, 0);
}

USER_TEST(pmu_intel_overflow)
{
	u32 skid = option_number("skid", 0);

	irq_set_handler(VEC_NMI, note);
	irq_set_handler(VECTOR, on_vector);
	test_delivery(skid);
	if (skid)
		return;
	if (report_lacks(intel_version() < 2, "version 1", "status and freeze"))
		return;
	test_status();
	test_freeze();
}
