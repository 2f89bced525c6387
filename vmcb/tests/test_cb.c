// SPDX-License-Identifier: GPL-2.0-or-later
/* The control block of 43724: layout and what LLWPCB makes of it (43724-401 to 43724-422). */
#include "vmcb_test.h"

#define ALL 0xe000007fu /* EAX with everything on */

static u8 image[176];
static struct lwp_cb cb;

/*
 * Each test begins with this block, and with a result that nothing has filled in. Flags IRE|BRE, ring of 1024 bytes
 * at 700000h, Random 5, head 64, missed 9, threshold 512, branch filter NRB, IP 400000h..4fffffh, tail 32,
 * event 2: 999/500, event 3: 0/0.
 */
static void good_block(void)
{
	memset(&cb, 0xff, sizeof(cb));
	lwp_put32(image + 0, 0x0000000c);
	lwp_put32(image + 4, 0x50000400);
	lwp_put64(image + 8, 0x700000);
	lwp_put32(image + 16, 64);
	lwp_put64(image + 24, 9);
	lwp_put32(image + 32, 512);
	lwp_put32(image + 36, 0x08000000);
	lwp_put64(image + 40, 0x400000);
	lwp_put64(image + 48, 0x4fffff);
	lwp_put32(image + 64, 32);
	lwp_put32(image + 136, 999);
	lwp_put32(image + 140, 500);
}

TestSuite(cb, .init = good_block);

Test(cb, fields_at_their_offsets) /* 43724-401 */
{
	cr_expect(eq(int, lwp_cb_decode(&full, ALL, image, &cb), LWP_CB_OK));
	cr_expect(eq(u32, cb.flags, 0x0000000c));
	cr_expect(eq(u32, cb.size, 1024));
	cr_expect(eq(u8, cb.random, 5));
	cr_expect(eq(u64, cb.base, 0x700000));
	cr_expect(eq(u32, cb.head, 64));
	cr_expect(eq(u32, cb.threshold, 512));
	cr_expect(eq(u32, cb.filters, 0x08000000));
	cr_expect(eq(u64, cb.base_ip, 0x400000));
	cr_expect(eq(u64, cb.limit_ip, 0x4fffff));
	cr_expect(eq(i32, cb.interval[1], 999));
	cr_expect(eq(i32, cb.counter[1], 500));
	cr_expect(eq(u8, cb.slot[1], 1));
	cr_expect(eq(u8, cb.slot[2], 2));
}

Test(cb, slots_are_event_ids) /* 43724-402 */
{
	cr_expect(eq(u32, lwp_cb_slot_offset(&full, 0), 128));
	cr_expect(eq(u32, lwp_cb_slot_offset(&full, 5), 168));
	cr_expect(eq(int, lwp_cb_find_slot(&full, image, 1), 0));
	cr_expect(eq(int, lwp_cb_find_slot(&full, image, 6), 5));
	cr_expect(eq(int, lwp_cb_find_slot(&full, image, 7), -1));
	cr_expect(eq(int, lwp_cb_find_slot(&full, image, 0), -1));
	cr_expect(eq(int, lwp_cb_find_slot(&full, image, 255), -1));
	cr_expect(eq(int, lwp_cb_find_slot(&fam15h, image, 3), 2));
	cr_expect(eq(int, lwp_cb_find_slot(&fam15h, image, 4), -1));
}

Test(cb, slots_follow_the_leaf_event_offset) /* 43724-402 */
{
	struct lwp_caps caps = full;

	caps.event_offset = 96;
	lwp_put32(image + 104, 77);
	cr_expect(eq(u32, lwp_cb_slot_offset(&caps, 1), 104));
	lwp_cb_decode(&caps, ALL, image, &cb);
	cr_expect(eq(i32, cb.interval[1], 77));
}

Test(cb, flags_are_flags_and_eax) /* 43724-403 to 43724-405 */
{
	lwp_put32(image, 0xffffffff);
	lwp_cb_decode(&full, 0x8000000b, image, &cb);
	cr_expect(eq(u32, cb.flags, 0x8000000b));
	cr_expect(cb.enabled[0]);
	cr_expect(not(cb.enabled[1]));
	cr_expect(cb.enabled[2]);
	cr_expect(not(cb.enabled[3]));
	lwp_put32(image, 0xa0000004);
	lwp_cb_decode(&full, ALL, image, &cb);
	cr_expect(eq(u32, cb.flags, 0xa0000004));
	cr_expect(not(cb.enabled[0]));
	cr_expect(cb.enabled[1]);
	cr_expect(not(cb.enabled[2]));
}

