// SPDX-License-Identifier: GPL-2.0-or-later
/* A ring or a block that is not RAM turns LWP off (43724-818); the program keeps running. */
#include "lwp_fixture.h"
#include "place.h"
#include "test.h"
#include "x86.h"

#define HOLE_VA (USER_BASE + 0x60000)
/* The last bytes of the firmware, which end at 4 GiB, where processors begin: they can only be read. */
#define ROM 0xfffff000ul
#define ROM_VA (USER_BASE + 0x70000)

extern char nrm_ins[];

USER_CODE("nrm_ins: llwpcb %rax\n"
	  "lwpins $1, %ecx, %rdx\n"
	  "user_exit\n");

LWP_TEST(not_ram)
{
	static const struct block every = { .base = HOLE_VA, .event = { { EV_IRE, 0, 0 } } };
	static const struct block plain = { .base = HOLE_VA };
	static const struct block rom = { .base = ROM_VA, .event = { { EV_IRE, 0, 0 } } };

	rule("43724-818", CHOICE);
	as_map(l->cr3, HOLE_VA, HOLE, 1, PAGE_USER_RW);
	lwp_go(l, &every, lwp_start);
	report_eq(rdmsr(LWP_MSR_CBADDR), 0,
		  "a ring that is not RAM: LWP goes off at the first record");
	expect_head(l, 0, "the head is not moved");
	lwp_go(l, &plain, nrm_ins);
	report_eq(rdmsr(LWP_MSR_CBADDR), 0, "the same for LWPINS");
	as_map(l->cr3, ROM_VA, ROM, 1, PAGE_USER_RW);
	lwp_go(l, &rom, lwp_start);
	report_eq(rdmsr(LWP_MSR_CBADDR), 0, "the same for a ring in ROM");
	lwp_prepare(l, &every, lwp_start);
	l->u.r.rax = HOLE_VA;
	lwp_resume(l);
	report_eq(rdmsr(LWP_MSR_CBADDR), 0, "a block that is not RAM: LWP stays off");
}
