// SPDX-License-Identifier: GPL-2.0-or-later
/* Errors of the host's tools: one line. */
#include <stdarg.h>
#include <stdio.h>

#include "lwpctl.h"
#include "memory.h"
#include "printable.h"

const char *complain_as = "lwpctl";

int complain(const char *format, ...)
{
	va_list args;
	char *line, *shown;

	if (!complain_as)
		return LWPCTL_FAILED;
	fflush(stdout);
	va_start(args, format);
	if (vasprintf(&line, format, args) < 0)
		line = must(NULL);
	va_end(args);
	/* Names and what was found in files are part of it. */
	shown = printable_string(line);
	fprintf(stderr, "%s: %s\n", complain_as, shown);
	free(shown);
	free(line);
	return LWPCTL_FAILED;
}
