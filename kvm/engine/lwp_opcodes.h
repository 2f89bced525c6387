/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The opcode maps: what follows each opcode, and which opcodes have a kind of their own. Private to
 * lwp_insn.c.
 */
#ifndef LWP_OPCODES_H
#define LWP_OPCODES_H

#include "lwp_insn.h"

#define LWP_OPC_M 0x01 /* ModRM */
#define LWP_OPC_B 0x02 /* 1 byte of immediate, or 8-bit displacement */
#define LWP_OPC_W 0x04 /* 2 bytes of immediate */
#define LWP_OPC_Z 0x08 /* 2 or 4 bytes by operand size (4 for 64 bits) */
#define LWP_OPC_V 0x10 /* 2, 4 or 8 bytes by operand size */
#define LWP_OPC_A 0x20 /* 2, 4 or 8 bytes by address size */
#define LWP_OPC_I 0x40 /* invalid in 64-bit code */
#define LWP_OPC_U 0x80 /* undefined */

/* Prefixes and escapes have no entry of their own (0), they never reach the tables. */
extern const u8 lwp_opcodes_one_byte[256];
extern const u8 lwp_opcodes_0f[256];

/* What fills the fields of struct lwp_insn that go with a kind. */
enum lwp_opcode_form {
	LWP_FORM_PLAIN,
	LWP_FORM_SIZED, /* even opcodes are byte operations */
	LWP_FORM_STACK, /* operand size is 64 by default in 64-bit code */
	LWP_FORM_RELATIVE, /* the same, with a displacement; conditions in the low 4 bits */
};

/* Opcodes that are of one kind whatever follows them (LWP_INSN_OTHER: none, or it depends). */
struct lwp_opcode_kind {
	u8 kind; /* enum lwp_insn_kind */
	u8 form; /* enum lwp_opcode_form */
};

extern const struct lwp_opcode_kind lwp_kinds_one_byte[256];
extern const struct lwp_opcode_kind lwp_kinds_0f[256];

/* Map 0F in VEX and EVEX encoding; VZEROALL/VZEROUPPER alone has no ModRM. */
u8 lwp_opcode_vex_0f(u8 opcode);

#endif
