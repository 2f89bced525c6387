// SPDX-License-Identifier: GPL-2.0-or-later
/* A processor without LWP: nothing announced, no MSRs, the four instructions raise #UD. */
#include "cpu.h"
#include "lwp.h"
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

	user_init64(&u, (u64)code, 0);
	user_run(&u);
	report(u.r.vector == VEC_UD && u.r.rip == (u64)code, "%s raises #UD", name);
}

FLAT_TEST(absent)
{
	struct cpuid id = cpuid(LWP_CPUID_LEAF, 0);
	u64 value;

	report(!(cpuid(0x80000001, 0).c & 1u << 15), "8000_0001 ECX[15] is clear");
	report(!id.a && !id.b && !id.c && !id.d, "8000_001C is all zero");
	report(!(cpuid(0xd, 0).d & 1u << 30), "D.0 EDX[30] is clear");
	report_eq(try_rdmsr(0xc0000105, &value), FAULT(VEC_GP, 0), "RDMSR LWP_CFG raises #GP(0)");
	report_eq(try_rdmsr(0xc0000106, &value), FAULT(VEC_GP, 0),
		  "RDMSR LWP_CBADDR raises #GP(0)");
	report_eq(try_wrmsr(0xc0000105, 0), FAULT(VEC_GP, 0), "WRMSR LWP_CFG raises #GP(0)");
	report_eq(try_wrmsr(0xc0000106, 0), FAULT(VEC_GP, 0), "WRMSR LWP_CBADDR raises #GP(0)");
	expect_ud(absent_llwpcb, "LLWPCB");
	expect_ud(absent_slwpcb, "SLWPCB");
	expect_ud(absent_lwpins, "LWPINS");
	expect_ud(absent_lwpval, "LWPVAL");
}
