// SPDX-License-Identifier: GPL-2.0-or-later
/* lwprun's rounds: slots and the requests in them. Rings are in rings.c, processes in processes.c. */
#include <stdlib.h>
#include <time.h>

#include "processes.h"
#include "rings.h"
#include "lwp_cb.h"
#include "supervise.h"

#define NS_PER_S 1000000000ull

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
		.stamped = leaf->rev->flags_are_input &&
			   lwp_get32(pool->template + LWP_CB_FLAGS) & LWP_F_PTSC,
		.started = stamps_now(),
		.stacks = options->stacks,
		.windows = options->windows,
		.window = options->window,
		.window_every = options->window_every,
		.window_event = leaf->rev->event_id[LWP_KIND_BRE],
		.thin = { .grows = true, .seed = pool->seed },
	};
	for (uint32_t e = 0; e < options->nr_events; e++)
		if (options->thinned & 1u << e)
			s->thin.events[s->thin.nr_events++].event_id =
				leaf->rev->event_id[options->events[e].event_id];
	rounds_init(&s->rounds, options);
	s->copy = malloc((s->windows ? 2 : 1) * (size_t)pool->ring_size);
	return s->rings && s->copy;
}

static void answer(struct pool_slot *slot, enum pool_request what)
{
	__atomic_store_n(&slot->request, what, __ATOMIC_RELEASE);
	pool_wake(&slot->request);
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
	case POOL_REQUEST_RESCAN:
		process = process_find(s, (pid_t)pid);
		if (process && request == POOL_REQUEST_GUARD)
			ring_guard(s, i, process);
		else if (process)
			process_rescan(s, process);
		answer(slot, POOL_REQUEST_NONE);
		break;
	default:
		break;
	}
}

static void free_slot(struct supervisor *s, uint32_t i)
{
	pool_release(s->pool, i);
	__atomic_fetch_add(&s->pool->freed, 1, __ATOMIC_RELEASE);
	pool_wake(&s->pool->freed);
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
		if (ring_drain(s, i, s->rounds.live_due) && s->objects.with_data)
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

void supervise_round(struct supervisor *s)
{
	uint32_t slots = pool_taken(s->pool);
	unsigned int filled = 0; /* most that a ring has filled since the last round, percent */

	rounds_begin(&s->rounds, rounds_now());
	for (uint32_t i = 0; i < slots; i++) {
		unsigned int percent = ring_progress(s, i);

		if (percent > filled)
			filled = percent;
		serve_slot(s, i);
	}
	processes_check(s);
	if (s->rounds.live_due)
		lwpdata_flush(s->writer);
	rounds_end(&s->rounds, filled);
}

void supervise_sleep(struct supervisor *s, uint32_t bell)
{
	uint64_t period = rounds_until_next(&s->rounds, rounds_now());
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
		pool_wake(&pool_slot(s->pool, i)->request);
	pool_wake(&s->pool->freed);
	s->stats.threads_no_slot = s->pool->threads_no_slot;
	s->stats.threads_no_memory = s->pool->threads_no_memory;
	lwpdata_write_stats(s->writer, &s->stats);
	objects_free(&s->objects);
	free(s->copy);
	free(s->rings);
}
