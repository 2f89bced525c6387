// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * liblwp in a guest, in 64 and in 32 bits: errors, counts of known code, marks, windows, and the ends of threads and children.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "liblwp.h"
#include "lwptest.h"

#define TURNS 10000
#define RING 4096u

/* Two instructions a turn, of which one is a branch. */
static __attribute__((noinline)) void turns(uintptr_t n)
{
	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(n) : : "cc");
}

/* In 32-bit code LWPINS has a register of 32 bits. */
#define MARK ((uintptr_t)0x123456789abcull)

#define HUGE_PAGE (2u << 20)

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static struct lwp_session *opened(unsigned int event_id, uint32_t interval, uint32_t ring)
{
	const struct lwp_choice choice = { event_id, interval };
	struct lwp_session *session;
	int error = lwp_open(&session, &choice, 1, ring, 0);

	if (error)
		tap_error("lwp_open: %s", lwp_strerror(error));
	return session;
}

static int open_error(unsigned int event_id, uint32_t interval, uint32_t ring, unsigned int random)
{
	const struct lwp_choice choices[2] = { { event_id, interval }, { LWP_EVENT_BRANCH, 9 } };
	struct lwp_session *session;

	return lwp_open(&session, choices, 2, ring, random);
}

static void wrong_arguments_are_errors(void)
{
	struct lwp_session *session;

	tap(open_error(77, 1, 0, 0) == LWP_ERROR_EVENT, "EventId 77");
	tap(open_error(0, 1, 0, 0) == LWP_ERROR_EVENT, "EventId 0");
	tap(open_error(LWP_EVENT_BRANCH, 1, 0, 0) == LWP_ERROR_EVENT, "an event given twice");
	tap(open_error(2, 0x3ffffff, 0, 0) == LWP_ERROR_INTERVAL, "an interval of 26 bits");
	tap(open_error(2, 1, 32, 0) == LWP_ERROR_RING, "a ring of 32 bytes");
	tap(open_error(2, 1, 4100, 0) == LWP_ERROR_RING, "a ring that is no multiple of 32");
	tap(open_error(2, 1, 0, 16) == LWP_ERROR_ARGUMENT, "16 random bits");
	tap(lwp_open(NULL, NULL, 0, 0, 0) == LWP_ERROR_ARGUMENT, "no place for the session");
	tap(lwp_open(&session, NULL, 1, 0, 0) == LWP_ERROR_ARGUMENT, "no choices");
	tap(lwp_start(NULL) == LWP_ERROR_ARGUMENT && lwp_close(NULL) == LWP_ERROR_ARGUMENT,
	    "no session");
}

static void states_are_kept(void)
{
	struct lwp_session *a = opened(2, 999, RING), *b = opened(2, 999, 0);

	tap(lwp_wait(a, 0) == LWP_ERROR_ARGUMENT && lwp_threshold(a, 0) == LWP_ERROR_ARGUMENT &&
		    lwp_threshold(a, RING / 32) == LWP_ERROR_ARGUMENT,
	    "no threshold, and one above what there is room for");
	tap(!lwp_threshold(a, RING / 32 - 1) && lwp_wait(a, -1) == 0,
	    "no waiting for a session that does not run");
	tap(lwp_stop(a) == LWP_ERROR_STATE, "stopping what does not run");
	tap(lwp_start(a) == LWP_OK && lwp_start(a) == LWP_ERROR_STATE, "starting twice");
	tap(lwp_start(b) == LWP_ERROR_BUSY, "two sessions in a thread");
	tap(lwp_stop(a) == LWP_OK && lwp_start(b) == LWP_OK, "one after the other");
	tap(lwp_close(b) == LWP_OK && !lwp_slwpcb(), "closing stops");
	lwp_close(a);
}

/* What start and stop themselves cost is the same in both runs. */
static uint64_t count_of(unsigned int event_id, uint32_t interval, uint32_t ring, uintptr_t n)
{
	struct lwp_session *session = opened(event_id, interval, ring);
	uint64_t count = 0;

	lwp_start(session);
	turns(n);
	lwp_stop(session);
	if (lwp_count(session, event_id, &count))
		tap_error("lwp_count");
	lwp_close(session);
	return count;
}

