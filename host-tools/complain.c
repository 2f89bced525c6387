// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Errors of lwpctl: one line.
 */
#include <stdarg.h>
#include <stdio.h>

#include "lwpctl.h"

int complain(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	va_start(args, format);
	fputs("lwpctl: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	return LWPCTL_FAILED;
}
