// SPDX-License-Identifier: GPL-2.0-or-later
#include "lwp_record.h"
#include "rounds.h"
#include "stamps.h"

struct stamps stamps_now(void)
{
	return (struct stamps){ .tsc = __builtin_ia32_rdtsc(), .time = rounds_now() };
}

void stamps_convert(const struct stamps *first, const struct stamps *now, uint8_t *records,
		    uint32_t size)
{
	double pace = now->tsc > first->tsc ?
			      (double)(now->time - first->time) / (double)(now->tsc - first->tsc) :
			      0;

	for (uint32_t at = 0; at < size; at += LWP_RECORD_SIZE) {
		uint8_t *stamp = records + at + LWP_RECORD_TIMESTAMP;
		uint64_t tsc = lwp_get64(stamp);

		if (tsc)
			lwp_put64(stamp,
				  tsc < now->tsc ?
					  now->time - (uint64_t)((double)(now->tsc - tsc) * pace) :
					  now->time);
	}
}
