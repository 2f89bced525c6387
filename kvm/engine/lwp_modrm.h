/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What both decoders stand on: bounded reading of instruction bytes, prefixes, ModRM and SIB.
 * Private to lwp_xop.c and lwp_insn.c.
 */
#ifndef LWP_MODRM_H
#define LWP_MODRM_H

#include "lwp_operand.h"

/* REX bits; XOP.RXB are brought into the same form. */
#define LWP_REX_B 0x1
#define LWP_REX_X 0x2
#define LWP_REX_R 0x4
#define LWP_REX_W 0x8
#define LWP_REX_BASE 0x40 /* 40h..4Fh are REX prefixes in 64-bit code */

/* The map field of a second byte after 8F that makes it an XOP prefix; below it is POP r/m. */
#define LWP_XOP_MAP_MASK 0x1f
#define LWP_XOP_MAP_MIN 8

/*
 * Reading position. After the first failure status stays what it became, every read gives 0, and
 * the decoder drops out at the next look at status.
 */
struct lwp_cursor {
	const u8 *bytes;
	unsigned int count;
	unsigned int pos; /* bytes taken so far, at most LWP_INSN_MAX_LENGTH */
	enum lwp_code_bits code_bits;
	enum lwp_decode status;

	/* Prefixes. */
	bool has_66, has_67, has_lock, has_rex;
	u8 rep; /* the last of F2h and F3h, or 0 */
	u8 seg; /* enum lwp_seg: override that is in force, or LWP_SEG_NONE */
	u8 rex; /* LWP_REX_* */

	/* ModRM; rm is complete (LWP_REX_B and _X applied), reg is the plain field. */
	u8 modrm;
	u8 mod, reg;
	struct lwp_operand rm;
};

void lwp_cursor_init(struct lwp_cursor *c, const u8 *bytes, unsigned int count,
		     enum lwp_code_bits code_bits);

/* The first failure wins. */
void lwp_fail(struct lwp_cursor *c, enum lwp_decode status);

static inline bool lwp_cursor_ok(const struct lwp_cursor *c)
{
	return c->status == LWP_DECODE_OK;
}

/* The next byte; LWP_DECODE_GP after the 15th, LWP_DECODE_MORE after the last. */
u8 lwp_next8(struct lwp_cursor *c);

/* The byte lwp_next8() would give, without taking it. */
u8 lwp_peek8(struct lwp_cursor *c);

/* The next 1, 2, 4 or 8 bytes, sign-extended. */
s64 lwp_next_signed(struct lwp_cursor *c, unsigned int size);

/* Takes all prefixes and returns the first byte after them. */
u8 lwp_next_opcode(struct lwp_cursor *c);

/* A prefix that must not stand before VEX, EVEX and XOP. */
bool lwp_prefix_bars_vex(const struct lwp_cursor *c);

/* Operand size 16, 32 or 64 of an instruction whose size in 64-bit code is 32 or 64 by default. */
u8 lwp_op_bits(const struct lwp_cursor *c, u8 default64);
u8 lwp_addr_bits(const struct lwp_cursor *c);

/* Takes the ModRM byte alone; then, if the instruction has an r/m operand, the rest of it. */
void lwp_next_modrm(struct lwp_cursor *c);
void lwp_next_rm(struct lwp_cursor *c);

#endif
