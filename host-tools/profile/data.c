// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers for what data addresses lie in, so that a million records with as many addresses become a few counts.
 */
#include "hash.h"
#include "memory.h"
#include "resolve.h"

/* Programs come back to the same addresses: the last numbers are kept by address. A power of two. */
#define CACHED 16384

struct cached {
	uint64_t address;
	size_t map;
	uint32_t number; /* 0: the place is empty */
};

/* Strings are interned: pointers tell places apart. */
static uint32_t *find(const struct data_places *d, const struct data_place *wanted)
{
	size_t i = hash_mix((uintptr_t)wanted->name, (uintptr_t)wanted->variable) & (d->size - 1);

	while (d->table[i]) {
		const struct data_place *place = &d->list[d->table[i] - 1];

		if (place->name == wanted->name && place->variable == wanted->variable)
			break;
		i = (i + 1) & (d->size - 1);
	}
	return &d->table[i];
}

static void enlarge(struct data_places *d)
{
	free(d->table);
	d->size = d->size ? 2 * d->size : 256;
	d->table = must(calloc(d->size, sizeof(*d->table)));
	for (size_t i = 0; i < d->nr; i++)
		*find(d, &d->list[i]) = (uint32_t)i + 1;
}

static uint32_t number_of(struct data_places *d, const struct data_place *place)
{
	uint32_t *number;

	if (2 * d->nr >= d->size)
		enlarge(d);
	number = find(d, place);
	if (!*number) {
		d->list = grow(d->list, d->nr, &d->room, sizeof(*d->list));
		d->list[d->nr++] = *place;
		*number = (uint32_t)d->nr;
	}
	return *number;
}

uint32_t data_number(struct resolver *r, uint32_t process, uint64_t section, uint64_t address)
{
	struct data_places *d = &r->data;
	size_t map = profile_find_data(r->profile, process, section, address);
	struct cached *cached;
	struct data_place place;

	if (!d->cache)
		d->cache = must(calloc(CACHED, sizeof(*d->cache)));
	cached = &d->cache[hash_mix(address, map) & (CACHED - 1)];
	if (!cached->number || cached->address != address || cached->map != map) {
		resolve_data(r, process, section, address, &place);
		*cached = (struct cached){ address, map, number_of(d, &place) };
	}
	return cached->number;
}

const struct data_place *data_place(const struct resolver *r, uint32_t number)
{
	return number ? &r->data.list[number - 1] : NULL;
}

void data_places_free(struct data_places *d)
{
	free(d->list);
	free(d->table);
	free(d->cache);
}
