// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Guest init, the network: QEMU's user mode networking (libslirp), which gives a guest always the same addresses. The
 * guest reaches what the host's user reaches by TCP and UDP; nobody reaches the guest.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <net/route.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "guest-setup.h"

#define ADDRESS "10.0.2.15"
#define NETMASK "255.255.255.0"
#define GATEWAY "10.0.2.2"
#define NAME_SERVER "nameserver 10.0.2.3\n"
#define RESOLV_CONF "/etc/resolv.conf"

static void put_address(struct sockaddr *to, const char *text)
{
	struct sockaddr_in address = { .sin_family = AF_INET };

	inet_pton(AF_INET, text, &address.sin_addr);
	memcpy(to, &address, sizeof(address));
}

/* bring_up - an interface; @address: NULL for loopback, which has its own */
static void bring_up(int fd, const char *name, const char *address)
{
	struct ifreq interface = { .ifr_flags = IFF_UP | IFF_RUNNING };
	struct ifreq mask = { 0 };

	strncpy(interface.ifr_name, name, IFNAMSIZ - 1);
	if (ioctl(fd, SIOCSIFFLAGS, &interface))
		trouble("cannot bring up the interface %s: %s", name, strerror(errno));
	if (!address)
		return;
	mask = interface;
	put_address(&interface.ifr_addr, address);
	put_address(&mask.ifr_netmask, NETMASK);
	if (ioctl(fd, SIOCSIFADDR, &interface) || ioctl(fd, SIOCSIFNETMASK, &mask))
		trouble("cannot give %s its address: %s", name, strerror(errno));
}

static void add_route(int fd)
{
	struct rtentry route = { .rt_flags = RTF_UP | RTF_GATEWAY };

	put_address(&route.rt_dst, "0.0.0.0");
	put_address(&route.rt_genmask, "0.0.0.0");
	put_address(&route.rt_gateway, GATEWAY);
	if (ioctl(fd, SIOCADDRT, &route))
		trouble("cannot set the route to the network: %s", strerror(errno));
}

/* start_network - loopback for programs that talk to themselves; @outside: also the way out through QEMU */
void start_network(bool outside)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		trouble("cannot open a socket: %s", strerror(errno));
	bring_up(fd, "lo", NULL);
	if (outside) {
		load_modules("/modules/network");
		bring_up(fd, "eth0", ADDRESS);
		add_route(fd);
	}
	close(fd);
}

/* name_server - in the root's own file, which may be a link to one that is not there */
void name_server(void)
{
	int fd;

	unlink(RESOLV_CONF);
	fd = open(RESOLV_CONF, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, NAME_SERVER, strlen(NAME_SERVER)) < 0)
		trouble("cannot write " RESOLV_CONF ": %s", strerror(errno));
	close(fd);
}
