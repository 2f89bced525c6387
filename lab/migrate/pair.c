// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Live migration between two hosts, each of which runs this program, one with --role=first, one with
 * --role=second: the guest of live.c, with short rounds, goes there and back over the network between them.
 * Between two migrations each thread ends at least one round, which it says on the serial port of the host that
 * it is on; no round may be wrong. A line that it begins on one host and ends on the other is a line, too.
 */
#include "guest.h"
#include "migrate.h"
#include "vm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define INTERFACE "eth0"
#define FIRST "10.86.0.1"
#define SECOND "10.86.0.2"
#define TALK_PORT 4000 /* on which the two agree when to go on; the first listens */
#define MIGRATE_PORT 4001
#define RETRY_MS 100 /* while the other host is still booting */

static struct sockaddr_in address(const char *host, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, host, &a.sin_addr);
	return a;
}

/* The network card that links the two, with the address of this role. */
static void network_up(const char *host)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = { .ifr_name = INTERFACE };
	struct sockaddr_in a = address(host, 0);

	if (system("modprobe virtio_net"))
		broken("no driver of the network card");
	memcpy(&r.ifr_addr, &a, sizeof(a));
	if (ioctl(fd, SIOCSIFADDR, &r))
		broken(INTERFACE ": %s", strerror(errno));
	r.ifr_flags = IFF_UP | IFF_RUNNING;
	if (ioctl(fd, SIOCSIFFLAGS, &r))
		broken(INTERFACE ": %s", strerror(errno));
	close(fd);
}

/* The first host's end of the connection by which the two agree. */
static int wait_for_second(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, talk;
	struct sockaddr_in a = address(FIRST, TALK_PORT);
	struct pollfd p = { fd, POLLIN, 0 };

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 1))
		broken("port %d: %s", TALK_PORT, strerror(errno));
	if (poll(&p, 1, VM_PATIENCE * 1000) != 1)
		broken("the second host does not come");
	talk = accept(fd, NULL, NULL);
	close(fd);
	return talk;
}

static int find_first(void)
{
	struct sockaddr_in a = address(FIRST, TALK_PORT);
	double end = now() + VM_PATIENCE;
	int fd;

	while (now() < end) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (!connect(fd, (struct sockaddr *)&a, sizeof(a)))
			return fd;
		close(fd);
		poll(NULL, 0, RETRY_MS);
	}
	broken("the first host does not answer");
}

static void say(int talk)
{
	if (write(talk, "", 1) != 1)
		broken("the other host has gone");
}

static void hear(int talk)
{
	struct pollfd p = { talk, POLLIN, 0 };
	char byte;

	if (poll(&p, 1, VM_PATIENCE * 1000) != 1 || read(talk, &byte, 1) != 1)
		broken("the other host has gone");
}

/* The guest says the rest of its line on the other host. */
static void say_line(int talk)
{
	struct port_lines begun;

	guest_left(&begun);
	if (send(talk, &begun, sizeof(begun), 0) != sizeof(begun))
		broken("the other host has gone");
}

static void hear_line(int talk)
{
	struct pollfd p = { talk, POLLIN, 0 };
	struct port_lines begun;

	if (poll(&p, 1, VM_PATIENCE * 1000) != 1 ||
	    recv(talk, &begun, sizeof(begun), MSG_WAITALL) != sizeof(begun))
		broken("the other host has gone");
	guest_came(&begun);
}

static bool leave(struct vm *vm, int talk, const char *other)
{
	bool done;

	hear(talk); /* it listens */
	qmp_drop_events(&vm->qmp);
	vm_capability(vm, "return-path");
	vm_do(vm, "migrate", "{\"uri\":\"tcp:%s:%d\"}", other, MIGRATE_PORT);
	done = vm_migrated(vm);
	vm_kill(vm);
	say_line(talk);
	return done;
}

static bool arrive(struct vm *vm, int talk, const char *self)
{
	bool done;

	guest_start(vm, "destination", opt.into_qemu, "+lwp", "short", true);
	vm_capability(vm, "return-path");
	vm_do(vm, "migrate-incoming", "{\"uri\":\"tcp:%s:%d\"}", self, MIGRATE_PORT);
	say(talk);
	done = vm_migrated(vm) && vm_is(vm, "running");
	hear_line(talk);
	return done;
}

void test_pair(void)
{
	bool first = opt.role && !strcmp(opt.role, "first"), here = first;
	const char *self = first ? FIRST : SECOND, *other = first ? SECOND : FIRST;
	unsigned int i, hops = 0;
	struct vm vm;
	int talk;

	network_up(self);
	if (first) {
		guest_start(&vm, "source", opt.qemu, "+lwp", "short", false);
		guest_rounds(1);
	}
	talk = first ? wait_for_second() : find_first();
	for (i = 0; i < opt.count && hops == i && !heard.wrong; i++) {
		hops += here ? leave(&vm, talk, other) : arrive(&vm, talk, self);
		here = !here;
		if (here && hops == i + 1)
			guest_rounds(2);
	}
	if (here)
		vm_kill(&vm);
	close(talk);
	ok(hops == opt.count, "%s host: %u of %u live migrations to the other host and back",
	   first ? "first" : "second", hops, opt.count);
	ok(heard.rounds && !heard.wrong, "%s host: %u rounds of %d threads, %u wrong",
	   first ? "first" : "second", heard.rounds, GUEST_PROCESSES * GUEST_THREADS, heard.wrong);
}
