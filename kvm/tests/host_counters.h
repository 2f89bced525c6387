/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Take the host's counters, so that KVM gets none. */
#ifndef HOST_COUNTERS_H
#define HOST_COUNTERS_H

/* Bind this thread to CPU 0 and take all of its counters, pinned. Returns their number. */
unsigned int take_counters(void);
void give_counters_back(void);

#endif
