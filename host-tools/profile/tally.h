/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often each address was seen: a million records become a few thousand counts. */
#ifndef LWPCTL_TALLY_H
#define LWPCTL_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "lwp_record.h"
#include "filter.h"
#include "profile.h"
#include "resolve.h"

/* What records of data cache misses and of branches tell; all 0 for other events. */
struct detail {
	uint64_t latency; /* cycles, of all together */
	uint64_t from[LWP_SOURCES]; /* by enum lwp_data_source */
	uint64_t taken; /* branches */
	uint64_t predicted, right; /* branches whose prediction is known, and was right */
};
void detail_add(struct detail *to, const struct detail *more);

struct count {
	uint64_t samples;
	double weight; /* what they stand for */
	struct detail detail;
	uint64_t address;
	uint64_t target; /* of a branch, if they are told apart; else 0 */
	size_t map; /* index of profile.maps, SIZE_MAX if there was no mapping */
	uint32_t
		data; /* of a data cache miss: a number of data_number(), 0 if they are not told apart */
	uint32_t thread;
	uint8_t event_id;
};

struct tally {
	struct count *list; /* in the order in which they first came */
	size_t nr, room;
	struct keys keys;
	uint64_t per_event[256]; /* samples by EventId */
	bool targets; /* branches are told apart by them */
};

/*
 * Count the records of a profile that a filter wants; branches also by target, if `targets`; data cache misses also by
 * what the data address lies in, if there is a resolver.
 */
void tally_profile(struct tally *tally, const struct profile *profile, const struct filter *filter,
		   bool targets, struct resolver *data);

/* The same, added to what is counted already. */
void tally_add(struct tally *tally, const struct profile *profile, const struct filter *filter,
	       bool targets, struct resolver *data);

/* A record with what it was resolved to; `time` is in ns, as exact as the draining of the rings. */
struct sample {
	const struct lwp_record *record;
	struct count key; /* where it counts in the tally */
	const struct profile_window *window; /* NULL: it is in none */
	double weight; /* of branches that it stands for; in no window: of records */
	uint64_t section; /* number of its section in the file */
	uint64_t time;
};

/*
 * All records that a filter wants, batch by batch in the file's order, those of windows too. The records of a batch are
 * spread evenly over the time since the thread's batch before.
 */
void tally_walk(const struct profile *profile, const struct filter *filter, bool targets,
		void (*take)(void *to, const struct sample *sample), void *to);

/* The same for windows alone, thread by thread. */
void tally_walk_windows(const struct profile *profile, const struct filter *filter, bool targets,
			void (*take)(void *to, const struct sample *sample), void *to);

/* A window as a batch: its records, and when they were taken. */
struct profile_batch window_batch(const struct profile_window *window);

/* Where a record counts: its index in the list; NO_KEY if it is not counted. */
size_t tally_find(const struct tally *tally, const struct count *key);

void tally_free(struct tally *tally);

#endif
