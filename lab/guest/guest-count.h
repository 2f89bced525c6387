/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counting what a command executes in user mode, each thread apart, by the performance counters of the guest's kernel. */
#ifndef LAB_GUEST_COUNT_H
#define LAB_GUEST_COUNT_H

#include <sys/types.h>

/* count_prepare - what takes its time, before the machine stops itself */
void count_prepare(void);

/* count_choose - the events that are counted from now on, with commas; unknown ones are trouble */
void count_choose(const char *events);

/* count_start - count @child, which waits, from its next exec on, and all that it starts, if there are events */
void count_start(pid_t child);

/* count_fd - readable when count_take() should be called; -1: nothing is counted */
int count_fd(void);

/* count_take - take the records of threads that have ended */
void count_take(void);

/*
 * count_end - when all have ended: write the file of the share with the counts
 * @left: the number of processes that still ran when the command had ended
 */
void count_end(unsigned int left);

#endif
