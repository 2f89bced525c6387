// SPDX-License-Identifier: GPL-2.0-or-later
/* Kinds of branches, from bytes that were assembled by hand (SDM volume 2). */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "branch.h"

static void expect(const char *bytes, size_t size, enum branch_kind kind, uint64_t target)
{
	uint64_t found;

	cr_expect(
		eq(int, (int)branch_kind((const uint8_t *)bytes, size, 0x1000, &found), (int)kind));
	cr_expect(eq(u64, found, target));
}

Test(branch, conditional_jumps_have_their_target)
{
	expect("\x75\xfe", 2, BRANCH_CONDITIONAL, 0x1000);
	expect("\x0f\x84\x00\x01\x00\x00", 6, BRANCH_CONDITIONAL, 0x1106);
	expect("\xe2\x10", 2, BRANCH_CONDITIONAL, 0x1012);
	expect("\x2e\x72\x02", 3, BRANCH_CONDITIONAL, 0x1005);
}

Test(branch, calls_and_returns_are_told_from_jumps)
{
	expect("\xe8\xfb\xff\xff\xff", 5, BRANCH_CALL, 0x1000);
	expect("\xff\xd0", 2, BRANCH_CALL, 0);
	expect("\x41\xff\xd3", 3, BRANCH_CALL, 0);
	expect("\xff\x18", 2, BRANCH_CALL, 0); /* far */
	expect("\xff\xe0", 2, BRANCH_JUMP, 0);
	expect("\xff\x28", 2, BRANCH_JUMP, 0); /* far */
	expect("\xf2\xff\x25\x00\x00\x00\x00", 7, BRANCH_JUMP, 0);
	expect("\xe9\x00\x00\x00\x00", 5, BRANCH_JUMP, 0x1005);
	expect("\xeb\x80", 2, BRANCH_JUMP, 0xf82);
	expect("\xc3", 1, BRANCH_RETURN, 0);
	expect("\xf3\xc3", 2, BRANCH_RETURN, 0);
	expect("\xc2\x08\x00", 3, BRANCH_RETURN, 0);
}

Test(branch, what_is_no_branch_or_cut_off_is_unknown)
{
	expect("\x90", 1, BRANCH_UNKNOWN, 0);
	expect("\xff\xc0", 2, BRANCH_UNKNOWN, 0); /* inc */
	expect("\x0f\x1f\x00", 3, BRANCH_UNKNOWN, 0);
	expect("\xe8\x00\x00", 3, BRANCH_UNKNOWN, 0);
	expect("\x75", 1, BRANCH_UNKNOWN, 0);
	expect("\xff", 1, BRANCH_UNKNOWN, 0);
	expect("\x66\x66\x66", 3, BRANCH_UNKNOWN, 0);
	expect("", 0, BRANCH_UNKNOWN, 0);
}
