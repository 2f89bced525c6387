// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Errors of the host's tools: one line.
 */
#include <stdarg.h>
#include <stdio.h>

#include "lwpctl.h"

const char *complain_as = "lwpctl";

int complain(const char *format, ...)
{
	va_list args;

	if (!complain_as)
		return LWPCTL_FAILED;
	fflush(stdout);
	va_start(args, format);
	fprintf(stderr, "%s: ", complain_as);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	return LWPCTL_FAILED;
}
