// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The two hashes: one replaces random bits in reloaded counters, the other lets a context recognise
 * its last record. Both are fixed, so every event source gives the same records and a run can be
 * replayed.
 *
 * The mixer is the 64-bit finaliser known as variant 13 of MurmurHash3's (splitmix64 uses it):
 * three shift-xors (30, 27, 31) and two odd multipliers. It is a bijection, so no input is
 * favoured. Numbers are absorbed one after another, each offset by the golden ratio's fraction so
 * that zeros count too.
 */
#include "lwp_internal.h"

#define MIX_GOLDEN 0x9e3779b97f4a7c15ull
#define MIX_MUL_1 0xbf58476d1ce4e5b9ull
#define MIX_MUL_2 0x94d049bb133111ebull

static u64 absorb(u64 hash, u64 number)
{
	hash = (hash ^ number) + MIX_GOLDEN;
	hash = (hash ^ (hash >> 30)) * MIX_MUL_1;
	hash = (hash ^ (hash >> 27)) * MIX_MUL_2;
	return hash ^ (hash >> 31);
}

u64 lwp_mix(u64 hash, u64 number)
{
	return absorb(hash, number);
}

s32 lwp_randomise(const struct lwp_engine *e, u32 event_id, u64 missed, s32 interval)
{
	u32 low = ((u32)1 << e->st.random) - 1;
	u64 hash = 0;

	hash = absorb(hash, e->st.cb_addr);
	hash = absorb(hash, event_id);
	hash = absorb(hash, e->st.head);
	hash = absorb(hash, missed);
	interval = (s32)(((u32)interval & ~low) | ((u32)hash & low));
	/* 2007: an event with interval 0 would be due before anything has been counted. */
	return interval < e->rev->min_interval ? e->rev->min_interval : interval;
}

u64 lwp_record_hash(const u8 record[LWP_RECORD_SIZE])
{
	u64 hash = 0;
	u32 at;

	for (at = 0; at < LWP_RECORD_SIZE; at += 8)
		hash = absorb(hash, lwp_get64(record + at));
	return hash ? hash : 1;
}
