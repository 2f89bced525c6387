// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LWP_CFG (C000_0105) and LWP_CBADDR (C000_0106), 43724-201 to 43724-214: what WRMSR stores, ignores and refuses, and
 * what it does to leaf 8000_001C and to a running LWP (43724-108 to 43724-110, 43724-315, 43724-606).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

/* IRE BRE in 3:2, COREID in 39:32, VECTOR in 47:40. */
#define CFG_SOME 0x0000000cul
#define CFG_IGNORED 0xffff000000000001ul

extern char msr_more[];

USER_CODE("msr_more: nop\n"
	  "jmp 1f\n"
	  "1: user_exit\n");

static bool os(void)
{
	return option_is("context", "os");
}

static void test_cfg(u64 reset)
{
	u32 edx = cpuid(LWP_CPUID_LEAF, 0).d, wrong = 0;
	u64 all = 0xa5c300000000ul | (edx & ~1u), v;

	rule("43724-201 43724-207", CHOICE);
	report_eq(reset, os() ? 0 : edx & ~(1ul | LWP_F_INT),
		  os() ? "LWP_CFG at reset: 0" :
			 "LWP_CFG at reset: all features but INT, COREID 0");
	ask("Q31", "43724-205", "COREID at the start", "0", text("%lu", reset >> 32 & 0xff));
	wrmsr(LWP_MSR_CFG, CFG_SOME);
	rule("43724-202 43724-203", CERTAIN);
	for (u32 bit = 1; bit <= 31; bit++) {
		if (edx & 1u << bit)
			continue;
		report_eq(try_wrmsr(LWP_MSR_CFG, CFG_SOME | 1ul << bit), FAULT(VEC_GP, 0),
			  "LWP_CFG bit %u is refused with #GP(0)", bit);
		wrong += rdmsr(LWP_MSR_CFG) != CFG_SOME;
	}
	report_eq(wrong, 0, "a refused write changes nothing");
	report_eq(try_wrmsr(LWP_MSR_CFG, CFG_SOME | CFG_IGNORED), NO_FAULT,
		  "bits 63:48 and 0 of LWP_CFG can be written");
	report_eq(rdmsr(LWP_MSR_CFG), CFG_SOME, "and are ignored");
	rule("43724-108 43724-109", RECALLED);
	report_eq(cpuid(LWP_CPUID_LEAF, 0).a, CFG_SOME | 1, "EAX is (EDX & LWP_CFG) | 1");
	wrmsr(LWP_MSR_CFG, all);
	rule("43724-204", CERTAIN);
	report_eq(rdmsr(LWP_MSR_CFG), all, "VECTOR, COREID and all features of EDX are stored");
	rule("43724-108 43724-109", RECALLED);
	report_eq(cpuid(LWP_CPUID_LEAF, 0).a, edx, "EAX is EDX then");
	wrmsr(LWP_MSR_CFG, 0xa5c300000001ul);
	rule("43724-103", CERTAIN);
	report_eq(cpuid(LWP_CPUID_LEAF, 0).d, edx, "EDX does not follow LWP_CFG");
	rule("43724-108 43724-109", CHOICE);
	report_eq(cpuid(LWP_CPUID_LEAF, 0).a, os(),
		  os() ? "no feature in LWP_CFG: EAX is 1" :
			 "no feature in LWP_CFG: not available, EAX is 0");
	wrmsr(LWP_MSR_CFG, CFG_SOME);
	rule("43724-204", CERTAIN);
	report_eq(try_rdmsr(LWP_MSR_CFG, &v), NO_FAULT, "RDMSR LWP_CFG");
}

static void test_cbaddr(struct lwp *l)
{
	rule("43724-210", CERTAIN);
	report_eq(rdmsr(LWP_MSR_CBADDR), 0, "LWP_CBADDR is 0 while LWP is off");
	rule("43724-211", CERTAIN);
	for (u32 bit = 0; bit < 64; bit += 9) {
		report_eq(try_wrmsr(LWP_MSR_CBADDR, 1ul << bit), FAULT(VEC_GP, 0),
			  "LWP_CBADDR with bit %u raises #GP(0)", bit);
	}
	report_eq(try_wrmsr(LWP_MSR_CBADDR, CB_VA), FAULT(VEC_GP, 0),
		  "LWP_CBADDR with a good address raises #GP(0)");
	rule("43724-212", CERTAIN);
	report_eq(try_wrmsr(LWP_MSR_CBADDR, 0), NO_FAULT, "LWP_CBADDR 0 while off");

	lwp_go(l, EVENT(EV_IRE, 100, 100), lwp_one);
	rule("43724-210 43724-315", CERTAIN);
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "LWP_CBADDR is the linear address while LWP is on");
	rule("43724-210", RECALLED);
	report_eq(cb_counter(l, EV_IRE), 100, "RDMSR LWP_CBADDR flushes nothing");
	rule("43724-211", CERTAIN);
	report_eq(try_wrmsr(LWP_MSR_CBADDR, CB_VA), FAULT(VEC_GP, 0),
		  "the address that is loaded cannot be written either");
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "a refused write leaves LWP on");
	wrmsr(LWP_MSR_CBADDR, 0);
	rule("43724-212", CERTAIN);
	report_eq(rdmsr(LWP_MSR_CBADDR), 0, "writing 0 turns LWP off");
	rule("43724-212", RECALLED);
	report_eq(cb_counter(l, EV_IRE), 100, "and flushes nothing");
}

/* 43724-208: what LWP_CFG takes away stops at once, and continues where it was. */
static void test_bits(struct lwp *l)
{
	static const struct block b = { .event = { { EV_IRE, 100, 50 }, { EV_BRE, 100, 50 } } };
	struct user u;

	rule("43724-208", CHOICE);
	lwp_go(l, &b, lwp_one);
	/* 49: the NOP. */
	wrmsr(LWP_MSR_CFG, 1u << EV_BRE);
	lwp_run(l, msr_more);
	wrmsr(LWP_MSR_CFG, CFG_SOME);
	lwp_run(l, msr_more);
	lwp_run(l, lwp_slwpcb);
	report_eq(cb_counter(l, EV_IRE), 47,
		  "IRE is cleared and set: only the NOP and JMP after it count");
	report_eq(cb_counter(l, EV_BRE), 48, "BRE counts all the time");
	report_eq(cb_flags(l), 1u << EV_IRE | 1u << EV_BRE, "Flags are as they were");

	if (os())
		return;
	/* 46 after SLWPCB. */
	wrmsr(LWP_MSR_CFG, 0);
	lwp_run(l, msr_more);
	user_go(&u, lwp_slwpcb);
	report_eq(u.r.vector, VEC_UD, "nothing is left: the instructions raise #UD");
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "the state stays");
	wrmsr(LWP_MSR_CFG, CFG_SOME);
	lwp_run(l, msr_more);
	lwp_run(l, lwp_slwpcb);
	report_eq(cb_counter(l, EV_IRE), 44, "set again, LWP continues where it was");
	report_eq(cb_counter(l, EV_BRE), 47, "with both events");
}

FLAT_TEST(msr)
{
	u64 reset = rdmsr(LWP_MSR_CFG);
	struct lwp l;

	lwp_init(&l);
	test_cfg(reset);
	test_cbaddr(&l);
	test_bits(&l);
}
