// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How often each address was seen.
 */
#include <stdbool.h>

#include "hash.h"
#include "lwp_rev.h"
#include "memory.h"
#include "tally.h"

static bool same(const struct count *a, const struct count *b)
{
	return a->address == b->address && a->map == b->map && a->thread == b->thread &&
	       a->event_id == b->event_id;
}

static struct count *find(struct count *table, size_t size, const struct count *key)
{
	uint64_t hash = hash_mix(hash_mix(key->address, key->map),
				 (uint64_t)key->thread << 8 | key->event_id);
	size_t i = hash & (size - 1);

	while (table[i].samples && !same(&table[i], key))
		i = (i + 1) & (size - 1);
	return &table[i];
}

static void enlarge(struct tally *t)
{
	size_t size = t->size ? 2 * t->size : 4096;
	struct count *table = must(calloc(size, sizeof(*table)));

	for (size_t i = 0; i < t->size; i++)
		if (t->table[i].samples)
			*find(table, size, &t->table[i]) = t->table[i];
	free(t->table);
	t->table = table;
	t->size = size;
}

void misses_add(struct misses *to, const struct misses *more)
{
	to->latency += more->latency;
	for (size_t i = 0; i < LWP_SOURCES; i++)
		to->from[i] += more->from[i];
}

static void add(struct tally *t, const struct count *key, const struct misses *misses)
{
	struct count *place;

	if (2 * t->nr >= t->size)
		enlarge(t);
	place = find(t->table, t->size, key);
	if (!place->samples) {
		*place = *key;
		t->nr++;
	}
	place->samples++;
	misses_add(&place->misses, misses);
	t->per_event[key->event_id]++;
}

static struct misses misses_of(const struct lwp_rev *rev, const struct lwp_record *record)
{
	struct misses misses = { 0 };

	if (record->event_id != rev->event_id[LWP_KIND_DME])
		return misses;
	misses.latency = record->data1;
	misses.from[record->flags >> LWP_RECORD_SRC_SHIFT] = 1;
	return misses;
}

static void add_batch(struct tally *t, const struct profile *p, const struct profile_batch *batch)
{
	uint32_t process = p->threads[batch->thread].process;
	const struct lwp_rev *rev = lwp_rev_get(p->config.revision);
	struct count key = { .thread = batch->thread, .map = SIZE_MAX };

	for (uint32_t i = 0; i < batch->count; i++) {
		struct lwp_record record;
		struct misses misses;

		lwp_record_decode(batch->data + (size_t)i * LWP_RECORD_SIZE, &record);
		key.event_id = record.event_id;
		key.address = record.address;
		/* Neighbours are mostly in one mapping, present while the batch was. */
		if (key.map == SIZE_MAX || record.address < p->maps[key.map].start ||
		    record.address >= p->maps[key.map].end)
			key.map = profile_find_map(p, process, batch->section, record.address);
		misses = misses_of(rev, &record);
		add(t, &key, &misses);
	}
}

void tally_profile(struct tally *t, const struct profile *p)
{
	*t = (struct tally){ 0 };
	for (size_t i = 0; i < p->nr_batches; i++)
		add_batch(t, p, &p->batches[i]);
}

void tally_free(struct tally *t)
{
	free(t->table);
}
