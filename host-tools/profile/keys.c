// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A table that numbers keys.
 */
#include "hash.h"
#include "keys.h"
#include "memory.h"

static size_t *find(const struct keys *k, const struct key3 *key)
{
	size_t i = hash_mix(hash_mix(key->a, key->b), key->c) & (k->size - 1);

	for (; k->table[i]; i = (i + 1) & (k->size - 1)) {
		const struct key3 *there = &k->list[k->table[i] - 1];

		if (there->a == key->a && there->b == key->b && there->c == key->c)
			break;
	}
	return &k->table[i];
}

static void enlarge(struct keys *k)
{
	free(k->table);
	k->size = k->size ? 2 * k->size : 1024;
	k->table = must(calloc(k->size, sizeof(*k->table)));
	for (size_t i = 0; i < k->nr; i++)
		*find(k, &k->list[i]) = i + 1;
}

size_t keys_number(struct keys *k, uint64_t a, uint64_t b, uint64_t c)
{
	const struct key3 key = { a, b, c };
	size_t *place;

	if (2 * k->nr >= k->size)
		enlarge(k);
	place = find(k, &key);
	if (!*place) {
		k->list = grow(k->list, k->nr, &k->room, sizeof(*k->list));
		k->list[k->nr++] = key;
		*place = k->nr;
	}
	return *place - 1;
}

void keys_free(struct keys *k)
{
	free(k->list);
	free(k->table);
}
