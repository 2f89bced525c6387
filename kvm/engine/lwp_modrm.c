// SPDX-License-Identifier: GPL-2.0-or-later
/* Bounded reading of instruction bytes, prefixes, ModRM and SIB (AMD APM volume 3, chapter 1). */
#include "lwp_modrm.h"

#define MODRM_MOD_REG 3 /* mod = 11b: r/m is a register */
#define MODRM_RM_SIB 4 /* r/m = 100b: a SIB byte follows */
#define MODRM_RM_DISP 5 /* r/m or SIB.base = 101b with mod = 00b: disp32 in place of the base */
#define MODRM_RM_DISP16 6 /* the same in 16-bit addressing: disp16 in place of rBP */
#define SIB_NO_INDEX 4 /* 100b (R12 is an index all the same) */

void lwp_cursor_init(struct lwp_cursor *c, const u8 *bytes, unsigned int count,
		     enum lwp_code_bits code_bits)
{
	*c = (struct lwp_cursor){
		.bytes = bytes,
		.count = count,
		.code_bits = code_bits,
		.status = LWP_DECODE_OK,
		.seg = LWP_SEG_NONE,
	};
}

void lwp_fail(struct lwp_cursor *c, enum lwp_decode status)
{
	if (lwp_cursor_ok(c))
		c->status = status;
}

u8 lwp_peek8(struct lwp_cursor *c)
{
	if (c->pos >= LWP_INSN_MAX_LENGTH)
		lwp_fail(c, LWP_DECODE_GP);
	else if (c->pos >= c->count)
		lwp_fail(c, LWP_DECODE_MORE);
	return lwp_cursor_ok(c) ? c->bytes[c->pos] : 0;
}

u8 lwp_next8(struct lwp_cursor *c)
{
	u8 byte = lwp_peek8(c);

	if (lwp_cursor_ok(c))
		c->pos++;
	return byte;
}

s64 lwp_next_signed(struct lwp_cursor *c, unsigned int size)
{
	u64 sign = (u64)1 << (8 * size - 1);
	u64 value = 0;
	unsigned int i;

	for (i = 0; i < size; i++)
		value |= (u64)lwp_next8(c) << (8 * i);
	/*
	 * Avoids the right shift of a negative number: flip the sign bit and subtract its weight.
	 */
	return (s64)((value ^ sign) - sign);
}

/* ES, CS, SS and DS overrides have no effect in 64-bit code; an earlier FS or GS stays in force. */
static void override_segment(struct lwp_cursor *c, enum lwp_seg seg)
{
	if (c->code_bits != LWP_CODE64 || seg >= LWP_SEG_FS)
		c->seg = seg;
}

static bool take_legacy_prefix(struct lwp_cursor *c, u8 byte)
{
	switch (byte) {
	case 0x26:
		override_segment(c, LWP_SEG_ES);
		return true;
	case 0x2e:
		override_segment(c, LWP_SEG_CS);
		return true;
	case 0x36:
		override_segment(c, LWP_SEG_SS);
		return true;
	case 0x3e:
		override_segment(c, LWP_SEG_DS);
		return true;
	case 0x64:
		override_segment(c, LWP_SEG_FS);
		return true;
	case 0x65:
		override_segment(c, LWP_SEG_GS);
		return true;
	case 0x66:
		c->has_66 = true;
		return true;
	case 0x67:
		c->has_67 = true;
		return true;
	case 0xf0:
		c->has_lock = true;
		return true;
	case 0xf2:
	case 0xf3:
		c->rep = byte;
		return true;
	default:
		return false;
	}
}

u8 lwp_next_opcode(struct lwp_cursor *c)
{
	u8 byte;

	/*
	 * The loop ends: at most LWP_INSN_MAX_LENGTH prefixes are read, and a failed read gives 0.
	 */
	for (;;) {
		byte = lwp_next8(c);
		if (c->code_bits == LWP_CODE64 && (byte & 0xf0) == LWP_REX_BASE) {
			c->has_rex = true;
			c->rex = byte & 0xf;
		} else if (take_legacy_prefix(c, byte)) {
			/* REX counts only when it is the last prefix. */
			c->has_rex = false;
			c->rex = 0;
		} else {
			return byte;
		}
	}
}

bool lwp_prefix_bars_vex(const struct lwp_cursor *c)
{
	return c->has_66 || c->has_lock || c->rep || c->has_rex;
}

