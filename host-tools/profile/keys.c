// SPDX-License-Identifier: GPL-2.0-or-later
/* A table that numbers keys. */
#include "keys.h"
#include "memory.h"

#define uthash_fatal(message) must(NULL)
#include <uthash.h>

struct keyed {
	UT_hash_handle hh;
	size_t number;
	char bytes[];
};

static struct keyed *find(const struct keys *k, const void *key, size_t size)
{
	struct keyed *found;

	HASH_FIND(hh, k->table, key, size, found);
	return found;
}

static struct keyed *find_or_add(struct keys *k, const void *key, size_t size)
{
	struct keyed *found = find(k, key, size);

	if (found)
		return found;
	found = must(malloc(sizeof(*found) + size));
	memcpy(found->bytes, key, size);
	found->number = k->nr++;
	HASH_ADD_KEYPTR(hh, k->table, found->bytes, size, found);
	return found;
}

size_t keys_number(struct keys *k, const void *key, size_t size)
{
	return find_or_add(k, key, size)->number;
}

size_t keys_find(const struct keys *k, const void *key, size_t size)
{
	const struct keyed *found = find(k, key, size);

	return found ? found->number : NO_KEY;
}

const char *intern(struct keys *strings, const char *string)
{
	return find_or_add(strings, string, strlen(string) + 1)->bytes;
}

void keys_free(struct keys *k)
{
	struct keyed *at, *next;

	HASH_ITER(hh, k->table, at, next)
	{
		HASH_DEL(k->table, at);
		free(at);
	}
	k->nr = 0;
}
