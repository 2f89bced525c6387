// SPDX-License-Identifier: GPL-2.0-or-later
/* A library that the victim loads and unloads. */
#include "fake_lwp.h"

__attribute__((visibility("default"))) void work(void);

void work(void)
{
	if (fake_lwp_records)
		fake_lwp_records(PLUGIN_RECORDS);
	/* No tail call: the records name this function. */
	__asm__ volatile("");
}
