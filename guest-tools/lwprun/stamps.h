/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time stamps of records, which LWP takes from the TSC, as times of CLOCK_MONOTONIC. */
#ifndef LWPRUN_STAMPS_H
#define LWPRUN_STAMPS_H

#include <stdint.h>

/* What both clocks said at one moment. */
struct stamps {
	uint64_t tsc, time;
};

struct stamps stamps_now(void);

/* In records that are stamped: between two moments, or a little before, the clocks keep pace. */
void stamps_convert(const struct stamps *first, const struct stamps *now, uint8_t *records,
		    uint32_t size);

#endif
