// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * No test: how=hang never ends, how=reset resets the machine, how=differ has a point that may. They try what the suite
 * (suite.h) does about such rows.
 */
#include "report.h"
#include "test.h"
#include "x86.h"

FLAT_TEST(planted)
{
	static const u16 no_idt[5];

	report_note("answer Q00 planted: a row");
	if (option_is("how", "differ")) {
		print("not ok 1 - another reading [0 choice]\n1..1\n");
		report_leave(FLAT_EXIT_FAIL);
	}
	if (option_is("how", "reset"))
		asm volatile("lidt %0; ud2" : : "m"(no_idt));
	for (;;)
		asm volatile("cli; hlt");
}
