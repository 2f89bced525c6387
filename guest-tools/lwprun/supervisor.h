/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lwprun knows while the program runs: of processes, rings and the profile. */
#ifndef LWPRUN_SUPERVISOR_H
#define LWPRUN_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lwprun_options.h"
#include "chooser.h"
#include "processor.h"
#include "lwpdata.h"
#include "mappings.h"
#include "pool.h"
#include "rounds.h"
#include "stamps.h"
#include "thin.h"

/* A process that is profiled. */
struct process {
	struct process *next;
	uint32_t id;
	pid_t pid;
	int pidfd; /* -1: none, ask kill(2) */
	int guard_fd; /* its userfaultfd; -1: none */
	struct Dwfl *unwinder; /* its files, for stacks; NULL: none yet */
	uint64_t unwinder_made; /* ns */
	struct mappings mappings;
	uint64_t swept_at, sweep_at, sweep_interval; /* ns */
	bool replaced; /* exec'ed something that has not asked for a slot, or not yet */
};

/* A place in a ring before which branches are missing. */
struct ring_gap {
	bool is;
	uint32_t at; /* bytes */
	uint64_t missed;
};

/* What lwprun knows of a slot's present user. */
struct ring {
	bool known; /* introduced by a THREAD section */
	bool damaged; /* the head offset made no sense: no more records from here */
	struct process *process;
	uint64_t incarnation;
	uint32_t thread; /* its id in the profile */
	uint32_t tail; /* bytes */
	uint32_t seen_head; /* when last looked at */
	uint64_t records;
	uint64_t left_out; /* branches between sampled windows */
	uint64_t missed; /* MissedEvents when the last window was taken */
	struct chooser chooser; /* of sampled windows */
	struct ring_gap gap; /* in what is taken next */
	uint32_t guard; /* the part of the ring that may not be written to */
	bool waits; /* at the guard, for its stack to be taken */
	uint32_t no_stack; /* records since the last one */
	int signal; /* that it gets when it goes on */
	bool broken; /* something is missing between the last window and the next */
	char comm[16];
};

struct supervisor {
	struct pool *pool;
	ino_t pool_inode;
	struct lwpdata_writer *writer;
	struct thin thin; /* events whose interval the user has not chosen */
	uint32_t tail_offset; /* of BufferTailOffset in a block */
	uint64_t started_realtime; /* ns */

	struct ring *rings; /* one a slot */
	struct process *processes; /* those that live */
	struct objects objects;
	uint32_t nr_processes, nr_threads; /* ids given so far */
	uint64_t nr_others; /* threads that use LWP themselves */
	uint32_t dl_calls; /* as last seen in the pool */
	struct rounds rounds;
	bool stamped; /* records have time stamps */
	struct stamps started;
	struct lwpdata_stats stats;

	bool stacks;
	uint64_t nr_stacks;
	pid_t child; /* the program, if it is our child */

	enum windows windows;
	uint32_t window, window_every; /* branches of a sampled one, and of its stretch */
	uint32_t window_event; /* EventId of branches */
	uint8_t *copy; /* room for the contents of a ring, for windows twice */
	uint64_t nr_windows, window_branches, window_weight;
};

/* The living process of a pid, or NULL. */
static inline struct process *process_find(const struct supervisor *s, pid_t pid)
{
	struct process *p;

	for (p = s->processes; p && p->pid != pid; p = p->next)
		;
	return p;
}

#endif
