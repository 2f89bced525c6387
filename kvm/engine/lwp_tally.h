/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of LWP from the counts of performance counters, which count more and less than LWP does.
 */
#ifndef LWP_TALLY_H
#define LWP_TALLY_H

#include "lwp_types.h"

/*
 * The events that have passed: what the counter has counted, without those that are no events of
 * LWP (`besides`), with those that it did not see (`emulated`). Counters can be wrong and are read
 * one after the other, so `besides` may be more than `counted`: then the counter has counted no
 * event.
 */
static inline u64 lwp_tally(u64 counted, u64 besides, u64 emulated)
{
	return (counted > besides ? counted - besides : 0) + emulated;
}

/*
 * The same for near branches: retired branches without far transfers. A counter that was lost
 * stopped at some time. If it is the one of far transfers (`far_lost`), nobody knows how many of
 * the branches were near, and none of them counts. If it is the one of branches, the result is at
 * most the true one. So a lost counter loses events and never makes one up.
 */
static inline u64 lwp_tally_branches(u64 branches, u64 far, bool far_lost, u64 emulated)
{
	return lwp_tally(far_lost ? 0 : branches, far, emulated);
}

#endif
