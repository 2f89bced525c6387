// SPDX-License-Identifier: GPL-2.0-or-later
/* Bytes and bit fields. */
#include "vmcb_test.h"

static const u8 bytes[8] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef };

Test(types, little_endian_reads)
{
	cr_expect(eq(u16, lwp_get16(bytes), 0x2301));
	cr_expect(eq(u32, lwp_get32(bytes), 0x67452301));
	cr_expect(eq(u32, lwp_get32(bytes + 4), 0xefcdab89));
	cr_expect(eq(u64, lwp_get64(bytes), 0xefcdab8967452301));
}

Test(types, little_endian_writes)
{
	u8 out[8] = { 0 };

	lwp_put64(out, 0xefcdab8967452301);
	cr_expect(eq(int, memcmp(out, bytes, 8), 0));
	lwp_put16(out, 0xbbaa);
	cr_expect(eq(u8, out[0], 0xaa));
	cr_expect(eq(u8, out[1], 0xbb));
	cr_expect(eq(u8, out[2], 0x45));
}

Test(types, fields_of_a_word)
{
	cr_expect(eq(u32, LWP_MASK(31, 0), 0xffffffff));
	cr_expect(eq(u32, LWP_MASK(27, 0), 0x0fffffff));
	cr_expect(eq(u32, LWP_MASK(8, 6), 0x1c0));
	cr_expect(eq(u32, lwp_field_get(LWP_MASK(31, 28), 0xc0000000), 12));
	cr_expect(eq(u32, lwp_field_get(LWP_MASK(15, 9), 0x00010200), 1));
	cr_expect(eq(u32, lwp_field_put(LWP_MASK(8, 6), 5), 0x140));
	cr_expect(eq(u32, lwp_field_put(LWP_MASK(8, 6), 9), 0x40));
}

/* Counters and intervals are signed numbers of 26 bits; bits 31:26 do not matter. */
Test(types, sign_of_26_bits)
{
	cr_expect(eq(i32, lwp_sext26(0), 0));
	cr_expect(eq(i32, lwp_sext26(0x01ffffff), 33554431));
	cr_expect(eq(i32, lwp_sext26(0x02000000), -33554432));
	cr_expect(eq(i32, lwp_sext26(0x03ffffff), -1));
	cr_expect(eq(i32, lwp_sext26(0xfc000001), 1));
	cr_expect(eq(i32, LWP_COUNTER_MIN, -33554432));
	cr_expect(eq(i32, LWP_COUNTER_MAX, 33554431));
}
