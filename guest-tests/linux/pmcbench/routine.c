// SPDX-License-Identifier: GPL-2.0-or-later
/* Putting together a routine around a snippet: the same bytes with each snippet, so that floors compare. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "pmcbench.h"

#define ROUTINE_SIZE 65536
#define CACHE_LINE 64

void routine_begin(struct routine *r)
{
	r->used = 0;
	r->memory = mmap(NULL, ROUTINE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (r->memory == MAP_FAILED)
		quit(STATUS_FAILED, "no memory for code: %s", strerror(errno));
}

void routine_add(struct routine *r, const void *bytes, size_t size)
{
	if (r->used + size > ROUTINE_SIZE)
		quit(STATUS_FAILED, "the snippet is too long");
	memcpy(r->memory + r->used, bytes, size);
	r->used += size;
}

void routine_add_fenced(struct routine *r, const struct snippet *snippet)
{
	static const uint8_t before[] = { 0x57, 0x0f, 0xae, 0xe8 }; /* push %rdi; lfence */
	static const uint8_t after[] = { 0x0f, 0xae, 0xe8, 0x5f }; /* lfence; pop %rdi */

	routine_add(r, before, sizeof(before));
	routine_add(r, snippet->begin, (size_t)(snippet->end - snippet->begin));
	routine_add(r, after, sizeof(after));
}

routine_fn routine_end(struct routine *r)
{
	static const uint8_t ret = 0xc3;
	routine_fn fn;

	routine_add(r, &ret, 1);
	if (mprotect(r->memory, ROUTINE_SIZE, PROT_READ | PROT_EXEC))
		quit(STATUS_FAILED, "code may not be executed: %s", strerror(errno));
	memcpy(&fn, &r->memory, sizeof(fn));
	return fn;
}

void routine_flush(routine_fn fn)
{
	const uint8_t *code;

	memcpy(&code, &fn, sizeof(code));
	for (size_t at = 0; at < ROUTINE_SIZE; at += CACHE_LINE)
		asm volatile("clflush %0" : : "m"(code[at]));
	asm volatile("mfence" : : : "memory");
}
