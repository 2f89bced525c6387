// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Eight threads on two CPUs, moved from one to the other all the while: each thread's profile is complete
 * and its own (43724-821, 43724-902).
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "known.h"
#include "lwptest.h"

#define THREADS 8
#define ROUNDS 2000
#define LOOPS 2000
#define MOVES 100
#define TURNS 20

struct worker {
	pthread_t thread;
	struct lwptest t;
};

static pthread_barrier_t ready;
static atomic_int running;

static void *work(void *arg)
{
	struct worker *w = arg;

	pthread_barrier_wait(&ready);
	known_yield(w->t.block, ROUNDS, LOOPS);
	atomic_fetch_sub(&running, 1);
	return NULL;
}

/* Result: how often a thread was moved. */
static unsigned long profile_threads(void)
{
	struct worker worker[THREADS];
	unsigned long moves = 0;
	cpu_set_t cpu;
	char name[32];

	running = THREADS;
	pthread_barrier_init(&ready, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++) {
		lwptest_setup(&worker[i].t, IRE, 500 + i, 17 * i, 131072);
		if (pthread_create(&worker[i].thread, NULL, work, &worker[i]))
			tap_error("cannot start a thread");
	}
	pthread_barrier_wait(&ready);
	while (running) {
		CPU_ZERO(&cpu);
		CPU_SET(moves / THREADS & 1, &cpu);
		pthread_setaffinity_np(worker[moves % THREADS].thread, sizeof(cpu), &cpu);
		moves++;
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(worker[i].thread, NULL);
		snprintf(name, sizeof(name), "thread %d", i);
		lwptest_complete(&worker[i].t, KNOWN_YIELD(ROUNDS, LOOPS), name);
		if (KNOWN_SCHED_YIELD == 1) /* else records are also in the vDSO */
			lwptest_inside(&worker[i].t, known_yield_begin, known_yield_end, name);
		lwptest_free(&worker[i].t);
	}
	pthread_barrier_destroy(&ready);
	return moves;
}

/* Threads that get all the time of their processors leave little for who moves them: then there is another turn. */
int main(void)
{
	unsigned long moves = 0;

	lwptest_need(IRE);
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		tap_error("this test wants 2 CPUs");
	for (int turn = 0; turn < TURNS && moves < MOVES; turn++)
		moves += profile_threads();
	tap(moves >= MOVES, "%lu forced migrations", moves);
	return tap_done();
}
