// SPDX-License-Identifier: GPL-2.0-or-later
/* liblwprun.so: slots of the pool, one for each thread that is profiled, and requests to lwprun through them. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>

#include "slots.h"

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

static void ring_bell(void)
{
	__atomic_fetch_add(&slots_pool->bell, 1, __ATOMIC_SEQ_CST);
	pool_wake(&slots_pool->bell);
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

/* The lowest free slot, -1 if there is none; *done says whether lwprun could free some soon. */
static int32_t find_slot(uint32_t pid, bool *done)
{
	*done = false;
	for (uint32_t i = 0; i < slots_pool->nr_slots; i++) {
		uint64_t owner =
			__atomic_load_n(&pool_slot(slots_pool, i)->owner, __ATOMIC_RELAXED);

		if (pool_owner_state(owner) == POOL_DONE)
			*done = true;
		if (!owner && pool_claim(slots_pool, i, pid))
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

/* Linux before 5.14, and QEMU's emulator of programs, do not know the advice: then each page is written. */
static bool make_present(volatile uint8_t *area, size_t size)
{
	if (madvise((void *)area, size, MADV_POPULATE_WRITE) == 0)
		return true;
	if (errno != EINVAL)
		return false;
	for (size_t at = 0; at < size; at += POOL_PAGE)
		area[at] = area[at];
	return true;
}

/* Fill slot and block. All of the area is made present, so that LWP's stores do not fault. */
static bool prepare_slot(int32_t i)
{
	if (!make_present(slot_block(i), slots_pool->area_size)) {
		__atomic_fetch_add(&slots_pool->threads_no_memory, 1, __ATOMIC_RELAXED);
		return false;
	}
	prctl(PR_GET_NAME, slot_of(i)->comm);
	pool_fill(slots_pool, (uint32_t)i, (uint32_t)syscall(SYS_gettid),
		  (uintptr_t)pool_ring(slots_pool, (uint32_t)i));
	return true;
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
	/* Back to where it came from: lwprun has not heard of it. */
	if (!prepare_slot(i)) {
		pool_release(slots_pool, (uint32_t)i);
		return -1;
	}
	if (attached_pid != pid) {
		if (!attach_process(i, attach)) {
			pool_release(slots_pool, (uint32_t)i);
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
