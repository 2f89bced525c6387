// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of contexts as a data structure. Each operation takes the same time however many
 * contexts there are: entries and address spaces are found by a hash, and lists by recent use say
 * which one goes when the table is full. Source: docs/design.md#contexts.
 */
#include "lwp_internal.h"
#include "lwp_context_table.h"

/* ---- lists of indices ---- */

static const struct lwp_ctx_list empty_list = { LWP_CTX_END, LWP_CTX_END };

static void list_append(struct lwp_ctx_link *links, struct lwp_ctx_list *list, u32 i)
{
	links[i].next = LWP_CTX_END;
	links[i].prev = list->last;
	if (list->last == LWP_CTX_END)
		list->first = i;
	else
		links[list->last].next = i;
	list->last = i;
}

static void list_remove(struct lwp_ctx_link *links, struct lwp_ctx_list *list, u32 i)
{
	if (links[i].prev == LWP_CTX_END)
		list->first = links[i].next;
	else
		links[links[i].prev].next = links[i].next;
	if (links[i].next == LWP_CTX_END)
		list->last = links[i].prev;
	else
		links[links[i].next].prev = links[i].prev;
}

/* ---- the hash ---- */

/*
 * The sum of 32-bit words, each multiplied with a secret 64-bit number: whoever does not know these
 * numbers cannot choose keys that collide more often than others (multilinear hashing).
 */
static u64 hash_word(const u64 *seed, u64 value)
{
	return (u32)value * seed[0] + (value >> 32) * seed[1];
}

static u32 hash_of(const struct lwp_ctx_table *t, u64 sum)
{
	return (u32)((sum + t->seed[0]) >> 32);
}

static u32 *space_head(const struct lwp_ctx_table *t, u64 cr3)
{
	u32 hash = hash_of(t, hash_word(t->seed + 1, cr3));

	return &t->space_hash[hash & (t->buckets - 1)];
}

static u32 key_hash(const struct lwp_ctx_table *t, const struct lwp_ctx_key *key)
{
	return hash_of(t, hash_word(t->seed + 1, key->cr3) + hash_word(t->seed + 3, key->thread) +
				  hash_word(t->seed + 5, key->gs) + key->flags * t->seed[7]);
}

static u32 *key_head(const struct lwp_ctx_table *t, const struct lwp_ctx_key *key)
{
	return &t->key_hash[key_hash(t, key) & (t->buckets - 1)];
}

bool lwp_ctx_key_equal(const struct lwp_ctx_key *a, const struct lwp_ctx_key *b)
{
	return a->cr3 == b->cr3 && a->thread == b->thread && a->gs == b->gs && a->flags == b->flags;
}

struct lwp_ctx *lwp_ctx_by_key(const struct lwp_ctx_table *t, const struct lwp_ctx_key *key)
{
	u32 i = *key_head(t, key);

	while (i != LWP_CTX_END && !lwp_ctx_key_equal(&t->entry[i].saved.key, key))
		i = t->entry[i].chain;
	return i == LWP_CTX_END ? NULL : &t->entry[i];
}

void lwp_ctx_seen_none(struct lwp_ctx_table *t)
{
	memset(t->seen, 0xff, 2 * (size_t)t->buckets * sizeof(*t->seen));
}

/* Half of the places stay empty, so that the search is short. */
bool lwp_ctx_seen(struct lwp_ctx_table *t, const u8 *array, u32 i,
		  struct lwp_ctx_key (*key_of)(const u8 *array, u32 i))
{
	struct lwp_ctx_key key = key_of(array, i), other;
	u32 at = key_hash(t, &key);

	for (;; at++) {
		u32 *place = &t->seen[at & (2 * t->buckets - 1)];

		if (*place == LWP_CTX_END) {
			*place = i;
			return false;
		}
		other = key_of(array, *place);
		if (lwp_ctx_key_equal(&key, &other))
			return true;
	}
}

