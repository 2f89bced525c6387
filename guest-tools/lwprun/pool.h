/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pool: memory that lwprun shares with the programs it profiles. lwprun creates it (a memfd), the
 * preloaded library liblwprun.so maps it in every process. A thread takes a slot, starts LWP with the
 * slot's control block and ring, and gives the slot back when it ends; lwprun empties the rings from
 * outside, so nothing is lost when a program crashes, and the program gets no thread of ours.
 *
 * Layout: struct pool | template block | nr_slots x struct pool_slot | page-aligned areas, one a slot:
 * one page with the control block, then the ring.
 *
 * lwprun does not trust what programs write here: a head offset is checked before it is used.
 */
#ifndef LWPRUN_POOL_H
#define LWPRUN_POOL_H

#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "splitmix64.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Environment: where the pool can be opened. */
#define POOL_ENV "LWPRUN_POOL"

#define POOL_MAGIC 0x6c6f6f7070776cull
#define POOL_VERSION 2
#define POOL_PAGE 4096
#define POOL_MAX_EVENTS 16
#define POOL_TEMPLATE_SIZE 2048
#define POOL_MAX_SLOTS 65536

struct pool {
	uint64_t magic;
	uint32_t version;
	uint32_t nr_slots;
	uint64_t size; /* bytes, all of it */
	uint64_t slots_offset; /* to struct pool_slot [nr_slots] */
	uint64_t areas_offset; /* to the first slot's area */
	uint64_t area_size; /* bytes from one area to the next: POOL_PAGE + ring, whole pages */
	uint32_t ring_size; /* bytes */
	uint32_t block_size; /* bytes of a control block */
	uint32_t base_offset; /* of BufferBase in the block */
	uint32_t unique_offset; /* where the block takes the slot's incarnation; 0 = nowhere */
	uint32_t nr_events;
	uint32_t counter_offset[POOL_MAX_EVENTS]; /* of each event's EventCounter in the block */
	uint32_t interval[POOL_MAX_EVENTS];
	uint32_t counter_min; /* the first counters are drawn from counter_min..interval */
	uint32_t guard; /* rings are guarded: a thread waits where it would overwrite records */
	uint64_t seed; /* of the first counters */
	int32_t lwprun_pid;
	uint32_t follow; /* profile forked and exec'ed processes too */

	/* Written by programs. */
	uint32_t bell; /* futex: incremented to wake lwprun */
	uint32_t high_water; /* slots at and above were never taken */
	uint32_t first_taken; /* a first process has come */
	uint32_t dl_calls; /* counts dlopen calls */
	uint64_t incarnations; /* slots taken so far */
	uint64_t threads_no_slot, threads_no_memory;

	/* Written by lwprun. */
	uint32_t freed; /* futex: incremented when slots were freed */
	uint32_t closing; /* no more slots are given out */

	uint8_t template[POOL_TEMPLATE_SIZE]; /* a block without BufferBase and counters */
};

/* Low half of pool_slot.owner; the high half is the pid, so that an owner is never torn. */
enum pool_state {
	POOL_FREE = 0,
	POOL_CLAIMED = 1, /* being set up */
	POOL_LIVE = 2, /* LWP runs on it */
	POOL_EXECING = 3, /* its thread flushed LWP and called exec */
	POOL_DONE = 4, /* its thread flushed LWP and ended */
};

/* What a program asks of lwprun, and waits for. Zero when answered. */
enum pool_request {
	POOL_REQUEST_NONE = 0,
	POOL_REQUEST_ATTACH_EXEC = 1, /* a new program: look at its mappings */
	POOL_REQUEST_ATTACH_FORK = 2, /* a forked process: the same */
	POOL_REQUEST_RESCAN = 3, /* empty the process's rings, then look at its mappings again */
	POOL_REQUEST_REFUSED = 4, /* answer: do not profile */
	POOL_REQUEST_GUARD = 5, /* guard this slot's ring, as ATTACH does for the first */
};

/* pool_slot.flags */
#define POOL_SLOT_FLUSHED 1u /* the block has the thread's last counters */
#define POOL_SLOT_LOST 2u /* LWP was off, or on another block, when it should have been on */
#define POOL_SLOT_OTHER 4u /* it was on another block: the program uses LWP itself */

