/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The margin: how many events before the one that is due a counter is to interrupt, so that its
 * interrupt, which comes late, still comes in time. It follows what has been seen: too small and a
 * record overshoots, too big and each record costs that many steps.
 */
#ifndef LWP_MARGIN_H
#define LWP_MARGIN_H

#include "lwp_types.h"

/* Interrupts that are looked at before the margin shrinks. */
#define LWP_MARGIN_WINDOW 64

struct lwp_margin {
	u32 now; /* events, least..most */
	u32 least, most;
	u32 worst; /* lateness in this window, below `now` */
	u32 seen; /* interrupts in this window */
	u32 proven; /* what the last window, or the start, came to */
	u32 stepped; /* records since then that were stepped from period to period */
};

/* 1 <= least <= start <= most. */
void lwp_margin_init(struct lwp_margin *m, u32 start, u32 least, u32 most);

/*
 * An interrupt came `late` events after the one for which it was asked. With the margin or more it
 * was an overshoot: the margin grows to 5/4 of that, at most to its double, because one interrupt
 * in very many comes later than any margin is worth. After LWP_MARGIN_WINDOW that were in time it
 * becomes 5/4 of the worst of them, shrinking by no more than a quarter.
 */
void lwp_margin_seen(struct lwp_margin *m, u64 late);

/*
 * A record has been stepped from the start because its period was not longer than the margin, so
 * nothing can be seen. If overshoots have brought the margin there, it goes back towards what was
 * enough before them, by a quarter for LWP_MARGIN_WINDOW such records, and not further.
 */
void lwp_margin_stepped(struct lwp_margin *m);

#endif