/* ---- address spaces ---- */

/* While one of its contexts is parked, a space is in the list of those of its size. */
static void space_unlist(struct lwp_ctx_table *t, u32 s)
{
	struct lwp_ctx_space *space = &t->space[s];

	if (space->parked.first != LWP_CTX_END)
		list_remove(t->of_size, &t->by_size[space->contexts], s);
}

static void space_list(struct lwp_ctx_table *t, u32 s)
{
	struct lwp_ctx_space *space = &t->space[s];

	if (space->parked.first == LWP_CTX_END)
		return;
	list_append(t->of_size, &t->by_size[space->contexts], s);
	if (space->contexts > t->largest)
		t->largest = space->contexts;
}

static u32 space_of(struct lwp_ctx_table *t, u64 cr3)
{
	u32 *head = space_head(t, cr3);
	u32 s = *head;

	while (s != LWP_CTX_END && t->space[s].cr3 != cr3)
		s = t->space[s].chain;
	if (s != LWP_CTX_END)
		return s;
	s = t->free_space;
	t->free_space = t->space[s].chain;
	t->space[s].cr3 = cr3;
	t->space[s].contexts = 0;
	t->space[s].parked = empty_list;
	t->space[s].chain = *head;
	*head = s;
	return s;
}

static void space_free(struct lwp_ctx_table *t, u32 s)
{
	u32 *at = space_head(t, t->space[s].cr3);

	while (*at != s)
		at = &t->space[*at].chain;
	*at = t->space[s].chain;
	t->space[s].chain = t->free_space;
	t->free_space = s;
}

/* ---- entries ---- */

/* Of one array of the owner's memory: after *bytes. Without memory only the bytes are counted. */
static void *part(u8 *memory, size_t *bytes, size_t count, size_t size)
{
	void *p = memory ? memory + *bytes : NULL;

	*bytes += (count * size + 7) & ~(size_t)7;
	return p;
}

static size_t lay_out(struct lwp_ctx_table *t, u8 *memory, u32 size)
{
	size_t bytes = 0;

	t->size = size;
	t->buckets = 1;
	while (t->buckets < size)
		t->buckets *= 2;
	t->entry = part(memory, &bytes, size, sizeof(*t->entry));
	t->space = part(memory, &bytes, size, sizeof(*t->space));
	t->by_size = part(memory, &bytes, (size_t)size + 1, sizeof(*t->by_size));
	t->of_size = part(memory, &bytes, size, sizeof(*t->of_size));
	t->of_parked = part(memory, &bytes, size, sizeof(*t->of_parked));
	t->of_space = part(memory, &bytes, size, sizeof(*t->of_space));
	t->key_hash = part(memory, &bytes, t->buckets, sizeof(*t->key_hash));
	t->space_hash = part(memory, &bytes, t->buckets, sizeof(*t->space_hash));
	t->seen = part(memory, &bytes, 2 * (size_t)t->buckets, sizeof(*t->seen));
	return bytes;
}

size_t lwp_ctx_table_bytes(u32 size)
{
	struct lwp_ctx_table t;

	return lay_out(&t, NULL, size);
}

void lwp_ctx_table_init(struct lwp_ctx_table *t, void *memory, u32 size, u64 seed)
{
	u32 i;

	memset(t, 0, sizeof(*t));
	lay_out(t, memory, size);
	t->age = LWP_CTX_AGE_DEFAULT;
	for (i = 0; i < LWP_CTX_SEEDS; i++) {
		seed = lwp_mix(seed, i);
		t->seed[i] = seed;
	}
	lwp_ctx_table_reset(t);
}