/* LWPINS has no event bit, so LWP stays on without an event. */
Test(cb, no_event_left_is_still_ok) /* 43724-618 */
{
	cr_expect(eq(int, lwp_cb_decode(&full, 1, image, &cb), LWP_CB_OK));
	cr_expect(eq(u32, cb.flags, 0));
}

Test(cb, size_is_rounded_down_to_records) /* 43724-406, 2007-407 */
{
	lwp_put32(image + 4, 0x0000041f);
	cr_expect(eq(int, lwp_cb_decode(&full, ALL, image, &cb), LWP_CB_OK));
	cr_expect(eq(u32, cb.size, 1024));
	lwp_put32(image + 4, 0xffffffff);
	cr_expect(eq(int, lwp_cb_decode(&full, ALL, image, &cb), LWP_CB_OK));
	cr_expect(eq(u32, cb.size, 0x0fffffe0));
	cr_expect(eq(u8, cb.random, 15));
}

/* LwpMinBufferSize 1: 32 records of 32 bytes. */
Test(cb, ring_below_the_minimum_is_refused) /* 43724-407 */
{
	struct lwp_caps caps = full;

	lwp_put32(image + 4, 1023);
	cr_expect(eq(int, lwp_cb_decode(&full, ALL, image, &cb), LWP_CB_RING_TOO_SMALL));
	cr_expect(eq(u32, cb.size, 992));
	cr_expect(eq(u32, lwp_cb_min_ring(&full), 1024));
	caps.min_buffer = 3;
	cr_expect(eq(u32, lwp_cb_min_ring(&caps), 3072));
	lwp_put32(image + 4, 3071);
	cr_expect(eq(int, lwp_cb_decode(&caps, ALL, image, &cb), LWP_CB_RING_TOO_SMALL));
	lwp_put32(image + 4, 3072);
	cr_expect(eq(int, lwp_cb_decode(&caps, ALL, image, &cb), LWP_CB_OK));
}

/* A leaf without a minimum still needs a ring that holds one record. */
Test(cb, ring_holds_at_least_one_record) /* 43724-407 */
{
	struct lwp_caps caps = full;

	caps.min_buffer = 0;
	cr_expect(eq(u32, lwp_cb_min_ring(&caps), 32));
	lwp_put32(image + 4, 31);
	cr_expect(eq(int, lwp_cb_decode(&caps, ALL, image, &cb), LWP_CB_RING_TOO_SMALL));
	cr_expect(eq(u32, cb.size, 0));
	cr_expect(eq(u32, cb.head, 0));
	lwp_put32(image + 4, 32);
	cr_expect(eq(int, lwp_cb_decode(&caps, ALL, image, &cb), LWP_CB_OK));
}

Test(cb, head_outside_becomes_0_else_rounded) /* 43724-408, 2007-410 */
{
	static const u32 row[][2] = {
		{ 0, 0 },    { 31, 0 },		{ 32, 32 },	   { 1023, 992 }, { 1024, 0 },
		{ 1025, 0 }, { 0xffffffff, 0 }, { 0x80000000, 0 }, { 700, 672 },
	};

	for (u32 i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		lwp_put32(image + 16, row[i][0]);
		lwp_cb_decode(&full, ALL, image, &cb);
		cr_expect(eq(u32, cb.head, row[i][1]));
	}
}

Test(cb, threshold_is_rounded_down) /* 43724-409 */
{
	lwp_put32(image + 32, 543);
	lwp_cb_decode(&full, ALL, image, &cb);
	cr_expect(eq(u32, cb.threshold, 512));
	lwp_put32(image + 32, 0xffffffff); /* above the size: never */
	lwp_cb_decode(&full, ALL, image, &cb);
	cr_expect(eq(u32, cb.threshold, 0xffffffe0));
}

Test(cb, interval_is_signed_26_bits_raised_to_0) /* 43724-410 */
{
	lwp_put32(image + 136, 0xfdffffff); /* largest; bits 31:26 are reserved */
	lwp_put32(image + 144, 0x02000000); /* most negative */
	lwp_cb_decode(&full, ALL, image, &cb);
	cr_expect(eq(i32, cb.interval[1], 33554431));
	cr_expect(eq(i32, cb.interval[2], 0));
	cr_expect(eq(i32, lwp_cb_interval(&full, 0x03ffffff), 0));
	cr_expect(eq(i32, lwp_cb_interval(&full, 0), 0));
	cr_expect(eq(i32, lwp_cb_interval(&full, 1), 1));
}

