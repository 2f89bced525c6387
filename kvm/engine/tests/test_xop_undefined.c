// SPDX-License-Identifier: GPL-2.0-or-later
/* What is #UD after an XOP prefix (43724-607), what is none of ours, and when that is known. */
#include "decoder_test.h"

static void expect(enum lwp_code_bits bits, enum lwp_decode want, const u8 *bytes, size_t count)
{
	cr_expect(eq(int, xop_of(bits, bytes, count), want), "%d-bit, %zu bytes, %02x ... %02x",
		  (int)bits, count, bytes[0], bytes[count - 1]);
}

static void expect_everywhere(enum lwp_decode want, const u8 *bytes, size_t count)
{
	for (size_t m = 0; m < COUNT(all_modes); m++)
		expect(all_modes[m], want, bytes, count);
}

Test(xop_undefined, prefix_66_f2_f3_or_lock_before_xop) /* 43724-607 */
{
	static const u8 bad[] = { 0x66, 0xf2, 0xf3, 0xf0 };

	for (size_t i = 0; i < COUNT(bad); i++) {
		expect_everywhere(LWP_DECODE_UD, BYTES(bad[i], 0x8f, 0xe9, 0x78, 0x12, 0xc0));
		expect_everywhere(LWP_DECODE_UD,
				  BYTES(bad[i], 0x8f, 0xea, 0x78, 0x12, 0xc0, 1, 2, 3, 4));
		/* Before any XOP instruction; map 8. */
		expect_everywhere(LWP_DECODE_UD, BYTES(bad[i], 0x8f, 0xe8, 0x78, 0xc0, 0xc1, 1));
		/* Wherever it stands among the prefixes. */
		expect_everywhere(LWP_DECODE_UD, BYTES(bad[i], 0x67, 0x8f, 0xe9, 0x78, 0x12, 0xc0));
		expect_everywhere(LWP_DECODE_UD, BYTES(0x67, bad[i], 0x8f, 0xe9, 0x78, 0x12, 0xc0));
	}
}

Test(xop_undefined, rex_before_xop) /* 43724-607 */
{
	for (unsigned int rex = 0x40; rex <= 0x4f; rex++) {
		expect(LWP_CODE64, LWP_DECODE_UD, BYTES(rex, 0x8f, 0xe9, 0x78, 0x12, 0xc0));
		/* In legacy code it is INC or DEC. */
		expect(LWP_CODE32, LWP_DECODE_NOT_OURS, BYTES(rex, 0x8f, 0xe9, 0x78, 0x12, 0xc0));
		/* A REX that another prefix follows is no REX. */
		expect(LWP_CODE64, LWP_DECODE_OK, BYTES(rex, 0x67, 0x8f, 0xe9, 0x78, 0x12, 0xc0));
	}
}

Test(xop_undefined, address_size_and_segment_prefixes_are_legal) /* 43724-607 */
{
	static const u8 good[] = { 0x67, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65 };

	for (size_t i = 0; i < COUNT(good); i++) {
		expect_everywhere(LWP_DECODE_OK, BYTES(good[i], 0x8f, 0xe9, 0x78, 0x12, 0xc0));
		expect_everywhere(LWP_DECODE_OK,
				  BYTES(good[i], 0x8f, 0xea, 0x78, 0x12, 0xc0, 1, 2, 3, 4));
	}
}

Test(xop_undefined, control_instructions_take_no_memory) /* 43724-607 */
{
	static const u8 memory[] = { 0x00, 0x40, 0x80, 0x08, 0x48, 0x88 };

	for (size_t i = 0; i < COUNT(memory); i++)
		expect_everywhere(LWP_DECODE_UD, BYTES(0x8f, 0xe9, 0x78, 0x12, memory[i]));
}

Test(xop_undefined, control_instructions_need_vvvv_1111) /* 43724-607 */
{
	/* Every value of vvvv but 1111b, W = 0 and W = 1. */
	for (unsigned int third = 0x00; third < 0x78; third += 8) {
		expect_everywhere(LWP_DECODE_UD, BYTES(0x8f, 0xe9, third, 0x12, 0xc0));
		expect_everywhere(LWP_DECODE_UD, BYTES(0x8f, 0xe9, 0x80 | third, 0x12, 0xc8));
	}
}

