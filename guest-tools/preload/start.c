// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * liblwprun.so: what happens when a program starts, before its main function and mostly before the
 * constructors of its other libraries.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload.h"
#include "slots.h"

const char *preload_pool_env, *preload_library;

void *preload_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
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
	bool opened = fd >= 0 && fstat(fd, &st) == 0;
	bool too_small = opened && (uint64_t)st.st_size < sizeof(struct pool);

	*why = NULL;
	if (opened && !too_small)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (too_small)
		*why = "it is too small for lwprun's shared memory";
	else if (p == MAP_FAILED)
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

/* What children need to start as we did. */
static void prepare_children(const char *env)
{
	Dl_info library;

	if (dladdr(&preload_pool_env, &library))
		preload_library = library.dli_fname;
	if (preload_library)
		preload_pool_env = strdup(env);
}

/*
 * AddressSanitizer, where a program links it dynamically, ends the program if another library is loaded
 * before it. This one does no harm there: its functions call the next of their name. A program that has
 * options of its own wants verify_asan_link_order=0 in them.
 */
INTERPOSED const char *__asan_default_options(void);
INTERPOSED const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}

__attribute__((constructor)) static void start(int argc, char **argv, char **envp)
{
	char **place = preload_find_env(envp, POOL_ENV "=");
	int saved_errno = errno;
	struct pool *pool;
	const char *env, *why;

	if (!place)
		return;
	env = *place;
	preload_init();
	pool = open_pool(env + sizeof(POOL_ENV), &why);
	if (!pool) {
		dprintf(STDERR_FILENO, "lwprun: process %u (%s) is not profiled: %s: %s\n",
			(unsigned int)getpid(), argc ? argv[0] : "?", env, why);
	} else if (__atomic_exchange_n(&pool->first_taken, 1, __ATOMIC_SEQ_CST) && !pool->follow) {
		munmap(pool, pool->size);
	} else {
		slots_pool = pool;
		if (pool->follow)
			prepare_children(env);
		preload_dl_watch(&pool->dl_calls);
	}
	errno = saved_errno;
	preload_program_begin();
}
