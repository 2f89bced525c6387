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
	       a->event_id == b->event_id && a->target == b->target;
}

static struct count *find(struct count *table, size_t size, const struct count *key)
{
	uint64_t hash = hash_mix(hash_mix(key->address + key->target * 31, key->map),
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

void detail_add(struct detail *to, const struct detail *more)
{
	to->latency += more->latency;
	to->taken += more->taken;
	to->predicted += more->predicted;
	to->right += more->right;
	for (size_t i = 0; i < LWP_SOURCES; i++)
		to->from[i] += more->from[i];
}

static void add(struct tally *t, const struct count *key, const struct detail *detail)
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
	detail_add(&place->detail, detail);
	t->per_event[key->event_id]++;
}

static struct detail detail_of(const struct lwp_rev *rev, const struct lwp_record *record)
{
	struct detail detail = { 0 };

	if (record->event_id == rev->event_id[LWP_KIND_DME]) {
		detail.latency = record->data1;
		detail.from[record->flags >> LWP_RECORD_SRC_SHIFT] = 1;
	} else if (record->event_id == rev->event_id[LWP_KIND_BRE]) {
		detail.taken = !!(record->flags & LWP_RECORD_TKN);
		detail.predicted = !!(record->flags & LWP_RECORD_PRV);
		detail.right = detail.predicted && record->flags & LWP_RECORD_PRD;
	}
	return detail;
}

static void add_batch(struct tally *t, const struct profile *p, const struct profile_batch *batch,
		      bool targets)
{
	uint32_t process = p->threads[batch->thread].process;
	const struct lwp_rev *rev = lwp_rev_get(p->config.revision);
	struct count key = { .thread = batch->thread, .map = SIZE_MAX };

	for (uint32_t i = 0; i < batch->count; i++) {
		struct lwp_record record;
		struct detail detail;

		lwp_record_decode(batch->data + (size_t)i * LWP_RECORD_SIZE, &record);
		key.event_id = record.event_id;
		key.address = record.address;
		key.target = targets && record.event_id == rev->event_id[LWP_KIND_BRE] ?
				     record.data2 :
				     0;
		/* Neighbours are mostly in one mapping, present while the batch was. */
		if (key.map == SIZE_MAX || record.address < p->maps[key.map].start ||
		    record.address >= p->maps[key.map].end)
			key.map = profile_find_map(p, process, batch->section, record.address);
		detail = detail_of(rev, &record);
		add(t, &key, &detail);
	}
}

void tally_profile(struct tally *t, const struct profile *p, const struct filter *filter,
		   bool targets)
{
	*t = (struct tally){ 0 };
	for (size_t i = 0; i < p->nr_batches; i++)
		if (filter_batch(filter, p, &p->batches[i]))
			add_batch(t, p, &p->batches[i], targets);
}

void tally_free(struct tally *t)
{
	free(t->table);
}
