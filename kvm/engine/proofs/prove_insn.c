// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The two decoders, for any 0 to 16 bytes: nothing behind the last byte is read, the length is at
 * most 15, more bytes never change an answer, and both agree where both answer.
 *
 * Prefixes are proved by themselves; then any number of them stands before the opcode.
 * Stands in for: lwp_modrm.c
 * Unwind: 17
 * Modes: insn_is_bounded insn_with_more_bytes_is_the_same decoders_agree
 * Soak: insn_is_bounded insn_with_more_bytes_is_the_same decoders_agree
 *	prefixes_are_taken_alike xop_with_more_bytes_is_the_same
 */
#include "prove.h"

#define lwp_next_opcode real_next_opcode
#include "lwp_modrm.c"
#undef lwp_next_opcode
#include "lwp_insn.h"
#include "lwp_xop.h"

#define BYTES_MAX 16

u8 lwp_next_opcode(struct lwp_cursor *c);

/* How many prefixes there are (15: at least), and what all of them say. */
static unsigned int prefixes;
static struct lwp_cursor said;

static enum lwp_code_bits any_mode(void)
{
	ANY(u8, mode);

	assume(mode == 16 || mode == 32 || mode == 64);
#ifdef MODE
	assume(mode == MODE);
	mode = MODE;
#endif
	return mode;
}

static void take_over(struct lwp_cursor *c, const struct lwp_cursor *from)
{
	c->has_66 = from->has_66;
	c->has_67 = from->has_67;
	c->has_lock = from->has_lock;
	c->has_rex = from->has_rex;
	c->rep = from->rep;
	c->seg = from->seg;
	c->rex = from->rex;
}

static bool said_ok(const struct lwp_cursor *c, enum lwp_code_bits mode)
{
	return (!c->rep || c->rep == 0xf2 || c->rep == 0xf3) &&
	       (c->seg == LWP_SEG_NONE || c->seg <= LWP_SEG_GS) && c->rex <= 15 &&
	       (c->has_rex ? mode == LWP_CODE64 : !c->rex);
}

static bool same_prefixes(const struct lwp_cursor *a, const struct lwp_cursor *b)
{
	return a->has_66 == b->has_66 && a->has_67 == b->has_67 && a->has_lock == b->has_lock &&
	       a->has_rex == b->has_rex && a->rep == b->rep && a->seg == b->seg && a->rex == b->rex;
}

static void any_prefixes(enum lwp_code_bits mode)
{
	static const struct lwp_cursor nothing = { .seg = LWP_SEG_NONE };
	ANY(u8, number);

	ANY_AGAIN(said);
	ANY_BOOL(said.has_66);
	ANY_BOOL(said.has_67);
	ANY_BOOL(said.has_lock);
	ANY_BOOL(said.has_rex);
	prefixes = number;
	assume(number <= LWP_INSN_MAX_LENGTH && said_ok(&said, mode));
	assume(number || same_prefixes(&said, &nothing));
}

/* As prefixes_are_taken_alike shows the real one to be. */
u8 lwp_next_opcode(struct lwp_cursor *c)
{
	unsigned int end = c->count < LWP_INSN_MAX_LENGTH ? c->count : LWP_INSN_MAX_LENGTH;

	take_over(c, &said);
	c->pos = prefixes < end ? prefixes + 1 : end;
	if (prefixes < end)
		return c->bytes[prefixes];
	lwp_fail(c, end == LWP_INSN_MAX_LENGTH ? LWP_DECODE_GP : LWP_DECODE_MORE);
	return 0;
}

PROPERTY(prefixes_are_taken_alike)
{
	ANY_BYTES(bytes, BYTES_MAX, BYTES_MAX);
	ANY(u8, count);
	enum lwp_code_bits mode = any_mode();
	struct lwp_cursor all, c;
	unsigned int number, end;
	u8 opcode;

	assume(count <= BYTES_MAX);
	end = count < LWP_INSN_MAX_LENGTH ? count : LWP_INSN_MAX_LENGTH;
	lwp_cursor_init(&all, bytes, BYTES_MAX, mode);
	real_next_opcode(&all);
	number = lwp_cursor_ok(&all) ? all.pos - 1 : LWP_INSN_MAX_LENGTH;
	check("43724-607", said_ok(&all, mode));
	check("43724-607",
	      number || same_prefixes(&all, &(struct lwp_cursor){ .seg = LWP_SEG_NONE }));
	lwp_cursor_init(&c, bytes, count, mode);
	opcode = real_next_opcode(&c);
	check("43724-601", lwp_cursor_ok(&c) == (number < end));
	if (number < end) {
		check("43724-601", c.pos == number + 1 && opcode == bytes[number]);
		check("43724-607", same_prefixes(&c, &all));
	} else {
		check("43724-601", c.pos == end && !opcode);
		check("43724-601",
		      c.status == (end == LWP_INSN_MAX_LENGTH ? LWP_DECODE_GP : LWP_DECODE_MORE));
	}
	cover(number == 14 && count == 15);
}