void lwp_ctx_table_reset(struct lwp_ctx_table *t)
{
	u32 i;

	memset(t->entry, 0, t->size * sizeof(*t->entry));
	for (i = 0; i < t->size; i++) {
		t->entry[i].chain = i + 1 < t->size ? i + 1 : LWP_CTX_END;
		t->space[i].contexts = 0;
		t->space[i].chain = t->entry[i].chain;
	}
	for (i = 0; i <= t->size; i++)
		t->by_size[i] = empty_list;
	for (i = 0; i < t->buckets; i++) {
		t->key_hash[i] = LWP_CTX_END;
		t->space_hash[i] = LWP_CTX_END;
	}
	t->parked = empty_list;
	t->free_entry = 0;
	t->free_space = 0;
	t->largest = 0;
	lwp_write_once(t->used, 0);
}

/* Take an entry out of the lists of parked ones, and its space out of that of its size. */
static void unlist(struct lwp_ctx_table *t, struct lwp_ctx *ctx)
{
	u32 i = lwp_ctx_index(t, ctx);

	space_unlist(t, ctx->space);
	if (ctx->holder != LWP_CTX_NOBODY)
		return;
	list_remove(t->of_space, &t->space[ctx->space].parked, i);
	list_remove(t->of_parked, &t->parked, i);
}

static void list(struct lwp_ctx_table *t, struct lwp_ctx *ctx, u64 now)
{
	u32 i = lwp_ctx_index(t, ctx);

	ctx->away = 0;
	if (ctx->holder == LWP_CTX_NOBODY) {
		list_append(t->of_space, &t->space[ctx->space].parked, i);
		list_append(t->of_parked, &t->parked, i);
		ctx->due = now + t->age;
	}
	space_list(t, ctx->space);
}

struct lwp_ctx *lwp_ctx_add(struct lwp_ctx_table *t, const struct lwp_ctx_key *key, u64 now)
{
	u32 *head = key_head(t, key);
	u32 i = t->free_entry;
	struct lwp_ctx *ctx = &t->entry[i];

	t->free_entry = ctx->chain;
	ctx->used = true;
	ctx->holder = LWP_CTX_NOBODY;
	ctx->stamp = ++t->clock;
	ctx->saved.key = *key;
	ctx->chain = *head;
	*head = i;
	ctx->space = space_of(t, key->cr3);
	space_unlist(t, ctx->space);
	t->space[ctx->space].contexts++;
	list(t, ctx, now);
	lwp_write_once(t->used, t->used + 1);
	return ctx;
}

void lwp_ctx_remove(struct lwp_ctx_table *t, struct lwp_ctx *ctx)
{
	u32 *at = key_head(t, &ctx->saved.key);
	u32 i = lwp_ctx_index(t, ctx), s = ctx->space;

	unlist(t, ctx);
	t->space[s].contexts--;
	space_list(t, s);
	if (!t->space[s].contexts)
		space_free(t, s);
	while (*at != i)
		at = &t->entry[*at].chain;
	*at = ctx->chain;
	memset(ctx, 0, sizeof(*ctx));
	ctx->chain = t->free_entry;
	t->free_entry = i;
	lwp_write_once(t->used, t->used - 1);
}

void lwp_ctx_hold(struct lwp_ctx_table *t, struct lwp_ctx *ctx, s32 holder, u64 now)
{
	unlist(t, ctx);
	ctx->holder = holder;
	ctx->stamp = ++t->clock;
	list(t, ctx, now);
}

void lwp_ctx_look_later(struct lwp_ctx_table *t, struct lwp_ctx *ctx, u64 now)
{
	u32 i = lwp_ctx_index(t, ctx);

	list_remove(t->of_parked, &t->parked, i);
	list_append(t->of_parked, &t->parked, i);
	ctx->due = now + t->age;
}

bool lwp_ctx_evict(struct lwp_ctx_table *t)
{
	u32 s;

	while (t->largest && t->by_size[t->largest].first == LWP_CTX_END)
		t->largest--;
	if (!t->largest)
		return false;
	s = t->by_size[t->largest].first;
	lwp_ctx_remove(t, &t->entry[t->space[s].parked.first]);
	t->stats.evicted++;
	return true;
}
