// SPDX-License-Identifier: GPL-2.0-or-later
/* Migration sets: who covers whom, and what hosts have in common (43724-117, 2007-109). */
#include "vmcb_test.h"

/* One field of *a and *b changed; what does each direction say? */
#define expect_covers(field, big, small, verdict)                         \
	do {                                                              \
		struct lwp_caps a = full, b = full;                       \
		a.field = big;                                            \
		b.field = small;                                          \
		cr_expect(eq(int, lwp_caps_covers(&a, &b), LWP_CAPS_OK)); \
		cr_expect(eq(int, lwp_caps_covers(&b, &a), verdict));     \
	} while (0)

/* A difference that nothing reconciles. */
#define expect_irreconcilable(field, value, verdict)                     \
	do {                                                             \
		struct lwp_caps a = full, b = full;                      \
		b.field = value;                                         \
		cr_expect(eq(int, lwp_caps_covers(&a, &b), verdict));    \
		cr_expect(eq(int, lwp_caps_covers(&b, &a), verdict));    \
		cr_expect(eq(int, lwp_caps_intersect(&a, &b), verdict)); \
	} while (0)

/* a.field = x, b.field = y; that it is the greatest lower bound is proved (prove_caps.c). */
#define expect_common(base, field, x, y, expected)                           \
	do {                                                                 \
		struct lwp_caps a = base, b = base;                          \
		a.field = x;                                                 \
		b.field = y;                                                 \
		cr_expect(eq(int, lwp_caps_intersect(&a, &b), LWP_CAPS_OK)); \
		cr_expect(eq(u32, a.field, expected));                       \
	} while (0)

Test(set, more_covers_less) /* 43724-117, 2007-109 */
{
	expect_covers(version, 2, 1, LWP_CAPS_VERSION);
	expect_covers(max_events, 6, 5, LWP_CAPS_MAX_EVENTS);
	expect_covers(min_buffer, 1, 2, LWP_CAPS_MIN_BUFFER);
	expect_covers(latency_max, 20, 16, LWP_CAPS_LATENCY_MAX);
	expect_covers(latency_rnd, 0, 4, LWP_CAPS_LATENCY_RND);
}

Test(set, every_feature_bit_matters) /* 43724-117, 2007-109 */
{
	static const u8 bits[] = { 1, 2, 3, 5, 6, 29, 30, 31 };

	for (u32 i = 0; i < sizeof(bits); i++)
		expect_covers(features, 0xe000007e, 0xe000007e & ~(1u << bits[i]),
			      LWP_CAPS_FEATURES);
	expect_covers(features, 0xe000007e, 0xe000006e, LWP_CAPS_FEATURES);
}

Test(set, every_ecx_feature_bit_matters) /* 43724-116, 43724-117, 2007-109 */
{
	static const u8 bits[] = { 5, 24, 28, 29, 30, 31 };

	for (u32 i = 0; i < sizeof(bits); i++)
		expect_covers(ecx_features, 0xf1000020, 0xf1000020 & ~(1u << bits[i]),
			      LWP_CAPS_ECX_FEATURES);
}

/* What a host says about latency does not matter to a guest without data cache misses. */
Test(set, latency_matters_only_with_cache_misses) /* 43724-117, 2007-109 */
{
	struct lwp_caps need = full, have = full;

	need.features &= ~0x10u;
	have.latency_rnd = 4;
	have.latency_max = 10;
	cr_expect(eq(int, lwp_caps_covers(&have, &need), LWP_CAPS_OK));
	have.features &= ~0x10u;
	cr_expect(eq(int, lwp_caps_covers(&have, &need), LWP_CAPS_OK));
}

Test(set, layouts_must_agree) /* 43724-117, 2007-109 */
{
	expect_irreconcilable(rev, 1, LWP_CAPS_REV);
	expect_irreconcilable(event_offset, 120, LWP_CAPS_EVENT_OFFSET);
	expect_irreconcilable(cb_size, 184, LWP_CAPS_CB_SIZE);
	expect_irreconcilable(event_size, 64, LWP_CAPS_EVENT_SIZE);
}

