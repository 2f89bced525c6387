// SPDX-License-Identifier: GPL-2.0-or-later
/* Filters of branches, addresses and data cache misses (43724-417, 43724-722 to 43724-728; 2007-412). */
#include "fake_guest.h"

static void with_filters(u32 rev, u32 filters)
{
	start(rev);
	caps.ecx_features |= LWP_ECX_CACHE_LEVELS | LWP_ECX_CACHE_LATENCY;
	start_engine(true, LWP_DELIVERY_EXACT);
	put32(BLOCK + 36, filters);
	set_event(BLOCK, rev == LWP_REV_2007 ? 2 : 3, 99, 99);
	profile(rev == LWP_REV_2007 ? 3 : 4, 99, 99);
}

/* Which classes count: conditional 1, JMP rel 2, CALL rel 4, absolute 8. */
static u32 counted(void)
{
	return lwp_branch_counted(&eng, LWP_BRANCH_CONDITIONAL) |
	       lwp_branch_counted(&eng, LWP_BRANCH_RELATIVE) << 1 |
	       lwp_branch_counted(&eng, LWP_BRANCH_CALL_RELATIVE) << 2 |
	       lwp_branch_counted(&eng, LWP_BRANCH_ABSOLUTE) << 3 |
	       lwp_branch_counted(&eng, LWP_BRANCH_NONE) << 4;
}

static void expect_counted(u32 rev, u32 filters, u32 classes)
{
	with_filters(rev, filters);
	cr_expect(eq(u32, counted(), classes), "filters %#x", filters);
}

TestSuite(filter, .init = start_43724);

Test(filter, branch_classes_of_43724) /* 43724-723 */
{
	expect_counted(LWP_REV_43724, 0, 0xf);
	expect_counted(LWP_REV_43724, 1u << 27, 0x9); /* NRB: JMP rel and CALL rel */
	expect_counted(LWP_REV_43724, 1u << 28, 0xe); /* NCB */
	expect_counted(LWP_REV_43724, 1u << 29, 0x7); /* NAB */
	expect_counted(LWP_REV_43724, 5u << 27,
		       0x1); /* what programs use: conditional branches only */
}

Test(filter, ndb_of_2007_drops_unconditional_relative_jumps_only) /* 2007-709 */
{
	expect_counted(LWP_REV_2007, 0, 0xf);
	expect_counted(LWP_REV_2007, 1u << 31, 0xd);
	cr_expect(not(lwp_ip_filtered(&eng)));
	expect_counted(LWP_REV_2007, 7u << 27, 0xf);
}

Test(filter, no_branch_counts_while_the_event_is_not_active) /* 43724-723 */
{
	cr_expect(eq(u32, counted(), 0));
	profile(2, 9, 9);
	cr_expect(eq(u32, counted(), 0));
}

Test(filter, a_filtered_branch_does_not_count) /* 43724-722 */
{
	with_filters(LWP_REV_43724, 1u << 28);
	expect_counter(branch(0x400000, LWP_BRANCH_CONDITIONAL, true, 0x400100), 3, 99);
	expect_counter(branch(0x400000, LWP_BRANCH_RELATIVE, true, 0x400100), 3, 98);
}

Test(filter, prediction_filters_are_ignored) /* 43724-724 */
{
	with_filters(LWP_REV_43724, 3u << 25);
	cr_expect(eq(u32, eng.st.filters, 0)); /* the leaf's ECX[28] is clear */
	caps.ecx_features |= LWP_ECX_BRANCH_PREDICTION;
	start_engine(true, LWP_DELIVERY_EXACT);
	enable(BLOCK);
	cr_expect(eq(u32, eng.st.filters, 3u << 25));
	cr_expect(eq(u32, counted(), 0xf));
}

Test(filter, ip_range_is_inclusive_at_both_ends) /* 43724-417, 43724-725 */
{
	filter_ip(1u << 31, 0x400100, 0x4001ff);
	set_event(BLOCK, 1, 99, 99);
	set_event(BLOCK, 2, 99, 99);
	set_event(BLOCK, 3, 99, 99);
	profile(5, 99, 99);
	cr_expect(lwp_ip_filtered(&eng));
	step(0x4000ff);
	step(0x400200);
	branch(0x400200, LWP_BRANCH_RELATIVE, true, 0x400100);
	expect_exc(lwpval(0x400200, 1, 2, 3), NONE);
	cr_expect(eq(i32, eng.st.counter[0], 99));
	cr_expect(eq(i32, eng.st.counter[1], 99));
	cr_expect(eq(i32, eng.st.counter[2], 99));
	step(0x400100);
	step(0x4001ff);
	branch(0x400150, LWP_BRANCH_RELATIVE, true, 0x800000);
	expect_exc(lwpval(0x400150, 1, 2, 3), NONE);
	cr_expect(eq(i32, eng.st.counter[0], 98));
	cr_expect(eq(i32, eng.st.counter[1], 96));
	cr_expect(eq(i32, eng.st.counter[2], 98));
	{
		struct lwp_retired r = { .address = 0x400201, .cnh = 5 };

		cr_expect(not(lwp_retire(&eng, &r)));
		cr_expect(eq(i32, eng.st.counter[4], 99));
		r.address = 0x4001f1;
		cr_expect(not(lwp_retire(&eng, &r)));
		cr_expect(eq(i32, eng.st.counter[4], 94));
	}
}

