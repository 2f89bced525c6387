/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's tracefs. Needs root. */
#ifndef TRACING_H
#define TRACING_H

#include <stdio.h>

/* Add a line to a file, by its path below tracefs. Ends the program if it cannot. */
void trace_write(const char *file, const char *line);
/* Read a file. NULL: it is not there. */
FILE *trace_open(const char *file);
/* Forget what has been traced. */
void trace_clear(void);
/* Count, under a name, how often the kernel enters a function, to the program's end. Ends it if it cannot. */
void probe(const char *name, const char *function);
/* How often it has, since probe(). */
unsigned int probe_hits(const char *name);

#endif
