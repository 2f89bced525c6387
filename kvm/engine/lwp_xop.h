/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The decoder of the four LWP instructions, for a hypervisor that intercepts the #UD that a
 * processor without LWP raises for them.
 *
 *	XOP.map9 12 /0  LLWPCB r32/r64			XOP.mapA 12 /0  LWPINS r32/r64, r/m32, imm32
 *	XOP.map9 12 /1  SLWPCB r32/r64			XOP.mapA 12 /1  LWPVAL r32/r64, r/m32, imm32
 */
#ifndef LWP_XOP_H
#define LWP_XOP_H

#include "lwp_operand.h"

enum lwp_xop_op {
	LWP_XOP_LLWPCB,
	LWP_XOP_SLWPCB,
	LWP_XOP_LWPINS,
	LWP_XOP_LWPVAL,
};

struct lwp_xop {
	u8 op; /* enum lwp_xop_op */
	u8 length; /* 5..LWP_INSN_MAX_LENGTH */
	u8 code_bits; /* as given */
	bool wide; /* reg is a 64-bit register (XOP.W in 64-bit code), else 32-bit */
	u8 reg; /* 0..15: LLWPCB, SLWPCB their operand; LWPINS, LWPVAL operand 1 */
	struct lwp_operand rm; /* LWPINS, LWPVAL: operand 2, always 32 bits wide */
	u32 imm; /* LWPINS, LWPVAL: the immediate as encoded; bits 15:0 are used */
};

/*
 * Decodes one instruction from bytes[0..count).
 *
 * Reads no byte that the result does not depend on, so a caller fetches the first page only, and
 * the next one when it gets LWP_DECODE_MORE. A result other than MORE stays the same for every
 * larger count.
 *
 * LWP_DECODE_OK        *xop is filled.
 * LWP_DECODE_UD        an undefined XOP encoding: 66, F2, F3, LOCK or REX before the XOP prefix;
 *                      a reserved map; for opcode 12 of maps 9 and A: L = 1, pp != 0, ModRM.reg >
 *                      1, and for LLWPCB and SLWPCB mod != 11b or vvvv != 1111b.
 * LWP_DECODE_GP        the instruction has more than LWP_INSN_MAX_LENGTH bytes.
 * LWP_DECODE_NOT_OURS  no XOP prefix (POP r/m included), or another XOP instruction.
 *
 * Outside 64-bit code XOP.W, R, X, B and the top bit of a vvvv that names a register are ignored.
 * In real and virtual-8086 mode there is no XOP prefix, all four are #UD: the caller checks that
 * (43724-601, 43724-604, 43724-607).
 */
enum lwp_decode lwp_xop_decode(const u8 *bytes, unsigned int count, enum lwp_code_bits code_bits,
			       struct lwp_xop *xop);

/*
 * A register value cut to the width of xop->reg. A value to be written to it is zero-extended the
 * same way (43724-602).
 */
static inline u64 lwp_xop_value(const struct lwp_xop *xop, u64 value)
{
	return lwp_truncate(value, xop->wide ? 64 : 32);
}

#endif
