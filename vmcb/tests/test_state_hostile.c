// SPDX-License-Identifier: GPL-2.0-or-later
/* Images from hostile guests, hypervisors and files: each reason to refuse one (lwp_state.h). */
#include "state_images.h"

/* Refused with this reason, and LWP is off with nothing kept. */
static void expect_refused(const u8 *image, const struct lwp_caps *caps, const char *reason)
{
	static const struct lwp_state nothing;
	struct lwp_state st = good_state;
	const char *why = lwp_state_decode(image, caps, &st);

	cr_assert(ne(ptr, (void *)why, NULL), "accepted, expected: %s", reason);
	cr_expect(eq(str, text(why), text(reason)));
	expect_same_state(&st, &nothing);
}

static void expect_refused_32(u32 offset, u32 value, const char *reason)
{
	u8 image[128];

	memcpy(image, good_image, 128);
	lwp_put32(image + offset, value);
	expect_refused(image, &full, reason);
}

static void expect_refused_64(u32 offset, u64 value, const char *reason)
{
	u8 image[128];

	memcpy(image, good_image, 128);
	lwp_put64(image + offset, value);
	expect_refused(image, &full, reason);
}

Test(hostile, block_not_canonical) /* 43724-312, 43724-913 */
{
	static const char why[] = "control block is not canonical";

	expect_refused_64(0, 0x0100000000000000, why);
	expect_refused_64(0, 0xfeffffffffffffff, why);
	expect_refused_64(0, 0x8000000000000000, why);
	expect_refused_64(0, 0x00ffffffffffff51, why); /* its last byte is one too far */
	expect_refused_64(0, 0xffffffffffffff51, why); /* wraps */
	expect_refused_64(0, 0xffffffffffffffff, why);
}

Test(hostile, ring_not_canonical) /* 43724-312, 43724-913 */
{
	static const char why[] = "buffer is not canonical";

	expect_refused_64(16, 0x0100000000000000, why);
	expect_refused_64(16, 0xfeffffffffffffff, why);
	expect_refused_64(16, 0x00fffffffffffc01, why);
	expect_refused_64(16, 0xfffffffffffffc01, why);
}

Test(hostile, ring_below_the_minimum) /* 43724-312, 43724-913 */
{
	expect_refused_32(24, 992, "buffer size is below the minimum");
	expect_refused_32(24, 0, "buffer size is below the minimum");
	expect_refused_32(24, 0xf0000000, "buffer size is below the minimum");
}

Test(hostile, ring_not_a_multiple_of_the_record_size) /* 43724-312, 43724-913 */
{
	expect_refused_32(24, 1025, "buffer size is not a multiple of the record size");
	expect_refused_32(24, 1040, "buffer size is not a multiple of the record size");
}

/* 2007: the low 5 bits of BufferBase are ignored, so no LLWPCB leaves them in the state. */
Test(hostile, ring_of_2007_not_aligned) /* 43724-312, 43724-913, 2007-301 */
{
	u8 image[128];

	memcpy(image, good_image_2007, 128);
	image[16] = 0x30; /* 3030h */
	expect_refused(image, &full07, "buffer is not aligned");
	image[16] = 0x21;
	expect_refused(image, &full07, "buffer is not aligned");
}

Test(hostile, head_outside_the_ring) /* 43724-312, 43724-913 */
{
	expect_refused_32(12, 1024, "buffer head is outside the buffer");
	expect_refused_32(12, 0xffffffe0, "buffer head is outside the buffer");
}

Test(hostile, head_between_records) /* 43724-312, 43724-913 */
{
	expect_refused_32(12, 1, "buffer head is not a multiple of the record size");
	expect_refused_32(12, 48, "buffer head is not a multiple of the record size");
}

Test(hostile, filters_that_the_leaf_lacks) /* 43724-312, 43724-913 */
{
	expect_refused_32(28, 0x02000000, "filters are not announced"); /* no prediction */
	expect_refused_32(28, 0x00002000, "filters are not announced"); /* reserved */
}

Test(hostile, flags_that_the_leaf_lacks) /* 43724-312, 43724-913 */
{
	u8 image[128];

	expect_refused_32(8, 0x9800008c, "flags are not announced");
	expect_refused_32(8, 0x9a00000c, "flags are not announced");
	memcpy(image, good_image, 128);
	image[84] = image[85] = image[86] = image[87] = 0;
	image[11] |= 0x40; /* PTSC */
	expect_refused(image, &fam15h, "flags are not announced");
}

