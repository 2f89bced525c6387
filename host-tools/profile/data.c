// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers for what data addresses lie in, so that a million records with as many addresses become a few counts. */
#include "memory.h"
#include "resolve.h"

/* Programs come back to the same addresses: the last numbers are kept by address. */
#define CACHED 16384

struct cached {
	uint64_t address;
	size_t map;
	uint32_t number; /* 0: the place is empty */
};

/* Strings are interned: pointers tell places apart. */
static uint32_t number_of(struct data_places *d, const struct data_place *place)
{
	size_t number =
		keys_number_of(&d->keys, (uintptr_t)place->name, (uintptr_t)place->variable);

	if (number == d->nr)
		*APPEND(d->list, d->nr, d->room) = *place;
	return (uint32_t)number + 1;
}

uint32_t data_number(struct resolver *r, uint32_t process, uint64_t section, uint64_t address)
{
	struct data_places *d = &r->data;
	size_t map = profile_find_data(r->profile, process, section, address);
	struct cached *cached;
	struct data_place place;

	if (!d->cache)
		d->cache = must(calloc(CACHED, sizeof(*d->cache)));
	cached = &d->cache[(address / 8 + map) % CACHED];
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
	keys_free(&d->keys);
	free(d->cache);
}
