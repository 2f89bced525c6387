// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For LD_PRELOAD: count the blocks of up to 24 bytes that are in use. When the program ends, their number goes to the
 * file that SMALL_BLOCKS names. glibc only.
 */
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define SMALL 24

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

static atomic_long in_use;

static long small(void *block)
{
	return block && malloc_usable_size(block) <= SMALL;
}

static void *counted(void *block)
{
	in_use += small(block);
	return block;
}

void *malloc(size_t size)
{
	return counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
	return counted(__libc_calloc(count, size));
}

void *realloc(void *block, size_t size)
{
	long before = small(block);
	void *moved = __libc_realloc(block, size);

	if (moved || !size)
		in_use -= before;
	return counted(moved);
}

void free(void *block)
{
	in_use -= small(block);
	__libc_free(block);
}

static __attribute__((destructor)) void tell(void)
{
	const char *path = getenv("SMALL_BLOCKS");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	fprintf(file, "%ld\n", (long)in_use);
	fclose(file);
}
