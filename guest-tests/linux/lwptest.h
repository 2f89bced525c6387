/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For tests that run in a Linux guest: a control block with its ring, the check of the completeness rule,
 * and a TAP reporter.
 */
#ifndef LWPTEST_H
#define LWPTEST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "lwp_cb.h"
#include "lwp_record.h"

/* ---- TAP ---- */

/* One test point. Returns cond. */
bool tap(bool cond, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What a human needs beside it. */
#define tap_note(format, ...) printf("# " format "\n", ##__VA_ARGS__)
/* The plan; exit status for main(). */
int tap_done(void);
/* The test or its environment is broken (not LWP): says so and exits with 1. */
#define tap_error(format, ...) (printf("Bail out! " format "\n", ##__VA_ARGS__), exit(1))

/* Linux lowers the rate of perf's samples where an NMI takes long, as in an emulator: from now on it does not. */
void lwptest_any_rate(void);

/* This thread runs on one CPU from now on. */
void lwptest_stay_on(unsigned int cpu);

/* ---- LWP ---- */

enum { VAL = 1, IRE, BRE, DME }; /* EventIds */

struct lwptest {
	uint8_t *block; /* control block, 43724 layout */
	uint8_t *ring;
	uint32_t size; /* bytes */
	unsigned int event; /* EventId that is on */
	int32_t interval, counter; /* as programmed */
};

/* Ends the test (as an error) if the machine has no LWP with this EventId. */
void lwptest_need(unsigned int event);

/*
 * A block and a ring of `records` records in fresh memory that nobody has touched yet, with one event on.
 * 0 <= counter <= interval.
 */
void lwptest_setup(struct lwptest *t, unsigned int event, int32_t interval, int32_t counter,
		   uint32_t records);
void lwptest_free(struct lwptest *t);

uint64_t lwptest_records(const struct lwptest *t); /* in the ring, tail at 0 and never wrapped */
uint64_t lwptest_missed(const struct lwptest *t);
void lwptest_record(const struct lwptest *t, uint64_t index, struct lwp_record *rec);

/*
 * The completeness rule: after n events, records + MissedEvents = floor((n + start) / (interval + 1)) with
 * start = interval - initial counter, and the flushed counter says exactly how many are left.
 */
bool lwptest_complete(const struct lwptest *t, uint64_t n, const char *what);

/* There are n records of LWPVAL and none is missed; their data2 counts from 0 on, and data1 is the same. */
bool lwptest_numbered(const struct lwptest *t, unsigned int n, uint32_t data1, const char *what);

/* Every record has the event's id and lies in [begin, end). */
bool lwptest_inside(const struct lwptest *t, const void *begin, const void *end, const char *what);

#endif
