// SPDX-License-Identifier: GPL-2.0-or-later
/* The instruction decoder: maps, lengths and kinds. (What a branch does is in lwp_branch.c.) */
#include "lwp_insn.h"
#include "lwp_modrm.h"
#include "lwp_opcodes.h"
#include "lwp_xop.h"

#define MOD_REG 3

/* The state of decoding one instruction. */
struct decode {
	struct lwp_cursor c;
	struct lwp_insn *insn;
	u8 opcode;
	s64 imm; /* the last immediate or displacement, sign-extended */
};

/* Set a kind that the opcode alone determines. */
static void set_opcode_kind(struct decode *d, const struct lwp_opcode_kind *opcode)
{
	struct lwp_insn *insn = d->insn;

	insn->kind = opcode->kind;
	switch (opcode->form) {
	case LWP_FORM_SIZED:
		if (!(d->opcode & 1))
			insn->op_bits = 8;
		break;
	case LWP_FORM_RELATIVE:
		insn->rel = (s32)d->imm;
		insn->op_bits = lwp_op_bits(&d->c, 64);
		break;
	case LWP_FORM_STACK:
		insn->op_bits = lwp_op_bits(&d->c, 64);
		break;
	}
	if (insn->kind == LWP_INSN_JCC)
		insn->cond = d->opcode & 0xf;
	else if (insn->kind == LWP_INSN_INT)
		insn->vector = (u8)d->imm;
}

/* Takes the immediates that the attributes name; ModRM is taken already. */
static void take_immediates(struct decode *d, u8 attributes)
{
	struct lwp_cursor *c = &d->c;
	unsigned int op_bytes = lwp_op_bits(c, 32) / 8;

	if (attributes & LWP_OPC_Z)
		d->imm = lwp_next_signed(c, op_bytes == 2 ? 2 : 4);
	if (attributes & LWP_OPC_V)
		d->imm = lwp_next_signed(c, op_bytes);
	if (attributes & LWP_OPC_A)
		d->imm = lwp_next_signed(c, lwp_addr_bits(c) / 8);
	if (attributes & LWP_OPC_W)
		d->imm = lwp_next_signed(c, 2);
	if (attributes & LWP_OPC_B)
		d->imm = lwp_next_signed(c, 1);
}

static void take_operands(struct decode *d, u8 attributes)
{
	if (attributes & LWP_OPC_U || (attributes & LWP_OPC_I && d->c.code_bits == LWP_CODE64)) {
		lwp_fail(&d->c, LWP_DECODE_UD);
		return;
	}
	if (attributes & LWP_OPC_M) {
		lwp_next_modrm(&d->c);
		lwp_next_rm(&d->c);
	}
	take_immediates(d, attributes);
}

/* FF: /2 and /4 are the indirect near branches, /3 and /5 the far ones through memory. */
static void classify_group5(struct decode *d)
{
	static const u8 kinds[8] = { [2] = LWP_INSN_CALL_IND,
				     [3] = LWP_INSN_CALL_FAR,
				     [4] = LWP_INSN_JMP_IND,
				     [5] = LWP_INSN_JMP_FAR };
	struct lwp_insn *insn = d->insn;

	insn->kind = kinds[d->c.reg];
	if (lwp_insn_is_branch(insn)) {
		insn->rm = d->c.rm;
		insn->op_bits = lwp_op_bits(&d->c, 64);
	} else if (d->c.reg == 7 || (insn->kind != LWP_INSN_OTHER && d->c.mod == MOD_REG)) {
		lwp_fail(&d->c, LWP_DECODE_UD);
	}
}

/* MOV from and to a segment register: 6 and 7 name none, CS cannot be loaded. */
static void classify_mov_sreg(struct decode *d)
{
	bool load = d->opcode == 0x8e;

	if (d->c.reg > LWP_SEG_GS || (load && d->c.reg == LWP_SEG_CS))
		lwp_fail(&d->c, LWP_DECODE_UD);
	else if (load && d->c.reg == LWP_SEG_SS)
		d->insn->kind = LWP_INSN_MOV_SS;
}

static void classify_one_byte(struct decode *d)
{
	switch (d->opcode) {
	case 0x8c:
	case 0x8e:
		classify_mov_sreg(d);
		break;
	case 0x8f: /* POP; every other ModRM.reg is undefined or the XOP prefix */
		if (d->c.reg)
			lwp_fail(&d->c, LWP_DECODE_UD);
		break;
	case 0x90: /* with REX.B it is an XCHG, whatever the prefix */
		if (d->c.rep == 0xf3 && !(d->c.rex & LWP_REX_B))
			d->insn->kind = LWP_INSN_PAUSE;
		break;
	case 0xff:
		classify_group5(d);
		break;
	default:
		set_opcode_kind(d, &lwp_kinds_one_byte[d->opcode]);
		break;
	}
}

