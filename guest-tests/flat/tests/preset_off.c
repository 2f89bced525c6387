// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lwp-preset=off with `auto` contexts: LWP_CFG is 0 at reset and after INIT, and LWP is not there, until the system
 * writes it (43724-207, 43724-214).
 */
#include "lwp_fixture.h"
#include "smp.h"
#include "test.h"
#include "x86.h"

/* COREID 5, IRE. */
#define CFG 0x0000000500000004ul

static void switch_on(void *was)
{
	*(u64 *)was = rdmsr(LWP_MSR_CFG);
	wrmsr(LWP_MSR_CFG, CFG);
}

USER_TEST(preset_off)
{
	u64 was;

	lwp_prepare(l, every_insn(), lwp_start);
	user_run(&l->u);
	report(l->u.r.vector == VEC_UD && l->u.r.rip == (u64)lwp_start, "LLWPCB raises #UD");
	report_eq(cpuid(LWP_CPUID_LEAF, 0).a, 0, "8000_001C EAX is 0");
	switch_on(&was);
	report_eq(was, 0, "LWP_CFG is 0 at reset");
	lwp_go(l, every_insn(), lwp_start);
	EXPECT_RECORDS(l, "LWP_CFG is written",
		       { .id = EV_IRE, .core = 5, .address = (u64)lwp_nop_1 },
		       { .id = EV_IRE, .core = 5, .address = (u64)lwp_nop_2 });

	smp_start();
	smp_call(1, switch_on, &was);
	report_eq(was, 0, "LWP_CFG of processor 1 is 0");
	smp_init_others();
	smp_start();
	smp_call(1, switch_on, &was);
	report_eq(was, 0, "and after INIT");
	report_eq(rdmsr(LWP_MSR_CFG), CFG, "INIT of another leaves that of processor 0");
}
