// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arbitrary bytes into both decoders. Input: one byte that selects the code size, then the instruction.
 *
 * Of what the decoders give, addresses, targets and operands can be computed. How far they read, and
 * that they agree, is proved (prove_insn.c).
 */
#include "fuzz.h"
#include "lwp_insn.h"
#include "lwp_xop.h"

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

/* A branch has a target, whatever its registers and memory are. */
static void check_insn(const u8 *bytes, unsigned int count, enum lwp_code_bits bits)
{
	struct lwp_insn insn;
	u64 target;

	if (lwp_insn_decode(bytes, count, bits, &insn) != LWP_DECODE_OK)
		return;
	lwp_insn_taken(&insn, bytes[0], bytes[insn.length - 1]);
	if (lwp_insn_is_branch(&insn)) {
		CHECK(!lwp_insn_target(&insn, ~(u64)0, &cpu, &target));
		CHECK(target == lwp_truncate(target, insn.op_bits));
	}
}

static void check_xop(const u8 *bytes, unsigned int count, enum lwp_code_bits bits)
{
	struct lwp_xop xop;
	u64 value;

	if (lwp_xop_decode(bytes, count, bits, &xop) == LWP_DECODE_OK)
		CHECK(!lwp_operand_read(&xop.rm, 4, ~(u64)0, &cpu, &value) && value <= 0xffffffff);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u8 *bytes;

	if (size < 2 || size > 32)
		return 0;
	bytes = malloc(size - 1);
	memcpy(bytes, data + 1, size - 1);
	check_insn(bytes, (unsigned int)size - 1, modes[data[0] % 3]);
	check_xop(bytes, (unsigned int)size - 1, modes[data[0] % 3]);
	free(bytes);
	return 0;
}
