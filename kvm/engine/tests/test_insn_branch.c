// SPDX-License-Identifier: GPL-2.0-or-later
/* What branches do: the sixteen conditions, counts in rCX, targets and how they are cut. */
#include "decoder_test.h"

#define CF 0x001
#define PF 0x004
#define ZF 0x040
#define SF 0x080
#define OF 0x800

/* taken and not: RFLAGS with which each condition holds and does not. */
struct condition {
	u8 cond;
	u32 taken[4], not [4]; /* the last value may repeat */
};

static const struct condition conditions[] = {
	{ 0x0, { OF, OF, OF, OF }, { 0, CF, ZF, SF } }, /* O */
	{ 0x1, { 0, CF, ZF, SF }, { OF, OF, OF, OF } }, /* NO */
	{ 0x2, { CF, CF, CF, CF }, { 0, ZF, SF, OF } }, /* B */
	{ 0x3, { 0, ZF, SF, OF }, { CF, CF, CF, CF } }, /* AE */
	{ 0x4, { ZF, ZF | CF, ZF, ZF }, { 0, CF, SF, OF } }, /* E */
	{ 0x5, { 0, CF, SF, OF }, { ZF, ZF | CF, ZF, ZF } }, /* NE */
	{ 0x6, { CF, ZF, CF | ZF, CF }, { 0, SF, OF, PF } }, /* BE */
	{ 0x7, { 0, SF, OF, PF }, { CF, ZF, CF | ZF, CF } }, /* A */
	{ 0x8, { SF, SF | OF, SF, SF }, { 0, OF, CF, ZF } }, /* S */
	{ 0x9, { 0, OF, CF, ZF }, { SF, SF | OF, SF, SF } }, /* NS */
	{ 0xa, { PF, PF | ZF, PF, PF }, { 0, ZF, CF, OF } }, /* P */
	{ 0xb, { 0, ZF, CF, OF }, { PF, PF | ZF, PF, PF } }, /* NP */
	{ 0xc, { SF, OF, SF | ZF, OF | CF }, { 0, SF | OF, ZF, CF } }, /* L */
	{ 0xd, { 0, SF | OF, ZF, CF }, { SF, OF, SF | ZF, OF | CF } }, /* GE */
	{ 0xe, { SF, OF, ZF, ZF | SF | OF }, { 0, SF | OF, CF, PF } }, /* LE */
	{ 0xf, { 0, SF | OF, CF, PF }, { SF, OF, ZF, ZF | SF | OF } }, /* G */
};

/* Is the branch taken? rcx: before it. */
static bool taken(enum lwp_code_bits bits, u32 flags, u64 rcx, const u8 *bytes, size_t count)
{
	insn_of(bits, bytes, count);
	return lwp_insn_taken(&insn, flags, rcx);
}

Test(insn_branch, sixteen_conditions) /* 43724-509 */
{
	cr_expect(eq(sz, COUNT(conditions), 16));
	for (size_t i = 0; i < COUNT(conditions); i++) {
		insn_of(LWP_CODE64, BYTES(0x70 + conditions[i].cond, 0));
		for (size_t j = 0; j < 4; j++) {
			cr_expect(lwp_insn_taken(&insn, conditions[i].taken[j], 0), "cond %zx, %zu",
				  i, j);
			cr_expect(not(lwp_insn_taken(&insn, conditions[i].not [j], 0)),
				  "cond %zx, %zu", i, j);
			/* Other flags make no difference: AF, TF, IF, DF, RF, ID. */
			cr_expect(lwp_insn_taken(&insn, conditions[i].taken[j] | 0x210710, 0),
				  "cond %zx, %zu", i, j);
			cr_expect(not(lwp_insn_taken(&insn, conditions[i].not [j] | 0x210710, 0)),
				  "cond %zx, %zu", i, j);
		}
	}
}

/* JCXZ looks at as many bits of rCX as the address size says. */
Test(insn_branch, jcxz_by_address_size) /* 43724-509 */
{
	cr_expect(taken(LWP_CODE64, 0, 0, BYTES(0xe3, 0)));
	cr_expect(not(taken(LWP_CODE64, ZF, 0x100000000, BYTES(0xe3, 0))));
	cr_expect(taken(LWP_CODE64, 0, 0x100000000, BYTES(0x67, 0xe3, 0)));
	cr_expect(not(taken(LWP_CODE64, 0, 0x10000, BYTES(0x67, 0xe3, 0))));
	cr_expect(taken(LWP_CODE32, 0, 0x10000, BYTES(0x67, 0xe3, 0)));
	cr_expect(not(taken(LWP_CODE32, 0, 0x8000, BYTES(0x67, 0xe3, 0))));
	cr_expect(taken(LWP_CODE16, 0, 0xffff0000, BYTES(0xe3, 0)));
	/* The operand size does not matter. */
	cr_expect(not(taken(LWP_CODE64, 0, 0x10000, BYTES(0x66, 0xe3, 0))));
}

