/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of guests and of other people's files, made safe for a terminal and for every format of output. */
#ifndef LWPCTL_PRINTABLE_H
#define LWPCTL_PRINTABLE_H

#include <stddef.h>

/*
 * A copy of `size` bytes in which what is not printable stands as \xNN: control characters (C0, C1, DEL), marks
 * that turn the direction of text, line and paragraph separators, and bytes that are not UTF-8. The result is valid
 * UTF-8 of one line.
 */
char *printable(const void *bytes, size_t size);

/* The same of a string. */
char *printable_string(const char *string);

#endif