Test(filter, a_filtered_lwpval_does_not_read_its_operand) /* 43724-722, 43724-726 */
{
	filter_ip(1u << 31, 0x400100, 0x4001ff);
	profile(1, 99, 0);
	cr_expect(not(lwp_val_reads(&eng, 0x400000)));
	cr_expect(lwp_val_reads(&eng, 0x400100));
	expect_exc(lwpval(0x400000, 1, 2, 3), NONE);
	cr_expect(eq(i32, eng.st.counter[0], 0));
	expect_head(0);
}

Test(filter, lwpins_is_not_counted_so_not_filtered) /* 43724-726 */
{
	filter_ip(1u << 31, 0x400100, 0x4001ff);
	enable(BLOCK);
	cr_expect(lwp_ins_reads(&eng));
	expect_exc(lwpins(0x400000, 1, 2, 3), NONE);
	expect_head(32);
}

Test(filter, ip_filter_inverted) /* 43724-417, 43724-725 */
{
	filter_ip(3u << 30, 0x400100, 0x4001ff);
	profile(2, 99, 99);
	step(0x400100);
	expect_counter(step(0x4001ff), 2, 99);
	step(0x4000ff);
	expect_counter(step(0x400200), 2, 97);
}

Test(filter, ipi_alone_does_nothing) /* 43724-725 */
{
	put32(BLOCK + 36, 1u << 30);
	profile(2, 99, 99);
	cr_expect(not(lwp_ip_filtered(&eng)));
	expect_counter(step(0x400100), 2, 98);
}

static bool miss_counted(u32 latency, u8 source)
{
	struct lwp_miss miss = { 0x700000, latency, source };

	return lwp_miss_counted(&eng, &miss);
}

Test(filter, minimum_latency_in_units_of_16_cycles) /* 43724-727, 2007-711 */
{
	with_filters(LWP_REV_43724, 3);
	cr_expect(not(miss_counted(47, LWP_SRC_DRAM)));
	cr_expect(miss_counted(48, LWP_SRC_DRAM));
	with_filters(LWP_REV_43724, 0);
	cr_expect(miss_counted(0, LWP_SRC_NONE));
	with_filters(LWP_REV_2007, 3);
	cr_expect(not(miss_counted(47, LWP_SRC_DRAM)));
	cr_expect(miss_counted(48, LWP_SRC_DRAM));
}

/* Of 4080 cycles, where the counter of latencies has 10 bits. */
static void expect_least_latency(u32 rev, u32 least)
{
	with_filters(rev, 255);
	caps.latency_max = 10;
	start_engine(true, LWP_DELIVERY_EXACT);
	enable(BLOCK);
	cr_expect(not(miss_counted(least - 1, LWP_SRC_DRAM)));
	cr_expect(miss_counted(least, LWP_SRC_DRAM));
	cr_expect(miss_counted(5000, LWP_SRC_DRAM));
}

Test(filter, a_minimum_above_the_latency_counter_is_its_maximum) /* 43724-727, 2007-711 */
{
	expect_least_latency(LWP_REV_43724, 1023);
}

Test(filter, a_latency_of_2007_is_at_most_16_below_the_power_of_two) /* 2007-712 */
{
	expect_least_latency(LWP_REV_2007, 1008);
}

/* Which sources count: L3 1, remote 2, DRAM 4, other 8, unknown 10h. */
static u32 sources(void)
{
	return miss_counted(99, LWP_SRC_LOCAL_L3) | miss_counted(99, LWP_SRC_REMOTE) << 1 |
	       miss_counted(99, LWP_SRC_DRAM) << 2 | miss_counted(99, LWP_SRC_OTHER) << 3 |
	       miss_counted(99, LWP_SRC_NONE) << 4;
}

static void expect_sources(u32 rev, u32 filters, u32 wanted)
{
	with_filters(rev, filters);
	cr_expect(eq(u32, sources(), wanted), "filters %#x", filters);
}

Test(filter, cache_levels) /* 43724-728 */
{
	expect_sources(LWP_REV_43724, 0x1e00, 0x1f); /* CLF is 0: the four bits are ignored */
	expect_sources(LWP_REV_43724, 0x0100, 0); /* CLF and no level */
	expect_sources(LWP_REV_43724, 0x0300, 1); /* NBC */
	expect_sources(LWP_REV_43724, 0x0500, 2); /* RDC */
	expect_sources(LWP_REV_43724, 0x0900, 4); /* RAM */
	expect_sources(LWP_REV_43724, 0x1100, 8); /* OTH */
	expect_sources(LWP_REV_2007, 0x1900, 0xc);
}

Test(filter, no_miss_counts_while_the_event_is_not_active) /* 43724-727, 2007-711 */
{
	start_profile(LWP_REV_43724, 2, 9, 9);
	cr_expect(not(miss_counted(99, LWP_SRC_DRAM)));
}

Test(filter, cache_filters_that_are_not_announced_are_ignored) /* 43724-727, 2007-711 */
{
	with_filters(LWP_REV_43724, 0x01ff);
	caps.ecx_features &= ~(LWP_ECX_CACHE_LEVELS | LWP_ECX_CACHE_LATENCY);
	start_engine(true, LWP_DELIVERY_EXACT);
	enable(BLOCK);
	cr_expect(miss_counted(1, LWP_SRC_NONE));
}
