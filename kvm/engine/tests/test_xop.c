// SPDX-License-Identifier: GPL-2.0-or-later
/* The four LWP instructions as encoded (43724-601 to 43724-604): fields, registers, modes, truncation. */
#include "decoder_test.h"

static void decoded(enum lwp_code_bits bits, const u8 *bytes, size_t count)
{
	cr_expect(eq(int, xop_of(bits, bytes, count), LWP_DECODE_OK));
}

static void expect_control(enum lwp_code_bits bits, enum lwp_xop_op op, bool wide, int reg,
			   const u8 *bytes, size_t count)
{
	decoded(bits, bytes, count);
	cr_expect(eq(int, x.op, op));
	cr_expect(eq(int, x.wide, wide));
	cr_expect(eq(int, x.reg, reg));
	cr_expect(eq(int, x.length, 5));
}

/* LWPINS, LWPVAL with the immediate 12345678h. rm: a register, or LWP_GPR_NONE = [rbx] */
static void expect_sample(enum lwp_xop_op op, bool wide, int reg, int rm, const u8 *bytes)
{
	decoded(LWP_CODE64, bytes, 9);
	cr_expect(eq(int, x.op, op));
	cr_expect(eq(int, x.wide, wide));
	cr_expect(eq(int, x.reg, reg));
	cr_expect(eq(u32, x.imm, 0x12345678));
	cr_expect(eq(int, x.length, 9));
	cr_expect(eq(int, x.rm.is_mem, rm == LWP_GPR_NONE));
	if (x.rm.is_mem) {
		cr_expect(eq(int, x.rm.mem.base, LWP_GPR_RBX));
		cr_expect(eq(int, x.rm.mem.index, LWP_GPR_NONE));
		cr_expect(eq(int, x.rm.mem.seg, LWP_SEG_DS));
	} else {
		cr_expect(eq(int, x.rm.reg, rm));
	}
}

#define SAMPLE(...)                                       \
	(const u8[])                                      \
	{                                                 \
		0x8f, __VA_ARGS__, 0x78, 0x56, 0x34, 0x12 \
	}

Test(xop, examples_of_the_specification) /* 43724-601 */
{
	expect_control(LWP_CODE64, LWP_XOP_LLWPCB, false, 0, BYTES(0x8f, 0xe9, 0x78, 0x12, 0xc0));
	expect_control(LWP_CODE64, LWP_XOP_LLWPCB, true, 0, BYTES(0x8f, 0xe9, 0xf8, 0x12, 0xc0));
	expect_control(LWP_CODE64, LWP_XOP_LLWPCB, true, 9, BYTES(0x8f, 0xc9, 0xf8, 0x12, 0xc1));
	expect_control(LWP_CODE64, LWP_XOP_SLWPCB, false, 1, BYTES(0x8f, 0xe9, 0x78, 0x12, 0xc9));
	expect_control(LWP_CODE64, LWP_XOP_SLWPCB, true, 0, BYTES(0x8f, 0xe9, 0xf8, 0x12, 0xc8));
	/* lwpins edx, ecx; lwpins rdx, [rbx]; lwpval edx, ecx; lwpval r9, r10d */
	expect_sample(LWP_XOP_LWPINS, false, 2, 1, SAMPLE(0xea, 0x68, 0x12, 0xc1));
	expect_sample(LWP_XOP_LWPINS, true, 2, LWP_GPR_NONE, SAMPLE(0xea, 0xe8, 0x12, 0x03));
	expect_sample(LWP_XOP_LWPVAL, false, 2, 1, SAMPLE(0xea, 0x68, 0x12, 0xc9));
	expect_sample(LWP_XOP_LWPVAL, true, 9, 10, SAMPLE(0xca, 0xb0, 0x12, 0xca));
}

/* B extends ModRM.r/m: second byte E9 (B = 0) for rAX..rDI, C9 (B = 1) for R8..R15. */
Test(xop, control_operand_is_any_of_16_registers) /* 43724-601 */
{
	for (unsigned int n = 0; n < 8; n++) {
		expect_control(LWP_CODE64, LWP_XOP_LLWPCB, true, n,
			       BYTES(0x8f, 0xe9, 0xf8, 0x12, 0xc0 + n));
		expect_control(LWP_CODE64, LWP_XOP_LLWPCB, true, n + 8,
			       BYTES(0x8f, 0xc9, 0xf8, 0x12, 0xc0 + n));
		expect_control(LWP_CODE64, LWP_XOP_SLWPCB, false, n,
			       BYTES(0x8f, 0xe9, 0x78, 0x12, 0xc8 + n));
		expect_control(LWP_CODE64, LWP_XOP_SLWPCB, false, n + 8,
			       BYTES(0x8f, 0xc9, 0x78, 0x12, 0xc8 + n));
	}
}

/* Third byte with W = 1, L = pp = 0 and vvvv naming rAX..R15. */
static const u8 third_of_register[16] = { 0xf8, 0xf0, 0xe8, 0xe0, 0xd8, 0xd0, 0xc8, 0xc0,
					  0xb8, 0xb0, 0xa8, 0xa0, 0x98, 0x90, 0x88, 0x80 };

Test(xop, operand_1_is_any_of_16_registers) /* 43724-601 */
{
	for (int n = 0; n < 16; n++) {
		u8 third = third_of_register[n];

		decoded(LWP_CODE64, BYTES(0x8f, 0xea, third, 0x12, 0xc0, 0, 0, 0, 0));
		cr_expect(eq(int, x.reg, n));
		cr_expect(x.wide);
		/* W = 0: the same register, 32 bits. */
		decoded(LWP_CODE64, BYTES(0x8f, 0xea, third & 0x7f, 0x12, 0xc8, 0, 0, 0, 0));
		cr_expect(eq(int, x.reg, n));
		cr_expect(not(x.wide));
	}
}

/* facts: outside 64-bit code vvvv has 3 bits and W is ignored. */
Test(xop, legacy_code_has_8_registers_of_32_bits) /* 43724-602, 43724-604 */
{
	for (int m = 0; m < 2; m++) {
		for (int n = 0; n < 16; n++) {
			decoded(all_modes[m],
				BYTES(0x8f, 0xea, third_of_register[n], 0x12, 0xc0, 0, 0, 0, 0));
			cr_expect(eq(int, x.reg, n % 8));
			cr_expect(not(x.wide));
		}
		/* W = 1, and R, X, B saying "extended": ECX all the same. */
		expect_control(all_modes[m], LWP_XOP_LLWPCB, false, 1,
			       BYTES(0x8f, 0xe9, 0xf8, 0x12, 0xc1));
		expect_control(all_modes[m], LWP_XOP_SLWPCB, false, 1,
			       BYTES(0x8f, 0x09, 0x78, 0x12, 0xc9));
	}
}

Test(xop, value_is_cut_to_the_width_of_the_register) /* 43724-602 */
{
	x.wide = true;
	cr_expect(eq(u64, lwp_xop_value(&x, 0x123456789abcdef0), 0x123456789abcdef0));
	x.wide = false;
	cr_expect(eq(u64, lwp_xop_value(&x, 0x123456789abcdef0), 0x9abcdef0));
}

Test(xop, immediate_has_4_bytes_and_is_kept_as_encoded) /* 43724-603 */
{
	for (size_t m = 0; m < COUNT(all_modes); m++) {
		decoded(all_modes[m], BYTES(0x8f, 0xea, 0x78, 0x12, 0xc0, 0xff, 0xee, 0xdd, 0xcc));
		cr_expect(eq(u32, x.imm, 0xccddeeff));
		cr_expect(eq(int, x.length, 9));
	}
}
