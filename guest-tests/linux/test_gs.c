// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * GS base as Wine uses it for 64-bit Windows programs: each thread sets its own with arch_prctl(ARCH_SET_GS), and FS base
 * is the C library's. Each thread's profile is its own; and a thread that changes from one GS base to another has LWP, a
 * block and records for each.
 */
#include <asm/prctl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include "known.h"
#include "lwptest.h"

#define THREADS 4
#define ROUNDS 150
#define LOOPS 100
#define TURNS 300u
#define EACH 7u

/* What Windows calls a TEB: its address is also in it, at gs:[30h]. */
struct teb {
	uint64_t before[6];
	struct teb *self;
};
_Static_assert(offsetof(struct teb, self) == 0x30, "read_self()");

static struct worker {
	pthread_t thread;
	struct lwptest t;
	struct teb teb;
	bool kept;
} worker[THREADS];
static pthread_barrier_t ready;

static void set_gs(struct teb *teb)
{
	teb->self = teb;
	if (syscall(SYS_arch_prctl, ARCH_SET_GS, teb))
		tap_error("arch_prctl(ARCH_SET_GS) fails");
}

static struct teb *read_self(void)
{
	struct teb *self;

	__asm__ volatile("mov %%gs:0x30, %0" : "=r"(self));
	return self;
}

static void *work(void *arg)
{
	struct worker *w = arg;

	set_gs(&w->teb);
	pthread_barrier_wait(&ready);
	known_yield(w->t.block, ROUNDS, LOOPS);
	w->kept = read_self() == &w->teb;
	return NULL;
}

static void test_threads(void)
{
	char name[32];

	pthread_barrier_init(&ready, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		lwptest_setup(&worker[i].t, IRE, 30 + i, 7 * i, 4096);
		if (pthread_create(&worker[i].thread, NULL, work, &worker[i]))
			tap_error("cannot start a thread");
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(worker[i].thread, NULL);
		snprintf(name, sizeof(name), "thread %d", i);
		tap(worker[i].kept, "%s: its GS base is its own", name);
		lwptest_complete(&worker[i].t, KNOWN_YIELD(ROUNDS, LOOPS), name);
		lwptest_inside(&worker[i].t, known_yield_begin, known_yield_end, name);
	}
}

static void test_one_thread(void)
{
	unsigned int count[2] = { 0, 0 }, lost = 0;
	struct lwptest t[2];
	struct teb teb[2];

	for (unsigned int side = 0; side < 2; side++) {
		lwptest_setup(&t[side], VAL, 0, 0, TURNS * EACH + 1);
		set_gs(&teb[side]);
		tap(!__slwpcb(), "GS base %u: LWP is off at first", side);
		__llwpcb(t[side].block);
	}
	for (unsigned int i = 0; i < 2 * TURNS; i++) {
		unsigned int side = i & 1;

		set_gs(&teb[side]);
		for (unsigned int k = 0; k < EACH; k++)
			__lwpval32(count[side]++, side, 0);
		if (i % 50 == 0)
			usleep(1000);
		lost += __slwpcb() != t[side].block || read_self() != &teb[side];
	}
	tap(!lost, "SLWPCB gives the block of the GS base each time");
	for (unsigned int side = 0; side < 2; side++) {
		set_gs(&teb[side]);
		__llwpcb(NULL);
	}
	lwptest_numbered(&t[0], TURNS * EACH, 0, "GS base 0");
	lwptest_numbered(&t[1], TURNS * EACH, 1, "GS base 1");
}

int main(void)
{
	lwptest_need(VAL);
	lwptest_need(IRE);
	test_threads();
	test_one_thread();
	return tap_done();
}
