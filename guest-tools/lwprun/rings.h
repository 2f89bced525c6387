/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rings of threads: taking records out, and writing the end of a thread. */
#ifndef LWPRUN_RINGS_H
#define LWPRUN_RINGS_H

#include "supervisor.h"

/*
 * Make sure that the thread in slot i is in the profile. False if its process is not known (yet):
 * nothing must be taken from it.
 */
bool ring_introduce(struct supervisor *s, uint32_t i);

/* A thread of this process is about to start on slot i: guard the end of its ring, if it has a guard. */
void ring_guard(struct supervisor *s, uint32_t i, struct process *process);

/* The rings of a process do without a guard from now on. */
void ring_drop_guard(struct process *process);

/* How much of slot i's ring LWP has filled since the last call, in percent. */
unsigned int ring_progress(struct supervisor *s, uint32_t i);

/* Move records from the ring to the profile, if there are many, or all of them if `force`. False: none were. */
bool ring_drain(struct supervisor *s, uint32_t i, bool force);

/*
 * Last records, last counters. If the thread is gone its block is wiped, so that a context that the
 * hypervisor may still keep for one that was killed does not match it any more.
 */
void ring_finish(struct supervisor *s, uint32_t i, bool gone);

#endif
