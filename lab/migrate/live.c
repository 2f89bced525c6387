// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Live migration of a Linux guest in which four processes of two threads profile themselves
 * (guest-tests/linux/live_guest.c): from process to process, over and over, by every way that QEMU has. Between two
 * migrations each thread ends at least one round, which it says on the serial port; no round may be wrong and
 * no context lost.
 */
#include "guest.h"
#include "migrate.h"
#include "vm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* As QEMU asks for it. */
static bool has_userfaultfd(void)
{
	int fd = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* Over to a fresh process of an emulator, which takes the place of *vm. */
static bool hop(struct vm *vm, const char *qemu, const struct way *way)
{
	struct vm next;
	char uri[512];
	bool done;

	snprintf(uri, sizeof(uri), "unix:%s/socket", opt.work);
	if (way->tcp)
		snprintf(uri, sizeof(uri), "tcp:127.0.0.1:%d", 20000 + (int)(getpid() % 20000));
	guest_start(&next, "destination", qemu, "+lwp", "", true);
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
	unsigned int i, hops = 0, whole = 0, count = WAYS;
	const struct way *way;
	struct vm vm;

	if (!has_userfaultfd()) {
		skipped("postcopy: userfaultfd needs root, or vm.unprivileged_userfaultfd=1");
		count--;
	}
	guest_start(&vm, "source", opt.qemu, "+lwp", "", false);
	guest_rounds(1);
	for (i = 0; i < opt.count && hops == i && !heard.wrong; i++) {
		way = &ways[i % count];
		/* There and back. */
		hops += hop(&vm, i % 2 ? opt.qemu : opt.into_qemu, way);
		if (hops != i + 1) {
			printf("# migration %u (%s) failed\n", i + 1, way->name);
			break;
		}
		guest_rounds(2);
		whole += lost_nothing(&vm);
	}
	vm_kill(&vm);
	ok(hops == opt.count, "%u of %u live migrations, by unix, TCP, multifd%s", hops, opt.count,
	   count == WAYS ? " and postcopy" : "");
	ok(whole == opt.count, "no context is lost");
	ok(heard.rounds && !heard.wrong, "%u rounds of %d threads, %u wrong", heard.rounds,
	   GUEST_PROCESSES * GUEST_THREADS, heard.wrong);
}
