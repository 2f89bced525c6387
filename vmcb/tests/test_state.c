// SPDX-License-Identifier: GPL-2.0-or-later
/* The volatile state and its image, as VMCB and wire carry it (docs/design.md#volatile-state). */
#include "state_images.h"

static const struct lwp_state off;

Test(state, homes_of_the_image) /* 43724-114, 43724-302, 43724-912, 2007-907 */
{
	cr_expect(eq(u32, LWP_VMCB_OFFSET, 0xf80));
	cr_expect(eq(u32, LWP_VMCB_SAVE_OFFSET, 0xb80));
	cr_expect(eq(u32, LWP_XSAVE_OFFSET, 832));
	cr_expect(eq(u32, LWP_XSAVE_SIZE, 128));
	cr_expect(eq(u32, LWP_XSAVE_COMPONENT, 62));
}

Test(state, encode_puts_every_field_in_its_place) /* 43724-302, 43724-912, 2007-907 */
{
	u8 image[128];

	memset(image, 0xaa, 128);
	lwp_state_encode(&good_state, &full, image);
	cr_expect(eq(int, memcmp(image, good_image, 128), 0));
}

Test(state, decode_reads_every_field) /* 43724-302 */
{
	struct lwp_state st;

	assert_accepted(lwp_state_decode(good_image, &full, &st));
	expect_same_state(&st, &good_state);
}

Test(state, decode_2007) /* 2007-301, 2007-304 */
{
	struct lwp_state st;
	u8 image[128];

	assert_accepted(lwp_state_decode(good_image_2007, &full07, &st));
	cr_expect(eq(u64, st.cb_addr, 0x2010));
	cr_expect(eq(u32, st.flags, 5));
	cr_expect(eq(u32, st.head, 64));
	cr_expect(eq(u64, st.base, 0x3020));
	cr_expect(eq(u32, st.size, 96));
	cr_expect(eq(u32, st.filters, 0x80000000));
	cr_expect(eq(u64, st.cfg, 5));
	lwp_state_encode(&st, &full07, image);
	cr_expect(eq(int, memcmp(image, good_image_2007, 128), 0));
}

Test(state, off_forgets_all_but_cfg) /* 43724-214 */
{
	struct lwp_state st = good_state, expected = off;

	expected.cfg = 0x0000f0028000000e;
	lwp_state_off(&st);
	expect_same_state(&st, &expected);
	cr_expect(not(lwp_state_on(&st)));
	cr_expect(not(lwp_state_deferred(&st)));
	cr_expect(lwp_state_on(&good_state));
	cr_expect(not(lwp_state_deferred(&good_state)));
}

Test(state, off_is_cfg_revision_and_format_only)
{
	u8 image[128], expected[128] = { [96] = 0x0e, [108] = 0, [109] = 1 };
	struct lwp_state st = good_state;

	st.cb_addr = 0;
	st.cfg = 0xe;
	lwp_state_encode(&st, &full, image);
	cr_expect(eq(int, memcmp(image, expected, 128), 0));
	assert_accepted(lwp_state_decode(image, &full, &st));
	cr_expect(not(lwp_state_on(&st)));
	cr_expect(eq(u64, st.cfg, 0xe));
}

/* The block has not been read yet: nothing but its address is known. */
Test(state, deferred_is_the_block_address_only)
{
	u8 image[128], expected[128] = { [0] = 0x40, [1] = 0x20, [109] = 1 };
	struct lwp_state st = { .cb_addr = 0x2040 };

	cr_expect(lwp_state_deferred(&st));
	st.head = 32;
	st.counter[1] = 5;
	lwp_state_encode(&st, &full, image);
	cr_expect(eq(int, memcmp(image, expected, 128), 0));
	assert_accepted(lwp_state_decode(image, &full, &st));
	cr_expect(lwp_state_deferred(&st));
	cr_expect(eq(u32, st.head, 0));
}

/* EventId 0 is "none pending": neither the stale record nor its progress is written. */
Test(state, without_pending_record_its_bytes_are_zero)
{
	struct lwp_state st = good_state;
	u8 image[128], zero[32] = { 0 };

	st.pending.event_id = 0;
	lwp_state_encode(&st, &full, image);
	cr_expect(eq(int, memcmp(image + 32, zero, 32), 0));
	cr_expect(eq(u32, lwp_get32(image + 8), 0x8000000c));
	cr_expect(eq(u64, lwp_get64(image + 112), 0));
	expect_accepted(lwp_state_decode(image, &full, &st));
}

Test(state, retry_address_only_with_a_faulted_record)
{
	struct lwp_state st = good_state;
	u8 image[128];

	st.flags &= ~LWP_STATE_FAULTED;
	lwp_state_encode(&st, &full, image);
	cr_expect(eq(u64, lwp_get64(image + 112), 0));
	cr_expect(eq(u32, lwp_get32(image + 8), 0x9000000c));
}

Test(state, progress_bits_lie_in_reserved_flag_bits)
{
	cr_expect(eq(u32, LWP_STATE_RELOAD, 0x10000000));
	cr_expect(eq(u32, LWP_STATE_FAULTED, 0x08000000));
	cr_expect(eq(u32, LWP_STATE_LATE, 0x04000000));
	cr_expect(eq(u32, full.features & LWP_STATE_BITS, 0));
	cr_expect(eq(u32, full07.features & LWP_STATE_BITS, 0));
}
