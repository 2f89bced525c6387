// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A processor without a local APIC: it offers no threshold interrupt, and the overflow of a performance counter
 * interrupts nothing (43724-811).
 */
#include "lwp_fixture.h"
#include "pmu.h"
#include "test.h"
#include "x86.h"

#define CPUID1_EDX_APIC (1u << 9)
#define LWP_INT (1u << 31)

extern char nap_code[], nap_lwp[], nap_lwp_1[], nap_lwp_2[], nap_lwp_3[];

USER_CODE("nap_code: .fill 60, 1, 0x90\n"
	  "user_exit\n"
	  "nap_lwp: llwpcb %rax\n"
	  "nap_lwp_1: nop\n"
	  "nap_lwp_2: nop\n"
	  "nap_lwp_3: slwpcb %rbx\n"
	  "user_exit\n");

LWP_TEST(no_apic)
{
	static const struct block every = { .threshold = RECORD_SIZE,
					    .event = { { EV_IRE, 0, 0 } } };
	struct cpuid leaf = cpuid(LWP_CPUID_LEAF, 0);
	struct user u;

	report_eq(cpuid(1, 0).d & CPUID1_EDX_APIC, 0, "CPUID announces no APIC");
	report_eq(leaf.d & LWP_INT, 0, "and no threshold interrupt");
	report_eq(leaf.a & LWP_INT, 0, "none is available");
	lwp_go(l, &every, nap_lwp);
	EXPECT_IRE(l, "a ring beyond its threshold is filled further", nap_lwp_1, nap_lwp_2,
		   nap_lwp_3);

	pmu_start(0, PERF_INSNS | PERF_USR | PERF_INT, -5ul);
	user_go(&u, nap_code);
	/* 60 NOPs and INT. */
	report_eq(pmu_stop(0), 56, "a counter that overflows counts further");
}
