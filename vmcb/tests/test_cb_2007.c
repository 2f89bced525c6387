// SPDX-License-Identifier: GPL-2.0-or-later
/* The control block of the 2007 proposal (2007-401 to 2007-415). */
#include "vmcb_test.h"

#define ALL 0x8000000fu /* LWPMSR0 with everything on */

static u8 image[64];
static struct lwp_cb cb;

/*
 * Each test begins with this block, and with a result that nothing has filled in. Ring of 160 bytes at 7000h, head 96,
 * tail 32, threshold 64; slot 0: branches 9/4, slot 2: instructions 100/0.
 */
static void good_block(void)
{
	memset(&cb, 0xff, sizeof(cb));
	lwp_put32(image + 4, 0x300000a0);
	lwp_put64(image + 8, 0x7000);
	lwp_put32(image + 16, 96);
	lwp_put32(image + 20, 32);
	lwp_put32(image + 32, 64);
	lwp_put32(image + 36, 0x80000000);
	lwp_put32(image + 40, 9 | 2u << 26);
	lwp_put32(image + 44, 4);
	lwp_put32(image + 56, 100 | 1u << 26);
}

TestSuite(cb_2007, .init = good_block);

Test(cb_2007, slots_name_their_event) /* 2007-401, 2007-402 */
{
	cr_expect(eq(int, lwp_cb_decode(&full07, ALL, image, &cb), LWP_CB_OK));
	cr_expect(eq(u32, cb.size, 160));
	cr_expect(eq(u8, cb.random, 3));
	cr_expect(eq(u64, cb.base, 0x7000));
	cr_expect(eq(u32, cb.head, 96));
	cr_expect(eq(u32, cb.threshold, 64));
	cr_expect(eq(u32, cb.filters, 0x80000000));
	cr_expect(cb.enabled[0]);
	cr_expect(eq(u8, cb.slot[0], 2));
	cr_expect(eq(i32, cb.interval[0], 100));
	cr_expect(eq(i32, cb.counter[0], 0));
	cr_expect(cb.enabled[1]);
	cr_expect(eq(u8, cb.slot[1], 0));
	cr_expect(eq(i32, cb.interval[1], 9));
	cr_expect(eq(i32, cb.counter[1], 4));
	cr_expect(not(cb.enabled[2]));
}

Test(cb_2007, slots_begin_at_40) /* 2007-401, 2007-402 */
{
	cr_expect(eq(u32, lwp_cb_slot_offset(&full07, 0), 40));
	cr_expect(eq(u32, lwp_cb_slot_offset(&full07, 2), 56));
}

/* Flags are output: EN, the events being profiled, INT. What software wrote there does not matter. */
Test(cb_2007, flags_are_output_only) /* 2007-405 */
{
	lwp_put32(image, 0xffffffff);
	lwp_cb_decode(&full07, ALL, image, &cb);
	cr_expect(eq(u32, cb.flags, 0x80000007));
	lwp_put32(image, 0);
	lwp_cb_decode(&full07, 0x00000005, image, &cb);
	cr_expect(eq(u32, cb.flags, 0x00000005)); /* EN, BRE: no interrupt, no IRE allowed */
	cr_expect(not(cb.enabled[0]));
}

Test(cb_2007, earliest_of_duplicate_slots_is_used) /* 2007-403 */
{
	lwp_put32(image + 48, 55 | 1u << 26);
	lwp_put32(image + 52, 5);
	cr_expect(eq(int, lwp_cb_find_slot(&full07, image, 1), 1));
	lwp_cb_decode(&full07, ALL, image, &cb);
	cr_expect(eq(u8, cb.slot[0], 1));
	cr_expect(eq(i32, cb.interval[0], 55));
	cr_expect(eq(i32, cb.counter[0], 5));
}

Test(cb_2007, unknown_event_ids_are_ignored) /* 2007-404 */
{
	lwp_put32(image + 40, 9 | 4u << 26);
	lwp_put32(image + 48, 9 | 63u << 26);
	cr_expect(eq(int, lwp_cb_find_slot(&full07, image, 4), -1));
	cr_expect(eq(int, lwp_cb_find_slot(&full07, image, 0), -1));
	cr_expect(eq(int, lwp_cb_find_slot(&full07, image, 2), -1));
	lwp_cb_decode(&full07, ALL, image, &cb);
	cr_expect(eq(u32, cb.flags, 0x80000003));
}