static bool operand_ok(const struct lwp_operand *o, enum lwp_code_bits mode)
{
	const struct lwp_mem *mem = &o->mem;

	if (!o->is_mem)
		return o->reg < 16 && (mode == LWP_CODE64 || o->reg < 8);
	return (mem->base < 16 || mem->base == LWP_GPR_NONE ||
		(mem->base == LWP_GPR_IP && mode == LWP_CODE64)) &&
	       (mem->index < 16 || mem->index == LWP_GPR_NONE) && mem->scale <= 3 &&
	       mem->seg <= LWP_SEG_GS &&
	       (mem->addr_bits == 16 || mem->addr_bits == 32 || mem->addr_bits == 64);
}

PROPERTY(insn_is_bounded)
{
	enum lwp_code_bits mode = any_mode();
	ANY(u8, count);
	struct lwp_insn insn;
	enum lwp_decode result;

	assume(count <= BYTES_MAX);
	any_prefixes(mode);
	ANY_BYTES(bytes, count, BYTES_MAX);
	result = lwp_insn_decode(bytes, count, mode, &insn);
	check("43724-716", result != LWP_DECODE_NOT_OURS);
	check("43724-716", insn.length <= LWP_INSN_MAX_LENGTH && insn.length <= count);
	check("43724-716", count < LWP_INSN_MAX_LENGTH || result != LWP_DECODE_MORE);
	if (result != LWP_DECODE_OK)
		return;
	check("43724-716", insn.length > prefixes && insn.kind <= LWP_INSN_LWPVAL);
	check("43724-716", insn.cond < 16 && operand_ok(&insn.rm, mode));
	check("43724-716", insn.op_bits == 16 || insn.op_bits == 32 || insn.op_bits == 64 ||
				   (insn.op_bits == 8 && !lwp_insn_is_branch(&insn)));
	check("43724-716", insn.addr_bits == 16 || insn.addr_bits == 32 || insn.addr_bits == 64);
	cover(insn.kind == LWP_INSN_JMP_IND && prefixes == 3);
}

PROPERTY(xop_is_bounded)
{
	enum lwp_code_bits mode = any_mode();
	ANY(u8, count);
	struct lwp_xop xop;
	enum lwp_decode result;

	assume(count <= BYTES_MAX);
	any_prefixes(mode);
	ANY_BYTES(bytes, count, BYTES_MAX);
	result = lwp_xop_decode(bytes, count, mode, &xop);
	check("43724-601", xop.length <= LWP_INSN_MAX_LENGTH && xop.length <= count);
	check("43724-601", count < LWP_INSN_MAX_LENGTH || result != LWP_DECODE_MORE);
	if (result != LWP_DECODE_OK)
		return;
	check("43724-601", xop.length >= 5 && xop.op <= LWP_XOP_LWPVAL && xop.reg < 16);
	check("43724-604", mode == LWP_CODE64 || (!xop.wide && xop.reg < 8));
	check("43724-601", operand_ok(&xop.rm, mode));
	cover(xop.op == LWP_XOP_LWPVAL && xop.rm.is_mem);
}

/* A byte sequence cut at two places. */
#define ANY_TWO_LENGTHS                             \
	enum lwp_code_bits mode = any_mode();       \
	ANY_BYTES(bytes, BYTES_MAX, BYTES_MAX);     \
	ANY(u8, count);                             \
	ANY(u8, less);                              \
	enum lwp_decode first, second;              \
                                                    \
	assume(count <= BYTES_MAX && less < count); \
	any_prefixes(mode)

PROPERTY(insn_with_more_bytes_is_the_same)
{
	struct lwp_insn a, b;
	ANY_TWO_LENGTHS;

	first = lwp_insn_decode(bytes, less, mode, &a);
	second = lwp_insn_decode(bytes, count, mode, &b);
	check("43724-716", first != LWP_DECODE_MORE || second != LWP_DECODE_OK || b.length > less);
	check("43724-716", first == LWP_DECODE_MORE || first == second);
	check("43724-716", first != LWP_DECODE_OK ||
				   (a.length == b.length && a.kind == b.kind && a.rel == b.rel));
	cover(first == LWP_DECODE_OK && a.kind == LWP_INSN_CALL_REL);
}

PROPERTY(xop_with_more_bytes_is_the_same)
{
	struct lwp_xop a, b;
	ANY_TWO_LENGTHS;

	first = lwp_xop_decode(bytes, less, mode, &a);
	second = lwp_xop_decode(bytes, count, mode, &b);
	check("43724-601", first == LWP_DECODE_MORE || first == second);
	check("43724-601",
	      first != LWP_DECODE_OK || (a.length == b.length && a.op == b.op && a.imm == b.imm));
	cover(first == LWP_DECODE_OK);
}

PROPERTY(decoders_agree)
{
	enum lwp_code_bits mode = any_mode();
	ANY_BYTES(bytes, BYTES_MAX, BYTES_MAX);
	ANY(u8, count);
	struct lwp_xop xop;
	struct lwp_insn insn;
	enum lwp_decode x, i;

	assume(count <= BYTES_MAX);
	any_prefixes(mode);
	x = lwp_xop_decode(bytes, count, mode, &xop);
	i = lwp_insn_decode(bytes, count, mode, &insn);
	check("43724-601",
	      (x == LWP_DECODE_OK) == (i == LWP_DECODE_OK && insn.kind >= LWP_INSN_LLWPCB));
	check("43724-601", x != LWP_DECODE_OK || (xop.length == insn.length &&
						  insn.kind - LWP_INSN_LLWPCB == xop.op));
	cover(x == LWP_DECODE_OK);
}
