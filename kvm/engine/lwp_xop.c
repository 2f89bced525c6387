// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The decoder of the four LWP instructions.
 *
 * XOP prefix: 8F | R' X' B' map(4:0) | W vvvv' L pp(1:0), a prime marks inverted bits.
 */
#include "lwp_xop.h"
#include "lwp_modrm.h"

#define XOP_ESCAPE 0x8f
#define XOP_MAP_8 0x08
#define XOP_MAP_9 0x09
#define XOP_MAP_A 0x0a
#define XOP_OPCODE_LWP 0x12

/* Second byte. */
#define XOP_RXB_SHIFT 5
/* Third byte. */
#define XOP_W 0x80
#define XOP_VVVV_SHIFT 3
#define XOP_VVVV_MASK 0xf
#define XOP_L 0x04
#define XOP_PP 0x03

#define MOD_REG 3

/* The register that vvvv names, 0..15. The encoding 1111b, "unused", gives 0. */
static u8 vvvv_register(u8 third)
{
	return ~third >> XOP_VVVV_SHIFT & XOP_VVVV_MASK;
}

/* LLWPCB, SLWPCB: one register in ModRM.r/m. */
static void decode_control(struct lwp_cursor *c, u8 third, struct lwp_xop *xop)
{
	if (c->mod != MOD_REG || vvvv_register(third)) {
		lwp_fail(c, LWP_DECODE_UD);
		return;
	}
	lwp_next_rm(c);
	xop->op = c->reg ? LWP_XOP_SLWPCB : LWP_XOP_LLWPCB;
	xop->reg = c->rm.reg;
}

/* LWPINS, LWPVAL: a register in vvvv, a register or memory in ModRM.r/m, and an immediate. */
static void decode_sample(struct lwp_cursor *c, u8 third, struct lwp_xop *xop)
{
	u8 reg = vvvv_register(third);

	lwp_next_rm(c);
	xop->op = c->reg ? LWP_XOP_LWPVAL : LWP_XOP_LWPINS;
	xop->reg = c->code_bits == LWP_CODE64 ? reg : reg & 7;
	xop->rm = c->rm;
	xop->imm = (u32)lwp_next_signed(c, 4);
}

/* Everything after 8F. */
static void decode_xop(struct lwp_cursor *c, struct lwp_xop *xop)
{
	u8 second = lwp_next8(c);
	u8 map = second & LWP_XOP_MAP_MASK;
	u8 third, opcode;

	if (!lwp_cursor_ok(c))
		return;
	if (map < LWP_XOP_MAP_MIN) {
		lwp_fail(c, LWP_DECODE_NOT_OURS);
		return;
	}
	if (lwp_prefix_bars_vex(c) || map > XOP_MAP_A) {
		lwp_fail(c, LWP_DECODE_UD);
		return;
	}
	if (map == XOP_MAP_8) {
		lwp_fail(c, LWP_DECODE_NOT_OURS);
		return;
	}
	third = lwp_next8(c);
	opcode = lwp_next8(c);
	if (lwp_cursor_ok(c) && opcode != XOP_OPCODE_LWP)
		lwp_fail(c, LWP_DECODE_NOT_OURS);
	if (third & (XOP_L | XOP_PP))
		lwp_fail(c, LWP_DECODE_UD);
	lwp_next_modrm(c);
	if (c->reg > 1)
		lwp_fail(c, LWP_DECODE_UD);
	if (!lwp_cursor_ok(c))
		return;

	if (c->code_bits == LWP_CODE64) {
		c->rex = ~second >> XOP_RXB_SHIFT & (LWP_REX_R | LWP_REX_X | LWP_REX_B);
		xop->wide = third & XOP_W;
	}
	if (map == XOP_MAP_9)
		decode_control(c, third, xop);
	else
		decode_sample(c, third, xop);
}

enum lwp_decode lwp_xop_decode(const u8 *bytes, unsigned int count, enum lwp_code_bits code_bits,
			       struct lwp_xop *xop)
{
	struct lwp_cursor c;
	u8 opcode;

	*xop = (struct lwp_xop){ .code_bits = code_bits };
	lwp_cursor_init(&c, bytes, count, code_bits);
	opcode = lwp_next_opcode(&c);
	if (lwp_cursor_ok(&c) && opcode != XOP_ESCAPE)
		lwp_fail(&c, LWP_DECODE_NOT_OURS);
	decode_xop(&c, xop);
	xop->length = (u8)c.pos;
	return c.status;
}