static void counts_are_exact(void)
{
	static const uint32_t intervals[] = { 0, 1, 99, LWP_INTERVAL_MAX };

	for (size_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
		uint64_t more = count_of(2, intervals[i], RING, 2 * TURNS) -
				count_of(2, intervals[i], RING, TURNS);
		uint64_t branches = count_of(3, intervals[i], RING, 2 * TURNS) -
				    count_of(3, intervals[i], RING, TURNS);

		tap(more == 2 * TURNS, "interval %u: %llu instructions", intervals[i],
		    (unsigned long long)more);
		tap(branches == TURNS, "interval %u: %llu branches", intervals[i],
		    (unsigned long long)branches);
	}
}

static void marks_come_in_order(void)
{
	struct lwp_session *session;
	struct lwp_event events[8];

	if (lwp_open(&session, NULL, 0, RING, 0))
		tap_error("lwp_open");
	lwp_mark(99, 99);
	lwp_start(session);
	for (uint32_t i = 0; i < 3; i++)
		lwp_mark(0x123456789abcull + i, i);
	tap(lwp_poll(session) == 3, "three marks wait");
	tap(lwp_drain(session, events, 2) == 2 && lwp_drain(session, events + 2, 6) == 1,
	    "they are drained");
	tap(events[0].event_id == LWP_EVENT_INSERTED && events[0].data2 == MARK &&
		    events[2].data1 == 2,
	    "with their contents, in order");
	lwp_close(session);
}

/* Two bits of 7 are random: 5 to 8 values a record, 154 records give or take 2 (sigma). The ring is read while the session runs. */
static void values_and_branches_share_a_ring(void)
{
	static const struct lwp_choice choices[] = { { LWP_EVENT_VALUE, 7 },
						     { LWP_EVENT_BRANCH, 99 } };
	unsigned int values = 0, branches = 0, odd = 0;
	struct lwp_session *session;
	struct lwp_event events[8];
	uint64_t count;
	int64_t nr;

	if (lwp_open(&session, choices, 2, RING, 2))
		tap_error("lwp_open");
	lwp_start(session);
	for (uint32_t i = 0; i < 1000; i++) {
		lwp_lwpval(MARK + i, i, 5);
		turns(100);
		while ((nr = lwp_drain(session, events, 8)) > 0)
			for (int64_t e = 0; e < nr; e++) {
				bool value = events[e].event_id == LWP_EVENT_VALUE;

				values += value;
				branches += events[e].event_id == LWP_EVENT_BRANCH;
				odd += value && (events[e].data2 != MARK + events[e].data1 ||
						 events[e].flags != 5);
			}
	}
	lwp_stop(session);
	tap(values >= 140 && values <= 168 && !odd, "%u of 1000 values", values);
	tap(branches > 1000, "%u records of 100,000 branches and more", branches);
	tap(lwp_missed(session) == 0, "none is missed");
	tap(lwp_count(session, LWP_EVENT_VALUE, &count) == LWP_ERROR_MISSED, "no exact count");
	lwp_close(session);
}

static void windows_are_consecutive(void)
{
	struct lwp_event events[64];
	struct lwp_session *session;
	uint64_t weight = 0, all = 0, count = 0;
	unsigned int windows = 0, odd = 0;

	if (lwp_open_windows(&session, 64))
		tap_error("lwp_open_windows");
	lwp_start(session);
	for (int i = 0; i < 20; i++) {
		turns(1000);
		if (lwp_window(session, events, 64, &weight) != 64)
			continue;
		windows++;
		all += weight;
		/* A window begins anywhere and is soon in the loop, which it does not leave. */
		for (int e = 40; e < 63; e++)
			odd += events[e].address != events[e + 1].address ||
			       !(events[e].flags & LWP_EVENT_TAKEN);
	}
	lwp_stop(session);
	lwp_count(session, LWP_EVENT_BRANCH, &count);
	tap(windows == 20 && !odd, "%u windows, each in the loop", windows);
	/* What comes after the last one is the copying and the checking above. */
	tap(all <= count && count - all < 1000, "their weights are the branches: %llu of %llu",
	    (unsigned long long)all, (unsigned long long)count);
	tap(lwp_window(session, events, 63, &weight) == LWP_ERROR_ARGUMENT, "too little room");
	lwp_close(session);
}

