// SPDX-License-Identifier: GPL-2.0-or-later
/* `os` contexts: CPUID leaf D, XCR0[62], and how LWP becomes available (43724-110, 43724-204). */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define XCR0_LWP 0x4000000000000000ul
#define XCR0_AVX 4ul
#define XCR0_BASE 3ul /* x87 and SSE */

extern char xcr_llwpcb[], xcr_slwpcb[], xcr_lwpins[], xcr_lwpval[];

USER_CODE("xcr_llwpcb: llwpcb %rax\n"
	  "jmp xcr_gate\n"
	  "xcr_slwpcb: slwpcb %rax\n"
	  "jmp xcr_gate\n"
	  "xcr_lwpins: lwpins $1, %ecx, %rax\n"
	  "jmp xcr_gate\n"
	  "xcr_lwpval: lwpval $1, %ecx, %rax\n"
	  "xcr_gate: user_exit\n");

static void expect_instructions(bool available, const char *when)
{
	static const char *const code[] = { xcr_llwpcb, xcr_slwpcb, xcr_lwpins, xcr_lwpval };
	bool ok = true;
	struct user u;

	for (u32 i = 0; i < 4; i++) {
		user_go(&u, code[i]);
		ok &= available ? user_exited(&u) : u.r.vector == VEC_UD && u.r.rip == (u64)code[i];
	}
	report(ok, "%s: the four instructions %s", when, available ? "run" : "raise #UD");
}

static u32 leaf_eax(void)
{
	return cpuid(LWP_CPUID_LEAF, 0).a;
}

FLAT_TEST(os_xcr0)
{
	struct cpuid d0 = cpuid(0xd, 0), d62 = cpuid(0xd, 62), leaf = cpuid(LWP_CPUID_LEAF, 0);

	rule("43724-101 43724-113 43724-114", CERTAIN);
	report(cpuid(0x80000001, 0).c & 1u << 15, "8000_0001 ECX[15] is set");
	report(d0.d & 1u << 30, "D.0 EDX[30]: XCR0[62] can be set");
	report_eq(d0.c, 0x3c0, "D.0 ECX: an area with all components has 3C0h bytes");
	report_eq(d62.a, 0x80, "D.62 EAX: 80h bytes");
	report_eq(d62.b, 0x340, "D.62 EBX: at 340h");
	rule("43724-114", RECALLED);
	report(!d62.c && !d62.d, "D.62 ECX, EDX are 0");
	rule("43724-103 43724-108", CERTAIN);
	report_eq(leaf.a, 0, "8000_001C EAX is 0 while XCR0[62] is 0");
	report(leaf.d & 1u, "EDX tells what there is");
	rule("43724-201", RECALLED);
	report_eq(rdmsr(LWP_MSR_CFG), 0, "LWP_CFG is 0 at reset");
	rule("43724-606", CERTAIN);
	expect_instructions(false, "XCR0[62] = 0");

	rule("43724-113 43724-301", CERTAIN);
	write_cr4(read_cr4() | CR4_OSXSAVE);
	report_eq(try_xsetbv(0, XCR0_LWP), FAULT(VEC_GP, 0), "XCR0[62] without XCR0[0]: #GP(0)");
	ask("Q37", "43724-301", "XCR0[62] is set without XCR0[2]", "yes",
	    try_xsetbv(0, XCR0_LWP | XCR0_BASE) == NO_FAULT ? "yes" : "no");
	report_eq(try_xsetbv(0, XCR0_LWP | XCR0_BASE | (d0.a & XCR0_AVX)), NO_FAULT,
		  "XCR0[62] can be set");
	report_eq(cpuid(0xd, 0).b, 0x3c0, "D.0 EBX follows");
	rule("43724-108", RECALLED);
	report_eq(leaf_eax(), 1, "LWP_CFG = 0: EAX is 1");
	rule("43724-606", RECALLED);
	expect_instructions(true, "XCR0[62] = 1");
	wrmsr(LWP_MSR_CFG, 0x0000000c);
	rule("43724-108", RECALLED);
	report_eq(leaf_eax(), 0xd, "EAX is (EDX & LWP_CFG) | 1");
	rule("43724-301", CERTAIN);
	report_eq(try_xsetbv(0, XCR0_BASE), NO_FAULT, "XCR0[62] can be cleared");
	rule("43724-108", RECALLED);
	report_eq(leaf_eax(), 0, "EAX is 0 again");
	rule("43724-606", CERTAIN);
	expect_instructions(false, "XCR0[62] cleared");
	rule("43724-305", RECALLED);
	report_eq(rdmsr(LWP_MSR_CFG), 0x0000000c, "LWP_CFG is kept");
}