/* 0F 01 with a register form: the ModRM byte is part of the opcode. */
static void classify_0f01(struct decode *d)
{
	switch (d->c.modrm) {
	case 0xfa:
		if (d->c.rep == 0xf3) /* MCOMMIT */
			break;
		d->insn->kind = LWP_INSN_MONITOR;
		break;
	case 0xc8:
		d->insn->kind = LWP_INSN_MONITOR;
		break;
	case 0xc9:
	case 0xfb:
		d->insn->kind = LWP_INSN_MWAIT;
		break;
	case 0xd9: /* with F2 or F3 VMGEXIT, which is VMMCALL outside SEV-ES guests */
		d->insn->kind = LWP_INSN_VMMCALL;
		break;
	case 0xf9:
		d->insn->kind = LWP_INSN_RDTSCP;
		break;
	case 0xfd:
		d->insn->kind = LWP_INSN_RDPRU;
		break;
	default:
		break;
	}
}

/* 0F C7 with a register: F3 0F C7 /7 is RDPID. */
static void classify_0fc7(struct decode *d)
{
	if (d->c.mod != MOD_REG || d->c.rep == 0xf3)
		return;
	if (d->c.reg == 6)
		d->insn->kind = LWP_INSN_RDRAND;
	else if (d->c.reg == 7)
		d->insn->kind = LWP_INSN_RDSEED;
}

/* 0F AE: with F3 and a register /0 to /3 are RDFSBASE to WRGSBASE. */
static void classify_0fae(struct decode *d)
{
	if (d->c.rep != 0xf3 || d->c.mod != MOD_REG || d->c.reg > 3)
		return;
	d->insn->kind = LWP_INSN_RDFSBASE + d->c.reg;
	d->insn->rm = d->c.rm;
}

static void classify_0f(struct decode *d)
{
	switch (d->opcode) {
	case 0x01:
		classify_0f01(d);
		break;
	case 0xae:
		classify_0fae(d);
		break;
	case 0xb8: /* POPCNT; without F3 it was never an instruction of these processors */
		if (d->c.rep != 0xf3)
			lwp_fail(&d->c, LWP_DECODE_UD);
		break;
	case 0xc7:
		classify_0fc7(d);
		break;
	default:
		set_opcode_kind(d, &lwp_kinds_0f[d->opcode]);
		break;
	}
}

static void decode_0f(struct decode *d)
{
	d->opcode = lwp_next8(&d->c);
	switch (d->opcode) {
	case 0x20 ... 0x23: /* MOV CRn, DRn: a register whatever ModRM.mod says */
		lwp_next_modrm(&d->c);
		return;
	case 0x38:
		d->opcode = lwp_next8(&d->c);
		take_operands(d, LWP_OPC_M);
		return;
	case 0x3a:
		d->opcode = lwp_next8(&d->c);
		take_operands(d, LWP_OPC_M | LWP_OPC_B);
		return;
	case 0x78: /* EXTRQ and INSERTQ have two immediate bytes, VMREAD has none */
		take_operands(d, LWP_OPC_M);
		if (d->c.has_66 || d->c.rep == 0xf2)
			take_immediates(d, LWP_OPC_W);
		return;
	default:
		take_operands(d, lwp_opcodes_0f[d->opcode]);
		classify_0f(d);
		return;
	}
}

static void decode_one_byte(struct decode *d)
{
	take_operands(d, lwp_opcodes_one_byte[d->opcode]);
	/* F6, F7: TEST (/0 and its alias /1) has an immediate, the others have none. */
	if ((d->opcode == 0xf6 || d->opcode == 0xf7) && d->c.reg < 2)
		take_immediates(d, d->opcode == 0xf6 ? LWP_OPC_B : LWP_OPC_Z);
	classify_one_byte(d);
}

/*
 * Opcode and operands of a VEX or EVEX instruction; the maps are those of 0F, 0F 38, 0F 3A, 5 and
 * 6.
 */
static void decode_vex_map(struct decode *d, unsigned int map, bool evex)
{
	d->opcode = lwp_next8(&d->c);
	switch (map) {
	case 1:
		take_operands(d, lwp_opcode_vex_0f(d->opcode));
		return;
	case 3:
		take_operands(d, LWP_OPC_M | LWP_OPC_B);
		return;
	case 5:
	case 6:
		if (evex)
			break;
		lwp_fail(&d->c, LWP_DECODE_UD);
		return;
	case 2:
		break;
	default:
		lwp_fail(&d->c, LWP_DECODE_UD);
		return;
	}
	take_operands(d, LWP_OPC_M);
}

