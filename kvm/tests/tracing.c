// SPDX-License-Identifier: GPL-2.0-or-later
/* See tracing.h. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>
#include "kvm_vm.h"
#include "tracing.h"

#define TRACING "/sys/kernel/tracing/"
#define MOST_PATH 200

void trace_write(const char *file, const char *line)
{
	char path[MOST_PATH];
	int fd;

	if (access(TRACING "trace", F_OK))
		mount("tracefs", TRACING, "tracefs", 0, NULL);
	snprintf(path, sizeof(path), TRACING "%s", file);
	fd = open(path, O_WRONLY | O_APPEND);
	if (fd < 0 || write(fd, line, strlen(line)) != (ssize_t)strlen(line))
		skip_all("cannot write %s", path);
	close(fd);
}

FILE *trace_open(const char *file)
{
	char path[MOST_PATH];

	snprintf(path, sizeof(path), TRACING "%s", file);
	return fopen(path, "r");
}

static void empty(const char *path)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	if (fd >= 0)
		close(fd);
}

void trace_clear(void)
{
	empty(TRACING "trace");
}

static bool probing;

/* What the next program probes may have the same names. */
static void forget_probes(void)
{
	trace_write("events/kprobes/enable", "0");
	empty(TRACING "kprobe_events");
}

void probe(const char *name, const char *function)
{
	char line[MOST_PATH];

	snprintf(line, sizeof(line), "p:%s %s", name, function);
	trace_write("kprobe_events", line);
	trace_write("events/kprobes/enable", "1");
	if (!probing)
		atexit(forget_probes);
	probing = true;
}

unsigned int probe_hits(const char *name)
{
	FILE *f = trace_open("kprobe_profile");
	unsigned int found = 0, n;
	char line[256], its_name[64];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %u", its_name, &n) == 2 && !strcmp(its_name, name))
			found = n;
	if (f)
		fclose(f);
	return found;
}
