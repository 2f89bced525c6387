// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers of an LWP: ranges, consistency, changing the number of events (43724-104 to 43724-107). */
#include "vmcb_test.h"

/* A field of a profile changed. */
#define expect_verdict(base, field, value, valid)                                                \
	do {                                                                                     \
		struct lwp_caps caps = base;                                                     \
		caps.field = value;                                                              \
		cr_expect(eq(int, lwp_caps_valid(&caps), valid), #base "." #field " = " #value); \
	} while (0)
#define expect_valid(base, field, value) expect_verdict(base, field, value, true)
#define expect_invalid(base, field, value) expect_verdict(base, field, value, false)

Test(caps, profiles_are_as_written_and_valid)
{
	struct lwp_caps caps;

	lwp_caps_profile(&caps, LWP_PROFILE_FAM15H, 0);
	cr_expect(eq(int, memcmp(&caps, &fam15h, sizeof(caps)), 0));
	lwp_caps_profile(&caps, LWP_PROFILE_FULL, 0);
	cr_expect(eq(int, memcmp(&caps, &full, sizeof(caps)), 0));
	lwp_caps_profile(&caps, LWP_PROFILE_FULL, 1);
	cr_expect(eq(int, memcmp(&caps, &full07, sizeof(caps)), 0));
	cr_expect(lwp_caps_valid(&fam15h));
	cr_expect(lwp_caps_valid(&full));
	cr_expect(lwp_caps_valid(&full07));
}

Test(caps, revision_and_record_size) /* 43724-104 */
{
	expect_invalid(full, rev, 2);
	expect_invalid(full, event_size, 31);
	expect_invalid(full, event_size, 64);
	expect_invalid(full07, event_size, 0);
}

Test(caps, number_of_events_is_1_to_8)
{
	expect_invalid(fam15h, max_events, 0);
	expect_invalid(full07, max_events, 0);
	expect_invalid(full, max_events, 9);
	expect_invalid(full, max_events, 255);
}

Test(caps, block_holds_all_slots) /* 43724-104 */
{
	expect_invalid(full, cb_size, 168); /* 128 + 6 * 8 = 176 */
	expect_valid(full, cb_size, 184);
	expect_invalid(full, cb_size, 180);
	expect_valid(full, cb_size, 2040);
	expect_invalid(full, cb_size, 2048);
	expect_invalid(full07, cb_size, 56); /* 40 + 3 * 8 = 64 */
	expect_valid(full07, cb_size, 248);
	expect_invalid(full07, cb_size, 256); /* 8 bits of bytes */
}

Test(caps, event_offset_is_past_the_fixed_part_and_aligned) /* 43724-104 */
{
	expect_valid(full, event_offset, 88);
	expect_invalid(full, event_offset, 80);
	expect_invalid(full, event_offset, 92);
	expect_invalid(full, event_offset, 136); /* then six slots need 184 bytes */
	expect_invalid(full07, event_offset, 40);
}

Test(caps, version_has_7_bits) /* 43724-105 */
{
	expect_valid(full, version, 127);
	expect_invalid(full, version, 128);
	expect_valid(full07, version, 255);
}

Test(caps, latency_is_0_or_10_to_31_bits) /* 43724-107 */
{
	expect_invalid(full, latency_max, 0); /* with data cache misses */
	expect_valid(fam15h, latency_max, 0);
	expect_invalid(fam15h, latency_max, 9);
	expect_invalid(full, latency_max, 9);
	expect_valid(full, latency_max, 10);
	expect_valid(full, latency_max, 31);
	expect_invalid(full, latency_max, 32);
	expect_valid(full, latency_rnd, 4);
	expect_invalid(full, latency_rnd, 5);
	expect_invalid(full07, latency_rnd, 1);
}

Test(caps, minimum_ring_is_43724_only)
{
	expect_valid(full, min_buffer, 0);
	expect_valid(full, min_buffer, 255);
	expect_invalid(full07, min_buffer, 1);
}

Test(caps, only_defined_features) /* 43724-103 */
{
	expect_invalid(full, features, 0xe000007f); /* bit 0 is not a feature */
	expect_invalid(full, features, 0xe00000fe);
	expect_invalid(full, features, 0xf000007e);
	expect_invalid(full07, features, 0x8000001e);
	expect_invalid(full07, features, 0xc000000e);
	expect_invalid(full, ecx_features, 0xe2000020);
	expect_valid(full, ecx_features, 0xf1000020);
	expect_valid(full07, ecx_features, 0xc1000020);
	expect_invalid(full07, ecx_features, 0xe0000020); /* IP filters are 43724's */
}

Test(caps, no_feature_above_the_highest_event_id) /* 43724-104 */
{
	expect_invalid(fam15h, features, 0x8000002e);
	expect_valid(fam15h, features, 0x80000006);
	/* 2007: any event fits any slot */
	expect_valid(full07, max_events, 1);
}

/* 2007-106: cache misses are filtered by latency, by level, or by both. */
Test(caps, cache_misses_of_2007_need_a_filter)
{
	expect_invalid(full07, ecx_features, 0x00000020);
	expect_valid(full07, ecx_features, 0x40000000);
	expect_valid(full07, ecx_features, 0x80000000);
	expect_valid(full, ecx_features, 0x00000020);
}

Test(caps, has_an_event)
{
	cr_expect(lwp_caps_has(&full, LWP_KIND_RNH));
	cr_expect(lwp_caps_has(&fam15h, LWP_KIND_VAL));
	cr_expect(not(lwp_caps_has(&fam15h, LWP_KIND_DME)));
	cr_expect(lwp_caps_has(&full07, LWP_KIND_IRE));
	cr_expect(not(lwp_caps_has(&full07, LWP_KIND_VAL)));
	cr_expect(not(lwp_caps_has(&full07, LWP_KIND_CNH)));
	cr_expect(not(lwp_caps_has(&full, LWP_KIND_NONE)));
}

Test(caps, fewer_events_shrink_the_block_and_drop_features) /* 43724-104 */
{
	struct lwp_caps caps = full;

	cr_assert(lwp_caps_set_max_events(&caps, 4));
	cr_expect(eq(u8, caps.max_events, 4));
	cr_expect(eq(u16, caps.cb_size, 160));
	cr_expect(eq(u32, caps.features, 0xe000001e));
	cr_expect(lwp_caps_valid(&caps));
	cr_assert(lwp_caps_set_max_events(&caps, 1));
	cr_expect(eq(u16, caps.cb_size, 136));
	cr_expect(eq(u32, caps.features, 0xe0000002));
	cr_expect(lwp_caps_valid(&caps));
}

Test(caps, fewer_slots_of_2007_keep_all_events) /* 2007-110 */
{
	struct lwp_caps caps = full07;

	cr_assert(lwp_caps_set_max_events(&caps, 1));
	cr_expect(eq(u8, caps.max_events, 1));
	cr_expect(eq(u16, caps.cb_size, 48));
	cr_expect(eq(u32, caps.features, 0x8000000e));
	cr_expect(lwp_caps_valid(&caps));
}

Test(caps, number_of_events_out_of_range_changes_nothing)
{
	struct lwp_caps caps = full;

	cr_expect(not(lwp_caps_set_max_events(&caps, 0)));
	cr_expect(not(lwp_caps_set_max_events(&caps, 7)));
	cr_expect(lwp_caps_set_max_events(&caps, 6));
	cr_expect(eq(int, memcmp(&caps, &full, sizeof(caps)), 0));
	caps = full07;
	cr_expect(not(lwp_caps_set_max_events(&caps, 4)));
	cr_expect(lwp_caps_set_max_events(&caps, 3));
	cr_expect(eq(int, memcmp(&caps, &full07, sizeof(caps)), 0));
}
