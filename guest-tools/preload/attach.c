// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * liblwprun.so: LWP on and off. On in each thread on a slot of its own, off around our own work, and so
 * that it is known whether it went off by itself.
 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload.h"
#include "slots.h"

static __thread int32_t my_slot = -1;
static __thread bool is_on; /* we started LWP in this thread and did not stop it */

/* ---- The two instructions ------------------------------------------------------------------- */

static inline void llwpcb(void *block)
{
	/* The 2007 revision returns the previous pointer in rAX. */
	__asm__ volatile(".byte 0x8f, 0xe9, 0xf8, 0x12, 0xc0" : "+a"(block) : : "memory");
}

static inline void *slwpcb(void)
{
	void *block;

	__asm__ volatile(".byte 0x8f, 0xe9, 0xf8, 0x12, 0xc8" : "=a"(block) : : "memory");
	return block;
}

/* ---- On and off ----------------------------------------------------------------------------- */

/* All, also those that the C library uses itself and that sigprocmask(3) leaves out. */
static void block_signals(uint64_t *old)
{
	uint64_t all = ~0ull;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, old, sizeof(all));
}

static void restore_signals(const uint64_t *old)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, old, NULL, sizeof(*old));
}

/* Start or resume LWP, as the last thing we do. */
static inline void go(void)
{
	is_on = true;
	llwpcb(slot_block(my_slot));
}

/* Stop LWP if it runs on our slot; true if it did. That it does not although it should is noted. */
static bool stop(void)
{
	void *block;

	if (!is_on)
		return false;
	block = slwpcb();
	is_on = false;
	if (block != slot_block(my_slot)) {
		slot_of(my_slot)->flags |= POOL_SLOT_LOST | (block ? POOL_SLOT_OTHER : 0);
		return false;
	}
	llwpcb(NULL);
	return true;
}

static void begin(enum pool_request attach)
{
	int saved_errno = errno;
	uint64_t signals;

	if (!slots_pool || __atomic_load_n(&slots_pool->closing, __ATOMIC_ACQUIRE))
		return;
	block_signals(&signals);
	my_slot = slot_take(attach);
	restore_signals(&signals);
	errno = saved_errno;
	if (my_slot >= 0)
		go();
}

static void end(bool rescan)
{
	int saved_errno = errno;
	uint64_t signals;

	if (!slot_is_mine(my_slot)) {
		errno = saved_errno;
		return;
	}
	if (stop())
		slot_of(my_slot)->flags |= POOL_SLOT_FLUSHED;
	block_signals(&signals);
	if (rescan)
		slot_request(my_slot, POOL_REQUEST_RESCAN);
	prctl(PR_GET_NAME, slot_of(my_slot)->comm);
	slot_set_state(my_slot, POOL_DONE);
	my_slot = -1;
	restore_signals(&signals);
	errno = saved_errno;
}

/* ---- For the other parts -------------------------------------------------------------------- */

bool preload_active(void)
{
	return slots_pool != NULL;
}

void preload_program_begin(void)
{
	begin(POOL_REQUEST_ATTACH_EXEC);
}

void preload_thread_begin(void)
{
	begin(POOL_REQUEST_ATTACH_FORK);
}

void preload_thread_end(void)
{
	end(false);
}

void preload_process_end(void)
{
	end(true);
}

void preload_forked(void)
{
	bool follow = slots_pool && slots_pool->follow;

	my_slot = -1;
	is_on = false;
	if (follow)
		begin(POOL_REQUEST_ATTACH_FORK);
	else
		slots_pool = NULL;
}

bool preload_pause(struct preload_pause *pause)
{
	pause->saved_errno = errno;
	if (!slot_is_mine(my_slot))
		return false;
	pause->was_on = stop();
	block_signals(&pause->signals);
	return true;
}

void preload_resume(const struct preload_pause *pause)
{
	restore_signals(&pause->signals);
	errno = pause->saved_errno;
	if (pause->was_on)
		go();
}

void preload_rescan(void)
{
	slot_request(my_slot, POOL_REQUEST_RESCAN);
}

bool preload_exec_begin(bool *was_on)
{
	int saved_errno = errno;
	bool mine = slot_is_mine(my_slot);
	uint64_t signals;

	if (mine) {
		*was_on = stop();
		if (*was_on)
			slot_of(my_slot)->flags |= POOL_SLOT_FLUSHED;
		block_signals(&signals);
		slot_request(my_slot, POOL_REQUEST_RESCAN);
		restore_signals(&signals);
		slot_set_state(my_slot, POOL_EXECING);
	}
	errno = saved_errno;
	return mine;
}

void preload_exec_failed(bool was_on)
{
	int saved_errno = errno;

	slot_of(my_slot)->flags &= ~POOL_SLOT_FLUSHED;
	slot_set_state(my_slot, POOL_LIVE);
	errno = saved_errno;
	if (was_on)
		go();
}
