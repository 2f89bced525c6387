// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * samplecost PERIOD MILLIONS: runs MILLIONS million instructions without profiling, LONG times as many without, then
 * the first number with LWP and with a sampling counter as `perf record -e instructions:u -c PERIOD` opens it, a sample
 * each PERIOD instructions. It says `begin HOW` and `end HOW SAMPLES MICROSECONDS`, and after each of these lines waits
 * for one on its standard input: the reader can look at the host's counters meanwhile.
 */
#include <asm/unistd.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "known.h"
#include "lwptest.h"

#define DATA_PAGES 128
#define PAGE 4096ull
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

static int open_counter(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.sample_period = period,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	lwptest_any_rate();
	return (int)syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);
}

static uint64_t count_samples(const struct perf_event_mmap_page *head)
{
	const uint8_t *data = (const uint8_t *)head + PAGE;
	uint64_t at = 0, samples = 0;

	while (at < head->data_head) {
		struct perf_event_header h;

		memcpy(&h, data + at % (DATA_PAGES * PAGE), sizeof(h));
		samples += h.type == PERF_RECORD_SAMPLE;
		at += h.size;
	}
	return samples;
}

static void with_perf(void)
{
	int fd = open_counter();
	struct perf_event_mmap_page *head;
	uint64_t begun;

	if (fd < 0)
		tap_error("this machine has no performance counters");
	head = mmap(NULL, (1 + DATA_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (head == MAP_FAILED)
		tap_error("cannot map the samples");
	begun = begin("perf");
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	known_loop(NULL, turns);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	end("perf", count_samples(head), begun);
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