static void *forgets_to_stop(void *session)
{
	lwp_start(session);
	turns(TURNS);
	return NULL;
}

static void *only_runs(void *arg)
{
	turns(TURNS);
	return lwp_slwpcb() ? arg : NULL;
}

static void a_thread_that_ends_stops(void)
{
	struct lwp_session *session = opened(2, 0, RING);
	int64_t before;
	pthread_t thread;
	void *on = NULL;

	pthread_create(&thread, NULL, forgets_to_stop, session);
	pthread_join(thread, NULL);
	before = lwp_poll(session);
	/* The next thread has the same FS base: without an end LWP would continue in it. */
	pthread_create(&thread, NULL, only_runs, session);
	pthread_join(thread, &on);
	tap(before > 0 && !on, "LWP is off in the next thread");
	tap(lwp_poll(session) == before, "and writes nothing more");
	tap(lwp_close(session) == LWP_OK, "another thread closes the session");
}

static void *closes(void *session)
{
	return lwp_close(session) == LWP_ERROR_THREAD && lwp_stop(session) == LWP_ERROR_THREAD ?
		       session :
		       NULL;
}

/* What khugepaged does with a program's memory at any time would take the session away for a moment. */
static void its_memory_stays_in_small_pages(void)
{
	struct lwp_session *session = opened(2, 999999, 2 * HUGE_PAGE);
	uintptr_t block, huge;

	lwp_start(session);
	block = (uintptr_t)lwp_slwpcb();
	lwp_stop(session);
	huge = (block + HUGE_PAGE - 1) & -(uintptr_t)HUGE_PAGE;
	errno = 0;
	tap(block && madvise((void *)huge, HUGE_PAGE, MADV_COLLAPSE) && errno == EINVAL,
	    "its memory is no huge page (%s)", strerror(errno));
	lwp_close(session);
}

static void others_do_not_stop_it(void)
{
	struct lwp_session *session = opened(2, 999, 0);
	pthread_t thread;
	void *refused = NULL;

	lwp_start(session);
	pthread_create(&thread, NULL, closes, session);
	pthread_join(thread, &refused);
	tap(refused == session, "another thread can neither close nor stop it");
	tap(lwp_stop(session) == LWP_OK, "its own can");
	lwp_close(session);
}

static void a_child_has_none(void)
{
	struct lwp_session *session = opened(2, 0, RING);
	int status = 0;
	pid_t child;

	lwp_start(session);
	child = fork();
	if (!child) {
		bool good = !lwp_slwpcb() && lwp_stop(session) == LWP_ERROR_STATE;

		/* It can start the session, whose memory is now its own, or close it. */
		good = good && lwp_start(session) == LWP_OK && lwp_close(session) == LWP_OK;
		_exit(!good);
	}
	waitpid(child, &status, 0);
	tap(child > 0 && status == 0, "LWP is off in a child, which can start and close");
	tap(lwp_stop(session) == LWP_OK, "and on in the parent");
	lwp_close(session);
}

int main(void)
{
	lwptest_need(LWP_EVENT_INSTRUCTION);
	tap(lwp_available(), "there is LWP");
	wrong_arguments_are_errors();
	states_are_kept();
	counts_are_exact();
	marks_come_in_order();
	values_and_branches_share_a_ring();
	windows_are_consecutive();
	a_thread_that_ends_stops();
	its_memory_stays_in_small_pages();
	others_do_not_stop_it();
	a_child_has_none();
	return tap_done();
}
