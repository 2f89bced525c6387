// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Images from hostile guests, hypervisors and files: each reason to refuse one (lwp_state.h). That
 * whatever is not refused is legal is proved (vmcb/proofs/prove_state.c).
 */
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

/* A quadword, or a dword or byte, of a good image changed. */
static const struct {
	u8 offset, size;
	u64 value;
	const char *reason;
} rows[] = {
	{ 0, 8, 0x0100000000000000, "control block is not canonical" },
	{ 0, 8, 0xfeffffffffffffff, "control block is not canonical" },
	{ 0, 8, 0x8000000000000000, "control block is not canonical" },
	{ 0, 8, 0x00ffffffffffff51, "control block is not canonical" }, /* its last byte */
	{ 0, 8, 0xffffffffffffff51, "control block is not canonical" }, /* wraps */
	{ 0, 8, 0xffffffffffffffff, "control block is not canonical" },
	{ 8, 4, 0x9800008c, "flags are not announced" },
	{ 8, 4, 0x9a00000c, "flags are not announced" },
	{ 8, 4, 0x9000000c, "retry address without a faulted record" },
	{ 12, 4, 1024, "buffer head is outside the buffer" },
	{ 12, 4, 0xffffffe0, "buffer head is outside the buffer" },
	{ 12, 4, 1, "buffer head is not a multiple of the record size" },
	{ 12, 4, 48, "buffer head is not a multiple of the record size" },
	{ 16, 8, 0x0100000000000000, "buffer is not canonical" },
	{ 16, 8, 0xfeffffffffffffff, "buffer is not canonical" },
	{ 16, 8, 0x00fffffffffffc01, "buffer is not canonical" },
	{ 16, 8, 0xfffffffffffffc01, "buffer is not canonical" },
	{ 24, 4, 992, "buffer size is below the minimum" },
	{ 24, 4, 0, "buffer size is below the minimum" },
	{ 24, 4, 0xf0000000, "buffer size is below the minimum" },
	{ 24, 4, 1025, "buffer size is not a multiple of the record size" },
	{ 24, 4, 1040, "buffer size is not a multiple of the record size" },
	{ 28, 4, 0x02000000, "filters are not announced" }, /* no prediction */
	{ 28, 4, 0x00002000, "filters are not announced" }, /* reserved */
	{ 32, 1, 1, "pending record has an event id that cannot be pending" }, /* LWPVAL */
	{ 32, 1, 7, "pending record has an event id that cannot be pending" },
	{ 32, 1, 8, "pending record has an event id that cannot be pending" },
	{ 32, 1, 255, "pending record has an event id that cannot be pending" }, /* LWPINS */
	{ 64, 4, 0x02000000, "counter is not a sign-extended 26-bit number" },
	{ 68, 4, 0x03ffffff, "counter is not a sign-extended 26-bit number" },
	{ 72, 4, 0xfdffffff, "counter is not a sign-extended 26-bit number" },
	{ 84, 4, 0x80000000, "counter is not a sign-extended 26-bit number" },
	{ 88, 4, 1, "counter of an undefined event is not zero" },
	{ 92, 4, 0xffffffff, "counter of an undefined event is not zero" },
	{ 96, 8, 0x80, "LWP_CFG has bits that WRMSR refuses" },
	{ 96, 8, 0x1, "LWP_CFG has bits that WRMSR refuses" },
	{ 96, 8, 0x0001000000000000, "LWP_CFG has bits that WRMSR refuses" },
	{ 108, 1, 1, "another revision of LWP" },
	{ 108, 1, 2, "another revision of LWP" },
	{ 109, 1, 2, "unknown format version" },
	{ 112, 8, 0x0100000000000000, "retry address is not canonical" },
};

Test(hostile, each_field_has_its_reason) /* 43724-209, 43724-312, 43724-913 */
{
	u8 image[128], bytes[8];

	for (u32 i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memcpy(image, good_image, 128);
		lwp_put64(bytes, rows[i].value);
		memcpy(image + rows[i].offset, bytes, rows[i].size);
		expect_refused(image, &full, rows[i].reason);
	}
}

Test(hostile, leaf_that_offers_less) /* 43724-312, 43724-913 */
{
	u8 image[128];

	memcpy(image, good_image, 128);
	image[32] = 4; /* a leaf without cache misses */
	expect_refused(image, &fam15h, "pending record has an event id that cannot be pending");
	memcpy(image, good_image, 128);
	image[84] = image[85] = image[86] = image[87] = 0;
	image[11] |= 0x40; /* PTSC */
	expect_refused(image, &fam15h, "flags are not announced");
}

/* 2007: the low 5 bits of BufferBase are ignored, so no LLWPCB leaves them in the state. */
Test(hostile, images_of_2007) /* 43724-312, 43724-913, 2007-301 */
{
	u8 image[128];

	memcpy(image, good_image_2007, 128);
	image[16] = 0x21;
	expect_refused(image, &full07, "buffer is not aligned");
	image[16] = 0x30; /* 3030h */
	expect_refused(image, &full07, "buffer is not aligned");
	memcpy(image, good_image_2007, 128);
	image[32] = 4;
	expect_refused(image, &full07, "pending record has an event id that cannot be pending");
	memcpy(image, good_image_2007, 128);
	lwp_put32(image + 76, 1);
	expect_refused(image, &full07, "counter of an undefined event is not zero");
	expect_refused(good_image_2007, &full, "another revision of LWP");
	expect_refused(good_image, &full07, "another revision of LWP");
}

Test(hostile, progress_without_a_pending_record) /* 43724-312, 43724-913 */
{
	static const u32 flags[] = { 0x1000000c, 0x0800000c, 0x0400000c };
	u8 image[128];

	memcpy(image, good_image, 128);
	memset(image + 32, 0, 32);
	memset(image + 112, 0, 8);
	for (u32 i = 0; i < 3; i++) {
		lwp_put32(image + 8, flags[i]);
		expect_refused(image, &full, "flags tell of a pending record, there is none");
	}
	memcpy(image + 32, good_image + 32, 32);
	image[32] = 0;
	lwp_put32(image + 8, 0x0000000c);
	expect_refused(image, &full, "pending record without an event id is not zero");
}

Test(hostile, bytes_that_must_be_zero) /* 43724-312, 43724-913 */
{
	static const u8 reserved[] = { 104, 105, 106, 107, 110, 111, 120,
				       121, 122, 123, 124, 125, 126, 127 };
	u8 image[128] = { 0 };

	expect_refused(image, &full, "unknown format version");
	for (u32 i = 0; i < sizeof(reserved); i++) {
		memcpy(image, good_image, 128);
		image[reserved[i]] = 0x80;
		expect_refused(image, &full, "reserved bytes are not zero");
	}
	for (u32 i = 8; i <= 112; i++) {
		memset(image, 0, 128);
		image[109] = 1;
		image[i] = 1;
		if (i < 96)
			expect_refused(image, &full, "LWP is off, the rest is not zero");
		else if (i == 112)
			expect_refused(image, &full, "retry address without a faulted record");
	}
}
