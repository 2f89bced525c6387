// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench-contexts: what a switch between two profiled threads costs in the table of contexts alone, against the
 * number of contexts in it. 64 vCPUs take turns; each switch parks one context and resumes another, as the
 * scheduler of a guest would. Guest memory is not read. Nanoseconds of CPU time, the smallest of several turns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lwp_context.h"

#define VCPUS 64u
#define TURNS 5
#define SWITCHES 400000u

static struct lwp_engine engine[VCPUS];
static struct lwp_ctx_table table;

static u64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

static u64 random_number(void)
{
	static u64 x = 0x9e3779b97f4a7c15ull;

	x ^= x << 13;
	x ^= x >> 7;
	return x ^= x << 17;
}

/* Processes of 16 threads. */
static struct lwp_ctx_key key_of(u32 n)
{
	return lwp_ctx_make_key(LWP_PAGING_LONG, (n / 16 + 1) * 0x1000ull, true,
				0x7f0000000000ull + n % 16 * 0x801000ull, 0);
}

/* A state with LWP on, as it comes from outside: nothing is to be verified. */
static void switch_on(struct lwp_engine *e)
{
	struct lwp_state st = { .cb_addr = 0x10000, .size = 1024, .base = 0x20000 };

	st.cfg = e->st.cfg;
	lwp_engine_load(e, &st);
}

static void fill(u32 contexts)
{
	struct lwp_ctx_key key;

	free(table.entry);
	lwp_ctx_table_init(&table, malloc(lwp_ctx_table_bytes(contexts)), contexts,
			   random_number());
	for (u32 n = 0; n < contexts; n++) {
		switch_on(&engine[0]);
		key = key_of(n);
		if (!lwp_ctx_create(&table, &engine[0], 0, &key))
			exit(1);
		lwp_ctx_park(&table, &engine[0], 0, 0);
	}
}

/* The context that a vCPU looks up may be live on another one; then it stays without. */
static u64 switches(u32 contexts)
{
	struct lwp_ctx_key key;
	u64 resumed = 0;
	u32 cpu;

	for (u32 i = 0; i < SWITCHES; i++) {
		cpu = i % VCPUS;
		key = key_of((u32)(random_number() >> 32) % contexts);
		lwp_ctx_park(&table, &engine[cpu], (s32)cpu, 0);
		resumed += lwp_ctx_resume(&table, &engine[cpu], (s32)cpu, &key);
	}
	for (cpu = 0; cpu < VCPUS; cpu++)
		lwp_ctx_park(&table, &engine[cpu], (s32)cpu, 0);
	return resumed;
}

/* A vCPU looks up a thread that has no context, as it does for each thread that is not profiled. */
static u64 misses(u32 contexts)
{
	struct lwp_ctx_key key;
	u64 resumed = 0;

	for (u32 i = 0; i < SWITCHES; i++) {
		key = key_of(contexts + (u32)(random_number() >> 32) % 65536);
		resumed += lwp_ctx_resume(&table, &engine[0], 0, &key);
	}
	return resumed;
}

/* One more LLWPCB in a full table: the oldest of the largest address space goes. */
static u64 evictions(u32 contexts)
{
	struct lwp_ctx_key key;

	for (u32 i = 0; i < SWITCHES; i++) {
		key = key_of(contexts + i);
		switch_on(&engine[0]);
		lwp_ctx_create(&table, &engine[0], 0, &key);
		lwp_ctx_park(&table, &engine[0], 0, 0);
	}
	return table.stats.evicted;
}

static void measure(const char *what, u64 (*way)(u32 contexts), u32 contexts)
{
	u64 best = ~(u64)0, start, ns;

	for (u32 turn = 0; turn < TURNS; turn++) {
		fill(contexts);
		start = now();
		way(contexts);
		ns = now() - start;
		best = ns < best ? ns : best;
	}
	printf("%-32s %6u contexts %8.1f ns %12.0f a second\n", what, contexts,
	       (double)best / SWITCHES, 1e9 * SWITCHES / (double)best);
}

int main(void)
{
	static const u32 sizes[] = { 1, 16, 256, 1000, 4096, 65536 };
	struct lwp_caps caps;

	lwp_caps_profile(&caps, LWP_PROFILE_FULL, LWP_REV_43724);
	for (u32 i = 0; i < VCPUS; i++)
		lwp_engine_init(&engine[i], &caps, true, LWP_DELIVERY_EXACT, NULL, NULL);
	for (u32 i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		measure("switch, 64 vCPUs", switches, sizes[i]);
	for (u32 i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		measure("lookup of an unprofiled thread", misses, sizes[i]);
	for (u32 i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		measure("LLWPCB in a full table", evictions, sizes[i]);
	free(table.entry);
	return 0;
}
