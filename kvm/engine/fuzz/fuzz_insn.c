// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arbitrary bytes into both decoders. Input: one byte that selects the code size, then the instruction.
 *
 * What must hold: no byte beyond count is read (the buffer ends there), no undefined behaviour; a length is
 * 1..15 and within count; MORE only for count < 15; a result for n bytes is the same for the prefix that
 * was used and for anything longer; the two decoders agree on LWP's instructions; address and target of each
 * decoded instruction can be computed.
 */
#include "lwp_insn.h"
#include "lwp_xop.h"
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define CHECK(cond)                                                                              \
	do {                                                                                     \
		if (!(cond)) {                                                                   \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond); \
			abort();                                                                 \
		}                                                                                \
	} while (0)

static const enum lwp_code_bits modes[] = { LWP_CODE16, LWP_CODE32, LWP_CODE64 };

static u64 gpr(void *ctx, unsigned int reg)
{
	CHECK(reg < 16);
	return 0x8000000000000001ull * (reg + 1);
}

static u64 seg_base(void *ctx, unsigned int seg)
{
	CHECK(seg <= LWP_SEG_GS);
	return ~(u64)seg;
}

static int read_memory(void *ctx, const struct lwp_ea *ea, void *buf, unsigned int size)
{
	CHECK(size == 2 || size == 4 || size == 8);
	memset(buf, 0xa5, size);
	return 0;
}

static const struct lwp_access cpu = { NULL, gpr, seg_base, read_memory, 64 };

static enum lwp_decode insn_of(const u8 *bytes, size_t count, enum lwp_code_bits bits,
			       struct lwp_insn *insn)
{
	u8 *copy = malloc(count + !count);
	enum lwp_decode result;

	memcpy(copy, bytes, count);
	result = lwp_insn_decode(copy, (unsigned int)count, bits, insn);
	free(copy);
	return result;
}

static enum lwp_decode xop_of(const u8 *bytes, size_t count, enum lwp_code_bits bits,
			      struct lwp_xop *xop)
{
	u8 *copy = malloc(count + !count);
	enum lwp_decode result;

	memcpy(copy, bytes, count);
	result = lwp_xop_decode(copy, (unsigned int)count, bits, xop);
	free(copy);
	return result;
}

static bool same_operand(const struct lwp_operand *a, const struct lwp_operand *b)
{
	return a->is_mem == b->is_mem && a->reg == b->reg && a->mem.seg == b->mem.seg &&
	       a->mem.base == b->mem.base && a->mem.index == b->mem.index &&
	       a->mem.scale == b->mem.scale && a->mem.addr_bits == b->mem.addr_bits &&
	       a->mem.disp == b->mem.disp;
}

static bool same_insn(const struct lwp_insn *a, const struct lwp_insn *b)
{
	return a->kind == b->kind && a->length == b->length && a->op_bits == b->op_bits &&
	       a->addr_bits == b->addr_bits && a->rep == b->rep && a->cond == b->cond &&
	       a->vector == b->vector && a->rel == b->rel && same_operand(&a->rm, &b->rm);
}

static bool same_xop(const struct lwp_xop *a, const struct lwp_xop *b)
{
	return a->op == b->op && a->length == b->length && a->wide == b->wide && a->reg == b->reg &&
	       a->imm == b->imm && same_operand(&a->rm, &b->rm);
}

/* The first count at which the answer is no longer MORE; from there on it must stay. */
static void check_insn(const u8 *bytes, size_t size, enum lwp_code_bits bits)
{
	enum lwp_decode result, first = LWP_DECODE_MORE;
	struct lwp_insn insn, first_insn;
	size_t count;
	u64 target;

	for (count = 0; count <= size; count++) {
		result = insn_of(bytes, count, bits, &insn);
		CHECK(result != LWP_DECODE_NOT_OURS);
		if (result == LWP_DECODE_MORE) {
			CHECK(first == LWP_DECODE_MORE && count < LWP_INSN_MAX_LENGTH);
			continue;
		}
		if (first == LWP_DECODE_MORE) {
			first = result;
			first_insn = insn;
			if (result == LWP_DECODE_OK)
				CHECK(insn.length == count);
		}
		CHECK(result == first);
		if (result != LWP_DECODE_OK)
			continue;
		CHECK(insn.length >= 1 && insn.length <= LWP_INSN_MAX_LENGTH);
		CHECK(same_insn(&insn, &first_insn));
	}
	if (first != LWP_DECODE_OK)
		return;
	CHECK(insn.kind <= LWP_INSN_LWPVAL && insn.cond < 16);
	lwp_insn_taken(&insn, bytes[0], bytes[insn.length - 1]);
	if (lwp_insn_is_branch(&insn)) {
		CHECK(!lwp_insn_target(&insn, ~(u64)0, &cpu, &target));
		CHECK(target == lwp_truncate(target, insn.op_bits));
	}
}

static void check_xop(const u8 *bytes, size_t size, enum lwp_code_bits bits)
{
	enum lwp_decode result, first = LWP_DECODE_MORE;
	struct lwp_xop xop, first_xop;
	struct lwp_insn insn;
	size_t count;
	u64 value;

	for (count = 0; count <= size; count++) {
		result = xop_of(bytes, count, bits, &xop);
		if (result == LWP_DECODE_MORE) {
			CHECK(first == LWP_DECODE_MORE && count < LWP_INSN_MAX_LENGTH);
			continue;
		}
		if (first == LWP_DECODE_MORE) {
			first = result;
			first_xop = xop;
		}
		CHECK(result == first);
		if (result == LWP_DECODE_OK)
			CHECK(same_xop(&xop, &first_xop));
	}
	result = insn_of(bytes, size, bits, &insn);
	CHECK((first == LWP_DECODE_OK) ==
	      (result == LWP_DECODE_OK && insn.kind >= LWP_INSN_LLWPCB));
	if (first != LWP_DECODE_OK)
		return;
	CHECK(insn.kind - LWP_INSN_LLWPCB == xop.op && insn.length == xop.length);
	CHECK(xop.length >= 5 && xop.reg < (bits == LWP_CODE64 ? 16 : 8));
	CHECK(!lwp_operand_read(&xop.rm, 4, ~(u64)0, &cpu, &value) && value <= 0xffffffff);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (size < 1 || size > 32)
		return 0;
	check_insn(data + 1, size - 1, modes[data[0] % 3]);
	check_xop(data + 1, size - 1, modes[data[0] % 3]);
	return 0;
}
