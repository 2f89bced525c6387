/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lwprun's command line. */
#ifndef LWPRUN_OPTIONS_H
#define LWPRUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lwpdata.h"

/* Exit statuses of lwprun itself; otherwise it exits as the program did. */
enum { LWPRUN_FAILED = 1, LWPRUN_USAGE = 2, LWPRUN_SKIPPED = 77 };

/* Windows of consecutive branches instead of single records of them. */
enum windows {
	WINDOWS_NONE,
	WINDOWS_SAMPLED, /* one of each so many branches */
	WINDOWS_ALL, /* every branch */
};

struct options {
	uint32_t nr_events;
	struct lwpdata_event events[LWPDATA_MAX_EVENTS]; /* ids are LWP_KIND_* */
	uint32_t thinned; /* bit i: events[i] has no interval of the user's */
	uint32_t ring_size; /* bytes, a multiple of 32 */
	uint32_t random; /* 0..15 */
	enum windows windows;
	uint32_t window; /* branches of a sampled one */
	uint32_t window_every; /* branches of the stretch that it is drawn from */
	bool stacks; /* where threads are is recorded, too */
	uint64_t live; /* ns until records are in the file, at the latest; 0: when rings fill */
	uint64_t seed;
	uint32_t max_threads;
	const char *output;
	bool follow;
	bool wait; /* for all processes, not just the first */
	bool quiet;
	pid_t pid; /* a process that runs already, 0: PROGRAM */
	int argc;
	char **argv; /* PROGRAM ARGS..., NULL-terminated */
};

/* Parse; usage errors are reported in one line and end the program with status 2. */
void options_parse(struct options *options, int argc, char **argv);

#endif
