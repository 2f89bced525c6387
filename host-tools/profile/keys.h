/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table that numbers keys in the order in which they first came. */
#ifndef LWPCTL_KEYS_H
#define LWPCTL_KEYS_H

#include <stddef.h>
#include <stdint.h>

struct keyed;

struct keys {
	struct keyed *table; /* of uthash */
	size_t nr;
};

/* A key is bytes; the same bytes are the same key. */
#define NO_KEY SIZE_MAX

/* The number of a key, from 0; a key that was not there is added, and is then the last. */
size_t keys_number(struct keys *keys, const void *key, size_t size);

/* The same, but a key that is not there is NO_KEY. */
size_t keys_find(const struct keys *keys, const void *key, size_t size);

/* The one copy of a string; it lives until keys_free(). Equal strings are the same pointer. */
const char *intern(struct keys *strings, const char *string);

void keys_free(struct keys *keys);

/* Up to three numbers as a key. */
#define keys_number_of(keys, ...) \
	keys_number(keys, (const uint64_t[3]){ __VA_ARGS__ }, sizeof(uint64_t[3]))

#endif
