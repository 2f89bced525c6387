// SPDX-License-Identifier: GPL-2.0-or-later
/* The model of the data caches, and its misses as the engine counts them (43724-719). */
#include "fake_guest.h"
#include "x86_cache.h"
#include "lwp_record.h"

/* Two sets of two lines, then one set of four, then one of eight. */
static const struct x86_cache_geometry small = {
	.level = { { 256, 2, 4 }, { 256, 4, 12 }, { 512, 8, 40 } },
	.ram_latency = 200,
};

static u64 memory[64];
static struct x86_cache cache;

static void make(const struct x86_cache_geometry *g)
{
	cr_assert(x86_cache_bytes(g) <= sizeof(memory));
	x86_cache_init(&cache, g, memory);
}

/* The latency of a load of a line; 0: it is in L1D. */
static u32 load(u64 line)
{
	struct x86_cache_miss miss = { 0 };

	x86_cache_has(&cache, line, &miss);
	x86_cache_load(&cache, line);
	return miss.latency;
}

/* Loads of several lines, one after the other. */
#define LOADS(...) loads((const u64[]){ __VA_ARGS__, ~(u64)0 })
static void loads(const u64 *lines)
{
	while (~*lines)
		load(*lines++);
}

/* Whose line it is: 0 of L1D, 3 of RAM. */
static u32 level(u64 line)
{
	struct x86_cache_miss miss = { 0 };

	x86_cache_has(&cache, line, &miss);
	return miss.level;
}

static void make_small(void)
{
	make(&small);
}

TestSuite(cache, .init = make_small);

Test(cache, the_line_not_used_longest_gives_way) /* 43724-730 */
{
	LOADS(0, 2, 0, 4); /* 4 for 2 */
	cr_expect(eq(u32, load(0), 0));
	cr_expect(eq(u32, load(2), 12));
}

Test(cache, the_newest_line_is_the_one_used_last_in_its_set)
{
	LOADS(0, 1, 2);
	cr_expect(x86_cache_newest(&cache, 2));
	cr_expect(x86_cache_newest(&cache, 1));
	cr_expect(not(x86_cache_newest(&cache, 0)));
	cr_expect(not(x86_cache_newest(&cache, 4)));
	load(0);
	cr_expect(x86_cache_newest(&cache, 0));
	cr_expect(not(x86_cache_newest(&cache, 2)));
	x86_cache_empty(&cache);
	cr_expect(not(x86_cache_newest(&cache, 0)));
}

Test(cache, each_level_has_its_number_and_latency) /* 43724-730 */
{
	LOADS(0, 1, 2, 3, 4, 5, 6, 7, 8, 10);
	cr_expect(eq(u32, level(10), 0));
	cr_expect(eq(u32, level(6), 1));
	cr_expect(eq(u32, load(6), 12));
	cr_expect(eq(u32, level(2), 2));
	cr_expect(eq(u32, load(2), 40));
	cr_expect(eq(u32, level(99), 3));
	cr_expect(eq(u32, load(99), 200));
}

Test(cache, a_hit_changes_no_level_behind)
{
	/* The second load of 2 hits L1D: in L2 it stays older than 3, and 8 pushes it out. */
	LOADS(0, 1, 2, 3, 2, 4, 6, 8);
	cr_expect(eq(u32, load(2), 40));
}

Test(cache, an_emptied_model_has_no_line) /* 43724-730 */
{
	LOADS(8, 9, 10, 11, 12, 13, 14, 15);
	x86_cache_empty(&cache);
	for (u64 line = 8; line < 16; line++)
		cr_expect(eq(u32, load(line), 200));
}

Test(cache, the_last_generation_is_followed_by_an_empty_model)
{
	load(1);
	cache.generation = ~(u32)0;
	load(0);
	x86_cache_empty(&cache);
	cr_expect(eq(u32, cache.generation, 1));
	cr_expect(eq(u32, load(0), 200));
	cr_expect(eq(u32, load(1), 200));
}

Test(cache, levels_that_are_not_there_are_passed_over)
{
	struct x86_cache_geometry g = small;

	g.level[1].size = 0;
	make(&g);
	LOADS(0, 2, 4);
	cr_expect(eq(u32, load(0), 40));
	g.level[2].size = 0;
	make(&g);
	LOADS(0, 2, 4);
	cr_expect(eq(u32, load(0), 200));
}

Test(cache, all_numbers_of_a_line_are_apart)
{
	load(2);
	cr_expect(eq(u32, load(((u64)1 << 58) - 2), 200));
	cr_expect(eq(u32, load(2), 0));
	cr_expect(eq(u32, load(0), 200));
}

Test(cache, the_sets_of_l1d)
{
	cr_expect(eq(u32, x86_cache_l1d_sets(&cache), 2));
}

static u32 wrong_level;

static const char *wrong(u32 i, u32 size, u32 ways, u32 latency)
{
	struct x86_cache_geometry g = x86_cache_epyc;

	g.level[i] = (struct x86_cache_level){ size, ways, latency };
	return x86_cache_wrong(&g, &wrong_level);
}

Test(cache, geometries_that_can_be)
{
	u32 level;

	cr_expect(zero(ptr, (void *)x86_cache_wrong(&x86_cache_epyc, &level)));
	cr_expect(zero(ptr, (void *)x86_cache_wrong(&small, &level)));
	cr_expect(zero(ptr, (void *)wrong(0, 64, 1, 1)));
	cr_expect(zero(ptr, (void *)wrong(0, 48 << 10, 12, 4)));
	cr_expect(zero(ptr, (void *)wrong(1, 0, 0, 0)));
	cr_expect(zero(ptr, (void *)wrong(2, 32 * (64u << 17), 32, 39)));
}