u8 lwp_op_bits(const struct lwp_cursor *c, u8 default64)
{
	if (c->code_bits == LWP_CODE64) {
		if (c->rex & LWP_REX_W)
			return 64;
		return c->has_66 ? 16 : default64;
	}
	return (c->code_bits == LWP_CODE32) != c->has_66 ? 32 : 16;
}

u8 lwp_addr_bits(const struct lwp_cursor *c)
{
	if (c->code_bits == LWP_CODE64)
		return c->has_67 ? 32 : 64;
	return (c->code_bits == LWP_CODE32) != c->has_67 ? 32 : 16;
}

/* disp8, or disp16/disp32 by address size, as ModRM.mod asks. */
static s32 next_disp(struct lwp_cursor *c, unsigned int wide)
{
	if (c->mod == 0)
		return 0;
	return (s32)lwp_next_signed(c, c->mod == 1 ? 1 : wide);
}

static void next_mem16(struct lwp_cursor *c)
{
	static const u8 base[8] = { LWP_GPR_RBX, LWP_GPR_RBX, LWP_GPR_RBP, LWP_GPR_RBP,
				    LWP_GPR_RSI, LWP_GPR_RDI, LWP_GPR_RBP, LWP_GPR_RBX };
	static const u8 index[8] = { LWP_GPR_RSI,  LWP_GPR_RDI,	 LWP_GPR_RSI,  LWP_GPR_RDI,
				     LWP_GPR_NONE, LWP_GPR_NONE, LWP_GPR_NONE, LWP_GPR_NONE };
	struct lwp_mem *mem = &c->rm.mem;
	u8 rm = c->modrm & 7;

	if (c->mod == 0 && rm == MODRM_RM_DISP16) {
		mem->disp = (s32)lwp_next_signed(c, 2);
		return;
	}
	mem->base = base[rm];
	mem->index = index[rm];
	mem->disp = next_disp(c, 2);
}

static void next_sib(struct lwp_cursor *c, struct lwp_mem *mem)
{
	u8 sib = lwp_next8(c);
	u8 index = (sib >> 3 & 7) | (c->rex & LWP_REX_X ? 8 : 0);
	u8 base = sib & 7;

	if (index != SIB_NO_INDEX) {
		mem->index = index;
		mem->scale = sib >> 6;
	}
	/* R13 shares the encoding "no base, disp32" with rBP. */
	if (c->mod == 0 && base == MODRM_RM_DISP) {
		mem->disp = (s32)lwp_next_signed(c, 4);
		return;
	}
	mem->base = base | (c->rex & LWP_REX_B ? 8 : 0);
	mem->disp = next_disp(c, 4);
}

static void next_mem32(struct lwp_cursor *c)
{
	struct lwp_mem *mem = &c->rm.mem;
	u8 rm = c->modrm & 7;

	if (rm == MODRM_RM_SIB) {
		next_sib(c, mem);
		return;
	}
	if (c->mod == 0 && rm == MODRM_RM_DISP) {
		if (c->code_bits == LWP_CODE64)
			mem->base = LWP_GPR_IP;
		mem->disp = (s32)lwp_next_signed(c, 4);
		return;
	}
	mem->base = rm | (c->rex & LWP_REX_B ? 8 : 0);
	mem->disp = next_disp(c, 4);
}

void lwp_next_modrm(struct lwp_cursor *c)
{
	c->modrm = lwp_next8(c);
	c->mod = c->modrm >> 6;
	c->reg = c->modrm >> 3 & 7;
}

void lwp_next_rm(struct lwp_cursor *c)
{
	struct lwp_mem *mem = &c->rm.mem;

	if (c->mod == MODRM_MOD_REG) {
		c->rm.reg = (c->modrm & 7) | (c->rex & LWP_REX_B ? 8 : 0);
		return;
	}
	c->rm.is_mem = true;
	mem->base = LWP_GPR_NONE;
	mem->index = LWP_GPR_NONE;
	mem->addr_bits = lwp_addr_bits(c);
	mem->code_bits = c->code_bits;
	if (mem->addr_bits == 16)
		next_mem16(c);
	else
		next_mem32(c);
	if (c->seg != LWP_SEG_NONE)
		mem->seg = c->seg;
	else if (mem->base == LWP_GPR_RSP || mem->base == LWP_GPR_RBP)
		mem->seg = LWP_SEG_SS;
	else
		mem->seg = LWP_SEG_DS;
}
