// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The opcode maps (AMD APM volume 3, appendix A). Rows of the grids are the high digit of the
 * opcode.
 *
 * If the members of a group differ (F6, F7: TEST has an immediate; 0F 78: EXTRQ, INSERTQ have two),
 * the entry has what is common to all; lwp_insn.c adds the rest.
 */
#include "lwp_opcodes.h"

#define M LWP_OPC_M
#define B LWP_OPC_B
#define W LWP_OPC_W
#define Z LWP_OPC_Z
#define V LWP_OPC_V
#define A LWP_OPC_A
#define I LWP_OPC_I
#define U LWP_OPC_U

#define MB (M | B)
#define MZ (M | Z)
#define IM (I | M)
#define IB (I | B)
#define FP (I | W | Z) /* far pointer: offset, then selector */
#define WB (W | B) /* ENTER */
#define IMB (I | M | B)

/* clang-format off */
const u8 lwp_opcodes_one_byte[256] = {
/*	0    1    2    3    4    5    6    7    8    9    a    b    c    d    e    f */
/* 0 */	M,   M,   M,   M,   B,   Z,   I,   I,   M,   M,   M,   M,   B,   Z,   I,   0,
/* 1 */	M,   M,   M,   M,   B,   Z,   I,   I,   M,   M,   M,   M,   B,   Z,   I,   I,
/* 2 */	M,   M,   M,   M,   B,   Z,   0,   I,   M,   M,   M,   M,   B,   Z,   0,   I,
/* 3 */	M,   M,   M,   M,   B,   Z,   0,   I,   M,   M,   M,   M,   B,   Z,   0,   I,
/* 4 */	0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
/* 5 */	0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
/* 6 */	I,   I,   IM,  M,   0,   0,   0,   0,   Z,   MZ,  B,   MB,  0,   0,   0,   0,
/* 7 */	B,   B,   B,   B,   B,   B,   B,   B,   B,   B,   B,   B,   B,   B,   B,   B,
/* 8 */	MB,  MZ,  IMB, MB,  M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,
/* 9 */	0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   FP,  0,   0,   0,   0,   0,
/* a */	A,   A,   A,   A,   0,   0,   0,   0,   B,   Z,   0,   0,   0,   0,   0,   0,
/* b */	B,   B,   B,   B,   B,   B,   B,   B,   V,   V,   V,   V,   V,   V,   V,   V,
/* c */	MB,  MB,  W,   0,   IM,  IM,  MB,  MZ,  WB,  0,   W,   0,   0,   B,   I,   0,
/* d */	M,   M,   M,   M,   IB,  IB,  I,   0,   M,   M,   M,   M,   M,   M,   M,   M,
/* e */	B,   B,   B,   B,   B,   B,   B,   B,   Z,   Z,   FP,  B,   0,   0,   0,   0,
/* f */	0,   0,   0,   0,   0,   0,   M,   M,   0,   0,   0,   0,   0,   0,   M,   M,
};

const u8 lwp_opcodes_0f[256] = {
/*	0    1    2    3    4    5    6    7    8    9    a    b    c    d    e    f */
/* 0 */	M,   M,   M,   M,   U,   0,   0,   0,   0,   0,   U,   0,   U,   M,   0,   MB,
/* 1 */	M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,
/* 2 */	M,   M,   M,   M,   U,   U,   U,   U,   M,   M,   M,   M,   M,   M,   M,   M,
/* 3 */	0,   0,   0,   0,   0,   0,   U,   0,   0,   U,   0,   U,   U,   U,   U,   U,
/* 4 */	M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,
/* 5 */	M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,
/* 6 */	M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,
/* 7 */	MB,  MB,  MB,  MB,  M,   M,   M,   0,   M,   M,   U,   U,   M,   M,   M,   M,
/* 8 */	Z,   Z,   Z,   Z,   Z,   Z,   Z,   Z,   Z,   Z,   Z,   Z,   Z,   Z,   Z,   Z,
/* 9 */	M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,
/* a */	0,   0,   0,   M,   MB,  M,   U,   U,   0,   0,   0,   M,   MB,  M,   M,   M,
/* b */	M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   MB,  M,   M,   M,   M,   M,
/* c */	M,   M,   MB,  M,   MB,  MB,  MB,  M,   0,   0,   0,   0,   0,   0,   0,   0,
/* d */	M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,
/* e */	M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,
/* f */	M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,   M,
};
/* clang-format on */

