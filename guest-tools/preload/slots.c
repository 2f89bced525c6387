// SPDX-License-Identifier: GPL-2.0-or-later
/* liblwprun.so: slots of the pool, one for each thread that is profiled, and requests to lwprun through them. */
#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "slots.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

struct pool *slots_pool;
static uint32_t attached_pid; /* the process that lwprun knows under this address space */

/* ---- System calls; glibc would make some of them cancellation points -------------------------- */

static uint32_t current_pid(void)
{
	return (uint32_t)syscall(SYS_getpid);
}

static void futex_wait(uint32_t *word, uint32_t value)
{
	const struct timespec second = { .tv_sec = 1 };

	syscall(SYS_futex, word, FUTEX_WAIT, value, &second, NULL, 0);
}

static void futex_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void ring_bell(void)
{
	__atomic_fetch_add(&slots_pool->bell, 1, __ATOMIC_SEQ_CST);
	futex_wake(&slots_pool->bell);
}

static bool lwprun_is_gone(void)
{
	return syscall(SYS_kill, slots_pool->lwprun_pid, 0) < 0 && errno == ESRCH;
}

/* ---- Requests ------------------------------------------------------------------------------- */

bool slot_request(int32_t i, enum pool_request what)
{
	struct pool_slot *slot = slot_of(i);
	uint32_t answer;

	__atomic_store_n(&slot->request, what, __ATOMIC_RELEASE);
	ring_bell();
	while ((answer = __atomic_load_n(&slot->request, __ATOMIC_ACQUIRE)) == (uint32_t)what) {
		if (__atomic_load_n(&slots_pool->closing, __ATOMIC_ACQUIRE) || lwprun_is_gone())
			return false;
		futex_wait(&slot->request, (uint32_t)what);
	}
	return answer == POOL_REQUEST_NONE;
}

/* ---- Slots ---------------------------------------------------------------------------------- */

bool slot_is_mine(int32_t i)
{
	return i >= 0 && slots_pool &&
	       pool_owner_pid(__atomic_load_n(&slot_of(i)->owner, __ATOMIC_RELAXED)) ==
		       current_pid();
}

void slot_set_state(int32_t i, enum pool_state state)
{
	__atomic_store_n(&slot_of(i)->owner, pool_owner(current_pid(), state), __ATOMIC_RELEASE);
}

static void raise_high_water(uint32_t to)
{
	uint32_t seen = __atomic_load_n(&slots_pool->high_water, __ATOMIC_RELAXED);

	while (seen < to && !__atomic_compare_exchange_n(&slots_pool->high_water, &seen, to, false,
							 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

/* The lowest free slot, -1 if there is none; *done says whether lwprun could free some soon. */
static int32_t find_slot(uint32_t pid, bool *done)
{
	*done = false;
	for (uint32_t i = 0; i < slots_pool->nr_slots; i++) {
		struct pool_slot *slot = pool_slot(slots_pool, i);
		uint64_t owner = __atomic_load_n(&slot->owner, __ATOMIC_RELAXED);

		if (pool_owner_state(owner) == POOL_DONE)
			*done = true;
		if (owner)
			continue;
		/* Before the claim, so that lwprun never overlooks a claimed slot. */
		raise_high_water(i + 1);
		if (__atomic_compare_exchange_n(&slot->owner, &owner, pool_owner(pid, POOL_CLAIMED),
						false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			return (int32_t)i;
	}
	return -1;
}

static int32_t claim_slot(uint32_t pid)
{
	for (;;) {
		uint32_t freed = __atomic_load_n(&slots_pool->freed, __ATOMIC_ACQUIRE);
		bool done;
		int32_t slot = find_slot(pid, &done);

		if (slot >= 0)
			return slot;
		if (!done || __atomic_load_n(&slots_pool->closing, __ATOMIC_ACQUIRE) ||
		    lwprun_is_gone()) {
			__atomic_fetch_add(&slots_pool->threads_no_slot, 1, __ATOMIC_RELAXED);
			return -1;
		}
		ring_bell();
		futex_wait(&slots_pool->freed, freed);
	}
}

/* Fill slot and block. All of the area is made present, so that LWP's stores do not fault. */
static bool prepare_slot(int32_t i)
{
	struct pool_slot *slot = slot_of(i);
	unsigned char *block = slot_block(i);

	if (madvise(block, slots_pool->area_size, MADV_POPULATE_WRITE) < 0) {
		__atomic_fetch_add(&slots_pool->threads_no_memory, 1, __ATOMIC_RELAXED);
		return false;
	}
	slot->incarnation = __atomic_fetch_add(&slots_pool->incarnations, 1, __ATOMIC_RELAXED);
	slot->tid = (uint32_t)syscall(SYS_gettid);
	slot->flags = 0;
	slot->ring_address = (uintptr_t)pool_ring(slots_pool, (uint32_t)i);
	prctl(PR_GET_NAME, slot->comm);
	pool_fill_block(slots_pool, block, slot);
	return true;
}

/* Back to where it came from: lwprun has not heard of it. */
static void give_back(int32_t i)
{
	__atomic_store_n(&slot_of(i)->owner, 0, __ATOMIC_RELEASE);
}

/*
 * A userfaultfd with which lwprun, and only lwprun, can make this process wait where it would write into
 * the areas. -1: this system has none, and a thread that is too fast loses records.
 */
static int32_t make_guard(void)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM,
	};
	struct uffdio_register areas = {
		.range = { (uintptr_t)slots_pool + slots_pool->areas_offset,
			   slots_pool->size - slots_pool->areas_offset },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);

	if (fd < 0)
		return -1;
	if (ioctl(fd, UFFDIO_API, &api) < 0 || ioctl(fd, UFFDIO_REGISTER, &areas) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Have lwprun take this process in, with a guard if rings have one. It keeps a copy of the descriptor. */
static bool attach_process(int32_t i, enum pool_request attach)
{
	struct pool_slot *slot = slot_of(i);
	bool done;

	slot->guard_fd = slots_pool->guard ? make_guard() : -1;
	done = slot_request(i, attach);
	if (slot->guard_fd >= 0)
		close(slot->guard_fd);
	return done;
}

int32_t slot_take(enum pool_request attach)
{
	uint32_t pid = current_pid();
	int32_t i = claim_slot(pid);

	if (i < 0)
		return -1;
	if (!prepare_slot(i)) {
		give_back(i);
		return -1;
	}
	if (attached_pid != pid) {
		if (!attach_process(i, attach)) {
			give_back(i);
			slots_pool = NULL;
			return -1;
		}
		attached_pid = pid;
	} else if (slots_pool->guard) {
		slot_request(i, POOL_REQUEST_GUARD);
	}
	slot_set_state(i, POOL_LIVE);
	return i;
}
