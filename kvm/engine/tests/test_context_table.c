// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of contexts as a data structure: it finds what was added, in a time of its own. */
#include "fake_guest.h"
#include "lwp_context_table.h"

#include <stdlib.h>

#define MANY 4096u

static struct lwp_ctx_table table;

static void start_table(u32 size, u64 seed)
{
	free(table.entry);
	lwp_ctx_table_init(&table, malloc(lwp_ctx_table_bytes(size)), size, seed);
}

static struct lwp_ctx_key key_of(u32 n)
{
	return (struct lwp_ctx_key){ .cr3 = (n / 8 + 1) * 0x1000ull,
				     .thread = 0x7f0000000000ull + n % 8 };
}

static bool there(u32 n)
{
	struct lwp_ctx_key key = key_of(n);
	const struct lwp_ctx *ctx = lwp_ctx_by_key(&table, &key);

	return ctx && lwp_ctx_key_equal(&ctx->saved.key, &key);
}

static void add(u32 n)
{
	struct lwp_ctx_key key = key_of(n);

	lwp_ctx_add(&table, &key, 0);
}

static void remove_key(u32 n)
{
	struct lwp_ctx_key key = key_of(n);

	lwp_ctx_remove(&table, lwp_ctx_by_key(&table, &key));
}

Test(context_table, finds_each_of_many_and_nothing_else) /* 43724-905 */
{
	u32 n;

	start_table(MANY, 1);
	for (n = 0; n < MANY; n++)
		add(n);
	cr_expect(eq(u32, table.used, MANY));
	for (n = 0; n < MANY; n++)
		cr_assert(there(n), "%u", n);
	for (; n < 2 * MANY; n++)
		cr_assert(not(there(n)), "%u", n);
	for (n = 0; n < MANY; n += 3)
		remove_key(n);
	for (n = 0; n < MANY; n++)
		cr_assert(eq(int, there(n), n % 3 != 0), "%u", n);
	/* The places of what was removed are used again. */
	for (n = 0; n < MANY; n += 3)
		add(n);
	for (n = 0; n < MANY; n++)
		cr_assert(there(n), "%u", n);
	cr_expect(eq(u32, table.used, MANY));
}

static u32 longest_chain(void)
{
	u32 longest = 0, length, i;

	for (u32 b = 0; b < table.buckets; b++) {
		for (length = 0, i = table.key_hash[b]; i != LWP_CTX_END; i = table.entry[i].chain)
			length++;
		longest = length > longest ? length : longest;
	}
	return longest;
}

/* Keys as guests have them: pages that follow each other, thread blocks at one distance. */
Test(context_table, ordinary_keys_are_spread) /* 43724-905 */
{
	static const u64 distance[] = { 1, 0x40, 0x1000, 0x801000, 0x100000000 };
	struct lwp_ctx_key key;

	for (u32 d = 0; d < sizeof(distance) / sizeof(distance[0]); d++) {
		start_table(MANY, d + 1);
		for (u32 n = 0; n < MANY; n++) {
			key.cr3 = 0x1000;
			key.thread = n * distance[d];
			key.flags = 0;
			lwp_ctx_add(&table, &key, 0);
		}
		cr_expect(longest_chain() <= 16, "distance %lx: %u", distance[d], longest_chain());
	}
}

/* Keys that collide under one seed do not under another: who does not know it cannot choose them. */
Test(context_table, colliding_keys_depend_on_the_seed) /* 43724-905 */
{
	struct lwp_ctx_key key[64];
	u32 found = 0;

	start_table(MANY, 1);
	for (u32 n = 0; found < 64; n++) {
		struct lwp_ctx_key k = { .cr3 = 0x1000, .thread = n };
		struct lwp_ctx *ctx = lwp_ctx_add(&table, &k, 0);

		if (table.key_hash[0] == lwp_ctx_index(&table, ctx))
			key[found++] = k;
		lwp_ctx_remove(&table, ctx);
	}
	for (u32 n = 0; n < 64; n++)
		lwp_ctx_add(&table, &key[n], 0);
	cr_expect(eq(u32, longest_chain(), 64));
	start_table(MANY, 2);
	for (u32 n = 0; n < 64; n++)
		lwp_ctx_add(&table, &key[n], 0);
	cr_expect(longest_chain() <= 4, "%u", longest_chain());
}

/* One more context in the address space that has most, again and again. */
Test(context_table, a_full_table_keeps_evicting) /* 43724-905 */
{
	start_table(64, 1);
	for (u32 n = 0; n < 64; n++)
		add(n);
	for (u32 n = 64; n < 1000; n++) {
		cr_assert(lwp_ctx_evict(&table));
		add(n);
	}
	cr_expect(eq(u32, table.used, 64));
	cr_expect(eq(u64, table.stats.evicted, 936));
	for (u32 n = 0; n < 64; n++)
		cr_assert(lwp_ctx_evict(&table));
	cr_expect(eq(u32, table.used, 0));
	cr_expect(not(lwp_ctx_evict(&table)));
}

Test(context_table, the_index_of_the_live_entry_is_not_believed_after_a_reset)
{
	struct lwp_ctx_key key = key_of(1);

	start(LWP_REV_43724);
	set_event(BLOCK, 2, 9, 9);
	start_table(4, 1);
	enable(BLOCK);
	cr_assert(lwp_ctx_create(&table, &eng, 0, &key));
	cr_expect(lwp_ctx_live(&table, &eng, 0) != NULL);
	cr_expect(lwp_ctx_live(&table, &eng, 1) == NULL);
	lwp_ctx_table_reset(&table);
	cr_expect(lwp_ctx_live(&table, &eng, 0) == NULL);
	add(1);
	cr_expect(lwp_ctx_live(&table, &eng, 0) == NULL);
}