Test(cb, negative_counter_becomes_0) /* 43724-411 */
{
	lwp_put32(image + 140, 0x03ffffff);
	lwp_put32(image + 148, 0xfdffffff);
	lwp_cb_decode(&full, ALL, image, &cb);
	cr_expect(eq(i32, cb.counter[1], 0));
	cr_expect(eq(i32, cb.counter[2], 33554431));
}

Test(cb, filters_only_what_the_leaf_announces) /* 43724-417, 43724-418 */
{
	struct lwp_caps caps = full;

	lwp_put32(image + 36, 0xffffffff);
	lwp_cb_decode(&full, ALL, image, &cb);
	cr_expect(eq(u32, cb.filters, 0xf8001fff));
	cr_expect(eq(u32, lwp_cb_filters(&fam15h), 0x38000000)); /* as read on family 15h */
	caps.ecx_features = 0x10000000;
	cr_expect(eq(u32, lwp_cb_filters(&caps), 0x3e000000));
	caps.ecx_features = 0x20000000;
	cr_expect(eq(u32, lwp_cb_filters(&caps), 0xf8000000));
	caps.ecx_features = 0x40000000;
	cr_expect(eq(u32, lwp_cb_filters(&caps), 0x38001f00));
	caps.ecx_features = 0x80000000;
	cr_expect(eq(u32, lwp_cb_filters(&caps), 0x380000ff));
}

/* Base, missed events, IP range and tail are taken as they are. */
Test(cb, base_is_not_rounded) /* 43724-414, 43724-415 */
{
	lwp_put64(image + 8, 0x700013);
	lwp_cb_decode(&full, ALL, image, &cb);
	cr_expect(eq(u64, cb.base, 0x700013));
}

Test(cb, write_back_shows_what_was_normalised) /* 43724-421 */
{
	u8 expected[176];

	lwp_put32(image + 0, 0x800000fc);
	lwp_put32(image + 4, 0x5000041f);
	lwp_put32(image + 16, 70);
	lwp_put32(image + 32, 513);
	lwp_put32(image + 136, 0xafffffff);
	lwp_put32(image + 140, 0x02000001);
	memcpy(expected, image, 176);
	cr_assert(eq(int, lwp_cb_decode(&full, 0x8000000f, image, &cb), LWP_CB_OK));
	lwp_cb_write_back(&full, &cb, image);
	lwp_put32(expected + 0, 0x8000000c);
	lwp_put32(expected + 4, 0x50000400);
	lwp_put32(expected + 16, 64);
	lwp_put32(expected + 32, 512);
	lwp_put32(expected + 136, 0xac000000); /* reserved bits stay */
	lwp_put32(expected + 140, 0x00000000);
	cr_expect(eq(int, memcmp(image, expected, 176), 0));
}

Test(cb, write_back_leaves_everything_else) /* 43724-412, 43724-421, 43724-422 */
{
	u8 expected[176];

	memset(image, 0xff, 176);
	lwp_put32(image + 0, 0x8); /* BRE only */
	memcpy(expected, image, 176);
	cr_assert(eq(int, lwp_cb_decode(&full, ALL, image, &cb), LWP_CB_OK));
	lwp_cb_write_back(&full, &cb, image);
	lwp_put32(expected + 4, 0xffffffe0);
	lwp_put32(expected + 16, 0);
	lwp_put32(expected + 32, 0xffffffe0);
	lwp_put32(expected + 144, 0xfc000000);
	lwp_put32(expected + 148, 0xfc000000);
	cr_expect(eq(int, memcmp(image, expected, 176), 0));
}

/* Fam15h: nothing beyond 128 + 3 * 8 bytes is looked at. */
Test(cb, only_slots_of_the_leaf) /* 43724-402 */
{
	u8 small[152];

	memset(small, 0xff, 152);
	cr_expect(eq(int, lwp_cb_decode(&fam15h, 0x8000000f, small, &cb), LWP_CB_OK));
	cr_expect(cb.enabled[2]);
	cr_expect(not(cb.enabled[3]));
	cr_expect(eq(u32, cb.flags, 0x8000000f));
}

/* EAX says an event that the block has no slot for (bits above LwpMaxEvents): not enabled. */
Test(cb, event_without_slot_is_not_enabled) /* 43724-402 */
{
	struct lwp_caps caps = full;

	caps.max_events = 3;
	memset(image, 0xff, 176);
	lwp_cb_decode(&caps, ALL, image, &cb);
	cr_expect(not(cb.enabled[3]));
	cr_expect(eq(i32, cb.interval[3], 0));
}
