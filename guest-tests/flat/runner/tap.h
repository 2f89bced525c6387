/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the output of a test kernel: TAP lines, and the verdict that follows from them. */
#ifndef FLATRUN_TAP_H
#define FLATRUN_TAP_H

#include <stdbool.h>
#include <stdio.h>

enum verdict { VERDICT_PASS, VERDICT_FAIL, VERDICT_SKIP, VERDICT_ERROR };

/* How the process of a run ended. */
struct ending {
	bool timed_out;
	bool signalled;
	int status; /* exit status, or number of the signal */
};

struct tap {
	unsigned int passed, failed, skipped; /* points */
	bool started; /* "TAP version" was seen */
	bool planned; /* "1..N" was seen */
	unsigned int plan;
	char bail[256]; /* text behind "Bail out!" */
};

/* Take one line (without its newline); lines of ring dumps ("# dump ...") go to `dump` if not NULL. */
void tap_line(struct tap *t, const char *line, FILE *dump);

/*
 * The verdict on a run. VERDICT_FAIL: the code under test is broken (a point that is not ok, a test that
 * hangs). VERDICT_ERROR: the test or its environment is broken; then *why says how.
 */
enum verdict tap_verdict(const struct tap *t, const struct ending *end, char *why, size_t size);

#endif
