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
	bool lines, inlines, mangled;
	bool targets; /* tell branches apart by their targets */
	bool data; /* and data cache misses by what they missed */
};

/* Options of one of these commands begin with these. */
#define VIEW_OPTIONS ((struct view_options){ .sysroot = "", .lines = true })

/* Options for argp; the input is a struct view_options. */
extern const struct argp view_argp;

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

/* The EventId of a kind, as records have it here; 0 if the profile has none of it. */
uint32_t view_event(const struct view *view, uint32_t kind);

/* Missed events of all threads; they are not told apart by event. */
uint64_t profile_missed(const struct profile *profile);

#endif
