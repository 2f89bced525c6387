// SPDX-License-Identifier: GPL-2.0-or-later
/* Time stamps of records (43724-514) as times of CLOCK_MONOTONIC. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "lwp_record.h"
#include "stamps.h"

/* The TSC runs at 2 GHz. */
static const struct stamps first = { 1000, 5000000 }, now = { 2001000, 6000000 };

static uint64_t converted(uint64_t stamp)
{
	uint8_t bytes[2 * LWP_RECORD_SIZE];

	lwp_record_encode(&(struct lwp_record){ .event_id = 2, .timestamp = 0 }, bytes);
	lwp_record_encode(&(struct lwp_record){ .event_id = 2, .timestamp = stamp },
			  bytes + LWP_RECORD_SIZE);
	stamps_convert(&first, &now, bytes, sizeof(bytes));
	cr_expect(eq(u64, lwp_get64(bytes + LWP_RECORD_TIMESTAMP), 0), "one without stays so");
	return lwp_get64(bytes + LWP_RECORD_SIZE + LWP_RECORD_TIMESTAMP);
}

Test(stamps, are_times_between_two_moments)
{
	cr_expect(eq(u64, converted(2001000), 6000000));
	cr_expect(eq(u64, converted(1001000), 5500000));
	cr_expect(eq(u64, converted(1000), 5000000));
	cr_expect(eq(u64, converted(200), 4999600), "of a thread that began before");
}

Test(stamps, of_another_processor_that_is_ahead_are_now)
{
	cr_expect(eq(u64, converted(2002000), 6000000));
}