/* C4, C5: R, X, B and W change neither the length nor a field of struct lwp_insn. */
static void decode_vex(struct decode *d)
{
	unsigned int map = 1;

	if (lwp_prefix_bars_vex(&d->c))
		lwp_fail(&d->c, LWP_DECODE_UD);
	if (d->opcode == 0xc4)
		map = lwp_next8(&d->c) & 0x1f;
	lwp_next8(&d->c);
	decode_vex_map(d, map, false);
}

/* 62 P0 P1 P2: P0[3] is 0 and P1[2] is 1 in every encoding that is defined. */
static void decode_evex(struct decode *d)
{
	u8 p0, p1;

	if (lwp_prefix_bars_vex(&d->c))
		lwp_fail(&d->c, LWP_DECODE_UD);
	p0 = lwp_next8(&d->c);
	if (p0 & 0x08)
		lwp_fail(&d->c, LWP_DECODE_UD);
	p1 = lwp_next8(&d->c);
	if (!(p1 & 0x04))
		lwp_fail(&d->c, LWP_DECODE_UD);
	lwp_next8(&d->c);
	decode_vex_map(d, p0 & 0x07, true);
}

/* XOP instructions that are not the four of LWP: map 8 has an imm8, map A an imm32. */
static void decode_other_xop(struct decode *d)
{
	u8 map = lwp_next8(&d->c) & LWP_XOP_MAP_MASK;

	lwp_next8(&d->c);
	d->opcode = lwp_next8(&d->c);
	take_operands(d, LWP_OPC_M);
	if (map == 8)
		d->imm = lwp_next_signed(&d->c, 1);
	else if (map == 0xa)
		d->imm = lwp_next_signed(&d->c, 4);
}

static void decode_xop(struct decode *d)
{
	static const u8 kinds[] = {
		[LWP_XOP_LLWPCB] = LWP_INSN_LLWPCB,
		[LWP_XOP_SLWPCB] = LWP_INSN_SLWPCB,
		[LWP_XOP_LWPINS] = LWP_INSN_LWPINS,
		[LWP_XOP_LWPVAL] = LWP_INSN_LWPVAL,
	};
	struct lwp_xop xop;
	enum lwp_decode result;

	result = lwp_xop_decode(d->c.bytes, d->c.count, d->c.code_bits, &xop);
	if (result == LWP_DECODE_NOT_OURS) {
		decode_other_xop(d);
	} else if (result != LWP_DECODE_OK) {
		lwp_fail(&d->c, result);
	} else {
		d->insn->kind = kinds[xop.op];
		d->c.pos = xop.length;
	}
}

/*
 * In legacy code C4, C5 (LES, LDS) and 62 (BOUND) need memory; with a register they are prefixes.
 */
static bool is_vector_prefix(struct decode *d)
{
	return d->c.code_bits == LWP_CODE64 || lwp_peek8(&d->c) >> 6 == MOD_REG;
}

static void decode_opcode(struct decode *d)
{
	d->opcode = lwp_next_opcode(&d->c);
	switch (d->opcode) {
	case 0x0f:
		decode_0f(d);
		return;
	case 0x62:
		if (is_vector_prefix(d)) {
			decode_evex(d);
			return;
		}
		break;
	case 0x8f:
		if ((lwp_peek8(&d->c) & LWP_XOP_MAP_MASK) >= LWP_XOP_MAP_MIN) {
			decode_xop(d);
			return;
		}
		break;
	case 0xc4:
	case 0xc5:
		if (is_vector_prefix(d)) {
			decode_vex(d);
			return;
		}
		break;
	default:
		break;
	}
	decode_one_byte(d);
}

enum lwp_decode lwp_insn_decode(const u8 *bytes, unsigned int count, enum lwp_code_bits code_bits,
				struct lwp_insn *insn)
{
	struct decode d = { .insn = insn };

	*insn = (struct lwp_insn){ .code_bits = code_bits };
	lwp_cursor_init(&d.c, bytes, count, code_bits);
	decode_opcode(&d);
	if (!insn->op_bits)
		insn->op_bits = lwp_op_bits(&d.c, 32);
	insn->addr_bits = lwp_addr_bits(&d.c);
	insn->rep = d.c.rep;
	insn->length = (u8)d.c.pos;
	/* Nothing with a kind of its own can be locked. */
	if (d.c.has_lock && insn->kind != LWP_INSN_OTHER)
		lwp_fail(&d.c, LWP_DECODE_UD);
	return d.c.status;
}
