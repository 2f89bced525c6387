// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * samplecost PERIOD MILLIONS: runs MILLIONS million instructions without profiling, LONG times as many without, then
 * the first number with LWP and with a sampling counter as `perf record -e instructions:u -c PERIOD` opens it, a sample
 * each PERIOD instructions. It says `begin HOW` and `end HOW SAMPLES MICROSECONDS`, and after each of these lines waits
 * for one on its standard input: the reader can look at the host's counters meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "known.h"
#include "perfring.h"

#define LONG 50 /* times as long, to see what time alone costs */

static uint64_t period, turns;

static void wait_for_reader(void)
{
	char c;

	fflush(stdout);
	if (read(STDIN_FILENO, &c, 1) != 1)
		tap_error("nobody reads");
}

static uint64_t microseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static uint64_t begin(const char *how)
{
	printf("begin %s\n", how);
	wait_for_reader();
	return microseconds();
}

static void end(const char *how, uint64_t samples, uint64_t begun)
{
	printf("end %s %llu %llu\n", how, (unsigned long long)samples,
	       (unsigned long long)(microseconds() - begun));
	wait_for_reader();
}

static void without(const char *how, uint64_t times)
{
	uint64_t begun = begin(how);

	known_loop(NULL, times * turns);
	end(how, 0, begun);
}

static void with_lwp(void)
{
	struct lwptest t;
	uint64_t begun;

	lwptest_need(IRE);
	lwptest_setup(&t, IRE, (int32_t)period - 1, (int32_t)period - 1, 65536);
	memset(t.ring, 0, t.size); /* its page faults are not a sample's */
	begun = begin("lwp");
	known_loop(t.block, turns);
	end("lwp", lwptest_records(&t), begun);
}

static void with_perf(void)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.sample_period = period,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	};
	const struct perf_event_mmap_page *ring;
	struct perf_event_header h;
	uint64_t begun, at = 0, samples = 0;
	int fd;

	lwptest_any_rate();
	fd = perf_counter(attr, -1);
	ring = perf_ring(fd);
	begun = begin("perf");
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	known_loop(NULL, turns);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while (perf_next(ring, &at, &h, sizeof(h)))
		samples += h.type == PERF_RECORD_SAMPLE;
	end("perf", samples, begun);
}

int main(int argc, char **argv)
{
	uint64_t millions = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;

	period = argc == 3 ? strtoull(argv[1], NULL, 10) : 0;
	if (period < 2 || period > 33554432 || !millions || millions > 1000) {
		fprintf(stderr, "usage: samplecost PERIOD MILLIONS: 2 to 33554432, 1 to 1000\n");
		return 2;
	}
	turns = millions * 500000;
	without("none", 1);
	without("long", LONG);
	with_lwp();
	with_perf();
	return 0;
}
