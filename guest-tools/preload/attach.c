// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * liblwprun.so, its centre: opening the pool when a program starts, taking a slot for each thread,
 * starting and stopping LWP, and asking lwprun for things.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

const char *preload_pool_env, *preload_library;

static struct pool *pool;
static uint32_t attached_pid; /* the process that lwprun knows under this address space */
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

/* ---- System calls that glibc would make cancellation points or cache ------------------------ */

static uint32_t current_pid(void)
{
	return (uint32_t)syscall(SYS_getpid);
}

static void block_signals(uint64_t *old)
{
	uint64_t all = ~0ull;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, old, sizeof(all));
}

static void restore_signals(const uint64_t *old)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, old, NULL, sizeof(*old));
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
	__atomic_fetch_add(&pool->bell, 1, __ATOMIC_SEQ_CST);
	futex_wake(&pool->bell);
}

static bool lwprun_is_gone(void)
{
	return syscall(SYS_kill, pool->lwprun_pid, 0) < 0 && errno == ESRCH;
}

/* ---- Requests ------------------------------------------------------------------------------- */

/* Ask, and wait for the answer. False if lwprun refused or is gone. */
static bool request(struct pool_slot *slot, enum pool_request what)
{
	uint32_t answer;

	__atomic_store_n(&slot->request, what, __ATOMIC_RELEASE);
	ring_bell();
	while ((answer = __atomic_load_n(&slot->request, __ATOMIC_ACQUIRE)) == (uint32_t)what) {
		futex_wait(&slot->request, (uint32_t)what);
		if (__atomic_load_n(&pool->closing, __ATOMIC_ACQUIRE) || lwprun_is_gone())
			return false;
	}
	return answer == POOL_REQUEST_NONE;
}

/* ---- Slots ---------------------------------------------------------------------------------- */

static bool mine(int32_t slot)
{
	return slot >= 0 && pool &&
	       pool_owner_pid(__atomic_load_n(&pool_slot(pool, (uint32_t)slot)->owner,
					      __ATOMIC_RELAXED)) == current_pid();
}

static void set_state(struct pool_slot *slot, uint32_t pid, enum pool_state state)
{
	__atomic_store_n(&slot->owner, pool_owner(pid, state), __ATOMIC_RELEASE);
}

