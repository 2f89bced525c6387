// SPDX-License-Identifier: GPL-2.0-or-later
/* 2007-110: a processor with one slot. Any event may be selected in it, and what would be the second slot is no part of LWP. */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

extern char slot_code[], slot_1[], slot_2[], slot_3[];

USER_CODE("slot_code: llwpcb %rax\n"
	  "slot_1: nop\n"
	  "slot_2: jmp slot_3\n"
	  "slot_3: nop\n"
	  "user_exit\n");

LWP_TEST(rev07_slots)
{
	static const struct block bre = { .event = { { EV07_BRE, 1, 1 }, { EV07_IRE, 1, 1 } } };

	rule("2007-110", CHOICE);
	report_eq(cpuid(LWP_CPUID_LEAF, 0).b >> 16 & 0xff, 1, "CPUID announces one slot");
	lwp_go(l, every_insn(), slot_code);
	EXPECT_IRE(l, "instructions in it", slot_1, slot_2, slot_3);
	lwp_go(l, &bre, slot_code);
	EXPECT_RECORDS(l, "branches in it, and nothing after it", REC07_BRE(slot_2, slot_3, true));
	report_eq(cb_flags(l), 0x5, "Flags: Enabled BRE");
	report_eq(cb_counter(l, 2), 1, "the second slot's bytes are not written");
}
