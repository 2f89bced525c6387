// SPDX-License-Identifier: GPL-2.0-or-later
/* What many measurements of one thing have in common. */
#include <stdlib.h>

#include "probe.h"

static int ascending(const void *a, const void *b)
{
	s32 x = *(const s32 *)a, y = *(const s32 *)b;

	return (x > y) - (x < y);
}

static s32 floor_of(s32 n, s32 by)
{
	return n / by - (n % by < 0);
}

struct spread spread_of(s32 *values, u32 n, s32 times)
{
	u32 run = 0, longest = 0, rare = n / 100;
	s32 usual = 0;

	qsort(values, n, sizeof(*values), ascending);
	for (u32 i = 0; i < n; i++) {
		run = i && values[i] == values[i - 1] ? run + 1 : 1;
		if (run > longest) {
			longest = run;
			usual = values[i];
		}
	}
	return (struct spread){ floor_of(values[0], times),
				floor_of(usual + times / 2, times),
				-floor_of(-values[n - 1], times),
				floor_of(values[rare], times),
				-floor_of(-values[n - 1 - rare], times),
				n };
}

void quantiles(s32 *values, u32 n, s32 quantile[PMC_LATES])
{
	static const u32 share[PMC_LATES] = { 0, 5000, 9900, 9990, 9999, 10000 };

	qsort(values, n, sizeof(*values), ascending);
	for (u32 i = 0; i < PMC_LATES; i++) {
		u64 at = (u64)n * share[i] / 10000;

		quantile[i] = values[at < n ? at : n - 1];
	}
}
