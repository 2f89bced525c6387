// SPDX-License-Identifier: GPL-2.0-or-later
/* See exit_reasons.h. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "exit_reasons.h"
#include "tracing.h"

#define EVENT "events/kvm/kvm_exit/"
#define HISTOGRAM "hist:keys=exit_reason:sort=exit_reason if vcpu_id == 0"
#define MEMORY "events/kmem/kmalloc/"

void exit_reasons_begin(void)
{
	trace_write(EVENT "trigger", HISTOGRAM);
}

void exit_reasons_end(void (*call)(unsigned int reason, unsigned int count))
{
	FILE *f = trace_open(EVENT "hist");
	unsigned int reason, count;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "{ exit_reason: %u } hitcount: %u", &reason, &count) == 2)
			call(reason, count);
	}
	if (f)
		fclose(f);
	trace_write(EVENT "trigger", "!" HISTOGRAM);
}

static char memory_histogram[100];

void memory_begin(void)
{
	snprintf(memory_histogram, sizeof(memory_histogram),
		 "hist:keys=common_pid:vals=bytes_alloc if common_pid == %d", gettid());
	trace_write(MEMORY "trigger", memory_histogram);
}

u64 memory_end(void)
{
	FILE *f = trace_open(MEMORY "hist");
	unsigned long long bytes = 0;
	char line[256], undo[sizeof(memory_histogram) + 1];
	const char *found;

	while (f && fgets(line, sizeof(line), f)) {
		found = strstr(line, "bytes_alloc:");
		if (*line == '{' && found)
			sscanf(found, "bytes_alloc: %llu", &bytes);
	}
	if (f)
		fclose(f);
	snprintf(undo, sizeof(undo), "!%s", memory_histogram);
	trace_write(MEMORY "trigger", undo);
	return bytes;
}
