// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `os` contexts: the variants of XSAVE and XRSTOR for component 62 (43724-301 to 43724-316), CR4.OSXSAVE, and states
 * that only an image can hold: a block address alone, a negative counter, a pending record without
 * its place (43724-108).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"
#include "xsave.h"

#define XCOMP_BV 520
#define COUNTER_2 (64 + 4)
#define BV_SSE 2ul
#define BV_AVX 4ul
#define COMPACT 0x8000000000000000ul
#define LEAST (-0x2000000) /* a counter of 26 bits */

extern char xf32[], xf32_back[], xf_handler[];

USER_CODE("xf_handler: nop\n"
	  "user_exit\n"
	  ".code32\n"
	  "xf32: xor %eax, %eax\n"
	  "mov $0x40000000, %edx\n"
	  "xsave (%edi)\n"
	  "user_exit\n"
	  "xf32_back: xor %eax, %eax\n"
	  "mov $0x40000000, %edx\n"
	  "xrstor (%edi)\n"
	  "user_exit\n"
	  ".code64\n");

static const struct block plain = { .event = { { EV_IRE, 100, 50 }, { EV_BRE, 7, 6 } } };

#define DEFINE_TRY(insn)                                                                      \
	static u32 insn(u64 rfbm)                                                             \
	{                                                                                     \
		return TRY(#insn "64 (%1)", "r"(area), "a"((u32)rfbm), "d"((u32)(rfbm >> 32)) \
			   : "memory");                                                       \
	}
DEFINE_TRY(xsave)
DEFINE_TRY(xsaveopt)
DEFINE_TRY(xrstor)

static u64 xgetbv(u32 index)
{
	u32 lo, hi;

	asm volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(index));
	return lo | (u64)hi << 32;
}

/* Restores the area, whose component is to be taken. */
static void restore(void)
{
	lwp_put64(area + XSTATE_BV, BV_LWP);
	if (xrstor(BV_LWP) != NO_FAULT)
		bail("XRSTOR of component 62 faults");
}

static void test_opt(struct lwp *l)
{
	go(l, &plain);
	rule("43724-302 43724-307", RECALLED);
	report_eq(xsaveopt(BV_LWP), NO_FAULT, "XSAVEOPT while LWP is on");
	report_eq(lwp_get64(area + XSTATE_BV), BV_LWP, "sets XSTATE_BV[62]");
	report_eq(lwp_get64(lwp), CB_VA, "and writes the component");
	report_eq(lwp_get32(lwp + COUNTER_2), 48, "with the counter of now");
	lwp_stop();
	clear_area();
	lwp_put64(area + XSTATE_BV, BV_LWP);
	report_eq(xsaveopt(BV_LWP), NO_FAULT, "XSAVEOPT while LWP is off");
	report_eq(lwp_get64(area + XSTATE_BV), 0, "clears XSTATE_BV[62]");
	report(all(lwp, 128, FILL), "and writes nothing");
}

static void test_code32(struct lwp *l)
{
	go(l, &plain);
	memset(l->data, FILL, AREA_SIZE);
	memset(l->data + XSTATE_BV, 0, 64);
	lwp_stop();
	lwp_go32(l, &plain, xf32);
	rule("43724-302 43724-307", RECALLED);
	report_eq(lwp_get64(l->data + XSTATE_BV), 0,
		  "32-bit form, LWP off: XSTATE_BV[62] is clear");
	lwp_go(l, &plain, lwp_start);
	user_init32(&l->u, (u32)(u64)xf32, STACK_TOP);
	l->u.r.rdi = DATA_VA;
	lwp_resume(l);
	report_eq(lwp_get64(l->data + XSTATE_BV), BV_LWP,
		  "32-bit form, LWP on: XSTATE_BV[62] is set");
	/* NOP NOP, XOR MOV */
	report_eq(lwp_get32(l->data + COMPONENT + COUNTER_2), 46, "the component is the same");
	lwp_stop();
	user_init32(&l->u, (u32)(u64)xf32_back, STACK_TOP);
	l->u.r.rdi = DATA_VA;
	lwp_resume(l);
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "and XRSTOR of 32-bit code turns LWP on with it");
	lwp_stop();
}

