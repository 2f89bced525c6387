/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names in the columns that a terminal has. */
#ifndef LWPCTL_FIT_H
#define LWPCTL_FIT_H

#include <stdbool.h>
#include <stddef.h>

#define NAME_LEAST 24 /* columns that a name has, however narrow the terminal is */
#define NAME_MOST \
	44 /* and that it has where no terminal is known, unless it may be as wide as it is */

/* Of the terminal that standard output is, else COLUMNS in the environment; 0: not known. */
size_t terminal_columns(void);

/* How many columns a text takes. */
size_t columns_of(const char *text);

/*
 * A name in so many columns: template arguments and then parameters are "..." if it is longer, and then its middle.
 * Free it.
 */
char *fitted(const char *name, size_t columns);

/* "SYMBOL  (OBJECT)" behind `used` columns of a line, as long as it is if `wide`. Free it. */
char *fitted_symbol(const char *symbol, const char *object, size_t used, bool wide);

#endif