Test(set, common_numbers) /* 43724-117, 2007-109 */
{
	expect_common(full, version, 3, 2, 2);
	expect_common(full, max_events, 6, 5, 5);
	expect_common(full, min_buffer, 1, 8, 8);
	expect_common(full, latency_max, 12, 31, 12);
	expect_common(full, latency_rnd, 0, 3, 3);
	expect_common(full07, version, 200, 130, 130);
	expect_common(full07, max_events, 3, 2, 2);
}

Test(set, common_features_are_the_and) /* 43724-117, 2007-109 */
{
	expect_common(full, features, 0xe000007e, 0x8000001e, 0x8000001e);
	expect_common(full, features, 0x40000012, 0x20000014, 0x00000010);
	expect_common(full07, features, 0x8000000a, 0x0000000e, 0x0000000a);
	expect_common(full, ecx_features, 0xf1000020, 0x61000020, 0x61000020);
}

/* The common highest EventId is 3: events 4..6 of the other host are gone, the rest stays. */
Test(set, events_above_the_common_highest_id_are_dropped) /* 43724-117, 2007-109 */
{
	struct lwp_caps a = full, b = full;

	b.max_events = 3;
	b.features = 0xe000000e;
	cr_assert(eq(int, lwp_caps_intersect(&a, &b), LWP_CAPS_OK));
	cr_expect(eq(u8, a.max_events, 3));
	cr_expect(eq(u32, a.features, 0xe000000e));
}

Test(set, slots_of_2007_are_not_events) /* 43724-117, 2007-109, 2007-110 */
{
	struct lwp_caps a = full07, b = full07;

	b.max_events = 1;
	cr_assert(eq(int, lwp_caps_intersect(&a, &b), LWP_CAPS_OK));
	cr_expect(eq(u8, a.max_events, 1));
	cr_expect(eq(u32, a.features, 0x8000000e));
}

Test(set, without_common_cache_misses_no_latency) /* 43724-117, 2007-109 */
{
	struct lwp_caps a = full, b = full;

	b.features &= ~0x10u;
	b.latency_max = 0;
	cr_assert(eq(int, lwp_caps_intersect(&a, &b), LWP_CAPS_OK));
	cr_expect(eq(u32, a.features, 0xe000006e));
	cr_expect(eq(u8, a.latency_max, 0));
	cr_expect(eq(u8, a.latency_rnd, 0));
	cr_expect(eq(u32, a.ecx_features, 0x20000000));
	cr_expect(lwp_caps_valid(&a));
}

/*
 * One host filters by level only, the other by latency only: 2007 does not allow that for DME
 * (43724-117, 2007-106, 2007-109).
 */
Test(set, cache_misses_of_2007_without_common_filter_are_dropped)
{
	struct lwp_caps a = full07, b = full07;

	a.ecx_features = 0x40000020;
	b.ecx_features = 0x80000020;
	cr_assert(eq(int, lwp_caps_intersect(&a, &b), LWP_CAPS_OK));
	cr_expect(eq(u32, a.features, 0x80000006));
	cr_expect(eq(u8, a.latency_max, 0));
	cr_expect(eq(u32, a.ecx_features, 0));
	cr_expect(lwp_caps_valid(&a));
	a = full;
	a.ecx_features = 0x40000020;
	b = full;
	b.ecx_features = 0x80000020;
	cr_assert(eq(int, lwp_caps_intersect(&a, &b), LWP_CAPS_OK));
	cr_expect(eq(u32, a.features, 0xe000007e));
}

Test(set, fields_are_named_for_messages)
{
	cr_expect(eq(str, text(lwp_caps_field_name(LWP_CAPS_REV)), text("lwp-rev")));
	cr_expect(eq(str, text(lwp_caps_field_name(LWP_CAPS_MAX_EVENTS)), text("lwp-max-events")));
	cr_expect(eq(str, text(lwp_caps_field_name(LWP_CAPS_MIN_BUFFER)), text("lwp-min-buffer")));
	cr_expect(
		eq(str, text(lwp_caps_field_name(LWP_CAPS_LATENCY_MAX)), text("lwp-latency-max")));
	cr_expect(
		eq(str, text(lwp_caps_field_name(LWP_CAPS_ECX_FEATURES)), text("filter features")));
}
