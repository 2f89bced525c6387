/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of samples as a tree: each stack is a frame and the stack that it is called from. Windows of branches tell
 * callers, and what counts is instructions; recorded stacks tell them, and what counts is events; single records tell
 * none, and what counts is samples.
 */
#ifndef LWPCTL_STACKS_H
#define LWPCTL_STACKS_H

#include "view.h"

struct stack {
	const char *name;
	const char *object; /* a path or a word in brackets; "" for a process */
	const char *file; /* NULL: not known */
	int line;
	size_t parent; /* index, always smaller than its own; 0: none */
	uint64_t
		samples; /* in this very stack, of the event; with windows: instructions; of recorded ones: events */
};

/* A taken branch of a window: what ran up to it. Or a recorded stack. */
struct stack_step {
	uint64_t time;
	uint32_t thread;
	size_t stack;
	uint64_t count; /* instructions, or events */
};

struct stacks {
	struct view *view;
	const struct view_options *options;
	struct stack *list; /* the first is none */
	size_t nr, room;
	struct keys keys;
	size_t *of; /* by the index of a sample's place in the view */
	struct stack_step
		*steps; /* of windows and recorded stacks, in the file's order; else NULL */
	size_t nr_steps, step_room;
	uint64_t period; /* events that one of `samples` stands for */
	const char *unit; /* of these events */
};

/* Is an event that of windows, or of recorded stacks? */
bool stacks_tell_callers(const struct profile *profile, uint32_t event_id);

/* The stacks of all samples of an event that the options want. */
void stacks_make(struct stacks *stacks, struct view *view, const struct view_options *options,
		 uint32_t event_id);

/* The stack of a single sample, by its index; 0 if it has none. */
size_t stacks_of(const struct stacks *stacks, const struct located *located);

void stacks_free(struct stacks *stacks);

/* A string of JSON that may also stand in a script of HTML. */
void put_json_string(FILE *to, const char *text);

#endif
