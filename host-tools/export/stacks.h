/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stacks of samples as a tree: each stack is a frame and the stack that it is called from. */
#ifndef LWPCTL_STACKS_H
#define LWPCTL_STACKS_H

#include "export.h"

struct stack {
	const char *name;
	const char *object; /* a path or a word in brackets; "" for a process */
	const char *file; /* NULL: not known */
	int line;
	size_t parent; /* index, always smaller than its own; 0: none */
	uint64_t samples; /* of the event of the export, in this very stack */
};

struct stacks {
	const struct export *e;
	struct stack *list; /* the first is none */
	size_t nr, room;
	size_t *table, size; /* open addressing */
	size_t *of; /* by the index of a sample's place in the view */
};

/* The stacks of all samples of the export's event. */
void stacks_make(struct stacks *stacks, const struct export *e);

/* The stack of a sample, by its index; 0 if it has none. */
size_t stacks_of(const struct stacks *stacks, const struct located *located);

void stacks_free(struct stacks *stacks);

/* A string of JSON that may also stand in a script of HTML. */
void put_json_string(FILE *to, const char *text);

#endif
