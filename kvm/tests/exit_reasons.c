// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See exit_reasons.h.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>
#include "exit_reasons.h"

#define TRACING "/sys/kernel/tracing/"
#define EVENT TRACING "events/kvm/kvm_exit/"
#define HISTOGRAM "hist:keys=exit_reason:sort=exit_reason"

static void set_trigger(const char *text)
{
	int fd = open(EVENT "trigger", O_WRONLY | O_TRUNC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		skip_all("cannot write %s", EVENT "trigger");
	close(fd);
}

void exit_reasons_begin(void)
{
	if (access(EVENT "trigger", F_OK))
		mount("tracefs", TRACING, "tracefs", 0, NULL);
	set_trigger(HISTOGRAM);
}

void exit_reasons_end(void (*call)(unsigned int reason, unsigned int count))
{
	FILE *f = fopen(EVENT "hist", "r");
	unsigned int reason, count;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "{ exit_reason: %u } hitcount: %u", &reason, &count) == 2)
			call(reason, count);
	}
	if (f)
		fclose(f);
	set_trigger("!" HISTOGRAM);
}