static void raise_high_water(uint32_t to)
{
	uint32_t seen = __atomic_load_n(&pool->high_water, __ATOMIC_RELAXED);

	while (seen < to && !__atomic_compare_exchange_n(&pool->high_water, &seen, to, false,
							 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

/* The lowest free slot, -1 if there is none; *done says whether lwprun could free some soon. */
static int32_t find_slot(uint32_t pid, bool *done)
{
	*done = false;
	for (uint32_t i = 0; i < pool->nr_slots; i++) {
		struct pool_slot *slot = pool_slot(pool, i);
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
		uint32_t freed = __atomic_load_n(&pool->freed, __ATOMIC_ACQUIRE);
		bool done;
		int32_t slot = find_slot(pid, &done);

		if (slot >= 0)
			return slot;
		if (!done || __atomic_load_n(&pool->closing, __ATOMIC_ACQUIRE) ||
		    lwprun_is_gone()) {
			__atomic_fetch_add(&pool->threads_no_slot, 1, __ATOMIC_RELAXED);
			return -1;
		}
		ring_bell();
		futex_wait(&pool->freed, freed);
	}
}

/* A well-mixed number, the same for the same inputs (splitmix64). */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/*
 * The first counters are drawn evenly from all that the interval allows: a thread that ends before its
 * first interval is over leaves a record with the right probability, so that a program which is many
 * short processes is seen.
 */
static uint32_t first_counter(uint64_t incarnation, uint32_t event)
{
	uint64_t random = mix(pool->seed ^ mix(incarnation * POOL_MAX_EVENTS + event));

	uint64_t choices = (uint64_t)pool->interval[event] + 1 - pool->counter_min;

	return pool->counter_min + (uint32_t)(random % choices);
}

/* Fill slot and block. All of the area is made present, so that LWP's stores do not fault. */
static bool prepare_slot(uint32_t i)
{
	struct pool_slot *slot = pool_slot(pool, i);
	unsigned char *block = pool_block(pool, i);
	uint64_t base = (uintptr_t)pool_ring(pool, i);

	if (madvise(block, pool->area_size, MADV_POPULATE_WRITE) < 0) {
		__atomic_fetch_add(&pool->threads_no_memory, 1, __ATOMIC_RELAXED);
		return false;
	}
	slot->incarnation = __atomic_fetch_add(&pool->incarnations, 1, __ATOMIC_RELAXED);
	slot->tid = (uint32_t)syscall(SYS_gettid);
	slot->flags = 0;
	prctl(PR_GET_NAME, slot->comm);
	memcpy(block, pool->template, pool->block_size);
	memcpy(block + pool->base_offset, &base, sizeof(base));
	if (pool->unique_offset)
		memcpy(block + pool->unique_offset, &slot->incarnation, sizeof(slot->incarnation));
	for (uint32_t e = 0; e < pool->nr_events; e++) {
		slot->initial[e] = first_counter(slot->incarnation, e);
		memcpy(block + pool->counter_offset[e], &slot->initial[e], sizeof(uint32_t));
	}
	return true;
}

/* A slot for this thread, ready for LLWPCB; -1 if there is none. */
static int32_t take_slot(enum pool_request attach)
{
	uint32_t pid = current_pid();
	int32_t i = claim_slot(pid);
	struct pool_slot *slot;

	if (i < 0)
		return -1;
	slot = pool_slot(pool, (uint32_t)i);
	if (!prepare_slot((uint32_t)i)) {
		__atomic_store_n(&slot->owner, 0, __ATOMIC_RELEASE);
		return -1;
	}
	if (attached_pid != pid) {
		if (!request(slot, attach)) {
			__atomic_store_n(&slot->owner, 0, __ATOMIC_RELEASE);
			pool = NULL;
			return -1;
		}
		attached_pid = pid;
	}
	set_state(slot, pid, POOL_LIVE);
	return i;
}

/* Start, or go on, as the last thing we do. */
static inline void go(uint32_t i)
{
	is_on = true;
	llwpcb(pool_block(pool, i));
}

static void begin(enum pool_request attach)
{
	int saved_errno = errno;
	uint64_t signals;

	if (!pool || __atomic_load_n(&pool->closing, __ATOMIC_ACQUIRE))
		return;
	block_signals(&signals);
	my_slot = take_slot(attach);
	restore_signals(&signals);
	errno = saved_errno;
	if (my_slot >= 0)
		go((uint32_t)my_slot);
}

/* Stop LWP if it runs on our slot; true if it did. That it does not although it should is noted. */
static bool stop(uint32_t i)
{
	struct pool_slot *slot = pool_slot(pool, i);

	if (!is_on)
		return false;
	is_on = false;
	if (slwpcb() != pool_block(pool, i)) {
		slot->flags |= POOL_SLOT_LOST;
		return false;
	}
	llwpcb(NULL);
	return true;
}

static void finish_slot(uint32_t i)
{
	struct pool_slot *slot = pool_slot(pool, i);

	prctl(PR_GET_NAME, slot->comm);
	set_state(slot, current_pid(), POOL_DONE);
	my_slot = -1;
}

/* ---- For the other parts -------------------------------------------------------------------- */

bool preload_active(void)
{
	return pool != NULL;
}

void preload_thread_begin(void)
{
	begin(POOL_REQUEST_ATTACH_FORK);
}

void preload_thread_end(void)
{
	int saved_errno = errno;
	uint64_t signals;

	if (!mine(my_slot))
		return;
	if (stop((uint32_t)my_slot))
		pool_slot(pool, (uint32_t)my_slot)->flags |= POOL_SLOT_FLUSHED;
	block_signals(&signals);
	finish_slot((uint32_t)my_slot);
	restore_signals(&signals);
	errno = saved_errno;
}

void preload_process_end(void)
{
	int saved_errno = errno;
	uint64_t signals;

	if (!mine(my_slot))
		return;
	if (stop((uint32_t)my_slot))
		pool_slot(pool, (uint32_t)my_slot)->flags |= POOL_SLOT_FLUSHED;
	block_signals(&signals);
	request(pool_slot(pool, (uint32_t)my_slot), POOL_REQUEST_RESCAN);
	finish_slot((uint32_t)my_slot);
	restore_signals(&signals);
	errno = saved_errno;
}

void preload_forked(void)
{
	bool follow = pool && pool->follow;

	my_slot = -1;
	if (follow)
		begin(POOL_REQUEST_ATTACH_FORK);
	else
		pool = NULL;
}

bool preload_pause(struct preload_pause *pause)
{
	pause->saved_errno = errno;
	if (!mine(my_slot))
		return false;
	pause->was_on = stop((uint32_t)my_slot);
	block_signals(&pause->signals);
	return true;
}

void preload_resume(const struct preload_pause *pause)
{
	restore_signals(&pause->signals);
	errno = pause->saved_errno;
	if (pause->was_on)
		go((uint32_t)my_slot);
}

void preload_rescan(void)
{
	request(pool_slot(pool, (uint32_t)my_slot), POOL_REQUEST_RESCAN);
}

bool preload_exec_begin(bool *was_on)
{
	int saved_errno = errno;
	struct pool_slot *slot;

	if (!mine(my_slot)) {
		errno = saved_errno;
		return false;
	}
	slot = pool_slot(pool, (uint32_t)my_slot);
	*was_on = stop((uint32_t)my_slot);
	if (*was_on)
		slot->flags |= POOL_SLOT_FLUSHED;
	set_state(slot, current_pid(), POOL_EXECING);
	return true;
}

void preload_exec_failed(bool was_on)
{
	struct pool_slot *slot = pool_slot(pool, (uint32_t)my_slot);

	slot->flags &= ~POOL_SLOT_FLUSHED;
	set_state(slot, current_pid(), POOL_LIVE);
	if (was_on)
		go((uint32_t)my_slot);
}

void *preload_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* ---- Start of a program --------------------------------------------------------------------- */

/* "NAME=value" in an environment, or NULL. */
static const char *find_env(char **envp, const char *name)
{
	size_t length = strlen(name);

	for (; envp && *envp; envp++)
		if (!strncmp(*envp, name, length) && (*envp)[length] == '=')
			return *envp;
	return NULL;
}

static bool pool_fits(const struct pool *p, uint64_t size)
{
	return p->magic == POOL_MAGIC && p->version == POOL_VERSION && p->size == size &&
	       p->nr_slots && p->nr_slots <= POOL_MAX_SLOTS && p->nr_events <= POOL_MAX_EVENTS &&
	       p->block_size <= POOL_TEMPLATE_SIZE &&
	       p->areas_offset + p->nr_slots * p->area_size <= size;
}

static struct pool *open_pool(const char *path, const char **why)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct pool *p = MAP_FAILED;
	struct stat st;

	*why = NULL;
	if (fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_size >= sizeof(struct pool))
		p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p == MAP_FAILED)
		*why = strerrordesc_np(errno);
	else if (!pool_fits(p, (uint64_t)st.st_size))
		*why = "it is of another version of lwprun";
	else
		madvise(p, (size_t)st.st_size, MADV_DONTDUMP);
	if (fd >= 0)
		close(fd);
	return *why ? NULL : p;
}

void preload_init(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	preload_dl_init();
	preload_exec_init();
	preload_process_init();
	preload_thread_init();
}

__attribute__((constructor)) static void start(int argc, char **argv, char **envp)
{
	const char *env = find_env(envp, POOL_ENV);
	int saved_errno = errno;
	Dl_info library;
	const char *why;

	if (!env)
		return;
	preload_init();
	pool = open_pool(env + sizeof(POOL_ENV), &why);
	if (!pool) {
		dprintf(STDERR_FILENO, "lwprun: process %u (%s) is not profiled: %s: %s\n",
			current_pid(), argc ? argv[0] : "?", env, why);
	} else if (__atomic_exchange_n(&pool->first_taken, 1, __ATOMIC_SEQ_CST) && !pool->follow) {
		munmap(pool, pool->size);
		pool = NULL;
	}
	if (pool && pool->follow) {
		preload_pool_env = strdup(env);
		if (dladdr(&preload_pool_env, &library))
			preload_library = library.dli_fname;
		if (!preload_library)
			preload_pool_env = NULL;
	}
	if (pool)
		preload_dl_watch(&pool->dl_calls);
	errno = saved_errno;
	begin(POOL_REQUEST_ATTACH_EXEC);
}
