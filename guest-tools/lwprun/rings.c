// SPDX-License-Identifier: GPL-2.0-or-later
/* The rings of threads: taking records out, and writing the end of a thread. */
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lwp_cb.h"
#include "lwp_record.h"
#include "rings.h"
#include "unwind.h"

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

bool ring_introduce(struct supervisor *s, uint32_t i)
{
	struct pool_slot *slot = pool_slot(s->pool, i);
	struct ring *ring = &s->rings[i];
	uint64_t owner = __atomic_load_n(&slot->owner, __ATOMIC_ACQUIRE);
	struct lwpdata_thread thread;
	struct ring before = *ring;

	if (ring->known)
		return true;
	/* It may have come to its guard already. */
	*ring = (struct ring){ .guard = before.guard, .waits = before.waits };
	ring->process = process_find(s, (pid_t)pool_owner_pid(owner));
	if (!ring->process)
		return false;
	ring->known = true;
	ring->broken = true;
	ring->incarnation = slot->incarnation;
	ring->thread = s->nr_threads++;
	if (s->windows == WINDOWS_SAMPLED)
		chooser_begin(&ring->chooser, s->window, s->window_every, s->pool->seed,
			      ring->thread);
	copy_comm(ring->comm, slot->comm);
	thread = (struct lwpdata_thread){
		.id = ring->thread,
		.process = ring->process->id,
		.tid = slot->tid,
		.time = rounds_now(),
		.comm = lwpdata_text(ring->comm),
	};
	memcpy(thread.initial, slot->initial, sizeof(thread.initial));
	lwpdata_write_thread(s->writer, &thread);
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

/* Give everything before `head` back to LWP. */
static void move_tail(struct supervisor *s, uint32_t i, uint32_t head)
{
	s->rings[i].tail = head;
	__atomic_store_n((uint32_t *)(void *)(pool_block(s->pool, i) + s->tail_offset), head,
			 __ATOMIC_SEQ_CST);
}

/* ---- Guards: a thread waits where it would overwrite records; for stacks, before the part that comes next ------- */

static uint32_t part_size(const struct supervisor *s)
{
	return s->pool->ring_size / POOL_GUARD_PARTS;
}

static bool protect(const struct supervisor *s, uint32_t i, uint32_t part, bool on)
{
	const struct ring *ring = &s->rings[i];
	uint64_t size = part_size(s);
	struct uffdio_writeprotect range = {
		.range = { pool_slot(s->pool, i)->ring_address + part * size, size },
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	return ioctl(ring->process->guard_fd, UFFDIO_WRITEPROTECT, &range) == 0;
}

void ring_drop_guard(struct process *process)
{
	if (process->guard_fd >= 0)
		close(process->guard_fd);
	process->guard_fd = -1;
}

void ring_guard(struct supervisor *s, uint32_t i, struct process *process)
{
	struct ring *ring = &s->rings[i];

	ring->process = process;
	ring->guard = s->stacks ? 1 : POOL_GUARD_PARTS - 1;
	ring->waits = false;
	if (process->guard_fd >= 0 && !protect(s, i, ring->guard, true))
		ring_drop_guard(process);
}

/* Another part is the guard; a thread that waits at the old one can continue. */
static void move_guard(struct supervisor *s, uint32_t i, uint32_t guard)
{
	struct ring *ring = &s->rings[i];

	if (guard == ring->guard || ring->process->guard_fd < 0)
		return;
	if (!protect(s, i, guard, true) || !protect(s, i, ring->guard, false))
		ring_drop_guard(ring->process);
	ring->guard = guard;
}

/* The part before that of the tail. */
static uint32_t guard_of_tail(const struct supervisor *s, uint32_t i)
{
	return (s->rings[i].tail / part_size(s) + POOL_GUARD_PARTS - 1) % POOL_GUARD_PARTS;
}

/*
 * A thread that met the old guard while that moved may sleep after the wake: before it sleeps, Linux asks whether the
 * page is writable, which a page that is no guard any more is only after its next fault. Such a thread has filled the
 * ring up to the beginning of a part, and nothing comes.
 */
static void wake_thread(const struct supervisor *s, uint32_t i, uint32_t head)
{
	const struct ring *ring = &s->rings[i];
	uint64_t size = part_size(s);
	struct uffdio_range range = { pool_slot(s->pool, i)->ring_address + head, size };

	if (head % size == 0 && ring->process->guard_fd >= 0)
		ioctl(ring->process->guard_fd, UFFDIO_WAKE, &range);
}

/* Who waits at a guard? It has told that once, of whichever thread of its process. */
static void hear_who_waits(struct supervisor *s, const struct process *process)
{
	struct uffd_msg message;

	while (read(process->guard_fd, &message, sizeof(message)) == sizeof(message)) {
		for (uint32_t i = 0; i < pool_taken(s->pool); i++) {
			struct ring *ring = &s->rings[i];
			uint64_t at =
				message.arg.pagefault.address - pool_slot(s->pool, i)->ring_address;

			if (ring->process == process && at < s->pool->ring_size)
				ring->waits = true;
		}
	}
}

/* The stack of a thread that waits at its guard, which is the next part then. The thread is stopped while that moves. */
static void take_stack(struct supervisor *s, uint32_t i, uint32_t head)
{
	struct ring *ring = &s->rings[i];
	bool stopped;

	if (head != ring->guard * part_size(s))
		return;
	if (!ring->waits)
		hear_who_waits(s, ring->process);
	if (!ring->waits)
		return;
	ring->waits = false;
	ring->no_stack += part_size(s) / LWP_RECORD_SIZE;
	stopped = stack_take(s, i);
	move_guard(s, i, (ring->guard + 1) % POOL_GUARD_PARTS);
	if (stopped)
		stack_release(s, i);
}

/* ---- Windows -------------------------------------------------------------------------------- */

static void put_window(struct supervisor *s, struct ring *ring, const uint8_t *bytes,
		       uint64_t branches, uint64_t weight)
{
	const struct lwpdata_window window = {
		.thread = ring->thread,
		.time = rounds_now(),
		.flags = ring->broken ? 0 : LWPDATA_WINDOW_CONTINUES,
		.weight = weight,
	};

	if (!branches)
		return;
	lwpdata_write_window(s->writer, &window, bytes, (uint32_t)branches * LWP_RECORD_SIZE, NULL,
			     0);
	s->nr_windows += ring->broken || s->windows == WINDOWS_ALL;
	ring->broken = false;
	ring->records += branches;
	s->window_branches += branches;
	s->window_weight += weight;
}

/* Of all branches those that are in windows. */
static void sample_windows(struct supervisor *s, struct ring *ring, const uint8_t *bytes,
			   uint64_t left)
{
	while (left) {
		uint64_t pass, taken;

		chooser_step(&ring->chooser, left, &pass, &taken);
		ring->broken |= pass != 0;
		ring->left_out += pass;
		put_window(s, ring, bytes + pass * LWP_RECORD_SIZE, taken,
			   chooser_weight(&ring->chooser, taken));
		bytes += (pass + taken) * LWP_RECORD_SIZE;
		left -= pass + taken;
	}
}

/*
 * Write the records in `bytes`, after which `missed` branches are missing, as windows; what the program
 * inserted, and other events, are no part of it and become a RECORDS section.
 */
static void write_window(struct supervisor *s, struct ring *ring, uint8_t *bytes, uint32_t size,
			 uint64_t missed)
{
	uint8_t *others = s->copy + s->pool->ring_size;
	uint32_t branches = 0, other = 0;

	for (uint32_t at = 0; at < size; at += LWP_RECORD_SIZE) {
		bool branch = bytes[at] == s->window_event;
		uint8_t *to = branch ? bytes + branches : others + other;

		if (to != bytes + at)
			memcpy(to, bytes + at, LWP_RECORD_SIZE);
		*(branch ? &branches : &other) += LWP_RECORD_SIZE;
	}
	ring->records += other / LWP_RECORD_SIZE;
	branches /= LWP_RECORD_SIZE;
	if (other)
		lwpdata_write_records(s->writer, ring->thread, rounds_now(), others, other, NULL,
				      0);
	if (s->windows == WINDOWS_SAMPLED)
		sample_windows(s, ring, bytes, branches);
	else
		put_window(s, ring, bytes, branches, branches + missed);
	ring->chooser.at += missed;
	ring->broken |= missed != 0;
}

/*
 * Take all that lies before `head`. A ring misses records only while it is full, which it is with its
 * head a record before its tail. If it was not full when its head was read and yet missed some until
 * its tail was moved, they are missing at that place, in what is taken the next time.
 */
static void take_windows(struct supervisor *s, uint32_t i, uint32_t head, uint32_t used)
{
	struct ring *ring = &s->rings[i];
	uint32_t old_tail = ring->tail, full = s->pool->ring_size - LWP_RECORD_SIZE;
	uint32_t first = head >= old_tail ? used : s->pool->ring_size - old_tail;
	uint8_t *copy = s->copy;
	struct ring_gap gap = ring->gap;
	uint64_t missed;

	memcpy(copy, pool_ring(s->pool, i) + old_tail, first);
	memcpy(copy + first, pool_ring(s->pool, i), used - first);
	move_tail(s, i, head);
	missed = block_get64(s, i, LWP_CB_MISSED);
	ring->gap = (struct ring_gap){
		.is = missed != ring->missed && used != full,
		.at = (old_tail + full) % s->pool->ring_size,
		.missed = missed - ring->missed,
	};
	if (gap.is) {
		uint32_t before = distance(s, old_tail, gap.at);

		write_window(s, ring, copy, before, gap.missed);
		ring->broken = true;
		copy += before;
		used -= before;
	}
	write_window(s, ring, copy, used, ring->gap.is ? 0 : missed - ring->missed);
	ring->missed = missed;
}

bool ring_drain(struct supervisor *s, uint32_t i, bool force)
{
	struct ring *ring = &s->rings[i];
	unsigned char *bytes = pool_ring(s->pool, i);
	uint32_t head, used, first;
	struct stamps now;

	if (ring->damaged)
		return false;
	if (!get_head(s, i, &head)) {
		ring->damaged = true;
		s->stats.rings_damaged++;
		return false;
	}
	used = distance(s, ring->tail, head);
	if (!used && s->windows && ring->process)
		wake_thread(s, i, head);
	if (s->stacks && ring->process && ring->process->guard_fd >= 0)
		take_stack(s, i, head);
	if (!used)
		return false;
	if (s->windows) {
		take_windows(s, i, head, used);
		move_guard(s, i, guard_of_tail(s, i));
		return true;
	}
	/* The ring is as large as it is for bursts where records are thinned. */
	if (!force && used < s->pool->ring_size / (s->thin.nr_events ? 32 : 8))
		return false;
	first = head >= ring->tail ? used : s->pool->ring_size - ring->tail;
	now = stamps_now();
	/* The ring stays as it is: by the last record in it the hypervisor knows a context again. */
	memcpy(s->copy, bytes + ring->tail, first);
	memcpy(s->copy + first, bytes, used - first);
	if (s->stamped)
		stamps_convert(&s->started, &now, s->copy, used);
	thin_records(&s->thin, s->writer, ring->thread, now.time, s->copy, used, NULL, 0);
	ring->records += used / LWP_RECORD_SIZE;
	move_tail(s, i, head);
	return true;
}

void ring_finish(struct supervisor *s, uint32_t i, bool gone)
{
	struct pool_slot *slot = pool_slot(s->pool, i);
	struct ring *ring = &s->rings[i];
	struct lwpdata_thread_end end;

	if (ring_introduce(s, i)) {
		ring_drain(s, i, true);
		/* Only a thread that ended by itself has left its last name; others were looked at. */
		if (pool_owner_state(slot->owner) == POOL_DONE)
			copy_comm(ring->comm, slot->comm);
		end = (struct lwpdata_thread_end){
			.thread = ring->thread,
			.flags = (slot->flags & POOL_SLOT_FLUSHED ? LWPDATA_THREAD_FLUSHED : 0) |
				 (slot->flags & POOL_SLOT_LOST ? LWPDATA_THREAD_LOST : 0) |
				 (slot->flags & POOL_SLOT_OTHER ? LWPDATA_THREAD_OTHER : 0) |
				 (ring->damaged ? LWPDATA_THREAD_DAMAGED : 0),
			.time = rounds_now(),
			.records = ring->records,
			.missed = block_get64(s, i, LWP_CB_MISSED) + ring->left_out,
			.comm = lwpdata_text(ring->comm),
		};
		for (uint32_t e = 0; e < s->pool->nr_events; e++)
			end.final[e] = block_get32(s, i, s->pool->counter_offset[e]) &
				       LWP_COUNTER_MASK;
		lwpdata_write_thread_end(s->writer, &end);
		s->stats.rings_filled += end.missed != ring->left_out;
		s->nr_others += (end.flags & LWPDATA_THREAD_OTHER) != 0;
		s->stats.contexts_lost +=
			(end.flags & (LWPDATA_THREAD_LOST | LWPDATA_THREAD_OTHER)) ==
			LWPDATA_THREAD_LOST;
	}
	if (s->rings[i].process && ring->process->guard_fd >= 0)
		protect(s, i, ring->guard, false);
	if (gone)
		memset(pool_block(s->pool, i), 0, s->pool->block_size);
	ring->known = false;
}
