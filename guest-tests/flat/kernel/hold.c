// SPDX-License-Identifier: GPL-2.0-or-later
/* Having the host hold stores and fetches. */
#include "hold.h"
#include "report.h"
#include "x86.h"

#define PRESENT_SPINS 2000000000ull

struct hold volatile *const hold = (void *)HOLD_ADDRESS;

void hold_init(void)
{
	*hold = (struct hold){ 0 };
	hold->ready = HOLD_READY;
	for (u64 spins = 0; !hold->present; spins++) {
		if (spins == PRESENT_SPINS)
			bail("the host does not hold accesses: the run needs .hold");
		pause();
	}
}

void hold_watch(const void *page, enum hold_what what, u32 limit_ms)
{
	hold->page = (u64)page;
	hold->limit_ms = limit_ms;
	hold->held = hold->release = hold->expired = 0;
	hold->what = what;
	while (hold->what != HOLD_NOTHING)
		pause();
}
