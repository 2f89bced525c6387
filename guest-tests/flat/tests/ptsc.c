// SPDX-License-Identifier: GPL-2.0-or-later
/* Time stamps (PTSC, Flags bit 30): bytes 31:24 of each record, never going back; 0 without the flag. */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

extern char pts_code[], pts_1[], pts_2[];

USER_CODE("pts_code: llwpcb %rax\n"
	  "pts_1: lwpins $1, %ecx, %edx\n"
	  "pts_2: lwpins $2, %ecx, %edx\n"
	  "user_exit\n");

LWP_TEST(ptsc)
{
	static const struct block with = { .flags = LWP_F_PTSC };
	u64 first, second, before;

	if (report_lacks(!(cpuid(LWP_CPUID_LEAF, 0).a & LWP_F_PTSC), "8000_001C EAX[30] is clear",
			 "time stamps"))
		return;
	before = rdtsc();
	lwp_go(l, &with, pts_code);
	rule("43724-403 43724-404", CERTAIN);
	report_eq(cb_flags(l), LWP_F_PTSC, "the flag is granted");
	first = ring_record(l, 0).timestamp;
	second = ring_record(l, 1).timestamp;
	ask("Q30", "43724-514", "bytes 31 to 24 with PTSC are", "tsc",
	    first >= before && first <= rdtsc() ? "tsc" : "other");
	rule("43724-217 43724-514", RECALLED);
	report(first && second >= first, "time stamps are there and do not go back");
	lwp_go(l, NO_EVENT, pts_code);
	rule("43724-504 43724-514", RECALLED);
	EXPECT_RECORDS(l, "without the flag they are 0",
		       { EV_INS, .flags = 1, .address = (u64)pts_1 },
		       { EV_INS, .flags = 2, .address = (u64)pts_2 });
}
