// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads are profiled while a processor is plugged and unplugged (lab/tests/linux/test_threads.py does that): each
 * round of each thread has a complete profile, and part of the records are of the processor that comes and goes.
 *
 * It says "unplug" and "plug" when it wants the second processor to go and to come back, TURNS times each.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "known.h"
#include "lwptest.h"

#define THREADS 4
#define TURNS 2
#define ROUNDS 5000
#define LOOPS 2000
#define INTERVAL 5000
#define RECORDS 32768

#define SECOND "/sys/devices/system/cpu/cpu1"

struct worker {
	pthread_t thread;
	atomic_uint rounds; /* that are over */
	atomic_uint there; /* of them, those with records of the second processor */
};

static pthread_mutex_t reporting = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool over;

static bool was_there(const struct lwptest *t)
{
	struct lwp_record rec;

	for (uint64_t i = 0; i < lwptest_records(t); i++) {
		lwptest_record(t, i, &rec);
		if (rec.core_id == 1)
			return true;
	}
	return false;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct lwptest t;

	while (!over) {
		lwptest_setup(&t, IRE, INTERVAL, INTERVAL, RECORDS);
		known_yield(t.block, ROUNDS, LOOPS);
		pthread_mutex_lock(&reporting);
		lwptest_complete(&t, KNOWN_YIELD(ROUNDS, LOOPS), "a round");
		lwptest_inside(&t, known_yield_begin, known_yield_end, "a round");
		pthread_mutex_unlock(&reporting);
		w->there += was_there(&t);
		w->rounds++;
		lwptest_free(&t);
	}
	return NULL;
}

/* Wait until each thread has ended two more rounds; how many had records of the second processor? */
static unsigned int rounds_pass(struct worker *worker)
{
	unsigned int there = 0, before;

	for (int i = 0; i < THREADS; i++) {
		before = worker[i].there;
		for (unsigned int until = worker[i].rounds + 2; worker[i].rounds < until;)
			usleep(10000);
		there += worker[i].there - before;
	}
	return there;
}

static void say(const char *text)
{
	pthread_mutex_lock(&reporting);
	puts(text);
	fflush(stdout);
	pthread_mutex_unlock(&reporting);
}

static void wait_for(bool there)
{
	while ((access(SECOND "/online", F_OK) == 0) != there)
		usleep(10000);
}

/* A system may do that by itself. */
static void bring_online(void)
{
	int fd = open(SECOND "/online", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "1", 1) != 1)
		tap_note("cpu1 is not brought online here");
	close(fd);
}

int main(void)
{
	struct worker worker[THREADS] = { 0 };
	unsigned int there;

	lwptest_need(IRE);
	/* A page that khugepaged is collapsing cannot be read by a lookup; its context counts nothing until the next. */
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		tap_error("huge pages cannot be disabled");
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&worker[i].thread, NULL, work, &worker[i]))
			tap_error("cannot start a thread");
	}
	for (int turn = 0; turn < TURNS; turn++) {
		rounds_pass(worker);
		say("unplug");
		wait_for(false);
		rounds_pass(worker);
		say("plug");
		wait_for(true);
		bring_online();
		there = rounds_pass(worker);
		pthread_mutex_lock(&reporting);
		tap(there > 0, "turn %d: %u rounds have records of the processor that came", turn,
		    there);
		pthread_mutex_unlock(&reporting);
	}
	over = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(worker[i].thread, NULL);
	return tap_done();
}
