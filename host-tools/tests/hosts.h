/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hosts for tests, their numbers written out by hand. */
#ifndef HOST_TOOLS_TESTS_HOSTS_H
#define HOST_TOOLS_TESTS_HOSTS_H

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>

#include "host_set.h"

/* Criterion's strings are not const. */
static inline char *text(const char *s)
{
	return (char *)(uintptr_t)s;
}

/* `parse` refuses what it is given, and all that is said is this line. */
static inline void refuses(bool (*parse)(const char *), const char *given, const char *line)
{
	FILE *terminal = stderr;
	size_t size;
	char *said;

	stderr = open_memstream(&said, &size);
	cr_expect(not(parse(given)), "%s", line);
	fclose(stderr);
	stderr = terminal;
	cr_expect(eq(str, said, text(line)));
	free(said);
}

#define HOST(n, ...)                                                      \
	((struct hostcaps){ .name = text(n),                              \
			    .source = text("test"),                       \
			    .rev = { [LWP_REV_43724] = { .offered = true, \
							 .contexts = 3,   \
							 .deliveries = 3, \
							 .vmcb = true,    \
							 .caps = { __VA_ARGS__ } } } })

/* As QEMU's full profile under TCG: events 1 2 3 5 6, CONT PTSC INT. */
#define FULL                                                                          \
	.rev = 0, .version = 1, .max_events = 6, .event_offset = 128, .cb_size = 176, \
	.event_size = 32, .min_buffer = 1, .latency_max = 16, .features = 0xe000006e, \
	.ecx_features = 0x20000000

/* Fewer: events 1 2 3, no PTSC. */
#define SMALL                                                                         \
	.rev = 0, .version = 1, .max_events = 3, .event_offset = 128, .cb_size = 152, \
	.event_size = 32, .min_buffer = 4, .latency_max = 12, .features = 0xa000000e, \
	.ecx_features = 0x20000000

#endif