const struct lwp_opcode_kind lwp_kinds_one_byte[256] = {
	[0x17] = { LWP_INSN_POP_SS, LWP_FORM_PLAIN },
	[0x6c ... 0x6d] = { LWP_INSN_INS, LWP_FORM_SIZED },
	[0x6e ... 0x6f] = { LWP_INSN_OUTS, LWP_FORM_SIZED },
	[0x70 ... 0x7f] = { LWP_INSN_JCC, LWP_FORM_RELATIVE },
	[0x9a] = { LWP_INSN_CALL_FAR, LWP_FORM_PLAIN },
	[0x9c] = { LWP_INSN_PUSHF, LWP_FORM_STACK },
	[0x9d] = { LWP_INSN_POPF, LWP_FORM_STACK },
	[0xa4 ... 0xa5] = { LWP_INSN_MOVS, LWP_FORM_SIZED },
	[0xa6 ... 0xa7] = { LWP_INSN_CMPS, LWP_FORM_SIZED },
	[0xaa ... 0xab] = { LWP_INSN_STOS, LWP_FORM_SIZED },
	[0xac ... 0xad] = { LWP_INSN_LODS, LWP_FORM_SIZED },
	[0xae ... 0xaf] = { LWP_INSN_SCAS, LWP_FORM_SIZED },
	[0xc2 ... 0xc3] = { LWP_INSN_RET, LWP_FORM_STACK },
	[0xca ... 0xcb] = { LWP_INSN_RET_FAR, LWP_FORM_PLAIN },
	[0xcc] = { LWP_INSN_INT3, LWP_FORM_PLAIN },
	[0xcd] = { LWP_INSN_INT, LWP_FORM_PLAIN },
	[0xce] = { LWP_INSN_INTO, LWP_FORM_PLAIN },
	[0xcf] = { LWP_INSN_IRET, LWP_FORM_PLAIN },
	[0xe0] = { LWP_INSN_LOOPNE, LWP_FORM_RELATIVE },
	[0xe1] = { LWP_INSN_LOOPE, LWP_FORM_RELATIVE },
	[0xe2] = { LWP_INSN_LOOP, LWP_FORM_RELATIVE },
	[0xe3] = { LWP_INSN_JCXZ, LWP_FORM_RELATIVE },
	[0xe4 ... 0xe5] = { LWP_INSN_IN, LWP_FORM_SIZED },
	[0xe6 ... 0xe7] = { LWP_INSN_OUT, LWP_FORM_SIZED },
	[0xe8] = { LWP_INSN_CALL_REL, LWP_FORM_RELATIVE },
	[0xe9] = { LWP_INSN_JMP_REL, LWP_FORM_RELATIVE },
	[0xea] = { LWP_INSN_JMP_FAR, LWP_FORM_PLAIN },
	[0xeb] = { LWP_INSN_JMP_REL, LWP_FORM_RELATIVE },
	[0xec ... 0xed] = { LWP_INSN_IN, LWP_FORM_SIZED },
	[0xee ... 0xef] = { LWP_INSN_OUT, LWP_FORM_SIZED },
	[0xf1] = { LWP_INSN_ICEBP, LWP_FORM_PLAIN },
	[0xf4] = { LWP_INSN_HLT, LWP_FORM_PLAIN },
	[0xfa] = { LWP_INSN_CLI, LWP_FORM_PLAIN },
	[0xfb] = { LWP_INSN_STI, LWP_FORM_PLAIN },
};

const struct lwp_opcode_kind lwp_kinds_0f[256] = {
	[0x05] = { LWP_INSN_SYSCALL, LWP_FORM_PLAIN },
	[0x07] = { LWP_INSN_SYSRET, LWP_FORM_PLAIN },
	[0x31] = { LWP_INSN_RDTSC, LWP_FORM_PLAIN },
	[0x33] = { LWP_INSN_RDPMC, LWP_FORM_PLAIN },
	[0x34] = { LWP_INSN_SYSENTER, LWP_FORM_PLAIN },
	[0x35] = { LWP_INSN_SYSEXIT, LWP_FORM_PLAIN },
	[0x80 ... 0x8f] = { LWP_INSN_JCC, LWP_FORM_RELATIVE },
	[0xa2] = { LWP_INSN_CPUID, LWP_FORM_PLAIN },
};

u8 lwp_opcode_vex_0f(u8 opcode)
{
	if (opcode == 0x77)
		return 0;
	if ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
	    (opcode >= 0xc4 && opcode <= 0xc6))
		return MB;
	return M;
}
