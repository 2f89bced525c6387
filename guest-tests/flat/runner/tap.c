// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading what a test kernel says. */
#include <string.h>
#include "tap.h"

/* isa-debug-exit turns the kernel's value v into exit status 2 * v + 1. */
#define STATUS_PASS 1
#define STATUS_FAIL 3

static bool starts(const char *line, const char *with)
{
	return !strncmp(line, with, strlen(with));
}

void tap_line(struct tap *t, const char *line, FILE *dump)
{
	static const char bail[] = "Bail out! ", dump_line[] = "# dump ";

	if (starts(line, "TAP version "))
		t->started = true;
	else if (starts(line, bail))
		snprintf(t->bail, sizeof(t->bail), "%s", line + strlen(bail));
	else if (sscanf(line, "1..%u", &t->plan) == 1)
		t->planned = true;
	else if (starts(line, "not ok "))
		t->failed++;
	else if (starts(line, "ok "))
		(*(strstr(line, " # SKIP") ? &t->skipped : &t->passed))++;
	else if (starts(line, dump_line) && dump)
		fprintf(dump, "%s\n", line + strlen(dump_line));
}

enum verdict tap_verdict(const struct tap *t, const struct ending *end, char *why, size_t size)
{
	unsigned int points = t->passed + t->failed + t->skipped;

	if (t->bail[0])
		snprintf(why, size, "%s", t->bail);
	else if (end->timed_out && t->started)
		snprintf(why, size, "no end within the time limit, after %u points", points);
	else if (end->timed_out)
		snprintf(why, size, "the kernel did not start within the time limit");
	else if (end->signalled)
		snprintf(why, size, "QEMU was killed by signal %d", end->status);
	else if (end->status != STATUS_PASS && end->status != STATUS_FAIL)
		snprintf(why, size, "QEMU ended with status %d", end->status);
	else if (!t->started)
		snprintf(why, size, "QEMU ended with status %d before the kernel started",
			 end->status);
	else if (!t->planned)
		snprintf(why, size, "no plan after %u points", points);
	else if (t->plan != points)
		snprintf(why, size, "%u points, but a plan of %u", points, t->plan);
	else if ((end->status == STATUS_FAIL) != (t->failed != 0))
		snprintf(why, size, "%u points failed, but status %d", t->failed, end->status);
	else if (t->failed)
		return VERDICT_FAIL;
	else if (!t->passed)
		return VERDICT_SKIP;
	else
		return VERDICT_PASS;
	return end->timed_out && t->started && !t->bail[0] ? VERDICT_FAIL : VERDICT_ERROR;
}