/* LOOP decrements first: 1 ends it, 0 goes round. */
Test(insn_branch, loop_by_count_and_zf) /* 43724-509 */
{
	cr_expect(taken(LWP_CODE64, 0, 2, BYTES(0xe2, 0)));
	cr_expect(taken(LWP_CODE64, ZF, 2, BYTES(0xe2, 0)));
	cr_expect(not(taken(LWP_CODE64, 0, 1, BYTES(0xe2, 0))));
	cr_expect(taken(LWP_CODE64, 0, 0, BYTES(0xe2, 0)));
	cr_expect(taken(LWP_CODE64, 0, 0x100000001, BYTES(0xe2, 0)));
	cr_expect(not(taken(LWP_CODE64, 0, 0x100000001, BYTES(0x67, 0xe2, 0))));
	cr_expect(not(taken(LWP_CODE16, 0, 0x10001, BYTES(0xe2, 0))));
	/* LOOPE, LOOPNE */
	cr_expect(taken(LWP_CODE64, ZF, 2, BYTES(0xe1, 0)));
	cr_expect(not(taken(LWP_CODE64, 0, 2, BYTES(0xe1, 0))));
	cr_expect(not(taken(LWP_CODE64, ZF, 1, BYTES(0xe1, 0))));
	cr_expect(taken(LWP_CODE64, 0, 2, BYTES(0xe0, 0)));
	cr_expect(not(taken(LWP_CODE64, ZF, 2, BYTES(0xe0, 0))));
	cr_expect(not(taken(LWP_CODE64, 0, 1, BYTES(0xe0, 0))));
}

Test(insn_branch, unconditional_branches_are_taken_and_others_are_none) /* 43724-509 */
{
	cr_expect(taken(LWP_CODE64, 0, 0, BYTES(0xeb, 0)));
	cr_expect(taken(LWP_CODE64, 0, 0, BYTES(0xe8, 0, 0, 0, 0)));
	cr_expect(taken(LWP_CODE64, 0, 0, BYTES(0xff, 0xd0)));
	cr_expect(taken(LWP_CODE64, 0, 0, BYTES(0xc3)));
	cr_expect(not(taken(LWP_CODE64, 0, 0, BYTES(0x90))));
	cr_expect(not(taken(LWP_CODE64, 0, 0, BYTES(0xcb)))); /* RETF */
}

struct jump {
	enum lwp_code_bits bits;
	u64 ip;
	struct code code;
	u8 length;
	u64 target;
};

Test(insn_branch, relative_targets) /* 43724-507, 43724-718 */
{
	static const struct jump jumps[] = {
		/* jmp to itself, jmp +0 */
		{ LWP_CODE64, 0x400000, CODE(0xeb, 0xfe), 2, 0x400000 },
		{ LWP_CODE64, 0x400000, CODE(0xeb, 0x00), 2, 0x400002 },
		{ LWP_CODE64, 0x400000, CODE(0x74, 0x7f), 2, 0x400081 },
		{ LWP_CODE64, 0x400000, CODE(0xe2, 0x80), 2, 0x3fff82 },
		/* call, rel32 both ways, across 4 GiB */
		{ LWP_CODE64, 0x7fffffff0000, CODE(0xe8, 0, 0, 0, 0x80), 5, 0x7fff7fff0005 },
		{ LWP_CODE64, 0xfffffff0, CODE(0xe9, 0xff, 0xff, 0xff, 0x7f), 5, 0x17ffffff4 },
		{ LWP_CODE64, 0x1000, CODE(0x0f, 0x84, 0xfa, 0xff, 0xff, 0xff), 6, 0x1000 },
		/* below zero wraps at 64 bits */
		{ LWP_CODE64, 0, CODE(0xeb, 0xf0), 2, 0xfffffffffffffff2 },
		/* 66: 16-bit displacement, rIP cut to 16 bits; REX.W overrules it */
		{ LWP_CODE64, 0x401234, CODE(0x66, 0xe9, 0x10, 0x00), 4, 0x1248 },
		{ LWP_CODE64, 0x40fffe, CODE(0x66, 0xeb, 0x10), 3, 0x0011 },
		{ LWP_CODE64, 0x401234, CODE(0x66, 0x0f, 0x84, 0xfe, 0xff), 5, 0x1237 },
		{ LWP_CODE64, 0x401234, CODE(0x66, 0x48, 0xe8, 1, 0, 0, 0), 7, 0x40123c },
		/* 32-bit code wraps at 4 GiB; with 66 at 64 KiB */
		{ LWP_CODE32, 0xfffffff0, CODE(0xe8, 0x20, 0, 0, 0), 5, 0x15 },
		{ LWP_CODE32, 0xfffffffe, CODE(0xeb, 0x00), 2, 0 },
		{ LWP_CODE32, 0x08041000, CODE(0x66, 0xe9, 0xfc, 0x0f), 4, 0x2000 },
		/* 16-bit code wraps at 64 KiB; with 66 it does not */
		{ LWP_CODE16, 0xfff0, CODE(0xe8, 0x20, 0), 3, 0x13 },
		{ LWP_CODE16, 0x0000, CODE(0xeb, 0xfd), 2, 0xffff },
		{ LWP_CODE16, 0xfff0, CODE(0x66, 0xe9, 0x20, 0, 0, 0), 6, 0x10016 },
	};
	u64 target;

	for (size_t i = 0; i < COUNT(jumps); i++) {
		const struct jump *j = &jumps[i];

		cr_expect(eq(int, insn_of(j->bits, j->code.byte, j->code.count), LWP_DECODE_OK),
			  "jump %zu", i);
		cr_expect(eq(int, insn.length, j->length), "jump %zu", i);
		cr_expect(eq(int, lwp_insn_target(&insn, j->ip, NULL, &target), 0));
		cr_expect(eq(u64, target, j->target), "jump %zu", i);
	}
}

