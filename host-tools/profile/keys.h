/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table that numbers keys in the order in which they first came. */
#ifndef LWPCTL_KEYS_H
#define LWPCTL_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct key3 {
	uint64_t a, b, c;
};

struct keys {
	struct key3 *list; /* by number */
	size_t nr, room;
	size_t *table, size; /* open addressing, a power of two: the number plus 1 */
};

/* The number of a key, from 0; a key that was not there is added, and is then the last. */
size_t keys_number(struct keys *keys, uint64_t a, uint64_t b, uint64_t c);

void keys_free(struct keys *keys);

#endif
