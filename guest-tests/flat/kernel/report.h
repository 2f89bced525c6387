/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reporter: test points in TAP on the serial line, and the end of the run.
 *
 * A point is ok, not ok, or skipped. What makes the rest of a run meaningless (the test itself is
 * broken) is bail(): the runner counts it as an error, not as a failure of the code under test.
 */
#ifndef FLAT_REPORT_H
#define FLAT_REPORT_H

#include <stdarg.h>
#include "lwp_types.h"

#define PRINTF_LIKE(n) __attribute__((format(printf, n, n + 1)))

/* Exit values given to isa-debug-exit; a process sees 2 * value + 1. */
enum flat_exit { FLAT_EXIT_PASS = 0, FLAT_EXIT_FAIL = 1, FLAT_EXIT_BROKEN = 2 };

/* Set the serial line up: before anything is printed. */
void report_init(void);

/* Print to the serial line; %s %c %d %u %x with 0, width, l. */
void print(const char *fmt, ...) PRINTF_LIKE(1);

/* Names put before the description of each point until they are popped. */
void report_push(const char *fmt, ...) PRINTF_LIKE(1);
void report_pop(void);

/*
 * The rules of docs/spec that the points from here on prove, "43724-801 43724-803", and how sure it is that another
 * implementation obeys: all sources say so, none is better than memory or the proposal, or it is this project's choice.
 */
enum certainty { CERTAIN, RECALLED, CHOICE };
void rule(const char *numbers, enum certainty certainty);
/* One point beside the others, of this rule. */
void report_beside(const char *numbers, enum certainty certainty, bool cond, const char *what);

/* One test point. Returns cond. */
bool report(bool cond, const char *fmt, ...) PRINTF_LIKE(2);
bool report_va(bool cond, const char *fmt, va_list ap);
/* One test point that is ok when got == want; prints both when not. Returns got == want. */
bool report_eq(u64 got, u64 want, const char *fmt, ...) PRINTF_LIKE(3);
/* One point that could not be tried; why goes to the runner. */
void report_skip(const char *why, const char *fmt, ...) PRINTF_LIKE(2);
/* The same if the machine lacks what the points after it need. Returns lacks. */
bool report_lacks(bool lacks, const char *why, const char *what);
/*
 * One point, of certainty choice, about a question that the rules leave open: ok if the processor answers as vlwp does.
 * The line after it goes to the screen and to judge.py: "# answer Q01 WHAT: ANSWER, and ANSWER in vlwp".
 */
void ask(const char *id, const char *rules, const char *what, const char *vlwp, const char *answer);
/* An answer, until the next. */
const char *text(const char *fmt, ...) PRINTF_LIKE(1);
/* A line of explanation, not a point. */
#define report_note(fmt, ...) print("# " fmt "\n", ##__VA_ARGS__)

/* The test or its environment is broken: say why and end the run. */
_Noreturn void bail(const char *fmt, ...) PRINTF_LIKE(1);
/* All points are reported: print the plan and end the run. */
_Noreturn void report_end(void);

/* The run is over; of a suite (suite.h) the row is. */
_Noreturn void report_leave(enum flat_exit value);

#endif
