/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory and lists for tools that read one file and end: without memory there is nothing left to do. */
#ifndef LWPCTL_MEMORY_H
#define LWPCTL_MEMORY_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void *must(void *memory)
{
	if (!memory) {
		fputs("out of memory\n", stderr);
		exit(1);
	}
	return memory;
}

/* A list of `nr` items of which `*room` fit: room for one more. */
static inline void *grow(void *list, size_t nr, size_t *room, size_t item)
{
	if (nr < *room)
		return list;
	*room = 2 * nr + 16;
	return must(reallocarray(list, *room, item));
}

/* The next item of such a list, not written yet. */
#define APPEND(list, nr, room) ((list) = grow(list, nr, &(room), sizeof(*(list))), &(list)[(nr)++])

/* Bytes that become more. */
struct bytes {
	uint8_t *data;
	size_t size, room;
};

static inline void add_bytes(struct bytes *to, const void *more, size_t size)
{
	if (to->size + size > to->room) {
		to->room = 2 * (to->size + size) + 64;
		to->data = must(realloc(to->data, to->room));
	}
	if (size)
		memcpy(to->data + to->size, more, size);
	to->size += size;
}

/* Without items there may be no list. */
static inline void sort_list(void *list, size_t nr, size_t item,
			     int (*compare)(const void *a, const void *b))
{
	if (nr)
		qsort(list, nr, item, compare);
}

/* What a comparison says of two numbers; `?:` goes on to the next ones. */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* A string of its own, as printf() would print it. */
static inline char *__attribute__((format(printf, 1, 2))) formatted(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = must(NULL);
	va_end(args);
	return text;
}

/* `size` bytes as a string. */
static inline char *copy_string(const void *bytes, size_t size)
{
	char *string = must(malloc(size + 1));

	if (size)
		memcpy(string, bytes, size);
	string[size] = '\0';
	return string;
}

#endif
