/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A counter of perf for this thread, and the ring that its samples lie in. */
#ifndef PERFRING_H
#define PERFRING_H

#include <asm/unistd.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lwptest.h"

#define PERF_PAGE 4096ul
#define PERF_PAGES 256ul /* of samples */

/* `group` -1: it leads one, and is off. Below zero: there is none here. */
static inline int perf_counter(struct perf_event_attr attr, int group)
{
	attr.size = sizeof(attr);
	attr.disabled = group < 0;
	return (int)syscall(__NR_perf_event_open, &attr, 0, -1, group, 0);
}

/* Closes a counter. If it is none, the machine has none of `what`, and the test is skipped. */
static inline void perf_need(int fd, const char *what)
{
	if (fd < 0) {
		printf("ok 1 # SKIP this machine has no %s\n1..1\n", what);
		exit(0);
	}
	close(fd);
}

static inline const struct perf_event_mmap_page *perf_ring(int fd)
{
	void *ring =
		mmap(NULL, (1 + PERF_PAGES) * PERF_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd < 0 || ring == MAP_FAILED)
		tap_error("no counter that samples");
	return ring;
}

/* Copies the first bytes of the record at *at, which is moved behind it. False: there is no more. */
static inline bool perf_next(const struct perf_event_mmap_page *ring, uint64_t *at, void *record,
			     size_t size)
{
	const uint8_t *data = (const uint8_t *)ring + PERF_PAGE;
	struct perf_event_header head;

	if (*at >= ring->data_head)
		return false;
	for (size_t i = 0; i < size; i++)
		((uint8_t *)record)[i] = data[(*at + i) % (PERF_PAGES * PERF_PAGE)];
	memcpy(&head, record, sizeof(head));
	*at += head.size;
	return true;
}

#endif
