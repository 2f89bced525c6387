// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * liblwprun.so: LWP on in every thread. A new thread starts in our function, which starts LWP and then
 * the thread's own; the last destructor of thread-specific data stops it, whether the thread returns,
 * calls pthread_exit or is cancelled.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>

#include "preload.h"

static int (*real_pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static int (*real_thrd_create)(thrd_t *, thrd_start_t, void *);
static pthread_key_t last_key;
static bool have_key;

struct start {
	union {
		void *(*posix)(void *);
		thrd_start_t c11;
	};
	void *arg;
};

/*
 * Destructors run in rounds while one of them sets a value again. Setting ours again until the last
 * round lets those of the program, which may do real work, be counted.
 */
static void thread_ends(void *value)
{
	uintptr_t round = (uintptr_t)value;

	if (round < PTHREAD_DESTRUCTOR_ITERATIONS &&
	    pthread_setspecific(last_key, (void *)(round + 1)) == 0)
		return;
	preload_thread_end();
}

void preload_thread_init(void)
{
	real_pthread_create = preload_next("pthread_create");
	real_thrd_create = preload_next("thrd_create");
	have_key = pthread_key_create(&last_key, thread_ends) == 0;
}

static struct start take_start(void *boxed)
{
	struct start start = *(struct start *)boxed;

	free(boxed);
	if (have_key)
		pthread_setspecific(last_key, (void *)(uintptr_t)1);
	preload_thread_begin();
	return start;
}

static void *start_posix(void *boxed)
{
	struct start start = take_start(boxed);

	return start.posix(start.arg);
}

static int start_c11(void *boxed)
{
	struct start start = take_start(boxed);

	return start.c11(start.arg);
}

INTERPOSED int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			      void *(*function)(void *), void *arg)
{
	struct start *boxed;
	int result;

	preload_init();
	if (!preload_active())
		return real_pthread_create(thread, attr, function, arg);
	boxed = malloc(sizeof(*boxed));
	if (!boxed)
		return EAGAIN;
	boxed->posix = function;
	boxed->arg = arg;
	result = real_pthread_create(thread, attr, start_posix, boxed);
	if (result)
		free(boxed);
	return result;
}

INTERPOSED int thrd_create(thrd_t *thread, thrd_start_t function, void *arg)
{
	struct start *boxed;
	int result;

	preload_init();
	if (!preload_active())
		return real_thrd_create(thread, function, arg);
	boxed = malloc(sizeof(*boxed));
	if (!boxed)
		return thrd_nomem;
	boxed->c11 = function;
	boxed->arg = arg;
	result = real_thrd_create(thread, start_c11, boxed);
	if (result != thrd_success)
		free(boxed);
	return result;
}
