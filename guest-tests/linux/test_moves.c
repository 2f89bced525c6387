// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A profiled thread that moves between two processors while its program's other thread sleeps, in 64 and in 32 bits. The
 * processor that it leaves goes idle with the program's CR3, and Linux does not write CR3 when the thread comes back. Each
 * LWPVAL gives its record all the same (43724-632, 43724-903).
 */
#include <pthread.h>
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

int main(void)
{
	unsigned int count = 0;
	struct lwptest t;
	pthread_t thread;

	lwptest_need(VAL);
	if (pipe(wake) || pthread_create(&thread, NULL, sleeper, NULL))
		tap_error("no second thread");
	lwptest_setup(&t, VAL, 0, 0, MOVES * EACH + 1);
	__llwpcb(t.block);
	for (unsigned int i = 0; i < MOVES; i++) {
		lwptest_stay_on(i & 1);
		/* The other processor becomes idle. */
		if (i % 3 == 0)
			usleep(2000);
		for (unsigned int k = 0; k < EACH; k++)
			__lwpval32(count++, EACH, 0);
	}
	__llwpcb(NULL);
	lwptest_numbered(&t, MOVES * EACH, EACH, "two processors in turns");
	if (write(wake[1], "", 1) != 1 || pthread_join(thread, NULL))
		tap_error("the second thread does not end");
	return tap_done();
}
