/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Take the host's counters, so that KVM gets none. Both bind this thread to CPU 0. */
#ifndef HOST_COUNTERS_H
#define HOST_COUNTERS_H

#include <linux/perf_event.h>

/* Open an event there, pinned. Returns its descriptor, or -1. */
int take_event(struct perf_event_attr *attr);

/* Take all of its counters. Returns their number. */
unsigned int take_counters(void);
void give_counters_back(void);

#endif
