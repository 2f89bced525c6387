// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A profiled thread that moves between two processors while its program's other thread sleeps, in 64 and in 32 bits. The
 * processor that it leaves goes idle with the program's CR3, and Linux does not write CR3 when the thread comes back. Each
 * LWPVAL gives its record all the same (43724-632, 43724-903).
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>
#include <x86intrin.h>

#include "lwptest.h"

#define MOVES 300u
#define EACH 20u

static int wake[2];

static void *sleeper(void *arg)
{
	char byte;

	if (read(wake[0], &byte, 1) != 1)
		tap_error("the second thread cannot sleep");
	return NULL;
}

static void move(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		tap_error("no processor %u", cpu);
}

int main(void)
{
	unsigned int wrong = 0, count = 0;
	struct lwptest t;
	pthread_t thread;

	lwptest_need(VAL);
	if (pipe(wake) || pthread_create(&thread, NULL, sleeper, NULL))
		tap_error("no second thread");
	lwptest_setup(&t, VAL, 0, 0, MOVES * EACH + 1);
	__llwpcb(t.block);
	for (unsigned int i = 0; i < MOVES; i++) {
		move(i & 1);
		/* The other processor becomes idle. */
		if (i % 3 == 0)
			usleep(2000);
		for (unsigned int k = 0; k < EACH; k++)
			__lwpval32(count++, k, 0);
	}
	__llwpcb(NULL);
	tap(lwptest_records(&t) == MOVES * EACH && !lwptest_missed(&t),
	    "%u LWPVAL on two processors in turns give as many records (%llu)", MOVES * EACH,
	    (unsigned long long)lwptest_records(&t));
	for (unsigned int i = 0; i < lwptest_records(&t); i++) {
		struct lwp_record rec;

		lwptest_record(&t, i, &rec);
		wrong += rec.data2 != i;
	}
	tap(!wrong, "in their order");
	if (write(wake[1], "", 1) != 1 || pthread_join(thread, NULL))
		tap_error("the second thread does not end");
	return tap_done();
}
