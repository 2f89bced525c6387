// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * 2007-201 to 2007-209: LWPMSR0 has a real enable bit and refuses all bits that are not offered; on LWPMSR1 RDMSR does
 * what SLWPCB does and WRMSR what LLWPCB does, at CPL 0: only the pointer is loaded, the rest waits for CPL 3
 * (2007-102, 2007-103, 2007-406).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

static void test_cfg(void)
{
	struct user u;

	rule("2007-205", CHOICE);
	report_eq(rdmsr(LWP_MSR_CFG), 0x7, "LWPMSR0 at reset with auto contexts: Enabled IRE BRE");
	rule("2007-202", CERTAIN);
	for (u32 bit = 3; bit < 31; bit++) {
		report_eq(try_wrmsr(LWP_MSR_CFG, 0x7 | 1ul << bit), FAULT(VEC_GP, 0),
			  "LWPMSR0 bit %u is refused with #GP(0)", bit);
	}
	rule("2007-107 2007-201", CERTAIN);
	wrmsr(LWP_MSR_CFG, 0x80000007);
	report_eq(cpuid(LWP_CPUID_LEAF, 0).a, 0x80000007, "bit 31, Interrupt, can be set");
	wrmsr(LWP_MSR_CFG, 0x3);
	report_eq(cpuid(LWP_CPUID_LEAF, 0).a, 0x3, "EAX is LWPMSR0");
	wrmsr(LWP_MSR_CFG, 0x6);
	rule("2007-107", CHOICE);
	report_eq(cpuid(LWP_CPUID_LEAF, 0).a, 0, "Enabled clear: EAX is 0");
	user_go(&u, lwp_slwpcb);
	rule("2007-203 2007-608", CERTAIN);
	report_eq(u.r.vector, VEC_UD, "Enabled clear: SLWPCB raises #UD");
	wrmsr(LWP_MSR_CFG, 0x7);
}

static void test_pointer(struct lwp *l)
{
	lwp_prepare(l, EVENT(EV07_IRE, 100, 50), lwp_nop_1);
	rule("2007-206", CERTAIN);
	report_eq(rdmsr(LWP_MSR_CBADDR), 0, "RDMSR LWPMSR1 while off: 0");
	rule("2007-611", CHOICE);
	report_eq(try_wrmsr(LWP_MSR_CBADDR, CB_VA + 8), FAULT(VEC_GP, 0),
		  "WRMSR of an address that is not 16-byte aligned: #GP(0)");
	rule("2007-206 2007-207", CERTAIN);
	report_eq(try_wrmsr(LWP_MSR_CBADDR, CB_VA), NO_FAULT, "WRMSR of a good address");
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "which RDMSR returns");
	report_eq(cb_flags(l), 0, "the block is not touched at CPL 0");
	lwp_resume(l);
	report_eq(cb_flags(l), 0x3, "it is loaded at CPL 3: Flags are Enabled IRE");
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "RDMSR returns the pointer");
	report_eq(cb_counter(l, 1), 48, "and flushes: 50, two NOPs");
	report_eq(try_wrmsr(LWP_MSR_CBADDR, 0), NO_FAULT, "WRMSR 0");
	report_eq(rdmsr(LWP_MSR_CBADDR), 0, "turns LWP off");
}

/* 2007-209: the exceptions of RDMSR and WRMSR are those of SLWPCB and LLWPCB. */
static void test_exceptions(struct lwp *l)
{
	u64 value;

	lwp_prepare(l, EVENT(EV07_IRE, 100, 50), lwp_nop_1);
	wrmsr(LWP_MSR_CFG, 0x6);
	rule("2007-209", CHOICE);
	report_eq(try_rdmsr(LWP_MSR_CBADDR, &value), FAULT(VEC_UD, 0), "Enabled clear: RDMSR, #UD");
	report_eq(try_wrmsr(LWP_MSR_CBADDR, CB_VA), FAULT(VEC_UD, 0), "Enabled clear: WRMSR, #UD");
	wrmsr(LWP_MSR_CFG, 0x7);
	wrmsr(LWP_MSR_CBADDR, CB_VA);
	lwp_resume(l);
	as_protect(l->cr3, CB_VA, PAGE_USER_RO);
	report_eq(try_rdmsr(LWP_MSR_CBADDR, &value), FAULT(VEC_PF, PF_PRESENT | PF_WRITE | PF_USER),
		  "RDMSR, the block is read-only: #PF");
	report_eq(fault_cr2(), CB_VA, "CR2 is the block");
	report_eq(try_wrmsr(LWP_MSR_CBADDR, 0), FAULT(VEC_PF, PF_PRESENT | PF_WRITE | PF_USER),
		  "WRMSR, the same");
	as_protect(l->cr3, CB_VA, PAGE_USER_RW);
	report_eq(try_rdmsr(LWP_MSR_CBADDR, &value), NO_FAULT, "restarted, RDMSR returns");
	report_eq(value, CB_VA, "the block");
	report_eq(cb_counter(l, 1), 48, "and has flushed");
	lwp_stop();
}

/* A deferred block that is not there faults at CPL 3, before the first instruction. */
static void test_deferred_fault(struct lwp *l)
{
	lwp_prepare(l, EVENT(EV07_IRE, 100, 1), lwp_nop_1);
	as_protect(l->cr3, CB_VA, PAGE_NONE);
	rule("2007-207 2007-302 2007-303 2007-605 2007-609", CERTAIN);
	report_eq(try_wrmsr(LWP_MSR_CBADDR, CB_VA), NO_FAULT, "WRMSR, block not there: no fault");
	run_to_store_fault(l, PF_WRITE | PF_USER, CB_VA, (u64)lwp_nop_1, "#PF at CPL 3");
	lwp_bring(l, CB_VA);
	rule("2007-703", RECALLED);
	EXPECT_IRE(l, "with the page there it counts from the first instruction", lwp_nop_1);

	lwp_prepare(l, NO_EVENT, lwp_nop_1);
	wrmsr(LWP_MSR_CBADDR, CB_VA);
	lwp_resume(l);
	rule("2007-605", CHOICE);
	report_eq(rdmsr(LWP_MSR_CBADDR), 0, "a deferred block without events turns LWP off");
}

FLAT_TEST(rev07_msr)
{
	struct lwp l;

	test_cfg();
	lwp_init(&l);
	test_pointer(&l);
	test_deferred_fault(&l);
	test_exceptions(&l);
}
