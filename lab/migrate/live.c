// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Live migration of a Linux guest in which four processes of two threads profile themselves
 * (guest-tests/linux/live.c): from process to process, over and over, by every way that QEMU has. Between two
 * migrations each thread ends at least one round, which it says on the serial port; no round may be wrong and
 * no context lost.
 */
#include "migrate.h"
#include "vm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCESSES 4
#define THREADS 2
#define LINE 256

static const struct way {
	const char *name, *capability;
	bool tcp; /* else a unix socket */
} ways[] = {
	{ "unix", "return-path", false },
	{ "TCP", "return-path", true },
	{ "multifd", "multifd", false },
	{ "postcopy", "postcopy-ram", false },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* What the guests have said; all of them write into one pipe. */
static struct {
	int pipe[2];
	char path[64]; /* of its end for writing */
	char line[LINE];
	size_t length;
	unsigned int round[PROCESSES][THREADS]; /* the last one */
	unsigned int rounds, wrong;
} heard;

static void hear_line(void)
{
	unsigned int process, thread, round;
	char verdict[LINE];

	heard.line[strcspn(heard.line, "\r")] = '\0';
	if (sscanf(heard.line, "%u.%u %u %255[^\n]", &process, &thread, &round, verdict) != 4 ||
	    process >= PROCESSES || thread >= THREADS) {
		if (*heard.line)
			printf("# the guest says: %s\n", heard.line);
		heard.wrong += strstr(heard.line, "died") != NULL;
		return;
	}
	heard.round[process][thread] = round;
	heard.rounds++;
	if (strcmp(verdict, "ok")) {
		heard.wrong++;
		printf("# %s\n", heard.line);
	}
}

static void hear(void)
{
	struct pollfd p = { heard.pipe[0], POLLIN, 0 };
	char bytes[4096];
	ssize_t n, i;

	if (poll(&p, 1, VM_PATIENCE * 1000) <= 0)
		broken("the guest says nothing");
	n = read(heard.pipe[0], bytes, sizeof(bytes));
	for (i = 0; i < n; i++) {
		if (bytes[i] == '\n') {
			heard.line[heard.length] = '\0';
			heard.length = 0;
			hear_line();
		} else if (heard.length < LINE - 1) {
			heard.line[heard.length++] = bytes[i];
		}
	}
}

/* Until each thread has ended `rounds` more rounds. */
static void hear_rounds(unsigned int rounds)
{
	unsigned int start[PROCESSES][THREADS], p, t;
	bool enough;

	memcpy(start, heard.round, sizeof(start));
	do {
		hear();
		enough = true;
		for (p = 0; p < PROCESSES; p++)
			for (t = 0; t < THREADS; t++)
				enough &= heard.round[p][t] >= start[p][t] + rounds;
	} while (!enough && !heard.wrong);
}

static void start(struct vm *vm, const char *name, bool incoming)
{
	const char *argv[] = {
		opt.qemu,
		"-L",
		opt.firmware,
		"-accel",
		"tcg,thread=multi",
		"-machine",
		"q35",
		"-cpu",
		"EPYC,+lwp,-fsgsbase",
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
		"console=ttyS0 loglevel=3 panic=-1 no_timer_check tsc=reliable nowatchdog mitigations=off",
		incoming ? "-incoming" : NULL,
		"defer",
		NULL,
	};
	char log[512];

	snprintf(log, sizeof(log), "%s/%s-log", opt.work, name);
	if (!vm_start(vm, name, argv, heard.path, log))
		broken("QEMU does not start: %s", read_file(log, NULL));
}

/* Over to a fresh process, which takes the place of *vm. */
static bool hop(struct vm *vm, const struct way *way)
{
	struct vm next;
	char uri[512];
	bool done;

	snprintf(uri, sizeof(uri), "unix:%s/socket", opt.work);
	if (way->tcp)
		snprintf(uri, sizeof(uri), "tcp:127.0.0.1:%d", 20000 + (int)(getpid() % 20000));
	start(&next, "destination", true);
	vm_capability(vm, way->capability);
	vm_capability(&next, way->capability);
	vm_do(&next, "migrate-incoming", "{\"uri\":\"%s\"}", uri);
	qmp_drop_events(&vm->qmp);
	if (!strcmp(way->name, "postcopy")) {
		/* Too slow to end before it is switched over. */
		vm_do(vm, "migrate-set-parameters", "{\"max-bandwidth\":1000000}");
		vm_do(vm, "migrate", "{\"uri\":\"%s\"}", uri);
		vm_migration(vm, "active");
		vm_do(vm, "migrate-start-postcopy", NULL);
		vm_migration(vm, "postcopy-active");
	} else {
		vm_do(vm, "migrate", "{\"uri\":\"%s\"}", uri);
	}
	done = vm_migrated(vm) && vm_migrated(&next);
	vm_kill(vm);
	*vm = next;
	return done && vm_is(vm, "running");
}

static bool lost_nothing(struct vm *vm)
{
	return !vm_cpu_number(vm, "lwp-stat-contexts-dropped") &&
	       !vm_cpu_number(vm, "lwp-stat-contexts-evicted") &&
	       !vm_cpu_number(vm, "lwp-stat-contexts-unreadable");
}

void test_live(void)
{
	unsigned int i, hops = 0, whole = 0;
	struct vm vm;

	if (pipe(heard.pipe))
		broken("no pipe");
	snprintf(heard.path, sizeof(heard.path), "/proc/self/fd/%d", heard.pipe[1]);
	fcntl(heard.pipe[0], F_SETFD, FD_CLOEXEC);
	start(&vm, "source", false);
	hear_rounds(1);
	for (i = 0; i < opt.count && hops == i && !heard.wrong; i++) {
		hops += hop(&vm, &ways[i % WAYS]);
		if (hops != i + 1) {
			printf("# migration %u (%s) failed\n", i + 1, ways[i % WAYS].name);
			break;
		}
		hear_rounds(2);
		whole += lost_nothing(&vm);
	}
	vm_kill(&vm);
	ok(hops == opt.count, "%u of %u live migrations, by unix, TCP, multifd and postcopy", hops,
	   opt.count);
	ok(whole == opt.count, "no context is lost");
	ok(heard.rounds && !heard.wrong, "%u rounds of %d threads, %u wrong", heard.rounds,
	   PROCESSES * THREADS, heard.wrong);
}