Test(cache, geometries_that_cannot_be)
{
	struct x86_cache_geometry g = x86_cache_epyc;

	cr_expect(wrong(0, 0, 8, 4) != NULL);
	cr_expect(wrong(0, 32 << 10, 0, 4) != NULL);
	cr_expect(wrong(0, 33 * 64, 33, 4) != NULL);
	cr_expect(wrong(0, 3 * 64 * 8, 8, 4) != NULL);
	cr_expect(wrong(0, 32, 1, 4) != NULL);
	cr_expect(wrong(0, 100, 1, 4) != NULL);
	cr_expect(wrong(2, 64u << 18, 1, 39) != NULL);
	cr_expect(eq(u32, wrong_level, 2));
	cr_expect(wrong(0, 32 << 10, 8, 0) != NULL);
	cr_expect(wrong(1, 512 << 10, 8, 3) != NULL);
	cr_expect(eq(u32, wrong_level, 1));
	cr_expect(wrong(2, 8 << 20, 16, 201) != NULL);
	cr_expect(eq(u32, wrong_level, X86_CACHE_LEVELS));
	g.ram_latency = X86_CACHE_LATENCY_MAX + 1;
	cr_expect(x86_cache_wrong(&g, &wrong_level) != NULL);
}

/* ---- misses of an instruction ---- */

static const struct lwp_miss first = { 0x700000, 200, LWP_SRC_DRAM };
static const struct lwp_miss second = { 0x700040, 39, LWP_SRC_LOCAL_L3 };

static struct lwp_retired r;

static void count_misses(u32 counter)
{
	start_profile(LWP_REV_43724, 4, 1000, counter);
	r = (struct lwp_retired){ .address = 0x400000 };
}

Test(missed, a_miss_that_is_not_due_is_counted)
{
	count_misses(1);
	lwp_retired_missed(&eng, &r, &first);
	cr_expect(eq(u32, r.misses, 0));
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_DME), 1));
}

Test(missed, the_record_names_the_miss_that_is_due) /* 43724-719, 2007-710 */
{
	count_misses(1);
	lwp_retired_missed(&eng, &r, &first);
	lwp_retired_missed(&eng, &r, &second);
	cr_expect(eq(u32, r.misses, 1));
	cr_expect(eq(u64, r.miss.address, second.address));
	lwp_retire(&eng, &r);
	cr_expect(eq(u64, eng.st.pending.data2, second.address));
}

Test(missed, misses_behind_the_one_that_is_due_are_counted) /* 43724-719, 2007-710 */
{
	count_misses(0);
	lwp_retired_missed(&eng, &r, &first);
	lwp_retired_missed(&eng, &r, &second);
	cr_expect(eq(u32, r.misses, 2));
	cr_expect(eq(u64, r.miss.address, first.address));
}

Test(missed, a_miss_that_is_filtered_is_not_counted)
{
	count_misses(2);
	eng.st.filters = 3; /* 48 cycles */
	lwp_retired_missed(&eng, &r, &second);
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_DME), 3));
}

Test(missed, a_miss_of_an_instruction_that_is_filtered_is_not_counted)
{
	count_misses(2);
	filter_ip(LWP_FILTER_IPF, 0x500000, 0x500010);
	enable(BLOCK);
	lwp_retired_missed(&eng, &r, &first);
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_DME), 3));
	r.address = 0x500000;
	lwp_retired_missed(&eng, &r, &first);
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_DME), 2));
}

/* ---- misses that are sampled ---- */

/* An engine that counts misses, with these filters. */
static void sampled(u32 filters, u32 counter)
{
	start(LWP_REV_43724);
	start_engine(true, LWP_DELIVERY_PROMPT);
	set_event(BLOCK, 4, 1000, counter);
	filter_ip(filters, 0x500000, 0x500010);
	enable(BLOCK);
}

Test(missed, a_sample_stands_for_its_period) /* 43724-719, 2007-710 */
{
	sampled(0, 999);
	lwp_pass_miss(&eng, 300, 0x400000, &first);
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_DME), 700));
	cr_expect(eq(u32, eng.st.pending.event_id, 0));
}

Test(missed, the_record_of_a_sample_is_that_of_its_load) /* 43724-719, 2007-710 */
{
	sampled(0, 250);
	lwp_pass_miss(&eng, 300, 0x400000, &first);
	cr_expect(eq(u32, eng.st.pending.event_id, 4));
	cr_expect(eq(u64, eng.st.pending.address, 0x400000));
	cr_expect(eq(u64, eng.st.pending.data2, first.address));
	cr_expect(eq(u32, eng.st.pending.data1, first.latency));
}

Test(missed, a_sample_that_is_filtered_counts_nothing) /* 43724-719, 2007-710 */
{
	sampled(3, 999); /* 48 cycles */
	lwp_pass_miss(&eng, 300, 0x400000, &second);
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_DME), 1000));
	sampled(LWP_FILTER_IPF, 999);
	lwp_pass_miss(&eng, 300, 0x400000, &first);
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_DME), 1000));
	lwp_pass_miss(&eng, 300, 0x500000, &first);
	cr_expect(eq(u64, lwp_budget(&eng, LWP_KIND_DME), 700));
}
