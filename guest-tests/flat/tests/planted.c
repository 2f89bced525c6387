// SPDX-License-Identifier: GPL-2.0-or-later
/* No test: how=hang never ends, how=reset resets the machine. They try what the suite (suite.h) does about such rows. */
#include "report.h"
#include "test.h"
#include "x86.h"

FLAT_TEST(planted)
{
	static const u16 no_idt[5];

	report_note("answer Q00 planted: a row");
	if (option_is("how", "reset"))
		asm volatile("lidt %0; ud2" : : "m"(no_idt));
	for (;;)
		asm volatile("cli; hlt");
}
