/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often each address was seen: a million records become a few thousand counts. */
#ifndef LWPCTL_TALLY_H
#define LWPCTL_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "lwp_record.h"
#include "profile.h"

/* What records of data cache misses tell; all 0 for other events. */
struct misses {
	uint64_t latency; /* cycles, of all together */
	uint64_t from[LWP_SOURCES]; /* by enum lwp_data_source */
};
void misses_add(struct misses *to, const struct misses *more);

struct count {
	uint64_t samples; /* 0: an empty place of the table */
	struct misses misses;
	uint64_t address;
	size_t map; /* index of profile.maps, SIZE_MAX if there was no mapping */
	uint32_t thread;
	uint8_t event_id;
};

struct tally {
	struct count *table; /* open addressing, a power of two */
	size_t nr, size;
	uint64_t per_event[256]; /* samples by EventId */
};

/* Count all records of a profile. */
void tally_profile(struct tally *tally, const struct profile *profile);

void tally_free(struct tally *tally);

#endif
