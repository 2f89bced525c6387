/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lwprun while the program runs: processes come and go, rings are emptied, mappings are followed. What
 * programs ask for through the pool is answered here.
 */
#ifndef LWPRUN_SUPERVISE_H
#define LWPRUN_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lwprun_options.h"
#include "chooser.h"
#include "processor.h"
#include "lwpdata.h"
#include "mappings.h"
#include "pool.h"
#include "rounds.h"
#include "thin.h"

/* A place in a ring before which branches are missing. */
struct ring_gap {
	bool is;
	uint32_t at; /* bytes */
	uint64_t missed;
};

/* What lwprun knows of a slot's present user. */
struct ring {
	bool known; /* introduced by a THREAD section */
	bool damaged; /* the head offset made no sense: no more records from here */
	struct process *process;
	uint64_t incarnation;
	uint32_t thread; /* its id in the profile */
	uint32_t tail; /* bytes */
	uint32_t seen_head; /* when last looked at */
	uint64_t records;
	uint64_t left_out; /* branches between sampled windows */
	uint64_t missed; /* MissedEvents when the last window was taken */
	struct chooser chooser; /* of sampled windows */
	struct ring_gap gap; /* in what is taken next */
	uint32_t guard; /* the part of the ring that may not be written to */
	bool broken; /* something is missing between the last window and the next */
	char comm[16];
};

struct supervisor {
	struct pool *pool;
	ino_t pool_inode;
	struct lwpdata_writer *writer;
	struct thin thin; /* events whose interval the user has not chosen */
	uint32_t tail_offset; /* of BufferTailOffset in a block */
	uint64_t started_realtime; /* ns */

	struct ring *rings; /* one a slot */
	struct process *processes; /* those that live */
	struct objects objects;
	uint32_t nr_processes, nr_threads; /* ids given so far */
	uint64_t nr_others; /* threads that use LWP themselves */
	uint32_t dl_calls; /* as last seen in the pool */
	struct rounds rounds;
	struct lwpdata_stats stats;

	enum windows windows;
	uint32_t window, window_every; /* branches of a sampled one, and of its stretch */
	uint32_t window_event; /* EventId of branches */
	uint8_t *window_copy; /* room for the contents of a ring, twice */
	uint64_t nr_windows, window_branches, window_weight;
};

/* Now, CLOCK_MONOTONIC, in ns. */
uint64_t supervise_now(void);

/* Returns false without memory. */
bool supervise_init(struct supervisor *s, struct pool *pool, ino_t pool_inode,
		    const struct leaf *leaf, const struct options *options,
		    struct lwpdata_writer *writer, const char *library);

/*
 * One round: answer requests, empty rings that have filled far enough, note threads and processes
 * that ended, look at mappings whose turn it is.
 */
void supervise_round(struct supervisor *s);

/* Sleep until a program rings the bell whose value was `bell`, or it is time for another round. */
void supervise_sleep(struct supervisor *s, uint32_t bell);

/*
 * Does any process live that came of the program? Also one that was just forked or exec'ed and has not
 * asked for a slot yet: `environment` is the assignment that all of them have.
 */
bool supervise_busy(const struct supervisor *s, const char *environment);

/* Give out no more slots, take the last records, write the ends of all threads and processes that live. */
void supervise_finish(struct supervisor *s);

#endif