#define NEXT(bits, ip, ...) (insn_of(bits, BYTES(__VA_ARGS__)), lwp_insn_next_ip(&insn, ip))

Test(insn_branch, next_instruction) /* 43724-716 */
{
	cr_expect(eq(u64, NEXT(LWP_CODE64, 0xfffffffe, 0xe8, 0, 0, 0, 0), 0x100000003));
	cr_expect(eq(u64, NEXT(LWP_CODE32, 0xfffffffe, 0x70, 0), 0));
	/* Not taken, a branch does not cut rIP, whatever its operand size. */
	cr_expect(eq(u64, NEXT(LWP_CODE64, 0x400000, 0x66, 0x70, 0), 0x400003));
	cr_expect(eq(u64, NEXT(LWP_CODE16, 0xffff, 0x70, 0), 0x10001));
}

static struct cpu cpu;

/* Where the indirect branch or return at ip leads. */
static void expect_target(enum lwp_code_bits bits, u64 ip, u64 wanted, const u8 *bytes,
			  size_t count)
{
	u64 target;

	insn_of(bits, bytes, count);
	cr_expect(eq(int, lwp_insn_target(&insn, ip, &cpu.access, &target), 0));
	cr_expect(eq(u64, target, wanted));
}

/* Register n = 1111111111111111h * n; memory holds f8 e7 d6 c5 b4 a3 92 81. */
Test(insn_branch, indirect_targets) /* 43724-507, 43724-718 */
{
	u64 target;

	cpu_init(&cpu, 64);
	expect_target(LWP_CODE64, 0, 0x3333333333333333, BYTES(0xff, 0xd3)); /* call rbx */
	cr_expect(eq(int, insn.op_bits, 64));
	expect_target(LWP_CODE64, 0, 0x9999999999999999, BYTES(0x41, 0xff, 0xe1)); /* jmp r9 */
	expect_target(LWP_CODE64, 0, 0x1111, BYTES(0x66, 0xff, 0xe1)); /* jmp cx */
	expect_target(LWP_CODE32, 0, 0x11111111, BYTES(0xff, 0xe1)); /* jmp ecx */
	cr_expect(eq(u32, cpu.size, 0));

	expect_target(LWP_CODE64, 0x400000, 0x8192a3b4c5d6e7f8,
		      BYTES(0xff, 0x25, 0x10, 0, 0, 0)); /* jmp [rip + 16] */
	cr_expect(eq(u64, cpu.last.linear, 0x400016));
	cr_expect(eq(u32, cpu.size, 8));
	expect_target(LWP_CODE64, 0, 0x8192a3b4c5d6e7f8,
		      BYTES(0x64, 0xff, 0x14, 0xcb)); /* call fs:[rbx + rcx*8] */
	cr_expect(eq(u64, cpu.last.offset, 0xbbbbbbbbbbbbbbbb));
	cr_expect(eq(u64, cpu.last.linear, 0xbbbbbbbbbc0bbbbb));
	expect_target(LWP_CODE32, 0, 0xc5d6e7f8, BYTES(0xff, 0x20)); /* jmp [eax] */
	cr_expect(eq(u64, cpu.last.linear, 0x400000));
	expect_target(LWP_CODE16, 0, 0xe7f8, BYTES(0xff, 0x17)); /* call [bx] */
	cr_expect(eq(u64, cpu.last.offset, 0x3333));

	cpu.error = 7;
	cr_expect(eq(int, lwp_insn_target(&insn, 0, &cpu.access, &target), 7));
}

Test(insn_branch, return_targets) /* 43724-507, 43724-718 */
{
	cpu_init(&cpu, 64);
	expect_target(LWP_CODE64, 0, 0x8192a3b4c5d6e7f8, BYTES(0xc3));
	cr_expect(eq(u64, cpu.last.linear, 0x4444444444444444));
	/* The immediate of RET is popped after the address. */
	expect_target(LWP_CODE64, 0, 0x8192a3b4c5d6e7f8, BYTES(0xc2, 0x10, 0));
	cr_expect(eq(u64, cpu.last.linear, 0x4444444444444444));
	expect_target(LWP_CODE64, 0, 0xe7f8, BYTES(0x66, 0xc3));
	cpu.access.stack_bits = 32;
	expect_target(LWP_CODE32, 0, 0xc5d6e7f8, BYTES(0xc3));
	cr_expect(eq(u64, cpu.last.linear, 0x44744444));
}