static void test_rfbm(struct lwp *l)
{
	go(l, &plain);
	lwp_put64(area + XSTATE_BV, BV_LWP);
	rule("43724-302", RECALLED);
	report_eq(xsave(BV_SSE), NO_FAULT, "XSAVE without bit 62");
	report_eq(lwp_get64(area + XSTATE_BV) & BV_LWP, BV_LWP, "leaves XSTATE_BV[62]");
	report(all(lwp, 128, FILL), "and the component");
	report_eq(xrstor(BV_SSE), NO_FAULT, "XRSTOR without bit 62");
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "leaves LWP on");
	lwp_run(l, lwp_slwpcb);
	rule("43724-712", CHOICE);
	report_eq(cb_counter(l, EV_IRE), 48, "with its counter");

	rule("43724-113 43724-302", CERTAIN);
	if (report_lacks(!(cpuid(0xd, 0).a & BV_AVX), "D.0 EAX[2] is clear",
			 "components 2 and 62 together"))
		return;
	report_eq(try_xsetbv(0, BV_LWP | 7), NO_FAULT, "XCR0 with bits 0, 1, 2 and 62");
	report_eq(cpuid(0xd, 0).b, 0x3c0, "D.0 EBX: 3C0h bytes");
	clear_area();
	report_eq(xsave(BV_LWP | 7), NO_FAULT, "XSAVE of all");
	report_eq(lwp_get64(lwp), CB_VA, "component 62 is at 340h, after component 2");
	lwp_stop();
	report_eq(xrstor(BV_LWP | 7), NO_FAULT, "XRSTOR of all");
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "turns LWP on");
	try_xsetbv(0, BV_LWP | 3);
	lwp_stop();
}

static void test_in_use(struct lwp *l)
{
	rule("43724-307", RECALLED);
	if (report_lacks(!(cpuid(0xd, 1).a & 4), "D.1 EAX[2] is clear", "XGETBV with ECX = 1"))
		return;
	report_eq(xgetbv(1) & BV_LWP, 0, "XGETBV(1) while LWP is off: bit 62 is clear");
	go(l, &plain);
	report_eq(xgetbv(1) & BV_LWP, BV_LWP, "XGETBV(1) while LWP is on: bit 62 is set");
	lwp_stop();
}

static void test_faults(struct lwp *l)
{
	go(l, &plain);
	xsave(BV_LWP);
	lwp_put64(area + XCOMP_BV, COMPACT | BV_LWP);
	rule("43724-312", CHOICE);
	report_eq(xrstor(BV_LWP), FAULT(VEC_GP, 0), "XRSTOR of a compacted image: #GP(0)");
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "LWP stays as it was");
	lwp_put64(area + XCOMP_BV, 0);
	write_cr0(read_cr0() | CR0_TS);
	rule("43724-314", CERTAIN);
	report_eq(xsave(BV_LWP), FAULT(VEC_NM, 0), "CR0.TS: XSAVE raises #NM");
	report_eq(xsaveopt(BV_LWP), FAULT(VEC_NM, 0), "XSAVEOPT too");
	report_eq(xrstor(BV_LWP), FAULT(VEC_NM, 0), "XRSTOR too");
	report_eq(lwp_query(l), CB_VA, "SLWPCB does not");
	write_cr0(read_cr0() & ~CR0_TS);
	lwp_stop();
}

