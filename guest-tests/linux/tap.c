// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading what a test program prints. */
#include "tap.h"

#include <stdio.h>
#include <string.h>

static bool starts(const char *line, const char *with)
{
	return !strncmp(line, with, strlen(with));
}

void tap_line(struct tap_sums *t, const char *line)
{
	static const char bail[] = "Bail out! ";

	if (starts(line, bail))
		snprintf(t->bail, sizeof(t->bail), "%s", line + strlen(bail));
	else if (sscanf(line, "1..%u", &t->plan) == 1)
		t->planned = true;
	else if (starts(line, "not ok "))
		t->failed++;
	else if (starts(line, "ok "))
		(*(strstr(line, " # SKIP") ? &t->skipped : &t->passed))++;
}
