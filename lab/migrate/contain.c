// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory of a guest before and after, and the guest's page tables. */
#include "contain.h"
#include "vm.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHUNK (1u << 20)
#define MAX_EXTRA 8
#define LEVELS 4
#define LOWER_HALF (1ull << 47) /* the program maps nothing above */
#define ENTRY_PRESENT 1u
#define ENTRY_WRITE 2u
#define ENTRY_USER 4u
#define ENTRY_LARGE 0x80u
#define ENTRY_ADDRESS 0x000ffffffffff000ull

int memory_new(void)
{
	int fd = memfd_create("guest", 0);

	if (fd < 0 || ftruncate(fd, (off_t)GUEST_MEMORY))
		broken("no memory for a guest: %s", strerror(errno));
	return fd;
}

void memory_clear(int fd)
{
	if (ftruncate(fd, 0) || ftruncate(fd, (off_t)GUEST_MEMORY))
		broken("memory of a guest: %s", strerror(errno));
}

const char *const *memory_arguments(int fd, const char *const *extra)
{
	static char size[32], object[128];
	static const char *arguments[6 + MAX_EXTRA + 1] = {
		"-m", size, "-object", object, "-machine", "memory-backend=pc.ram",
	};
	unsigned int n = 6;

	snprintf(size, sizeof(size), "%lluM", GUEST_MEMORY >> 20);
	snprintf(object, sizeof(object),
		 "memory-backend-file,id=pc.ram,share=on,size=%s,mem-path=/proc/self/fd/%d", size,
		 fd);
	while (extra && *extra && n < 6 + MAX_EXTRA)
		arguments[n++] = *extra++;
	arguments[n] = NULL;
	return arguments;
}

static void read_memory(int fd, uint8_t *to, uint64_t at, size_t size)
{
	ssize_t got;

	for (; size; size -= (size_t)got, to += got, at += (size_t)got) {
		got = pread(fd, to, size, (off_t)at);
		if (got <= 0)
			broken("memory of a guest cannot be read");
	}
}

static const char *line_of(const char *text, const char *word)
{
	const char *line = strstr(text, word);

	if (!line)
		broken("the program does not say '%s':\n%s", word, text);
	return line;
}

static enum rights rights_of(const char *name)
{
	static const char *const names[RIGHTS] = { "writable", "read-only", "kernel", "absent" };
	unsigned int i;

	for (i = 0; i < RIGHTS && strcmp(name, names[i]); i++)
		;
	if (i == RIGHTS)
		broken("no such rights: '%s'", name);
	return i;
}

void territory_read(struct territory *t, const char *output, int fd)
{
	static const char place[] = "# place ";
	char name[16];

	if (sscanf(line_of(output, "# tables "), "# tables %lx", &t->tables) != 1 ||
	    sscanf(line_of(output, "# stack "), "# stack %lx %lx", &t->stack, &t->stack_size) !=
		    2 ||
	    sscanf(line_of(output, "# block "), "# block %x", &t->block_size) != 1)
		broken("the program says something else:\n%s", output);
	for (t->places = 0; (output = strstr(output, place)); t->places++, output++) {
		struct place *p = &t->place[t->places];

		if (t->places == MAX_PLACES ||
		    sscanf(output, "# place %15s %lx %lx", name, &p->at, &p->size) != 3)
			broken("a place too many, or none:\n%s", output);
		p->rights = rights_of(name);
	}
	t->memory = malloc(GUEST_MEMORY);
	if (!t->memory)
		broken("no memory");
	read_memory(fd, t->memory, 0, GUEST_MEMORY);
}

bool territory_writable(const struct territory *t, uint64_t linear, uint64_t *physical)
{
	const uint64_t needed = ENTRY_PRESENT | ENTRY_WRITE | ENTRY_USER;
	uint64_t entry = t->tables, at, mask;
	unsigned int level = LEVELS, shift;

	if (linear >= LOWER_HALF)
		return false;
	do {
		shift = 12 + 9 * (level - 1);
		at = (entry & ENTRY_ADDRESS) + 8 * (linear >> shift & 511);
		if (at >= GUEST_MEMORY)
			broken("a page table outside of memory");
		memcpy(&entry, t->memory + at, sizeof(entry));
		entry = le64toh(entry);
		if ((entry & needed) != needed)
			return false;
	} while (--level && !(shift > 12 && entry & ENTRY_LARGE));
	mask = (1ull << shift) - 1;
	*physical = (entry & ENTRY_ADDRESS & ~mask) | (linear & mask);
	return *physical < GUEST_MEMORY;
}

/* Physical memory that user code may write. */
struct piece {
	uint64_t at, size;
};
#define MAX_PIECES 1024

struct pieces {
	struct piece piece[MAX_PIECES];
	unsigned int count;
};

/* What of [at, at + size), linear, is there for user code to write */
static void add_writable(const struct territory *t, uint64_t at, uint64_t size, struct pieces *to)
{
	const uint64_t end = at + size;
	uint64_t next, physical;

	for (; at < end; at = next) {
		next = (at | 0xfff) + 1 < end ? (at | 0xfff) + 1 : end;
		if (!territory_writable(t, at, &physical))
			continue;
		if (to->count == MAX_PIECES)
			broken("the program has more memory than this test believes");
		to->piece[to->count++] = (struct piece){ physical, next - at };
	}
}

static bool has(const struct pieces *p, uint64_t physical)
{
	unsigned int i;

	for (i = 0; i < p->count; i++)
		if (physical - p->piece[i].at < p->piece[i].size)
			return true;
	return false;
}

static void judge(const struct territory *t, const struct pieces *allowed,
		  const struct pieces *places, uint64_t physical, struct written *w)
{
	if (physical - t->stack < t->stack_size)
		return;
	w->bytes++;
	w->redirected += has(places, physical);
	if (!w->stray && !has(allowed, physical)) {
		w->stray = true;
		w->stray_at = physical;
	}
}

struct written territory_compare(const struct territory *t, int fd, const struct span *span,
				 unsigned int spans)
{
	static struct pieces allowed, places;
	static uint8_t now[CHUNK];
	struct written w = { 0 };
	uint64_t chunk, page, i;

	allowed.count = places.count = 0;
	for (i = 0; i < spans; i++)
		add_writable(t, span[i].at, span[i].size, &allowed);
	for (i = 0; i < t->places; i++)
		add_writable(t, t->place[i].at, t->place[i].size, &places);

	for (chunk = 0; chunk < GUEST_MEMORY; chunk += CHUNK) {
		read_memory(fd, now, chunk, CHUNK);
		for (page = 0; page < CHUNK; page += 0x1000) {
			if (!memcmp(now + page, t->memory + chunk + page, 0x1000))
				continue;
			for (i = page; i < page + 0x1000; i++)
				if (now[i] != t->memory[chunk + i])
					judge(t, &allowed, &places, chunk + i, &w);
		}
	}
	return w;
}
