// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a QEMU says over QMP, which may be one that a guest has taken over. Input: a byte that says what is asked, and
 * all that QEMU ever sends. Nothing may crash, hang or leak, and what fails says why.
 */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "expansion.h"
#include "fuzz.h"
#include "qmp.h"

/* What a socket takes at once: nobody reads meanwhile. */
#define SAID_MAX 65536

static void look_for_lwp(struct qmp *q)
{
	struct hostcaps host = { 0 };

	hostcaps_ask(&host, q);
	for (u32 rev = 0; rev < LWP_REVS; rev++)
		CHECK(!host.rev[rev].offered || lwp_caps_valid(&host.rev[rev].caps));
	CHECK(hostcaps_any(&host) || *host.reason);
	hostcaps_free(&host);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *nowhere;
	struct qmp q = { 0 };
	int pair[2];

	if (!size || size > SAID_MAX)
		return 0;
	nowhere = nowhere ?: fopen("/dev/null", "w");
	CHECK(nowhere && !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	CHECK(write(pair[1], data + 1, size - 1) == (ssize_t)(size - 1));
	shutdown(pair[1], SHUT_WR);
	if (qmp_open(&q, pair[0]))
		CHECK(*q.error);
	else if (data[0] % 3 == 0)
		CHECK(!qmp_lwp_stats(&q, nowhere) || *q.error);
	else if (data[0] % 3 == 1)
		CHECK(qmp_has_model(&q, "max") || *q.error);
	else
		look_for_lwp(&q);
	qmp_close(&q);
	close(pair[1]);
	return 0;
}
