// SPDX-License-Identifier: GPL-2.0-or-later
/* The rings of threads: taking records out, and writing the end of a thread. */
#include <stdio.h>
#include <string.h>

#include "lwp_cb.h"
#include "lwp_record.h"
#include "processes.h"
#include "rings.h"

static uint32_t block_get32(struct supervisor *s, uint32_t i, uint32_t offset)
{
	uint32_t *p = (uint32_t *)(void *)(pool_block(s->pool, i) + offset);

	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static uint64_t block_get64(struct supervisor *s, uint32_t i, uint32_t offset)
{
	uint64_t *p = (uint64_t *)(void *)(pool_block(s->pool, i) + offset);

	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* Bytes between two offsets in a ring. */
static uint32_t distance(const struct supervisor *s, uint32_t from, uint32_t to)
{
	return to >= from ? to - from : to + s->pool->ring_size - from;
}

/* A name that a program left in its slot. */
static void copy_comm(char to[16], const char from[16])
{
	if (!from[0])
		return;
	memcpy(to, from, 16);
	to[15] = '\0';
}

static struct lwpdata_bytes text(const char *string)
{
	return (struct lwpdata_bytes){ (const uint8_t *)string, strlen(string) };
}

bool ring_introduce(struct supervisor *s, uint32_t i)
{
	struct pool_slot *slot = pool_slot(s->pool, i);
	struct ring *ring = &s->rings[i];
	uint64_t owner = __atomic_load_n(&slot->owner, __ATOMIC_ACQUIRE);
	struct lwpdata_thread thread;

	if (ring->known)
		return true;
	memset(ring, 0, sizeof(*ring));
	ring->process = process_find(s, (pid_t)pool_owner_pid(owner));
	if (!ring->process)
		return false;
	ring->known = true;
	ring->incarnation = slot->incarnation;
	ring->thread = s->nr_threads++;
	copy_comm(ring->comm, slot->comm);
	thread = (struct lwpdata_thread){
		.id = ring->thread,
		.process = process_id(ring->process),
		.tid = slot->tid,
		.time = supervise_now(),
		.comm = text(ring->comm),
	};
	memcpy(thread.initial, slot->initial, sizeof(thread.initial));
	lwpdata_write_thread(s->writer, &thread, s->pool->nr_events);
	return true;
}

/* BufferHeadOffset, if a thread that LWP writes to can have it. */
static bool get_head(struct supervisor *s, uint32_t i, uint32_t *head)
{
	*head = block_get32(s, i, LWP_CB_HEAD);
	return *head < s->pool->ring_size && *head % LWP_RECORD_SIZE == 0;
}

unsigned int ring_progress(struct supervisor *s, uint32_t i)
{
	struct ring *ring = &s->rings[i];
	uint32_t head, progress;

	if (!ring->known || ring->damaged || !get_head(s, i, &head))
		return 0;
	progress = distance(s, ring->seen_head, head);
	ring->seen_head = head;
	return (unsigned int)((uint64_t)progress * 100 / s->pool->ring_size);
}

void ring_drain(struct supervisor *s, uint32_t i, bool force)
{
	struct ring *ring = &s->rings[i];
	unsigned char *bytes = pool_ring(s->pool, i);
	uint32_t head, used, first;

	if (ring->damaged)
		return;
	if (!get_head(s, i, &head)) {
		ring->damaged = true;
		s->stats.rings_damaged++;
		return;
	}
	used = distance(s, ring->tail, head);
	if (!used || (!force && used < s->pool->ring_size / 8))
		return;
	first = head >= ring->tail ? used : s->pool->ring_size - ring->tail;
	lwpdata_write_records(s->writer, ring->thread, supervise_now(), bytes + ring->tail, first,
			      bytes, used - first);
	ring->records += used / LWP_RECORD_SIZE;
	ring->tail = head;
	__atomic_store_n((uint32_t *)(void *)(pool_block(s->pool, i) + s->tail_offset), head,
			 __ATOMIC_RELEASE);
}

void ring_finish(struct supervisor *s, uint32_t i, bool gone)
{
	struct pool_slot *slot = pool_slot(s->pool, i);
	struct ring *ring = &s->rings[i];
	struct lwpdata_thread_end end;

	if (ring_introduce(s, i)) {
		ring_drain(s, i, true);
		copy_comm(ring->comm, slot->comm);
		end = (struct lwpdata_thread_end){
			.thread = ring->thread,
			.flags = (slot->flags & POOL_SLOT_FLUSHED ? LWPDATA_THREAD_FLUSHED : 0) |
				 (slot->flags & POOL_SLOT_LOST ? LWPDATA_THREAD_LOST : 0) |
				 (ring->damaged ? LWPDATA_THREAD_DAMAGED : 0),
			.time = supervise_now(),
			.records = ring->records,
			.missed = block_get64(s, i, LWP_CB_MISSED),
			.comm = text(ring->comm),
		};
		for (uint32_t e = 0; e < s->pool->nr_events; e++)
			end.final[e] = block_get32(s, i, s->pool->counter_offset[e]) &
				       LWP_COUNTER_MASK;
		lwpdata_write_thread_end(s->writer, &end, s->pool->nr_events);
		s->stats.rings_filled += end.missed != 0;
		s->stats.contexts_lost += (end.flags & LWPDATA_THREAD_LOST) != 0;
	}
	if (gone)
		memset(pool_block(s->pool, i), 0, s->pool->block_size);
	ring->known = false;
}
