// SPDX-License-Identifier: MIT
/* liblwp: sessions of LWP, which end with their threads. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "liblwp.h"

#define PAGE 4096u
#define DEFAULT_RING (256u * 1024)
#define RECORD ((uint32_t)sizeof(struct lwp_event))
#define EVENTS_MAX 6
#define COUNTER_SIGN 0x02000000u
#define COUNTER_RANGE 0x04000000
#define DEVICE "/dev/lwp" /* guest-tools/module */
/* Milliseconds between two looks at the ring: where nothing tells of it, and where something should. */
#define OFTEN 1
#define SELDOM 10000

/* The control block lies in a page of its own, the ring in those after it. */
struct lwp_session {
	struct lwp_features features;
	struct lwp_block *block;
	size_t bytes; /* that are mapped */
	struct lwp_choice choices[EVENTS_MAX];
	unsigned int nr;
	unsigned int random;
	bool windows;
	uint64_t missed; /* at the last window */
	uint64_t drained[EVENTS_MAX]; /* records of each choice */

	uint32_t threshold; /* records; 0: nobody waits */
	int event; /* an eventfd, which a fork child shares: that costs at most a look; -1: none */
	_Atomic int device; /* the module's file if it counts there; -1: none */

	_Atomic bool running;
	pthread_t thread; /* in which it runs, and ... */
	pid_t process; /* ... that thread's process: a fork child has LWP off */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t running_key; /* the session that runs in a thread */
static bool have_key;

bool lwp_available(void)
{
	struct lwp_features features;

	return lwp_query(&features);
}

const char *lwp_strerror(int error)
{
	static const char *const texts[] = {
		[-LWP_OK] = "no error",
		[-LWP_ERROR_NO_LWP] = "no LWP in the processor, or the system has not enabled it",
		[-LWP_ERROR_EVENT] = "an event that this processor does not count, or given twice",
		[-LWP_ERROR_INTERVAL] = "an interval above 33554431",
		[-LWP_ERROR_RING] = "a ring that is too small, too large or no multiple of 32",
		[-LWP_ERROR_MEMORY] = "no memory",
		[-LWP_ERROR_BUSY] = "LWP runs in this thread for another session or profiler",
		[-LWP_ERROR_THREAD] = "the session runs in another thread",
		[-LWP_ERROR_STATE] = "the session runs already, or does not run",
		[-LWP_ERROR_LOST] = "LWP went off by itself",
		[-LWP_ERROR_ARGUMENT] = "an argument that is NULL or out of range",
		[-LWP_ERROR_MISSED] = "events were missed, or intervals are random: no exact count",
	};

	if (error > 0 || error <= -(int)(sizeof(texts) / sizeof(texts[0])))
		return "unknown error";
	return texts[-error];
}

/* ---- Threads -------------------------------------------------------------------------------- */

/* The session runs no more: who waits for it has waited long enough. */
static void ends(struct lwp_session *session)
{
	session->running = false;
	if (!session->threshold)
		return;
	close(session->device);
	session->device = -1;
	eventfd_write(session->event, 1);
}

/* The thread ends: the processor must not write to memory that somebody else may get. */
static void thread_ends(void *value)
{
	struct lwp_session *session = value;

	if (session->process == getpid())
		lwp_llwpcb(NULL);
	ends(session);
}

static void make_key(void)
{
	have_key = pthread_key_create(&running_key, thread_ends) == 0;
}

/* Does it run, as far as this process knows? The child of a fork has LWP off. */
static bool runs(const struct lwp_session *session)
{
	return session->running && session->process == getpid();
}

static bool runs_here(const struct lwp_session *session)
{
	return runs(session) && pthread_equal(session->thread, pthread_self());
}

/* ---- Opening -------------------------------------------------------------------------------- */

static int check_choices(const struct lwp_features *features, const struct lwp_choice *choices,
			 unsigned int nr)
{
	uint32_t seen = 0;

	for (unsigned int i = 0; i < nr; i++) {
		unsigned int id = choices[i].event_id;

		if (!id || id > EVENTS_MAX || id > features->max_event ||
		    !(features->available & LWP_ENABLE(id)) || seen & LWP_ENABLE(id))
			return LWP_ERROR_EVENT;
		if (choices[i].interval > LWP_INTERVAL_MAX)
			return LWP_ERROR_INTERVAL;
		seen |= LWP_ENABLE(id);
	}
	return LWP_OK;
}

static int map_session(struct lwp_session *session, uint32_t ring_size)
{
	void *memory;

	session->bytes = PAGE + ((size_t)ring_size + PAGE - 1) / PAGE * PAGE;
	memory = mmap(NULL, session->bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED)
		return LWP_ERROR_MEMORY;
	/*
	 * The kernel takes memory out of the page tables while it makes a huge page of it, and LWP
	 * pauses if the thread comes to a processor meanwhile. A kernel without huge pages refuses.
	 */
	madvise(memory, session->bytes, MADV_NOHUGEPAGE);
	session->block = memory;
	lwp_block_init(session->block, &session->features, (unsigned char *)memory + PAGE,
		       ring_size, session->random);
	for (unsigned int i = 0; i < session->nr; i++)
		lwp_block_event(session->block, &session->features, session->choices[i].event_id,
				session->choices[i].interval, session->choices[i].interval);
	return LWP_OK;
}

int lwp_open(struct lwp_session **out, const struct lwp_choice *choices, unsigned int nr,
	     uint32_t ring_size, unsigned int random)
{
	uint32_t size = ring_size ? ring_size : DEFAULT_RING;
	struct lwp_features features;
	struct lwp_session *session;
	int error;

	if (!out || (nr && !choices) || random > LWP_RANDOM_MAX)
		return LWP_ERROR_ARGUMENT;
	*out = NULL;
	if (!lwp_query(&features))
		return LWP_ERROR_NO_LWP;
	error = check_choices(&features, choices, nr);
	if (error)
		return error;
	if (size < features.ring_min || size < 2 * RECORD || size > LWP_RING_MAX || size % RECORD)
		return LWP_ERROR_RING;
	pthread_once(&once, make_key);
	session = calloc(1, sizeof(*session));
	if (!session || !have_key) {
		free(session);
		return LWP_ERROR_MEMORY;
	}
	session->features = features;
	session->nr = nr;
	session->random = random;
	session->event = -1;
	session->device = -1;
	for (unsigned int i = 0; i < nr; i++)
		session->choices[i] = choices[i];
	error = map_session(session, size);
	if (error)
		free(session);
	else
		*out = session;
	return error;
}

int lwp_open_windows(struct lwp_session **out, uint32_t records)
{
	const struct lwp_choice branches = { LWP_EVENT_BRANCH, 0 };
	int error;

	if (!out || !records || records > LWP_RING_MAX / RECORD - 1)
		return LWP_ERROR_ARGUMENT;
	/* One place in a ring is never used. */
	error = lwp_open(out, &branches, 1, (records + 1) * RECORD, 0);
	if (!error)
		(*out)->windows = true;
	return error;
}

/* ---- Starting and stopping ------------------------------------------------------------------ */

int lwp_threshold(struct lwp_session *session, uint32_t records)
{
	if (!session || !records || records >= lwp_ring_size(session->block) / RECORD)
		return LWP_ERROR_ARGUMENT;
	if (runs(session))
		return LWP_ERROR_STATE;
	if (session->event < 0)
		session->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (session->event < 0)
		return LWP_ERROR_MEMORY;
	session->threshold = records;
	session->block->threshold = records * RECORD;
	return LWP_OK;
}

/* Without the module nobody takes the interrupts, and none is asked for. */
static void watch(struct lwp_session *session)
{
	session->device = open(DEVICE, O_WRONLY | O_CLOEXEC);
	session->block->flags |= LWP_ENABLE_INTERRUPT;
	if (write(session->device, &session->event, sizeof(session->event)) < 0) {
		session->block->flags &= ~LWP_ENABLE_INTERRUPT;
		close(session->device);
		session->device = -1;
	}
}

int lwp_start(struct lwp_session *session)
{
	if (!session)
		return LWP_ERROR_ARGUMENT;
	if (runs(session))
		return runs_here(session) ? LWP_ERROR_STATE : LWP_ERROR_THREAD;
	if (lwp_slwpcb())
		return LWP_ERROR_BUSY;
	if (pthread_setspecific(running_key, session))
		return LWP_ERROR_MEMORY;
	if (session->threshold)
		watch(session);
	session->thread = pthread_self();
	session->process = getpid();
	session->running = true;
	lwp_llwpcb(session->block);
	return LWP_OK;
}

int lwp_stop(struct lwp_session *session)
{
	bool lost;

	if (!session)
		return LWP_ERROR_ARGUMENT;
	if (!runs(session))
		return LWP_ERROR_STATE;
	if (!runs_here(session))
		return LWP_ERROR_THREAD;
	lost = lwp_slwpcb() != session->block;
	if (!lost)
		lwp_llwpcb(NULL);
	ends(session);
	pthread_setspecific(running_key, NULL);
	return lost ? LWP_ERROR_LOST : LWP_OK;
}

int lwp_close(struct lwp_session *session)
{
	if (!session)
		return LWP_ERROR_ARGUMENT;
	if (runs(session) && !runs_here(session))
		return LWP_ERROR_THREAD;
	if (runs(session))
		lwp_stop(session);
	munmap(session->block, session->bytes);
	close(session->device); /* a fork child's copy */
	close(session->event);
	free(session);
	return LWP_OK;
}

/* ---- Reading -------------------------------------------------------------------------------- */

int64_t lwp_poll(const struct lwp_session *session)
{
	return session ? (int64_t)(lwp_ring_used(session->block) / RECORD) : LWP_ERROR_ARGUMENT;
}

int64_t lwp_wait(struct lwp_session *session, int timeout)
{
	int64_t n;

	if (!session || !session->threshold)
		return LWP_ERROR_ARGUMENT;
	while ((n = lwp_poll(session)) < session->threshold && runs(session) && timeout) {
		struct pollfd event = { session->event, POLLIN, 0 };
		int step = session->device < 0 ? OFTEN : SELDOM;
		eventfd_t count;

		if (timeout > 0 && step > timeout)
			step = timeout;
		if (poll(&event, 1, step) > 0)
			eventfd_read(session->event, &count);
		else if (timeout > 0)
			timeout -= step;
	}
	return n;
}

static void note(struct lwp_session *session, const struct lwp_event *event)
{
	for (unsigned int i = 0; i < session->nr; i++)
		session->drained[i] += session->choices[i].event_id == event->event_id;
}

int64_t lwp_drain(struct lwp_session *session, struct lwp_event *to, size_t room)
{
	const struct lwp_event *event;
	int64_t n = 0;

	if (!session || (room && !to))
		return LWP_ERROR_ARGUMENT;
	while (room-- && (event = lwp_ring_peek(session->block))) {
		note(session, event);
		to[n++] = *event;
		lwp_ring_pop(session->block);
	}
	return n;
}

uint64_t lwp_missed(const struct lwp_session *session)
{
	return session ? __atomic_load_n(&session->block->missed_events, __ATOMIC_ACQUIRE) : 0;
}

int64_t lwp_window(struct lwp_session *session, struct lwp_event *to, size_t room, uint64_t *weight)
{
	uint32_t used, whole;
	uint64_t missed;

	if (!session || !to || !weight || !session->windows)
		return LWP_ERROR_ARGUMENT;
	used = lwp_ring_used(session->block) / RECORD;
	whole = lwp_ring_size(session->block) / RECORD - 1;
	if (room < whole)
		return LWP_ERROR_ARGUMENT;
	if (used < whole)
		return 0;
	/* All that was missed came after these records: the ring is full. */
	missed = lwp_missed(session);
	*weight = whole + missed - session->missed;
	session->missed = missed;
	return lwp_drain(session, to, whole);
}

/* Records of a choice that wait in the ring. */
static uint64_t waiting(const struct lwp_session *session, unsigned int event_id)
{
	const unsigned char *ring = (const unsigned char *)session->block + PAGE;
	uint32_t size = lwp_ring_size(session->block), at = session->block->tail_offset;
	uint32_t left = lwp_ring_used(session->block);
	uint64_t n = 0;

	for (; left; left -= RECORD, at = at + RECORD == size ? 0 : at + RECORD)
		n += ring[at] == event_id;
	return n;
}

int lwp_count(struct lwp_session *session, unsigned int event_id, uint64_t *count)
{
	unsigned int i = 0;
	int64_t counter;
	uint64_t records;

	if (!session || !count)
		return LWP_ERROR_ARGUMENT;
	while (i < session->nr && session->choices[i].event_id != event_id)
		i++;
	if (i == session->nr)
		return LWP_ERROR_EVENT;
	if (runs(session) && !runs_here(session))
		return LWP_ERROR_THREAD;
	if (runs(session) && lwp_slwpcb() != session->block)
		return LWP_ERROR_LOST;
	if (session->random || (session->nr > 1 && lwp_missed(session)))
		return LWP_ERROR_MISSED;
	counter = lwp_block_slot(session->block, &session->features, event_id)->counter &
		  (COUNTER_RANGE - 1);
	if (counter & COUNTER_SIGN)
		counter -= COUNTER_RANGE;
	records = session->drained[i] + waiting(session, event_id) + lwp_missed(session);
	*count = records * ((uint64_t)session->choices[i].interval + 1) +
		 (uint64_t)((int64_t)session->choices[i].interval - counter);
	return LWP_OK;
}
