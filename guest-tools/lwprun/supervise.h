/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lwprun while the program runs: processes come and go, rings are emptied, mappings are followed. What
 * programs ask for through the pool is answered here.
 */
#ifndef LWPRUN_SUPERVISE_H
#define LWPRUN_SUPERVISE_H

#include "supervisor.h"

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