/* 43724-301: the system that clears CR4.OSXSAVE takes XCR0, and LWP with it. */
static void test_osxsave(struct lwp *l)
{
	struct user u;

	go(l, &plain);
	write_cr4(read_cr4() & ~CR4_OSXSAVE);
	rule("43724-301", CHOICE);
	report_eq(xsave(BV_LWP), FAULT(VEC_UD, 0), "CR4.OSXSAVE = 0: XSAVE raises #UD");
	report_eq(cpuid(LWP_CPUID_LEAF, 0).a, 0, "8000_001C EAX is 0");
	user_go(&u, lwp_slwpcb);
	report_eq(u.r.vector, VEC_UD, "SLWPCB raises #UD");
	lwp_run(l, lwp_nop_1);
	write_cr4(read_cr4() | CR4_OSXSAVE);
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "set again, the state is there");
	lwp_run(l, lwp_slwpcb);
	report_eq(cb_counter(l, EV_IRE), 48, "and nothing was counted meanwhile");
	lwp_stop();
}

static void test_address_alone(struct lwp *l)
{
	lwp_prepare(l, EVENT(EV_IRE, 100, 0), lwp_nop_1);
	clear_area();
	memset(lwp, 0, 128);
	lwp_put64(lwp, CB_VA);
	as_protect(l->cr3, CB_VA, PAGE_NONE);
	restore();
	rule("43724-311", CHOICE);
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA,
		  "XRSTOR of a block address alone: no access at CPL 0");
	run_to_store_fault(l, PF_WRITE | PF_USER, CB_VA, (u64)lwp_nop_1,
			   "the block is loaded before the first instruction at CPL 3: #PF");
	lwp_bring(l, CB_VA);
	EXPECT_IRE(l, "with the block there it counts from that one on", lwp_nop_1);
	lwp_stop();
}

/* An image with a counter below zero: the next event is due, and the overrun is subtracted (43724-707). */
static void test_negative(struct lwp *l)
{
	go(l, EVENT(EV_IRE, 100, 50));
	xsave(BV_LWP);
	lwp_put32(lwp + COUNTER_2, (u32)-4);
	restore();
	lwp_run(l, lwp_nop_1);
	lwp_run(l, lwp_slwpcb);
	rule("43724-707", CHOICE);
	EXPECT_IRE(l, "a counter of -4: the next instruction is due", lwp_nop_1);
	/* -5 when due; 100 - 4; one NOP: 95. */
	ask("Q39", "43724-707", "the overrun is subtracted at the reload", "yes",
	    cb_counter(l, EV_IRE) < 97 ? "yes" : "no");
	lwp_stop();

	lwp_put32(lwp + COUNTER_2, (u32)LEAST);
	restore();
	l->u.r.rip = (u64)lwp_nop_1;
	rule("43724-705", CHOICE);
	run_to_missing(l, CB_VA, (u64)lwp_nop_2,
		       "the least counter: due at once, and the block is missing");
	lwp_run(l, xf_handler);
	xsave(BV_LWP);
	report_eq(lwp_get32(lwp + COUNTER_2), (u32)LEAST, "it saturates at -2^25");
	as_protect(l->cr3, CB_VA, PAGE_USER_RW);
	lwp_stop();
}

/* 43724-825: the image does not say where the store faulted, so any entry to CPL 3 tries it again. */
static void test_anywhere(struct lwp *l)
{
	go(l, EVENT(EV_IRE, 9, 2));
	l->u.r.rip = (u64)lwp_nop_1;
	rule("43724-825", CHOICE);
	run_to_missing(l, RING_VA, (u64)lwp_nop_2, "a record is pending");
	xsave(BV_LWP);
	lwp_stop();
	restore();
	l->u.r.rip = (u64)xf_handler;
	run_to_store_fault(l, PF_WRITE | PF_USER, RING_VA, (u64)xf_handler,
			   "after XRSTOR it is tried again at any entry");
	lwp_bring(l, RING_VA);
	EXPECT_IRE(l, "and is stored", lwp_nop_1);
	lwp_stop();
}

LWP_TEST(os_forms)
{
	test_opt(l);
	test_code32(l);
	test_rfbm(l);
	test_in_use(l);
	test_faults(l);
	test_osxsave(l);
	test_address_alone(l);
	test_negative(l);
	test_anywhere(l);
}
