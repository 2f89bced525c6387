/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host's counters in the hands of others.
 */
#ifndef HOST_COUNTERS_H
#define HOST_COUNTERS_H

/* Bind this thread to CPU 0 and take all of its counters, pinned. How many these were. */
unsigned int take_counters(void);
void give_counters_back(void);

#endif
