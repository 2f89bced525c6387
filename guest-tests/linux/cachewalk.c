// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loads and stores all over a table of twice the size of L1D, for lab/testing/caches.py, which compares simulators of
 * caches. Static, so that the table has the same address everywhere.
 *
 *	cachewalk [lwp]
 *
 * lwp: count data cache misses; print where in the table each load was that missed, in order, a line a round.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <x86intrin.h>

#include "lwptest.h"

#define WORDS 16384u
#define LOADS 20000u
#define STORE_EACH 4u

static uint32_t table[WORDS] __attribute__((aligned(4096)));

__attribute__((noinline)) uint32_t walk(uint32_t x);

uint32_t walk(uint32_t x)
{
	for (uint32_t i = 0; i < LOADS; i++) {
		x = x * 1664525 + 1013904223;
		if (i % STORE_EACH)
			x += ((volatile uint32_t *)table)[(x >> 8) % WORDS];
		else
			((volatile uint32_t *)table)[(x >> 8) % WORDS] = 0;
	}
	return x;
}

#define ROUNDS 3

/* The model is emptied when Linux lets another program run: it has no reason to. */
static void alone(void)
{
	struct sched_param most = { .sched_priority = 50 };

	if (sched_setscheduler(0, SCHED_FIFO, &most) || mlockall(MCL_CURRENT | MCL_FUTURE)) {
		perror("cachewalk");
		exit(1);
	}
}

static void profiled(void)
{
	struct lwptest t;
	struct lwp_record rec;
	uint64_t offset;

	lwptest_setup(&t, DME, 0, 0, 2 * LOADS);
	__llwpcb(t.block);
	walk(1);
	__llwpcb(NULL);
	for (uint64_t i = 0; i < lwptest_records(&t); i++) {
		lwptest_record(&t, i, &rec);
		offset = rec.data2 - (uintptr_t)table;
		if (offset < sizeof(table))
			printf("%llu ", (unsigned long long)offset);
	}
	putchar('\n');
	lwptest_free(&t);
}

int main(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "lwp"))
		return walk(1) == 1;
	lwptest_need(DME);
	alone();
	for (int i = 0; i < ROUNDS; i++)
		profiled();
	return 0;
}
