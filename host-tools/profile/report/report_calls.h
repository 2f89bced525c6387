/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What windows of branches tell: instructions of each function, callers and callees, loops. And what stacks tell. */
#ifndef LWPCTL_REPORT_CALLS_H
#define LWPCTL_REPORT_CALLS_H

#include <stdbool.h>

#include "view.h"

struct calls_report {
	bool exact; /* instructions of each function: the trace must be complete */
	bool calls; /* callers and callees of each function */
	bool loops;
	bool json;
	bool wide; /* names in full, however long */
	uint64_t limit; /* rows, 0: all */
};

/* Is any of it asked for? */
bool calls_report_any(const struct calls_report *what);

/* How many rows of a table are printed. */
size_t calls_rows(const struct calls_report *what, size_t nr);

/* A function, at the end of a line of which so many columns are used. */
void calls_put_name(const struct calls_report *what, const char *symbol, const char *object,
		    int used);

/* Prints it. False after one line: the windows do not tell. */
bool calls_report(const struct calls_report *what, struct view *view, const struct filter *filter);

/* Prints callers and callees of recorded stacks. */
void stacks_report(const struct calls_report *what, struct view *view,
		   const struct view_options *options, uint32_t event_id);

#endif
