// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waiting for the ring: the module's eventfd counts the threshold interrupts of one thread, on each CPU, also for
 * another process; the library waits by it, and looks often where there is no module. LWP_MODULE: the module's file.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "liblwp.h"
#include "lwptest.h"

#define RING 4096u
#define RECORDS (RING / (uint32_t)sizeof(struct lwp_event))
#define THRESHOLD 16u
#define CPUS 8u /* that are used */
#define MANY 10 /* sleeps in half a second; with the module it is one */
#define SOON 5 /* seconds; without an interrupt the library looks after 10 */

/* A thread that puts marks into its ring; what it has computed meanwhile. */
struct marker {
	unsigned int cpu, marks, sum;
	int event;
};

static void stay_on(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		tap_error("no CPU %u", cpu);
}

static bool tell(int device, int event)
{
	return write(device, &event, sizeof(event)) == sizeof(event);
}

/* Interrupts since the last call. */
static unsigned int counted(int event)
{
	eventfd_t count = 0;

	return eventfd_read(event, &count) ? 0 : (unsigned int)count;
}

static void *put_marks(void *arg)
{
	static _Thread_local unsigned char memory[2 * RING] __attribute__((aligned(RING)));
	struct lwp_block *block = (struct lwp_block *)(void *)memory;
	int older = open("/dev/lwp", O_WRONLY), device = open("/dev/lwp", O_WRONLY);
	struct lwp_features features;
	struct marker *m = arg;

	stay_on(m->cpu);
	if (!tell(older, m->event) || !tell(device, m->event) || !lwp_query(&features))
		tap_error("no watch, or no LWP");
	close(older); /* which the newer one has replaced */
	lwp_block_init(block, &features, memory + RING, RING, 0);
	block->flags = LWP_ENABLE_INTERRUPT;
	block->threshold = THRESHOLD * (uint32_t)sizeof(struct lwp_event);
	lwp_llwpcb(block);
	for (unsigned int i = 0; i < m->marks; i++) {
		lwp_lwpins(i, i, 0);
		m->sum = m->sum * 5 + i;
	}
	lwp_llwpcb(NULL);
	close(device);
	return NULL;
}

/* One on each CPU at the same time. Each sum is that of s = s * 5 + i, modulo 2^32. */
static void each_thread_has_its_own(unsigned int nr)
{
	static const struct {
		unsigned int marks, interrupts, sum;
	} rows[] = { { 20, 5, 3344837982 }, { 15, 0, 1907348629 }, { 16, 1, 946808568 } };
	struct marker m[CPUS];
	pthread_t threads[CPUS];

	for (unsigned int turn = 0; turn < 3; turn++) {
		for (unsigned int i = 0; i < nr; i++) {
			m[i] = (struct marker){ i, rows[(i + turn) % 3].marks, 0,
						eventfd(0, EFD_NONBLOCK) };
			pthread_create(&threads[i], NULL, put_marks, &m[i]);
		}
		for (unsigned int i = 0; i < nr; i++) {
			unsigned int row = (i + turn) % 3, got;

			pthread_join(threads[i], NULL);
			got = counted(m[i].event);
			tap(got == rows[row].interrupts && m[i].sum == rows[row].sum,
			    "CPU %u: %u marks, %u interrupts, %u", i, m[i].marks, got, m[i].sum);
		}
	}
}

static void another_process_waits(void)
{
	struct marker m = { 0, THRESHOLD, 0, eventfd(0, EFD_NONBLOCK) };
	int own = eventfd(0, EFD_NONBLOCK), device = open("/dev/lwp", O_WRONLY);
	struct pollfd event = { m.event, POLLIN, 0 };

	tap(tell(device, own), "a process has an eventfd");
	if (!fork()) {
		put_marks(&m);
		_exit(0);
	}
	tap(poll(&event, 1, 10000) == 1, "its child's ring wakes it by another one");
	wait(NULL);
	tap(counted(m.event) == 1 && counted(own) == 0, "and not by its own");
	close(device);
}

