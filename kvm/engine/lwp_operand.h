/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operands of decoded instructions: how a decoder describes a register or a memory operand, and how
 * its address and value are fetched from a virtual CPU.
 *
 * Both decoders (lwp_xop.h, lwp_insn.h) give operands in this form. The caller that runs the CPU
 * (KVM, QEMU, a test) fills one struct lwp_access with callbacks; nothing here touches a guest by
 * itself.
 */
#ifndef LWP_OPERAND_H
#define LWP_OPERAND_H

#include "lwp_types.h"

/* No x86 instruction is longer than this; the byte after it is a #GP(0). */
#define LWP_INSN_MAX_LENGTH 15

/* As what the bytes are decoded: EFER.LMA && CS.L = 64, else CS.D = 32, else 16. */
enum lwp_code_bits {
	LWP_CODE16 = 16,
	LWP_CODE32 = 32,
	LWP_CODE64 = 64,
};

/* What came of an attempt to decode. */
enum lwp_decode {
	LWP_DECODE_OK,
	LWP_DECODE_MORE, /* the bytes end too early; never for count >= LWP_INSN_MAX_LENGTH */
	LWP_DECODE_UD, /* undefined in this mode: #UD */
	LWP_DECODE_GP, /* longer than LWP_INSN_MAX_LENGTH bytes: #GP(0) */
	LWP_DECODE_NOT_OURS, /* (lwp_xop_decode only) not one of the four LWP instructions */
};

/* Segment registers, numbered as in instruction encodings. */
enum lwp_seg {
	LWP_SEG_ES,
	LWP_SEG_CS,
	LWP_SEG_SS,
	LWP_SEG_DS,
	LWP_SEG_FS,
	LWP_SEG_GS,
	LWP_SEG_NONE = 0xff,
};

/* General registers are 0..15 as in instruction encodings; these have a role in decoding. */
enum lwp_gpr {
	LWP_GPR_RAX = 0,
	LWP_GPR_RCX = 1,
	LWP_GPR_RBX = 3,
	LWP_GPR_RSP = 4,
	LWP_GPR_RBP = 5,
	LWP_GPR_RSI = 6,
	LWP_GPR_RDI = 7,
	LWP_GPR_IP = 0x10, /* only as lwp_mem.base: rIP of the next instruction */
	LWP_GPR_NONE = 0xff, /* only as lwp_mem.base and .index: not there */
};

/* A memory operand: seg:[base + (index << scale) + disp], computed modulo 2^addr_bits. */
struct lwp_mem {
	u8 seg; /* enum lwp_seg: the override, or SS for a base of rSP/rBP, else DS */
	u8 base; /* 0..15, LWP_GPR_IP or LWP_GPR_NONE */
	u8 index; /* 0..15 or LWP_GPR_NONE */
	u8 scale; /* 0..3 */
	u8 addr_bits; /* 16, 32 or 64 */
	u8 code_bits; /* enum lwp_code_bits; decides how offset and segment base are added */
	s32 disp;
};

/* An operand named by ModRM.r/m. */
struct lwp_operand {
	bool is_mem;
	u8 reg; /* !is_mem: 0..15 */
	struct lwp_mem mem; /* is_mem */
};

/* Where a memory operand is. */
struct lwp_ea {
	u8 seg; /* enum lwp_seg */
	u64 offset; /* within the segment; what limit checks are made on */
	u64 linear; /* with the segment base added; what canonical checks are made on */
};

/*
 * How the decoders' users reach one virtual CPU.
 *
 * gpr:      the full 64-bit value of general register 0..15, before the instruction executes.
 * seg_base: base address of a segment; in 64-bit code it is asked for FS and GS only.
 * read:     reads size (2, 4 or 8) bytes at *ea with the rights of the running program. It makes
 * the
 *           checks that the processor makes for such an access (segment limit, canonical address,
 *           paging) and returns 0, or a non-zero value of its own that is handed to the caller.
 * stack_bits: width of the stack pointer: 64 in 64-bit code, else 32 or 16 by SS.B.
 */
struct lwp_access {
	void *ctx;
	u64 (*gpr)(void *ctx, unsigned int reg);
	u64 (*seg_base)(void *ctx, unsigned int seg);
	int (*read)(void *ctx, const struct lwp_ea *ea, void *buf, unsigned int size);
	u8 stack_bits;
};

/* The low `bits` (16, 32 or 64) bits of a value. */
static inline u64 lwp_truncate(u64 value, unsigned int bits)
{
	return bits >= 64 ? value : value & (((u64)1 << bits) - 1);
}

/*
 * The address of a memory operand. next_ip: rIP of the following instruction (offset in CS), used
 * for rIP-relative operands. The sum wraps at the address size; outside 64-bit code the linear
 * address wraps at 32 bits, in 64-bit code only FS and GS have a base.
 */
void lwp_mem_ea(const struct lwp_mem *mem, u64 next_ip, const struct lwp_access *access,
		struct lwp_ea *ea);

/*
 * The value of an operand: the low `size` (2, 4 or 8) bytes of a register, or `size` bytes of
 * memory, zero-extended. Returns 0, or what access->read returned (*value is then 0).
 */
int lwp_operand_read(const struct lwp_operand *operand, unsigned int size, u64 next_ip,
		     const struct lwp_access *access, u64 *value);

/* The same for the bytes at the top of the stack, SS:rSP. */
int lwp_stack_read(enum lwp_code_bits code_bits, unsigned int size, const struct lwp_access *access,
		   u64 *value);

#endif
