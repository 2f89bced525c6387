// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * liblwprun.so: libraries that come and go. dlopen looks at its caller's address to choose search path
 * and namespace, so it must not be called from here: the interposed one only counts and jumps on,
 * and lwprun, which watches the count, reads the mappings a moment later. dlclose is bracketed:
 * rings are emptied and mappings read before code disappears, and again after.
 */
#include <link.h>
#include <stddef.h>

#include "preload.h"

typedef void *(*dlopen_function)(const char *, int);
typedef void *(*dlmopen_function)(long, const char *, int);

static void *dlopen_early(const char *name, int flags);
static void *dlmopen_early(long space, const char *name, int flags);

__attribute__((used)) static dlopen_function real_dlopen = dlopen_early;
__attribute__((used)) static dlmopen_function real_dlmopen = dlmopen_early;
static int (*real_dlclose)(void *);

static uint32_t unwatched;
__attribute__((used)) static uint32_t *dl_calls = &unwatched;

/* Until preload_dl_init() has run. */
static void *dlopen_early(const char *name, int flags)
{
	preload_init();
	return real_dlopen(name, flags);
}

static void *dlmopen_early(long space, const char *name, int flags)
{
	preload_init();
	return real_dlmopen(space, name, flags);
}

INTERPOSED __attribute__((naked)) void *dlopen(const char *name, int flags)
{
	__asm__("mov dl_calls(%rip), %rax\n\t"
		"lock incl (%rax)\n\t"
		"jmp *real_dlopen(%rip)");
}

INTERPOSED __attribute__((naked)) void *dlmopen(long space, const char *name, int flags)
{
	__asm__("mov dl_calls(%rip), %rax\n\t"
		"lock incl (%rax)\n\t"
		"jmp *real_dlmopen(%rip)");
}

void preload_dl_init(void)
{
	real_dlopen = preload_next("dlopen");
	real_dlmopen = preload_next("dlmopen");
	real_dlclose = preload_next("dlclose");
}

void preload_dl_watch(uint32_t *counter)
{
	dl_calls = counter;
}

static int count_unloads(struct dl_phdr_info *info, size_t size, void *out)
{
	*(unsigned long long *)out = info->dlpi_subs;
	return 1;
}

/* Objects that the loader has unloaded so far. */
static unsigned long long unloads(void)
{
	unsigned long long n = 0;

	dl_iterate_phdr(count_unloads, &n);
	return n;
}

INTERPOSED int dlclose(void *handle)
{
	struct preload_pause pause;
	unsigned long long before = 0;
	int result;

	preload_init();
	if (preload_pause(&pause)) {
		before = unloads();
		preload_rescan();
		preload_resume(&pause);
	}
	result = real_dlclose(handle);
	if (preload_pause(&pause)) {
		if (unloads() != before)
			preload_rescan();
		preload_resume(&pause);
	}
	return result;
}
