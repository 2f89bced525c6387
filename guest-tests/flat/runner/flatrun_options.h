/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the user asked flatrun for. */
#ifndef FLATRUN_OPTIONS_H
#define FLATRUN_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include "table.h"

#define EXIT_USAGE 2
#define EXIT_SKIPPED 77
#define MAX_JOBS 64
#define MAX_PATTERNS 256

struct options {
	const char *qemu, *image, *accel;
	char preload[PATH_MAX + sizeof("LD_PRELOAD=")]; /* puts libhold.so into the emulator */
	const char *firmware, *dump, *args; /* NULL when not given */
	const char *only[MAX_PATTERNS];
	unsigned int patterns;
	unsigned int jobs; /* 1..MAX_JOBS */
	unsigned int factor; /* of every time limit */
	const char *judge; /* a serial log, NULL: run */
	bool list, print, verbose, rows, manifest;
};

extern struct options opt;

/* Fill opt; a mistake ends the program with one line and EXIT_USAGE. */
void options_parse(int argc, char **argv);
/* Does --only ask for this run? Without any --only all are. */
bool options_select(const struct run *r);

#endif