/* "If no events are being collected, the Flags word is set to zero and LWP is disabled." */
Test(cb_2007, no_events_turns_lwp_off_with_flags_zero) /* 2007-406 */
{
	lwp_put32(image, 0x12345678);
	cr_expect(eq(int, lwp_cb_decode(&full07, 0x80000009, image, &cb), LWP_CB_NO_EVENTS));
	cr_expect(eq(u32, cb.flags, 0));
	lwp_cb_write_back(&full07, &cb, image);
	cr_expect(eq(u32, lwp_get32(image), 0));
}

Test(cb_2007, low_5_bits_of_the_base_are_ignored) /* 2007-408 */
{
	lwp_put64(image + 8, 0xffff80000000703f);
	lwp_cb_decode(&full07, ALL, image, &cb);
	cr_expect(eq(u64, cb.base, 0xffff800000007020));
}

/* There is no minimum but one record; without it LWP stays off. */
Test(cb_2007, ring_without_a_record_leaves_lwp_off) /* 2007-409 */
{
	lwp_put32(image + 4, 31);
	cr_expect(eq(int, lwp_cb_decode(&full07, ALL, image, &cb), LWP_CB_RING_TOO_SMALL));
	cr_expect(eq(u32, cb.flags, 0));
	lwp_put32(image + 4, 32);
	cr_expect(eq(int, lwp_cb_decode(&full07, ALL, image, &cb), LWP_CB_OK));
	cr_expect(eq(u32, cb.head, 0)); /* 96 is outside now */
}

/* The compare is for equality: a threshold between two records never matches, so it is not rounded. */
Test(cb_2007, threshold_is_taken_as_it_is) /* 2007-804 */
{
	lwp_put32(image + 32, 65);
	lwp_cb_decode(&full07, ALL, image, &cb);
	cr_expect(eq(u32, cb.threshold, 65));
}

/* Period is the interval, so 0 has no meaning and becomes 1. */
Test(cb_2007, interval_is_at_least_1) /* 2007-415, 2007-716 */
{
	cr_expect(eq(i32, lwp_cb_interval(&full07, 1u << 26), 1));
	cr_expect(eq(i32, lwp_cb_interval(&full07, 0x03ffffff), 1));
	cr_expect(eq(i32, lwp_cb_interval(&full07, 0xfc000002), 2));
	cr_expect(eq(i32, lwp_cb_interval(&full07, 0x01ffffff), 33554431));
}

/* Latency and level filters as announced; bit 31 is NDB; nothing else. */
Test(cb_2007, filters_only_what_the_leaf_announces) /* 2007-412, 2007-413 */
{
	struct lwp_caps caps = full07;

	cr_expect(eq(u32, lwp_cb_filters(&full07), 0x80001fff));
	caps.ecx_features = 0x40000000;
	cr_expect(eq(u32, lwp_cb_filters(&caps), 0x80001f00));
	caps.ecx_features = 0x80000000;
	cr_expect(eq(u32, lwp_cb_filters(&caps), 0x800000ff));
	caps.features = 0x2;
	cr_expect(eq(u32, lwp_cb_filters(&caps), 0x80000000));
}

/* No BaseIP and LimitIP: those bytes are event slots. */
Test(cb_2007, no_ip_range) /* 2007-401, 2007-402 */
{
	lwp_cb_decode(&full07, ALL, image, &cb);
	cr_expect(eq(u64, cb.base_ip, 0));
	cr_expect(eq(u64, cb.limit_ip, 0));
}

/* Only Flags are "Init" fields; EventIds and intervals stay. */
Test(cb_2007, write_back_changes_flags_only) /* 2007-417 */
{
	u8 expected[64];

	memset(image, 0xff, 64);
	lwp_put32(image + 40, 9 | 3u << 26);
	memcpy(expected, image, 64);
	cr_assert(eq(int, lwp_cb_decode(&full07, ALL, image, &cb), LWP_CB_OK));
	lwp_cb_write_back(&full07, &cb, image);
	lwp_put32(expected, 0x80000009);
	cr_expect(eq(int, memcmp(image, expected, 64), 0));
}
