// SPDX-License-Identifier: GPL-2.0-or-later
/* lwprun's rounds: slots and the requests in them. Rings are in rings.c, processes in processes.c. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "processes.h"
#include "rings.h"
#include "supervise.h"

#define NS_PER_S 1000000000ull
#define NS_PER_MS 1000000ull
/* Between looks at the rings: short when they fill fast, long when little happens. */
#define PERIOD_MIN (1 * NS_PER_MS)
#define PERIOD_MAX (64 * NS_PER_MS)
#define PERIOD_FIRST (8 * NS_PER_MS)

uint64_t supervise_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Records of data cache misses have data addresses: what these lie in goes into the profile. */
static bool has_misses(const struct options *options)
{
	for (uint32_t e = 0; e < options->nr_events; e++)
		if (options->events[e].event_id == LWP_KIND_DME)
			return true;
	return false;
}

bool supervise_init(struct supervisor *s, struct pool *pool, ino_t pool_inode,
		    const struct leaf *leaf, const struct options *options,
		    struct lwpdata_writer *writer, const char *library)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*s = (struct supervisor){
		.pool = pool,
		.pool_inode = pool_inode,
		.writer = writer,
		.tail_offset = leaf->rev->cb_tail_offset,
		.started_realtime = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec,
		.rings = calloc(pool->nr_slots, sizeof(struct ring)),
		.objects = { .profiler = library, .with_data = has_misses(options) },
		.period = PERIOD_FIRST,
		.live = options->live,
		.windows = options->windows,
		.window_event = leaf->rev->event_id[LWP_KIND_BRE],
		.window_period = options->window_period,
		.window_random = options->seed,
	};
	if (s->windows)
		s->window_copy = malloc(2 * (size_t)pool->ring_size);
	return s->rings && (!s->windows || s->window_copy);
}

static void wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void answer(struct pool_slot *slot, enum pool_request what)
{
	__atomic_store_n(&slot->request, what, __ATOMIC_RELEASE);
	wake(&slot->request);
}

static void serve_request(struct supervisor *s, uint32_t i, uint32_t request, uint32_t pid)
{
	struct pool_slot *slot = pool_slot(s->pool, i);
	struct process *process;

	switch (request) {
	case POOL_REQUEST_ATTACH_EXEC:
	case POOL_REQUEST_ATTACH_FORK:
		process = process_attach(s, (pid_t)pid, request == POOL_REQUEST_ATTACH_EXEC, i);
		if (process)
			ring_guard(s, i, process);
		answer(slot, process ? POOL_REQUEST_NONE : POOL_REQUEST_REFUSED);
		break;
	case POOL_REQUEST_GUARD:
		process = process_find(s, (pid_t)pid);
		if (process)
			ring_guard(s, i, process);
		answer(slot, POOL_REQUEST_NONE);
		break;
	case POOL_REQUEST_RESCAN:
		process = process_find(s, (pid_t)pid);
		if (process)
			process_rescan(s, process);
		answer(slot, POOL_REQUEST_NONE);
		break;
	default:
		break;
	}
}

static void free_slot(struct supervisor *s, uint32_t i)
{
	__atomic_store_n(&pool_slot(s->pool, i)->owner, 0, __ATOMIC_RELEASE);
	__atomic_fetch_add(&s->pool->freed, 1, __ATOMIC_RELEASE);
	wake(&s->pool->freed);
}

static void serve_slot(struct supervisor *s, uint32_t i)
{
	struct pool_slot *slot = pool_slot(s->pool, i);
	uint64_t owner = __atomic_load_n(&slot->owner, __ATOMIC_ACQUIRE);
	uint32_t request;

	if (!owner)
		return;
	request = __atomic_load_n(&slot->request, __ATOMIC_ACQUIRE);
	if (request)
		serve_request(s, i, request, pool_owner_pid(owner));
	switch (pool_owner_state(owner)) {
	case POOL_LIVE:
	case POOL_EXECING:
		if (!ring_introduce(s, i))
			break;
		/* A window is taken when it is due. */
		if (ring_drain(s, i, s->live_due && !s->windows) && s->objects.with_data)
			process_look_soon(s->rings[i].process);
		break;
	case POOL_DONE:
		ring_finish(s, i, true);
		free_slot(s, i);
		break;
	default:
		break;
	}
}

