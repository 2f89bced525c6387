/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loops, and how often their bodies run: a branch back within a function goes around once more. */
#ifndef LWPCTL_LOOPS_H
#define LWPCTL_LOOPS_H

#include <stdbool.h>

#include "keys.h"

/* Branches back to one address, in one function. Trips are those of an entry from outside that was seen as a whole. */
struct loop {
	size_t function;
	uint64_t address; /* where it begins, in the file */
	uint64_t begin; /* the same in a process */
	size_t map; /* and its mapping */
	double entered, trips; /* trips of all entries together */
	uint64_t least, most; /* trips of one entry */
};

struct loops {
	struct loop *list;
	size_t nr, room;
	struct keys keys;
};

/* A loop that runs. */
struct running {
	uint64_t begin,
		end; /* addresses in the process: where it goes back to, the farthest branch back */
	size_t loop;
	uint64_t trips;
	bool partial; /* nobody saw it begin */
};

/* Those of a thread, the innermost last; those of a function begin at an index that its frame has. */
struct running_loops {
	struct running *list;
	size_t nr, room;
};

/* The loops from `first` on end. Each counts `weight` entries; 0: nobody saw them end. */
void loops_end(struct loops *loops, struct running_loops *running, size_t first, double weight);

/* A straight run: loops that it has left end. */
void loops_run(struct loops *loops, struct running_loops *running, size_t first, uint64_t begin,
	       uint64_t end, double weight);

/* A branch back: true if it belongs to the innermost loop that runs. Else loops_begin() is called. */
bool loops_again(struct running_loops *running, size_t first, uint64_t from, uint64_t to);

/*
 * A branch back to the beginning of a loop, which is at `address` in the file. The function is seen from `origin` on;
 * 0: from its beginning.
 */
void loops_begin(struct loops *loops, struct running_loops *running, size_t first,
		 const struct loop *loop, uint64_t from, uint64_t to, uint64_t origin,
		 double weight);

void loops_free(struct loops *loops);

#endif
