/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile with its samples counted and resolved, as its options ask: what commands that read profiles share. */
#ifndef LWPCTL_VIEW_H
#define LWPCTL_VIEW_H

#include <argp.h>

#include "filter.h"
#include "resolve.h"
#include "rows.h"
#include "tally.h"

struct view_options {
	const char *sysroot;
	const char *file; /* the argument; NULL: there is none */
	struct filter filter;
	uint32_t kind; /* only this event, as profile_kind() says; 0 = all */
	bool no_lines, inlines, mangled;
	bool targets; /* tell branches apart by their targets */
	bool data; /* and data cache misses by what they missed */
};

/* Options of one of these commands begin with these. */
#define VIEW_OPTIONS ((struct view_options){ .sysroot = "" })

/* The options for argp, as children of a command's; the input of the child is a struct view_options. */
extern const struct argp_child view_children[];

struct view {
	struct profile profile;
	struct resolver resolver;
	struct tally tally;
	struct samples samples;
};

/*
 * Read a file and resolve what the options want. False after one line; also if the profile has not the event. Close
 * it in any case.
 */
bool view_open(struct view *view, const char *path, const struct view_options *options);
void view_close(struct view *view);

/*
 * The course of a command that reads one profile: its options, the view of FILE, `work` with it. `arguments` is the input
 * of its parser, and `options` what is in it for the view. Result: the exit status.
 */
int view_command(int argc, char **argv, const struct argp *argp, void *arguments,
		 struct view_options *options, bool (*work)(void *arguments, struct view *view));

/* An argument that must be a number from 0 on; `what` it is. Ends the program otherwise. */
uint64_t view_number(struct argp_state *state, const char *what, const char *text);

/* The EventId of a kind, as records have it here; 0 if the profile has none of it. Kind 0: the first event of all. */
uint32_t view_event(const struct view *view, uint32_t kind);

/* The EventIds of all events that are recorded, or of that kind alone, each once. Returns their number. */
size_t view_events(const struct view *view, uint32_t kind, uint32_t events[LWPDATA_MAX_EVENTS]);

/* Which of these it is; `nr` if it is none. */
size_t view_column(const uint32_t events[], size_t nr, uint32_t event_id);

/* Missed events of all threads; they are not told apart by event. */
uint64_t profile_missed(const struct profile *profile);

#endif