/*
 * Is it time for windows? The period varies from half to one and a half, so that no loop of the program
 * stays in step with it.
 */
static bool windows_due(struct supervisor *s)
{
	uint64_t now = supervise_now();

	if (s->windows != WINDOWS_SAMPLED || now < s->window_at)
		return false;
	/* xorshift64*; its state must not be 0. */
	s->window_random = s->window_random ?: 1;
	s->window_random ^= s->window_random >> 12;
	s->window_random ^= s->window_random << 25;
	s->window_random ^= s->window_random >> 27;
	s->window_at = now + s->window_period / 2 +
		       (s->window_random * 0x2545f4914f6cdd1dull >> 1) % s->window_period;
	return true;
}

/* Is it time to show what was recorded to those who read the file while it grows? */
static bool live_due(struct supervisor *s)
{
	uint64_t now = supervise_now();

	if (!s->live || now < s->live_at)
		return false;
	s->live_at = now + s->live;
	return true;
}

/* Time until the next round: what rings need, or until a window is due. */
static uint64_t until_next(const struct supervisor *s)
{
	uint64_t now = supervise_now();

	/* A thread that has filled half of its ring since the last round may wait already. */
	if (s->windows == WINDOWS_ALL)
		return s->filled >= 50 ? 1 : PERIOD_MIN;
	if (s->windows == WINDOWS_NONE)
		return s->period;
	if (s->window_at > now + PERIOD_MAX)
		return PERIOD_MAX;
	return s->window_at > now ? s->window_at - now : 1;
}

void supervise_round(struct supervisor *s)
{
	uint32_t slots = __atomic_load_n(&s->pool->high_water, __ATOMIC_SEQ_CST);
	unsigned int filled = 0; /* most that a ring has filled since the last round, percent */

	if (slots > s->pool->nr_slots)
		slots = s->pool->nr_slots;
	s->windows_due = windows_due(s);
	s->live_due = live_due(s);
	for (uint32_t i = 0; i < slots; i++) {
		unsigned int percent = ring_progress(s, i);

		if (percent > filled)
			filled = percent;
		serve_slot(s, i);
	}
	processes_check(s);
	if (s->live_due)
		lwpdata_flush(s->writer);
	s->filled = filled;
	if (filled >= 25 && s->period / 2 >= PERIOD_MIN)
		s->period /= 2;
	else if (filled < 6 && s->period * 2 <= PERIOD_MAX)
		s->period *= 2;
}

void supervise_sleep(struct supervisor *s, uint32_t bell)
{
	uint64_t period = until_next(s);
	const struct timespec timeout = {
		.tv_sec = (time_t)(period / NS_PER_S),
		.tv_nsec = (long)(period % NS_PER_S),
	};

	syscall(SYS_futex, &s->pool->bell, FUTEX_WAIT, bell, &timeout, NULL, 0);
}

bool supervise_busy(const struct supervisor *s, const char *environment)
{
	return s->processes || processes_with(environment);
}

void supervise_finish(struct supervisor *s)
{
	__atomic_store_n(&s->pool->closing, 1, __ATOMIC_SEQ_CST);
	supervise_round(s);
	processes_end_all(s);
	for (uint32_t i = 0; i < s->pool->nr_slots; i++)
		wake(&pool_slot(s->pool, i)->request);
	wake(&s->pool->freed);
	s->stats.threads_no_slot = s->pool->threads_no_slot;
	s->stats.threads_no_memory = s->pool->threads_no_memory;
	lwpdata_write_stats(s->writer, &s->stats);
	objects_free(&s->objects);
	free(s->window_copy);
	free(s->rings);
}
