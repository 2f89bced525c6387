/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading what a test program prints: TAP. */
#ifndef LINUX_TAP_H
#define LINUX_TAP_H

#include <stdbool.h>

struct tap_sums {
	unsigned int passed, failed, skipped; /* points */
	bool planned; /* "1..N" was seen */
	unsigned int plan;
	char bail[256]; /* text behind "Bail out!" */
};

/* Take one line (without its newline). */
void tap_line(struct tap_sums *t, const char *line);

#endif
