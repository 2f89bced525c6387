// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waiting for the ring: the module's eventfd counts the threshold interrupts of one thread, on each CPU, also for
 * another process; the library waits by it, and looks often where there is no module. LWP_MODULE: the module's file.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "liblwp.h"
#include "lwptest.h"

#define RECORDS 128u
#define THRESHOLD 16u
#define CPUS 8u /* that are used */
#define MANY 10 /* sleeps, of which there is one in half a second with the module */
#define PATIENCE 60 /* seconds for MANY, of which a library that waits for an interrupt needs 100 */
#define SOON 5 /* seconds; without an interrupt the library looks after 10 */

/* Marks of a thread, the interrupts that they give, and the sum s = s * 5 + i over them, modulo 2^32. */
static const struct row {
	unsigned int marks, interrupts, sum;
} rows[] = { { 20, 5, 3344837982 }, { 15, 0, 1907348629 }, { 16, 1, 946808568 } };

struct marker {
	const struct row *row;
	unsigned int cpu, sum;
	int event;
	pthread_t thread;
};

static int event(void)
{
	return eventfd(0, EFD_NONBLOCK);
}

/* Interrupts since the last call. */
static unsigned int counted(int event)
{
	eventfd_t count = 0;

	return eventfd_read(event, &count) ? 0 : (unsigned int)count;
}

static int device(void)
{
	return open("/dev/lwp", O_WRONLY);
}

static bool tell(int device, int event)
{
	return write(device, &event, sizeof(event)) == sizeof(event);
}

static struct lwp_session *opened(void)
{
	struct lwp_session *session;

	if (lwp_open(&session, NULL, 0, RECORDS * (uint32_t)sizeof(struct lwp_event), 0) ||
	    lwp_threshold(session, THRESHOLD))
		tap_error("no session");
	return session;
}

/* Its eventfd takes the place of the library's. */
static void *put_marks(void *arg)
{
	struct lwp_session *session = opened();
	struct marker *m = arg;
	int fd = device();

	lwptest_stay_on(m->cpu);
	if (lwp_start(session) || !tell(fd, m->event))
		tap_error("no watch");
	for (unsigned int i = 0; i < m->row->marks; i++) {
		lwp_mark(i, i);
		m->sum = m->sum * 5 + i;
	}
	lwp_close(session);
	close(fd);
	return NULL;
}

/* One on each CPU at the same time. */
static void each_thread_has_its_own(unsigned int nr)
{
	struct marker markers[CPUS];

	for (unsigned int turn = 0; turn < 3; turn++) {
		for (unsigned int i = 0; i < nr; i++) {
			markers[i] = (struct marker){ .row = &rows[(i + turn) % 3],
						      .cpu = i,
						      .event = event() };
			pthread_create(&markers[i].thread, NULL, put_marks, &markers[i]);
		}
		for (struct marker *m = markers; m < markers + nr; m++) {
			unsigned int got;

			pthread_join(m->thread, NULL);
			got = counted(m->event);
			tap(got == m->row->interrupts && m->sum == m->row->sum,
			    "CPU %u: %u marks, %u interrupts, %u", m->cpu, m->row->marks, got,
			    m->sum);
		}
	}
}

static void another_process_waits(void)
{
	struct marker m = { .row = &rows[2], .event = event() };
	struct pollfd child = { m.event, POLLIN, 0 };
	int own = event(), fd = device();

	tap(tell(fd, own), "a process has an eventfd");
	if (!fork()) {
		put_marks(&m);
		_exit(0);
	}
	tap(poll(&child, 1, 10000) == 1, "its child's ring wakes it by another one");
	wait(NULL);
	tap(counted(m.event) == 1 && counted(own) == 0, "and not by its own");
	close(fd);
}

static void wrong_calls_are_errors(void)
{
	int own = event(), fd = device();

	tap(write(fd, &own, 3) < 0 && errno == EINVAL, "3 bytes");
	tap(!tell(fd, 999) && errno == EBADF, "no file");
	tap(!tell(fd, fd) && errno == EINVAL, "no eventfd");
	tap(tell(fd, own) && !tell(fd, own) && errno == EBUSY, "a second one");
	tap(system("/sbin/rmmod lwp 2>/dev/null"), "the module stays while its device is open");
	close(fd);
}

/* ---- The library ---- */

struct late {
	struct lwp_session *session;
	unsigned int marks;
	bool often; /* the marks come after more than MANY sleeps of the first thread, in PATIENCE */
	time_t put; /* when they come */
	sem_t started, seen;
};

static long slept_by_first(void)
{
	char line[128];
	long slept = 0;
	FILE *status = fopen("/proc/self/status", "r");

	while (status && fgets(line, sizeof(line), status))
		sscanf(line, "voluntary_ctxt_switches: %ld", &slept);
	if (status)
		fclose(status);
	return slept;
}

static void *put_marks_late(void *arg)
{
	struct late *l = arg;
	time_t begin = time(NULL);
	long slept = slept_by_first();

	if (lwp_start(l->session) || lwp_threshold(l->session, 1) != LWP_ERROR_STATE)
		tap_error("lwp_start");
	sem_post(&l->started);
	do
		usleep(500000);
	while (l->often && slept_by_first() - slept < 3 * MANY && time(NULL) - begin < PATIENCE);
	l->put = time(NULL);
	for (unsigned int i = 0; i < l->marks; i++)
		lwp_mark(i, i);
	if (l->marks == THRESHOLD)
		sem_wait(&l->seen);
	lwp_stop(l->session);
	return NULL;
}

/* How often this thread sleeps while it waits for these marks, or for the session's end. */
static long sleeps(unsigned int marks, bool often)
{
	struct late l = { .session = opened(), .marks = marks, .often = often };
	struct rusage before, after;
	pthread_t thread;
	int64_t got;

	sem_init(&l.started, 0, 0);
	sem_init(&l.seen, 0, 0);
	pthread_create(&thread, NULL, put_marks_late, &l);
	sem_wait(&l.started);
	tap(lwp_wait(l.session, 10) == 0, "the time has passed");
	getrusage(RUSAGE_THREAD, &before);
	got = lwp_wait(l.session, -1);
	getrusage(RUSAGE_THREAD, &after);
	sem_post(&l.seen);
	pthread_join(thread, NULL);
	tap(got == marks && time(NULL) - l.put < SOON, "%lld marks are there soon", (long long)got);
	lwp_close(l.session);
	return after.ru_nvcsw - before.ru_nvcsw;
}

int main(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int nr = cpus < CPUS ? (unsigned int)cpus : CPUS;

	lwptest_need(IRE);
	tap(sleeps(THRESHOLD, true) > MANY, "the library looks often without the module");
	if (system("/sbin/insmod \"$LWP_MODULE\""))
		tap_error("cannot load LWP_MODULE");
	wrong_calls_are_errors();
	each_thread_has_its_own(nr);
	another_process_waits();
	tap(sleeps(THRESHOLD, false) < MANY, "the library sleeps until the interrupt");
	tap(sleeps(THRESHOLD - 1, false) < MANY, "or until the session stops");
	lwptest_stay_on(0);
	if (nr > 1 && system("cd /sys/devices/system/cpu/cpu1 && echo 0 >online && echo 1 >online"))
		tap_error("CPU 1 cannot go and come");
	each_thread_has_its_own(nr);
	tap(system("/sbin/rmmod lwp") == 0, "the module goes");
	return tap_done();
}