struct pool_slot {
	uint64_t owner;
	uint64_t incarnation; /* tells one user of the slot from the next */
	uint32_t request; /* enum pool_request; futex */
	uint32_t tid;
	uint32_t flags;
	int32_t guard_fd; /* ATTACH: the process's userfaultfd for all areas, -1 if it has none */
	char comm[16];
	uint32_t initial[POOL_MAX_EVENTS]; /* EventCounters at the first LLWPCB */
	uint64_t ring_address; /* in the process */
	uint8_t pad[8];
};

_Static_assert(sizeof(struct pool_slot) == 128, "two cache lines");

/* A ring that is guarded has this many parts, of which one may not be written to. */
#define POOL_GUARD_PARTS 8

static inline uint64_t pool_owner(uint32_t pid, enum pool_state state)
{
	return (uint64_t)pid << 32 | state;
}

static inline uint32_t pool_owner_pid(uint64_t owner)
{
	return (uint32_t)(owner >> 32);
}

static inline enum pool_state pool_owner_state(uint64_t owner)
{
	return (enum pool_state)(uint32_t)owner;
}

static inline struct pool_slot *pool_slot(struct pool *pool, uint32_t i)
{
	return (struct pool_slot *)(void *)((char *)pool + pool->slots_offset) + i;
}

/* Slots that were ever taken. */
static inline uint32_t pool_taken(const struct pool *pool)
{
	uint32_t taken = __atomic_load_n(&pool->high_water, __ATOMIC_SEQ_CST);

	return taken < pool->nr_slots ? taken : pool->nr_slots;
}

/* For a process; false if it is somebody's. high_water first, so that lwprun never overlooks a claimed slot. */
static inline bool pool_claim(struct pool *pool, uint32_t i, uint32_t pid)
{
	uint32_t seen = __atomic_load_n(&pool->high_water, __ATOMIC_RELAXED);
	uint64_t none = 0;

	while (seen <= i && !__atomic_compare_exchange_n(&pool->high_water, &seen, i + 1, false,
							 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	return __atomic_compare_exchange_n(&pool_slot(pool, i)->owner, &none,
					   pool_owner(pid, POOL_CLAIMED), false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

/* It is nobody's again. */
static inline void pool_release(struct pool *pool, uint32_t i)
{
	__atomic_store_n(&pool_slot(pool, i)->owner, 0, __ATOMIC_RELEASE);
}

/* All that wait at a futex of the pool's. */
static inline void pool_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The control block lies at the start of the area's first page. */
static inline unsigned char *pool_block(struct pool *pool, uint32_t i)
{
	return (unsigned char *)pool + pool->areas_offset + i * pool->area_size;
}

static inline unsigned char *pool_ring(struct pool *pool, uint32_t i)
{
	return pool_block(pool, i) + POOL_PAGE;
}

/*
 * The first counters are drawn evenly from all that the interval allows: a thread that ends before its first interval
 * is over leaves a record with the right probability, so that a program which is many short processes is seen.
 */
static inline uint32_t pool_first_counter(const struct pool *pool, uint64_t incarnation,
					  uint32_t event)
{
	uint64_t random =
		splitmix64(pool->seed ^ splitmix64(incarnation * POOL_MAX_EVENTS + event));
	uint64_t choices = (uint64_t)pool->interval[event] + 1 - pool->counter_min;

	return pool->counter_min + (uint32_t)(random % choices);
}

/* A slot and its control block, from the template, for a thread that has the ring at this address. */
static inline void pool_fill(struct pool *pool, uint32_t i, uint32_t tid, uint64_t ring_address)
{
	struct pool_slot *slot = pool_slot(pool, i);
	unsigned char *block = pool_block(pool, i);

	slot->incarnation = __atomic_fetch_add(&pool->incarnations, 1, __ATOMIC_RELAXED);
	slot->tid = tid;
	slot->flags = 0;
	slot->ring_address = ring_address;
	memcpy(block, pool->template, pool->block_size);
	memcpy(block + pool->base_offset, &slot->ring_address, sizeof(slot->ring_address));
	if (pool->unique_offset)
		memcpy(block + pool->unique_offset, &slot->incarnation, sizeof(slot->incarnation));
	for (uint32_t e = 0; e < pool->nr_events; e++) {
		slot->initial[e] = pool_first_counter(pool, slot->incarnation, e);
		memcpy(block + pool->counter_offset[e], &slot->initial[e], sizeof(uint32_t));
	}
}

#endif