Test(hostile, pending_event_that_cannot_be) /* 43724-312, 43724-913 */
{
	static const char why[] = "pending record has an event id that cannot be pending";
	u8 image[128];

	memcpy(image, good_image, 128);
	image[32] = 1; /* LWPVAL */
	expect_refused(image, &full, why);
	image[32] = 7;
	expect_refused(image, &full, why);
	image[32] = 8;
	expect_refused(image, &full, why);
	image[32] = 255; /* LWPINS */
	expect_refused(image, &full, why);
	image[32] = 4; /* a leaf without cache misses */
	expect_refused(image, &fam15h, why);
	memcpy(image, good_image_2007, 128);
	image[32] = 4;
	expect_refused(image, &full07, why);
}

Test(hostile, progress_without_a_pending_record) /* 43724-312, 43724-913 */
{
	static const char why[] = "flags tell of a pending record, there is none";
	u8 image[128];

	memcpy(image, good_image, 128);
	memset(image + 32, 0, 32);
	memset(image + 112, 0, 8);
	lwp_put32(image + 8, 0x1000000c);
	expect_refused(image, &full, why);
	lwp_put32(image + 8, 0x0800000c);
	expect_refused(image, &full, why);
	lwp_put32(image + 8, 0x0400000c);
	expect_refused(image, &full, why);
}

Test(hostile, record_without_an_event_id) /* 43724-312, 43724-913 */
{
	u8 image[128];

	memcpy(image, good_image, 128);
	image[32] = 0;
	lwp_put32(image + 8, 0x0000000c);
	memset(image + 112, 0, 8);
	expect_refused(image, &full, "pending record without an event id is not zero");
}

Test(hostile, counters_of_more_than_26_bits) /* 43724-312, 43724-913 */
{
	static const char why[] = "counter is not a sign-extended 26-bit number";

	expect_refused_32(64, 0x02000000, why);
	expect_refused_32(68, 0x03ffffff, why);
	expect_refused_32(72, 0xfdffffff, why);
	expect_refused_32(84, 0x80000000, why);
}

Test(hostile, counters_of_undefined_events) /* 43724-312, 43724-913 */
{
	static const char why[] = "counter of an undefined event is not zero";
	u8 image[128];

	expect_refused_32(88, 1, why);
	expect_refused_32(92, 0xffffffff, why);
	memcpy(image, good_image_2007, 128);
	lwp_put32(image + 76, 1);
	expect_refused(image, &full07, why);
}

Test(hostile, cfg_that_wrmsr_refuses) /* 43724-209, 43724-312, 43724-913 */
{
	static const char why[] = "LWP_CFG has bits that WRMSR refuses";

	expect_refused_64(96, 0x80, why);
	expect_refused_64(96, 0x1, why);
	expect_refused_64(96, 0x0001000000000000, why);
}

Test(hostile, another_revision) /* 43724-312, 43724-913 */
{
	u8 image[128];

	memcpy(image, good_image, 128);
	image[108] = 1;
	expect_refused(image, &full, "another revision of LWP");
	image[108] = 2;
	expect_refused(image, &full, "another revision of LWP");
	expect_refused(good_image_2007, &full, "another revision of LWP");
	expect_refused(good_image, &full07, "another revision of LWP");
}

Test(hostile, another_format) /* 43724-312, 43724-913 */
{
	u8 image[128] = { 0 };

	expect_refused(image, &full, "unknown format version");
	memcpy(image, good_image, 128);
	image[109] = 2;
	expect_refused(image, &full, "unknown format version");
}

Test(hostile, reserved_bytes) /* 43724-312, 43724-913 */
{
	static const u8 reserved[] = { 104, 105, 106, 107, 110, 111, 120,
				       121, 122, 123, 124, 125, 126, 127 };
	u8 image[128];
	u32 i;

	for (i = 0; i < sizeof(reserved); i++) {
		memcpy(image, good_image, 128);
		image[reserved[i]] = 0x80;
		expect_refused(image, &full, "reserved bytes are not zero");
	}
}

Test(hostile, off_with_leftovers) /* 43724-312, 43724-913 */
{
	u8 image[128];
	u32 i;

	for (i = 8; i < 96; i++) {
		memset(image, 0, 128);
		image[109] = 1;
		image[i] = 1;
		expect_refused(image, &full, "LWP is off, the rest is not zero");
	}
}

Test(hostile, retry_address_without_a_faulted_record) /* 43724-312, 43724-913 */
{
	u8 image[128];

	expect_refused_32(8, 0x9000000c, "retry address without a faulted record");
	memset(image, 0, 128);
	image[109] = 1;
	image[112] = 1;
	expect_refused(image, &full, "retry address without a faulted record");
}

Test(hostile, retry_address_not_canonical) /* 43724-312, 43724-913 */
{
	expect_refused_64(112, 0x0100000000000000, "retry address is not canonical");
}
