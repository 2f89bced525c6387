// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A load for ./vlwp bench tcg: THREADS threads on one processor, which give it to each other YIELDS times in all.
 *
 *	switches THREADS YIELDS
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define STACK (64 << 10)

static unsigned long each;
static pthread_barrier_t ready;

static void *work(void *arg)
{
	pthread_barrier_wait(&ready);
	for (unsigned long i = 0; i < each; i++)
		sched_yield();
	return arg;
}

int main(int argc, char **argv)
{
	unsigned long threads = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	pthread_t *thread = calloc(threads, sizeof(*thread));
	pthread_attr_t small;

	if (!threads || !thread) {
		fprintf(stderr, "usage: switches THREADS YIELDS\n");
		return 2;
	}
	each = strtoul(argv[2], NULL, 10) / threads;
	pthread_barrier_init(&ready, NULL, (unsigned int)threads);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK);
	for (unsigned long i = 0; i < threads; i++) {
		if (pthread_create(&thread[i], &small, work, NULL)) {
			perror("switches");
			return 1;
		}
	}
	for (unsigned long i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
