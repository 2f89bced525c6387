/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One QEMU process: start it, collect its lines, end it. */
#ifndef FLATRUN_CHILD_H
#define FLATRUN_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "tap.h"

/* Output that is kept of one process, each of standard output and standard error. */
#define CHILD_OUTPUT_MAX (4u << 20)

struct stream {
	int fd; /* -1: closed */
	char *text; /* NUL-terminated */
	size_t len;
};

struct child {
	pid_t pid;
	struct stream out, err;
	double deadline; /* now() value */
	struct ending end;
};

/* Seconds on a clock that only goes forward. */
double now(void);

/* Start argv[0] (looked up in PATH), killed after `timeout` seconds. false: errno says why not. */
bool child_start(struct child *c, char *const argv[], double timeout);
/* Read the output that has come; past the deadline, kill. true when the process has ended: c->end is set. */
bool child_poll(struct child *c);
/* Kill it and wait for it. Safe when it has ended. */
void child_kill(struct child *c);
void child_free(struct child *c);

#endif
