/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The margin: a counter must interrupt this many events before the one that is due, because its
 * interrupt comes late. The margin follows the lateness of past interrupts. If it is too small,
 * records overshoot; if it is too big, each record costs that many steps.
 */
#ifndef LWP_MARGIN_H
#define LWP_MARGIN_H

#include "lwp_types.h"

/* Interrupts in a window, at the end of which the margin may shrink. */
#define LWP_MARGIN_WINDOW 64

struct lwp_margin {
	u32 now; /* events, least..most */
	u32 least, most;
	u32 worst; /* lateness in this window, below `now` */
	u32 seen; /* interrupts in this window */
	u32 proven; /* the margin at the end of the last window, or at the start */
	u32 stepped; /* records since then whose whole period was stepped */
};

/* 1 <= least <= start <= most. */
void lwp_margin_init(struct lwp_margin *m, u32 start, u32 least, u32 most);

/*
 * An interrupt came `late` events after the event for which the counter was armed. If that is the
 * margin or more, it was an overshoot, and the margin grows to 5/4 of `late`. It grows to no more
 * than its double, because a rare interrupt comes so late that no margin pays. After
 * LWP_MARGIN_WINDOW interrupts in time the margin becomes 5/4 of the worst of them, but shrinks by
 * no more than a quarter.
 */
void lwp_margin_seen(struct lwp_margin *m, u64 late);

/*
 * The whole period of a record was stepped, because it was not longer than the margin. So there was
 * no interrupt whose lateness could be seen. If overshoots made the margin so big, it shrinks by a
 * quarter for each LWP_MARGIN_WINDOW such records, down to its value before the overshoots.
 */
void lwp_margin_stepped(struct lwp_margin *m);

#endif
