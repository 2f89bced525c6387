// SPDX-License-Identifier: GPL-2.0-or-later
/* XSAVE component 62: XRSTOR is unprivileged, so its bytes are hostile (43724-302, 43724-305 to 43724-316). */
#include "state_images.h"

#define ALL 0xe000007fu
#define CFG 0x0000ab0500000006ull

static struct lwp_state st; /* what load() has made of an image */
static u8 image[128];

/* Each test begins with this image. */
static void copy_good_image(void)
{
	memcpy(image, good_image, 128);
}

TestSuite(xsave, .init = copy_good_image);

static const char *load(u32 avail)
{
	st = good_state;
	st.cfg = CFG;
	return lwp_state_decode_xsave(image, &full, avail, &st);
}

Test(xsave, component_is_the_first_96_bytes) /* 43724-302, 43724-305, 43724-901 */
{
	u8 expected[128];

	memcpy(expected, good_image, 128);
	memset(expected + 96, 0, 32);
	memset(image, 0xaa, 128);
	lwp_state_encode_xsave(&good_state, image);
	cr_expect(eq(int, memcmp(image, expected, 128), 0));
}

Test(xsave, bits_28_to_26_are_of_the_pending_record) /* 43724-302 */
{
	struct lwp_state none = good_state;

	lwp_state_encode_xsave(&good_state, image);
	cr_expect(eq(u32, lwp_get32(image + 8), 0x9800000c));
	lwp_put32(image + 8, 0x8000000c); /* a tool knows nothing of them */
	assert_accepted(load(ALL));
	cr_expect(eq(u32, st.flags, 0x8000000c));
	cr_expect(eq(u8, st.pending.event_id, 3));
	none.pending.event_id = 0;
	lwp_state_encode_xsave(&none, image);
	cr_expect(eq(u32, lwp_get32(image + 8), 0x8000000c));
}

Test(xsave, cfg_is_never_loaded) /* 43724-305 */
{
	struct lwp_state expected = good_state;

	memset(image + 96, 0xff, 32);
	assert_accepted(load(ALL));
	expected.cfg = CFG;
	expected.retry_rip = 0; /* not known */
	expect_same_state(&st, &expected);
}

Test(xsave, flags_are_masked_by_what_is_available) /* 43724-309 */
{
	assert_accepted(load(0x00000009));
	cr_expect(eq(u32, st.flags, 0x18000008));
	lwp_put32(image + 8, 0xffffffff);
	assert_accepted(load(ALL));
	cr_expect(eq(u32, st.flags, 0xfc00007f)); /* reserved bits 25:7 are dropped */
}

Test(xsave, progress_without_a_pending_record_is_dropped) /* 43724-316 */
{
	image[32] = 0; /* the rest of the record is left over */
	assert_accepted(load(ALL));
	cr_expect(eq(u32, st.flags, 0x8000000c));
	cr_expect(eq(u64, st.pending.address, 0));
	cr_expect(eq(u64, st.pending.data2, 0));
	cr_expect(eq(u16, st.pending.flags, 0));
}

Test(xsave, address_zero_is_off) /* 43724-312 */
{
	struct lwp_state expected = { .cfg = CFG };

	memset(image, 0xff, 128);
	memset(image, 0, 8);
	expect_accepted(load(ALL));
	expect_same_state(&st, &expected);
}

Test(xsave, not_available_is_off) /* 43724-312 */
{
	struct lwp_state expected = { .cfg = CFG };

	cr_expect(eq(str, text(load(0)), text("LWP is not available")));
	expect_same_state(&st, &expected);
}

Test(xsave, block_address_alone_is_deferred) /* 43724-311 */
{
	memset(image, 0, 128);
	image[0] = 0x40;
	assert_accepted(load(ALL));
	cr_expect(lwp_state_deferred(&st));
	cr_expect(eq(u64, st.cb_addr, 0x40));
}