static void wrong_calls_are_errors(void)
{
	int event = eventfd(0, EFD_NONBLOCK), device = open("/dev/lwp", O_WRONLY);

	tap(write(device, &event, 3) < 0 && errno == EINVAL, "3 bytes");
	tap(!tell(device, 999) && errno == EBADF, "no file");
	tap(!tell(device, device) && errno == EINVAL, "no eventfd");
	tap(tell(device, event) && !tell(device, event) && errno == EBUSY, "a second one");
	tap(system("/sbin/rmmod lwp 2>/dev/null") != 0,
	    "the module stays while its device is open");
	close(device);
}

struct late {
	struct lwp_session *session;
	unsigned int marks;
	sem_t started, seen;
};

static void *put_marks_late(void *arg)
{
	struct late *l = arg;

	if (lwp_start(l->session) || lwp_threshold(l->session, 1) != LWP_ERROR_STATE)
		tap_error("lwp_start");
	sem_post(&l->started);
	usleep(500000);
	for (unsigned int i = 0; i < l->marks; i++)
		lwp_mark(i, i);
	if (l->marks == THRESHOLD)
		sem_wait(&l->seen);
	lwp_stop(l->session);
	return NULL;
}

/* How often this thread sleeps while it waits for these marks, or for the session's end. */
static long sleeps(unsigned int marks)
{
	struct late l = { .marks = marks };
	struct rusage before, after;
	time_t begin = time(NULL);
	pthread_t thread;
	int64_t got;

	if (lwp_open(&l.session, NULL, 0, RING, 0) || sem_init(&l.started, 0, 0) ||
	    sem_init(&l.seen, 0, 0))
		tap_error("lwp_open");
	tap(lwp_wait(l.session, 0) == LWP_ERROR_ARGUMENT &&
		    lwp_threshold(l.session, 0) == LWP_ERROR_ARGUMENT &&
		    lwp_threshold(l.session, RECORDS) == LWP_ERROR_ARGUMENT,
	    "no threshold, and one above what there is room for");
	tap(!lwp_threshold(l.session, RECORDS - 1) && !lwp_threshold(l.session, THRESHOLD),
	    "thresholds");
	tap(lwp_wait(l.session, -1) == 0, "no waiting for a session that does not run");
	pthread_create(&thread, NULL, put_marks_late, &l);
	sem_wait(&l.started);
	tap(lwp_wait(l.session, 10) == 0, "the time has passed");
	getrusage(RUSAGE_THREAD, &before);
	got = lwp_wait(l.session, -1);
	getrusage(RUSAGE_THREAD, &after);
	sem_post(&l.seen);
	pthread_join(thread, NULL);
	tap(got == marks && time(NULL) - begin < SOON, "%lld marks are there soon", (long long)got);
	lwp_close(l.session);
	return after.ru_nvcsw - before.ru_nvcsw;
}

int main(void)
{
	unsigned int nr = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);

	nr = nr < CPUS ? nr : CPUS;
	lwptest_need(LWP_EVENT_INSTRUCTION);
	tap(sleeps(THRESHOLD) > MANY, "the library looks often without the module");
	if (system("/sbin/insmod \"$LWP_MODULE\""))
		tap_error("cannot load LWP_MODULE");
	wrong_calls_are_errors();
	each_thread_has_its_own(nr);
	another_process_waits();
	tap(sleeps(THRESHOLD) < MANY, "the library sleeps until the interrupt");
	tap(sleeps(THRESHOLD - 1) < MANY, "or until the session stops");
	stay_on(0);
	if (nr > 1 && system("cd /sys/devices/system/cpu/cpu1 && echo 0 >online && echo 1 >online"))
		tap_error("CPU 1 cannot go and come");
	each_thread_has_its_own(nr);
	tap(system("/sbin/rmmod lwp") == 0, "the module goes");
	return tap_done();
}
