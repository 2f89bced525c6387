// SPDX-License-Identifier: GPL-2.0-or-later
/* See host_counters.h. */
#include "host_counters.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fd[8];
static unsigned int taken;

int take_event(struct perf_event_attr *attr)
{
	cpu_set_t cpu_0;

	CPU_ZERO(&cpu_0);
	CPU_SET(0, &cpu_0);
	sched_setaffinity(0, sizeof(cpu_0), &cpu_0);
	attr->size = sizeof(*attr);
	attr->pinned = 1;
	return (int)syscall(SYS_perf_event_open, attr, -1, 0, -1, 0);
}

unsigned int take_counters(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_RAW, .config = 0x76 };

	while (taken < sizeof(fd) / sizeof(fd[0]) && (fd[taken] = take_event(&attr)) >= 0)
		taken++;
	return taken;
}

void give_counters_back(void)
{
	while (taken)
		close(fd[--taken]);
}
