/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many rows in one boot, for a machine that nobody starts again for each: the rows are the lines of a file that the
 * loader has put into memory. After each row the kernel puts itself back as it was loaded. A row that hangs is
 * ended by the clock's alarm, an NMI; after one that resets the machine the suite continues with the next. The lines:
 *
 *	need NAME LEAF SUBLEAF REGISTER MASK LEAST MOST	CPUID must have LEAST to MOST in the bits of MASK; numbers in hex
 *	row NAME NEEDS WORDS				NEEDS: names with commas, or -; WORDS: the row's command line
 */
#ifndef FLAT_SUITE_H
#define FLAT_SUITE_H

#include "screen.h"

/*
 * Take the file, and begin with its first row: from the loader's state, before paging_init(). `only` and `from` are
 * names of rows, NULL: all, from the first on. `screen`: NULL, there is none.
 */
_Noreturn void suite_take(const char *text, size_t size, const char *only, const char *from,
			  const struct screen *screen);
/* Are there rows? */
bool suite_is_on(void);
/* The row that is next: its command line goes into `line`. Ends the suite if there is none. */
void suite_begin_row(char *line, size_t size);
/* The row is over: on to the next. On another processor than the first: that one is told by NMI, and has
 * no verdict (NULL). */
_Noreturn void suite_next(const char *verdict);
/* Keep what is printed until the row is over. */
void suite_keep(const char *text, size_t n);
/* Show the verdict of the row that is over, points that failed, and answers; before the first: what is printed. */
void suite_show(void);

/* Has another processor ended the row? */
bool suite_is_abandoned(void);
/* After an NMI: is it that of the clock's alarm? Ends a row that has had its minutes. */
bool suite_alarm(void);

#endif
