/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Branches and straight runs of one object, with how often they were executed, by the file's own addresses. */
#ifndef LWPCTL_EDGES_H
#define LWPCTL_EDGES_H

#include "export.h"

struct edge {
	uint64_t from, to;
	double number; /* executions */
};

struct edges {
	struct edge *taken; /* branches that were taken, within the object */
	/* [target of a branch, the next taken branch]; only windows have them. */
	struct edge *runs;
	size_t nr_taken, nr_runs, taken_room, runs_room;
};

/*
 * From the windows of a profile, if it has any, each weighted by the branches that it stands for; else from single
 * records of branches, by the period. Both are sorted, and each is there once. False after one line if there are no
 * branches in the object.
 */
bool edges_make(struct edges *edges, struct export *e, uint32_t object);

void edges_free(struct edges *edges);

#endif
