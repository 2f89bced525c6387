// SPDX-License-Identifier: GPL-2.0-or-later
/* A processor without LWP: nothing announced, no MSRs, the four instructions raise #UD (2007-101, 2007-208). */
#include "cpu.h"
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

extern char absent_llwpcb[], absent_slwpcb[], absent_lwpins[], absent_lwpval[];

USER_CODE("absent_llwpcb: llwpcb %rax\n"
	  "absent_slwpcb: slwpcb %rax\n"
	  "absent_lwpins: lwpins $1, %ecx, %rax\n"
	  "absent_lwpval: lwpval $1, %ecx, %rax\n");

static void expect_ud(const char *code, const char *name)
{
	struct user u;

	user_go(&u, code);
	report(u.r.vector == VEC_UD && u.r.rip == (u64)code, "%s raises #UD", name);
}

/* As any MSR that is not there: #GP(0), or, where such MSRs are ignored (QEMU's TCG), always 0. */
static void expect_no_msr(u32 msr, const char *name)
{
	u32 written = try_wrmsr(msr, 0xe), read;
	u64 value;

	read = try_rdmsr(msr, &value);
	report((written == NO_FAULT && read == NO_FAULT && !value) ||
		       (written == FAULT(VEC_GP, 0) && read == FAULT(VEC_GP, 0)),
	       "%s is not there", name);
}

FLAT_TEST(absent)
{
	struct cpuid id = cpuid(LWP_CPUID_LEAF, 0);

	rule("43724-101", CERTAIN);
	report(!(cpuid(0x80000001, 0).c & 1u << 15), "8000_0001 ECX[15] is clear");
	rule("43724-102", CHOICE);
	report(!id.a && !id.b && !id.c && !id.d, "8000_001C is all zero");
	report(!(cpuid(0xd, 0).d & 1u << 30), "D.0 EDX[30] is clear");
	expect_no_msr(0xc0000105, "LWP_CFG");
	expect_no_msr(0xc0000106, "LWP_CBADDR");
	rule("43724-606", CERTAIN);
	expect_ud(absent_llwpcb, "LLWPCB");
	expect_ud(absent_slwpcb, "SLWPCB");
	expect_ud(absent_lwpins, "LWPINS");
	expect_ud(absent_lwpval, "LWPVAL");
}
