// SPDX-License-Identifier: GPL-2.0-or-later
/* The Linux guest whose init is guest-tests/linux/live_guest.c. */
#include "guest.h"
#include "migrate.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct heard heard;

static struct {
	int pipe[2]; /* all guests write into it */
	char path[64]; /* of its end for writing */
	struct port_lines lines;
} port;

static void hear_line(const char *line)
{
	unsigned int process, thread, round;
	char verdict[PORT_LINE];

	if (sscanf(line, "%u.%u %u %255[^\n]", &process, &thread, &round, verdict) != 4 ||
	    process >= GUEST_PROCESSES || thread >= GUEST_THREADS) {
		if (*line)
			printf("# the guest says: %s\n", line);
		heard.wrong += strstr(line, "died") != NULL;
		return;
	}
	heard.said[process][thread]++;
	heard.rounds++;
	if (strcmp(verdict, "ok")) {
		heard.wrong++;
		printf("# %s\n", line);
	}
}

/* What comes within so many milliseconds. Has anything come? */
static bool hear_within(int patience)
{
	struct pollfd p = { port.pipe[0], POLLIN, 0 };
	char bytes[4096];
	const char *line;
	ssize_t n, i;

	if (poll(&p, 1, patience) <= 0)
		return false;
	n = read(port.pipe[0], bytes, sizeof(bytes));
	for (i = 0; i < n; i++) {
		line = port_take(&port.lines, bytes[i]);
		if (line)
			hear_line(line);
	}
	return true;
}

/* All that was said by guests that are gone is in the pipe. */
static void hear_the_rest(void)
{
	while (hear_within(0))
		;
}

void guest_left(struct port_lines *begun)
{
	hear_the_rest();
	*begun = port.lines;
}

void guest_came(const struct port_lines *begun)
{
	port.lines = *begun;
}

static void hear(void)
{
	if (!hear_within(VM_PATIENCE * 1000))
		broken("the guest says nothing");
}

void guest_rounds(unsigned int rounds)
{
	unsigned int start[GUEST_PROCESSES][GUEST_THREADS], p, t;
	bool enough;

	memcpy(start, heard.said, sizeof(start));
	do {
		hear();
		enough = true;
		for (p = 0; p < GUEST_PROCESSES; p++)
			for (t = 0; t < GUEST_THREADS; t++)
				enough &= heard.said[p][t] >= start[p][t] + rounds;
	} while (!enough && !heard.wrong);
}

void guest_start(struct vm *vm, const char *name, const char *qemu, const char *cpu,
		 const char *init, bool incoming)
{
	char model[128], append[256], log[512];
	const char *argv[] = {
		qemu,
		"-L",
		opt.firmware,
		"-accel",
		strcmp(opt.accel, "tcg") ? opt.accel : "tcg,thread=multi",
		"-machine",
		opt.machine ? opt.machine : "q35",
		"-cpu",
		model,
		"-smp",
		"2",
		"-m",
		"256",
		"-nodefaults",
		"-no-user-config",
		"-display",
		"none",
		"-serial",
		"stdio",
		"-kernel",
		opt.kernel,
		"-initrd",
		opt.initrd,
		"-append",
		append,
		incoming ? "-incoming" : NULL,
		"defer",
		NULL,
	};

	if (!port.pipe[1]) {
		if (pipe(port.pipe))
			broken("no pipe");
		fcntl(port.pipe[0], F_SETFD, FD_CLOEXEC);
		snprintf(port.path, sizeof(port.path), "/proc/self/fd/%d", port.pipe[1]);
	}
	if (!incoming) {
		hear_the_rest();
		port_begin(&port.lines);
	}
	snprintf(model, sizeof(model), "EPYC,-fsgsbase,%s", cpu);
	snprintf(append, sizeof(append),
		 "console=ttyS0 loglevel=3 panic=-1 no_timer_check tsc=reliable nowatchdog "
		 "mitigations=off -- %s",
		 init);
	snprintf(log, sizeof(log), "%s/%s-log", opt.work, name);
	if (!vm_start(vm, name, argv, port.path, log))
		broken("QEMU does not start: %s", read_file(log, NULL));
}
