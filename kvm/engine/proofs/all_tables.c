// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The context table, by enumeration: all sequences of so many operations with four keys in a table
 * of three entries, so that it is full at times. A model checker is slow at pointers and hashes; a
 * processor is not.
 *
 *	all_tables OPERATIONS
 */
#include "check_table.h"
#include "fuzz.h"
#include "lwp_internal.h"

#define SIZE 3
#define KEYS 4
#define OPERATIONS 5
#define DEPTH_MAX 8

/* Two threads of one address space; two of another, which differ in GS only. */
static const struct lwp_ctx_key keys[KEYS] = {
	{ .cr3 = 0x1000 },
	{ .cr3 = 0x1000, .thread = 8 },
	{ .cr3 = 0x2000 },
	{ .cr3 = 0x2000, .gs = 8 },
};

static struct lwp_ctx_table table;
static u8 memory[8192], kept[DEPTH_MAX][sizeof(memory)];
static size_t bytes;
static unsigned long long sequences;

/* The worst hash: often all keys collide. */
u64 lwp_mix(u64 hash, u64 number)
{
	return hash + number;
}

/*
 * One goes whose address space has most contexts, of those that have a parked one; of that space the
 * one not used for longest (43724-905).
 */
static bool evict(void)
{
	u64 evictions = table.stats.evicted;
	u32 contexts[SIZE], most = 0;
	struct lwp_ctx was[SIZE];
	bool evicted;

	memcpy(was, table.entry, sizeof(was));
	for (u32 i = 0; i < SIZE; i++) {
		contexts[i] = was[i].used ? table.space[was[i].space].contexts : 0;
		if (was[i].used && was[i].holder == LWP_CTX_NOBODY && contexts[i] > most)
			most = contexts[i];
	}
	evicted = lwp_ctx_evict(&table);
	CHECK(evicted == (most != 0) && table.stats.evicted == evictions + evicted);
	for (u32 i = 0; i < SIZE; i++) {
		if (!was[i].used || table.entry[i].used)
			continue;
		CHECK(was[i].holder == LWP_CTX_NOBODY && contexts[i] == most);
		for (u32 j = 0; j < SIZE; j++)
			CHECK(!was[j].used || was[j].space != was[i].space ||
			      was[j].holder != LWP_CTX_NOBODY || was[j].stamp >= was[i].stamp);
	}
	return evicted;
}

/* A key has a vCPU of its own, which can hold its context. */
static void operate(const struct lwp_ctx_key *key, u32 operation, u64 now)
{
	struct lwp_ctx *ctx = lwp_ctx_by_key(&table, key);

	CHECK(!ctx || !memcmp(&ctx->saved.key, key, sizeof(*key)));
	switch (operation) {
	case 0:
		if (!ctx && (table.used < SIZE || evict()))
			lwp_ctx_add(&table, key, now);
		break;
	case 1:
		if (ctx)
			lwp_ctx_remove(&table, ctx);
		break;
	case 2:
	case 3:
		if (ctx)
			lwp_ctx_hold(&table, ctx,
				     operation == 2 ? (s32)(key - keys) : LWP_CTX_NOBODY, now);
		break;
	default:
		if (ctx && ctx->holder == LWP_CTX_NOBODY)
			lwp_ctx_look_later(&table, ctx, now);
	}
}

/* All sequences of `left` more operations. */
static void go_on(u32 left)
{
	const struct lwp_ctx_table was = table;

	if (!left) {
		sequences++;
		return;
	}
	memcpy(kept[left - 1], memory, bytes);
	for (u32 i = 0; i < KEYS * OPERATIONS; i++) {
		operate(&keys[i % KEYS], i / KEYS, DEPTH_MAX - left);
		check_table(&table);
		go_on(left - 1);
		table = was;
		memcpy(memory, kept[left - 1], bytes);
	}
}

int main(int argc, char **argv)
{
	u32 operations = argc == 2 ? (u32)atoi(argv[1]) : 0;

	bytes = lwp_ctx_table_bytes(SIZE);
	if (operations < 1 || operations > DEPTH_MAX || bytes > sizeof(memory)) {
		fprintf(stderr, "all_tables OPERATIONS: 1 to %d\n", DEPTH_MAX);
		return 2;
	}
	lwp_ctx_table_init(&table, memory, SIZE, 1);
	go_on(operations);
	printf("%llu sequences\n", sequences);
	return 0;
}
