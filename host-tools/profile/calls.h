/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who called whom, and how many instructions each function executed, from windows of branches: between two taken
 * branches the program ran straight on, CALL goes down a stack, RET up again.
 */
#ifndef LWPCTL_CALLS_H
#define LWPCTL_CALLS_H

#include "blocks.h"
#include "filter.h"
#include "intervals.h"
#include "loops.h"

/* The name of what calls the first function of a window: no branch tells its callers. */
#define BELOW_WINDOW "[below the window]"
#define DEEPER "[deeper]"
#define CHAIN_MAX 200 /* functions in a chain; those below are one, called DEEPER */

/* A function and the chain of its callers. The number of the caller's is always smaller. */
struct chain {
	size_t caller; /* 0: none */
	size_t function; /* NO_FUNCTION: BELOW_WINDOW or DEEPER */
	const char *name; /* of the function */
	unsigned int depth;
	double instructions; /* its own */
	double calls;
};
#define NO_FUNCTION SIZE_MAX

/* All calls of one function by another one from one place. */
struct call {
	size_t caller, callee; /* functions */
	uint64_t address; /* of the branch, in the file */
	uint64_t from; /* the same in a process */
	size_t map; /* and its mapping */
	double number;
	double instructions; /* executed until they returned, or until the windows ended */
};

/*
 * How often one function entered another, from wherever in it. Windows show each entry that is in them, and not how long
 * it lasted: of all entries of the callee this tells the part of one caller's, and how exactly.
 */
struct edge {
	size_t caller, callee;
	double number, now; /* altogether; in the present window */
	double own, both; /* sums over windows of number^2, and of number * the callee's */
};

/* Of a function that is entered: the same sums. */
struct entered {
	double number, now, own;
};

struct calls {
	struct blocks blocks;
	struct chain *chains; /* the first is none */
	struct call *calls;
	struct loops loops;
	struct edge *edges;
	struct entered *entered; /* by function */
	size_t *present; /* edges of the present window */
	size_t nr_chains, nr_calls, chain_room, call_room;
	size_t nr_edges, edge_room, nr_present, present_room, nr_entered;
	uint64_t windows; /* that those are one with which they continue */
	double left_out; /* of all branches, the part that is in no window */
	struct keys chain_keys, call_keys, edge_keys;
	double instructions; /* altogether */
	double unknown; /* runs through code that is in no file, whose instructions are not counted */
	double broken; /* runs that something else than a branch broke off: signals */
};

/* A taken branch, as the way of its thread comes to it. */
struct call_step {
	uint32_t thread;
	uint64_t time;
	uint8_t core_id;
	size_t chain; /* in which it ran */
	double instructions; /* those of the run that it ends, by the window's weight */
};

/*
 * Follow the windows that a filter wants: of its object and symbol nothing is asked. Each run counts as often as the
 * branches of its window stand for. `take` (may be NULL) is told each taken branch.
 */
void calls_make(struct calls *calls, struct resolver *resolver, const struct filter *filter,
		void (*take)(void *to, const struct call_step *step), void *to);

/* Do the windows that a filter wants tell of every branch? `*why` says in a few words why not. */
bool calls_complete(const struct profile *profile, const struct filter *filter, const char **why);

/* Instructions of each function with all that it called, by function; recursion counts once. The caller frees it. */
double *calls_inclusive(const struct calls *calls);

/* The part of the callee's entries that are the edge's: Wilson's interval, of windows as clusters. */
struct interval edge_interval(const struct calls *calls, const struct edge *edge);

void calls_free(struct calls *calls);

#endif