Test(xop_undefined, l_and_pp_are_zero) /* 43724-607 */
{
	/* The low three bits of the third byte: L pp. */
	for (unsigned int bits = 1; bits < 8; bits++) {
		expect_everywhere(LWP_DECODE_UD, BYTES(0x8f, 0xe9, 0x78 | bits, 0x12, 0xc0));
		expect_everywhere(LWP_DECODE_UD,
				  BYTES(0x8f, 0xea, 0x78 | bits, 0x12, 0xc0, 1, 2, 3, 4));
	}
}

Test(xop_undefined, modrm_reg_is_0_or_1) /* 43724-607 */
{
	for (unsigned int reg = 2; reg < 8; reg++) {
		expect_everywhere(LWP_DECODE_UD, BYTES(0x8f, 0xe9, 0x78, 0x12, 0xc0 | reg << 3));
		expect_everywhere(LWP_DECODE_UD,
				  BYTES(0x8f, 0xea, 0x78, 0x12, 0xc0 | reg << 3, 1, 2, 3, 4));
		expect_everywhere(LWP_DECODE_UD,
				  BYTES(0x8f, 0xea, 0x78, 0x12, 0x03 | reg << 3, 1, 2, 3, 4));
	}
}

/* R extends ModRM.reg only to name registers; here reg is part of the opcode. */
Test(xop_undefined, r_bit_is_ignored)
{
	cr_expect(eq(int, xop_of(LWP_CODE64, BYTES(0x8f, 0x69, 0xf8, 0x12, 0xc8)), LWP_DECODE_OK));
	cr_expect(eq(int, x.op, LWP_XOP_SLWPCB));
}

Test(xop_undefined, reserved_maps) /* 43724-607 */
{
	for (unsigned int map = 0x0b; map <= 0x1f; map++)
		expect_everywhere(LWP_DECODE_UD, BYTES(0x8f, 0xe0 | map, 0x78, 0x12, 0xc0));
}

Test(xop_undefined, pop_is_not_ours) /* 43724-604 */
{
	/* Map fields below 8 are the ModRM byte of POP r/m, of which reg 0 alone is defined. */
	for (unsigned int modrm = 0; modrm < 256; modrm++)
		if ((modrm & 0x1f) < 8)
			expect_everywhere(LWP_DECODE_NOT_OURS, BYTES(0x8f, modrm, 0, 0, 0));
	/* Prefixes that XOP forbids are fine here. */
	expect_everywhere(LWP_DECODE_NOT_OURS, BYTES(0x66, 0x8f, 0xc0, 0, 0));
}

/* Hardware raises #UD before it fetches what no longer matters; so do we. */
Test(xop_undefined, known_as_early_as_possible)
{
	expect_everywhere(LWP_DECODE_NOT_OURS, BYTES(0x90));
	expect_everywhere(LWP_DECODE_MORE, BYTES(0x8f));
	expect_everywhere(LWP_DECODE_NOT_OURS, BYTES(0x8f, 0xc0));
	expect_everywhere(LWP_DECODE_NOT_OURS, BYTES(0x8f, 0xe8));
	expect_everywhere(LWP_DECODE_UD, BYTES(0x8f, 0xeb));
	expect_everywhere(LWP_DECODE_MORE, BYTES(0x8f, 0xe9));
	expect_everywhere(LWP_DECODE_MORE, BYTES(0x66, 0x8f));
	expect_everywhere(LWP_DECODE_UD, BYTES(0x66, 0x8f, 0xe9));
	/* L = 1 is fine for other opcodes, so the opcode decides. */
	expect_everywhere(LWP_DECODE_MORE, BYTES(0x8f, 0xe9, 0x7c));
	expect_everywhere(LWP_DECODE_UD, BYTES(0x8f, 0xe9, 0x7c, 0x12));
	expect_everywhere(LWP_DECODE_NOT_OURS, BYTES(0x8f, 0xe9, 0x7c, 0x80));
	expect_everywhere(LWP_DECODE_MORE, BYTES(0x8f, 0xe9, 0x70, 0x12));
	expect_everywhere(LWP_DECODE_UD, BYTES(0x8f, 0xe9, 0x70, 0x12, 0xc0));
	/* Memory with a SIB byte and disp32 to come, but reg = 2. */
	expect_everywhere(LWP_DECODE_UD, BYTES(0x8f, 0xea, 0x78, 0x12, 0x94));
}
