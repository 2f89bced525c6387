// SPDX-License-Identifier: GPL-2.0-or-later
/* Kinds: every instruction that the decoder names, in the modes where it exists. */
#include "decoder_test.h"

#define IN16 1
#define IN32 2
#define IN64 4
#define LEGACY (IN16 | IN32)
#define ALL (IN16 | IN32 | IN64)

struct known {
	u8 kind;
	u8 modes; /* where it exists; it is #UD in the others */
	struct code code; /* the whole instruction */
};

static const struct known known[] = {
	{ LWP_INSN_JCC, ALL, CODE(0x70, 0) },
	{ LWP_INSN_JCC, ALL, CODE(0x7f, 0xfe) },
	{ LWP_INSN_JCXZ, ALL, CODE(0xe3, 0) },
	{ LWP_INSN_LOOP, ALL, CODE(0xe2, 0) },
	{ LWP_INSN_LOOPE, ALL, CODE(0xe1, 0) },
	{ LWP_INSN_LOOPNE, ALL, CODE(0xe0, 0) },
	{ LWP_INSN_JMP_REL, ALL, CODE(0xeb, 0) },
	{ LWP_INSN_JMP_IND, ALL, CODE(0xff, 0xe0) },
	{ LWP_INSN_JMP_IND, ALL, CODE(0xff, 0x20) },
	{ LWP_INSN_CALL_IND, ALL, CODE(0xff, 0xd7) },
	{ LWP_INSN_CALL_IND, ALL, CODE(0xff, 0x50, 8) },
	{ LWP_INSN_RET, ALL, CODE(0xc3) },
	{ LWP_INSN_RET, ALL, CODE(0xc2, 8, 0) },
	{ LWP_INSN_MOVS, ALL, CODE(0xa4) },
	{ LWP_INSN_MOVS, ALL, CODE(0xa5) },
	{ LWP_INSN_CMPS, ALL, CODE(0xa6) },
	{ LWP_INSN_CMPS, ALL, CODE(0xa7) },
	{ LWP_INSN_STOS, ALL, CODE(0xaa) },
	{ LWP_INSN_STOS, ALL, CODE(0xab) },
	{ LWP_INSN_LODS, ALL, CODE(0xac) },
	{ LWP_INSN_LODS, ALL, CODE(0xad) },
	{ LWP_INSN_SCAS, ALL, CODE(0xae) },
	{ LWP_INSN_SCAS, ALL, CODE(0xaf) },
	{ LWP_INSN_INS, ALL, CODE(0x6c) },
	{ LWP_INSN_INS, ALL, CODE(0x6d) },
	{ LWP_INSN_OUTS, ALL, CODE(0x6e) },
	{ LWP_INSN_OUTS, ALL, CODE(0x6f) },
	{ LWP_INSN_JMP_FAR, ALL, CODE(0xff, 0x28) },
	{ LWP_INSN_CALL_FAR, ALL, CODE(0xff, 0x18) },
	{ LWP_INSN_RET_FAR, ALL, CODE(0xcb) },
	{ LWP_INSN_RET_FAR, ALL, CODE(0xca, 8, 0) },
	{ LWP_INSN_IRET, ALL, CODE(0xcf) },
	{ LWP_INSN_INT, ALL, CODE(0xcd, 0x80) },
	{ LWP_INSN_INT3, ALL, CODE(0xcc) },
	{ LWP_INSN_INTO, LEGACY, CODE(0xce) },
	{ LWP_INSN_ICEBP, ALL, CODE(0xf1) },
	{ LWP_INSN_SYSCALL, ALL, CODE(0x0f, 0x05) },
	{ LWP_INSN_SYSRET, ALL, CODE(0x0f, 0x07) },
	{ LWP_INSN_SYSENTER, ALL, CODE(0x0f, 0x34) },
	{ LWP_INSN_SYSEXIT, ALL, CODE(0x0f, 0x35) },
	{ LWP_INSN_PUSHF, ALL, CODE(0x9c) },
	{ LWP_INSN_POPF, ALL, CODE(0x9d) },
	{ LWP_INSN_MOV_SS, ALL, CODE(0x8e, 0xd0) }, /* mov ss, eax */
	{ LWP_INSN_MOV_SS, ALL, CODE(0x8e, 0x17) }, /* mov ss, [rdi] or [bx] */
	{ LWP_INSN_POP_SS, LEGACY, CODE(0x17) },
	{ LWP_INSN_CLI, ALL, CODE(0xfa) },
	{ LWP_INSN_STI, ALL, CODE(0xfb) },
	{ LWP_INSN_HLT, ALL, CODE(0xf4) },
	{ LWP_INSN_PAUSE, ALL, CODE(0xf3, 0x90) },
	{ LWP_INSN_MONITOR, ALL, CODE(0x0f, 0x01, 0xc8) },
	{ LWP_INSN_MONITOR, ALL, CODE(0x0f, 0x01, 0xfa) },
	{ LWP_INSN_MWAIT, ALL, CODE(0x0f, 0x01, 0xc9) },
	{ LWP_INSN_MWAIT, ALL, CODE(0x0f, 0x01, 0xfb) },
	{ LWP_INSN_CPUID, ALL, CODE(0x0f, 0xa2) },
	{ LWP_INSN_RDTSC, ALL, CODE(0x0f, 0x31) },
	{ LWP_INSN_RDTSCP, ALL, CODE(0x0f, 0x01, 0xf9) },
	{ LWP_INSN_RDPMC, ALL, CODE(0x0f, 0x33) },
	{ LWP_INSN_RDPRU, ALL, CODE(0x0f, 0x01, 0xfd) },
	{ LWP_INSN_RDRAND, ALL, CODE(0x0f, 0xc7, 0xf0) },
	{ LWP_INSN_RDRAND, ALL, CODE(0x66, 0x0f, 0xc7, 0xf7) },
	{ LWP_INSN_RDSEED, ALL, CODE(0x0f, 0xc7, 0xf8) },
	{ LWP_INSN_IN, ALL, CODE(0xe4, 0x60) },
	{ LWP_INSN_IN, ALL, CODE(0xe5, 0x60) },
	{ LWP_INSN_IN, ALL, CODE(0xec) },
	{ LWP_INSN_IN, ALL, CODE(0xed) },
	{ LWP_INSN_OUT, ALL, CODE(0xe6, 0x60) },
	{ LWP_INSN_OUT, ALL, CODE(0xe7, 0x60) },
	{ LWP_INSN_OUT, ALL, CODE(0xee) },
	{ LWP_INSN_OUT, ALL, CODE(0xef) },
	{ LWP_INSN_VMMCALL, ALL, CODE(0x0f, 0x01, 0xd9) },
	{ LWP_INSN_RDFSBASE, IN64, CODE(0xf3, 0x0f, 0xae, 0xc1) },
	{ LWP_INSN_RDGSBASE, IN64, CODE(0xf3, 0x48, 0x0f, 0xae, 0xc8) },
	{ LWP_INSN_WRFSBASE, IN64, CODE(0xf3, 0x0f, 0xae, 0xd7) },
	{ LWP_INSN_WRGSBASE, IN64, CODE(0xf3, 0x49, 0x0f, 0xae, 0xdf) },
	{ LWP_INSN_LLWPCB, ALL, CODE(0x8f, 0xe9, 0x78, 0x12, 0xc0) },
	{ LWP_INSN_SLWPCB, ALL, CODE(0x8f, 0xe9, 0x78, 0x12, 0xc8) },
	{ LWP_INSN_LWPINS, ALL, CODE(0x8f, 0xea, 0x78, 0x12, 0xc0, 1, 2, 3, 4) },
	{ LWP_INSN_LWPVAL, ALL, CODE(0x8f, 0xea, 0x78, 0x12, 0xc8, 1, 2, 3, 4) },
	/* in 16-bit code these have a 16-bit operand */
	{ LWP_INSN_JMP_REL, IN32 | IN64, CODE(0xe9, 1, 2, 3, 4) },
	{ LWP_INSN_CALL_REL, IN32 | IN64, CODE(0xe8, 1, 2, 3, 4) },
	{ LWP_INSN_JCC, IN32 | IN64, CODE(0x0f, 0x8f, 1, 2, 3, 4) },
};

static u8 mode_bit(enum lwp_code_bits bits)
{
	return bits == LWP_CODE16 ? IN16 : bits == LWP_CODE32 ? IN32 : IN64;
}

Test(insn, kinds) /* 43724-702, 43724-717, 2007-708 */
{
	for (size_t i = 0; i < COUNT(known); i++) {
		const struct known *k = &known[i];

		for (size_t m = 0; m < COUNT(all_modes); m++) {
			enum lwp_code_bits bits = all_modes[m];

			if (!(k->modes & mode_bit(bits)))
				continue;
			cr_expect(eq(int, insn_of(bits, k->code.byte, k->code.count),
				     LWP_DECODE_OK),
				  "row %zu, %d-bit", i, (int)bits);
			cr_expect(eq(int, insn.kind, k->kind), "row %zu, %d-bit", i, (int)bits);
			cr_expect(eq(int, insn.length, k->code.count), "row %zu, %d-bit", i,
				  (int)bits);
			cr_expect(eq(int, insn.code_bits, bits), "row %zu", i);
		}
	}
}

Test(insn, nothing_with_a_kind_can_be_locked)
{
	u8 locked[16] = { 0xf0 };

	for (size_t i = 0; i < COUNT(known); i++) {
		if (!(known[i].modes & IN64))
			continue;
		memcpy(locked + 1, known[i].code.byte, known[i].code.count);
		cr_expect(eq(int, insn_of(LWP_CODE64, locked, known[i].code.count + 1u),
			     LWP_DECODE_UD),
			  "row %zu", i);
	}
	/* lock inc [rax] */
	cr_expect(eq(int, insn_of(LWP_CODE64, BYTES(0xf0, 0xff, 0x00)), LWP_DECODE_OK));
}

Test(insn, every_condition) /* 43724-716, 2007-707 */
{
	for (int cond = 0; cond < 16; cond++) {
		insn_of(LWP_CODE64, BYTES(0x70 + cond, 0));
		cr_expect(eq(int, insn.kind, LWP_INSN_JCC));
		cr_expect(eq(int, insn.cond, cond));
		insn_of(LWP_CODE64, BYTES(0x0f, 0x80 + cond, 0, 0, 0, 0));
		cr_expect(eq(int, insn.kind, LWP_INSN_JCC));
		cr_expect(eq(int, insn.cond, cond));
	}
}

Test(insn, every_vector)
{
	for (int vector = 0; vector < 256; vector++) {
		insn_of(LWP_CODE32, BYTES(0xcd, vector));
		cr_expect(eq(int, insn.kind, LWP_INSN_INT));
		cr_expect(eq(int, insn.vector, vector));
	}
}

static void expect_kind(enum lwp_code_bits bits, enum lwp_insn_kind kind, const u8 *bytes,
			size_t count)
{
	cr_expect(eq(int, insn_of(bits, bytes, count), LWP_DECODE_OK));
	cr_expect(eq(int, insn.kind, kind), "%02x ... %02x", bytes[0], bytes[count - 1]);
	cr_expect(eq(int, insn.length, count), "%02x ... %02x", bytes[0], bytes[count - 1]);
}

/* Instructions that share opcodes with those that have a kind. */
Test(insn, neighbours_are_other)
{
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0x90)); /* nop */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0xf3, 0x41, 0x90)); /* xchg r8d, eax */
	expect_kind(LWP_CODE64, LWP_INSN_PAUSE, BYTES(0xf3, 0x48, 0x90));
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0xf3, 0x8f, 0xc0)); /* pop rax */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0xff, 0xc0)); /* inc */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0xff, 0xc8)); /* dec */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0xff, 0xf0)); /* push */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0xa8, 1)); /* test al */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0x0f, 0x01, 0xd0)); /* xgetbv */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0x0f, 0x01, 0xc1)); /* vmcall */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0x0f, 0x01, 0x08)); /* sidt */
	expect_kind(LWP_CODE64, LWP_INSN_VMMCALL, BYTES(0xf3, 0x0f, 0x01, 0xd9)); /* vmgexit */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0xf3, 0x0f, 0x01, 0xfa)); /* mcommit */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0x0f, 0xc7, 0x08)); /* cmpxchg8b */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0x0f, 0xc7, 0x30)); /* vmptrld */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0xf3, 0x0f, 0xc7, 0xf8)); /* rdpid */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0xf3, 0x0f, 0x1e, 0xfa)); /* endbr64 */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0xf3, 0x0f, 0xae, 0xe8)); /* incsspd */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0x0f, 0xae, 0x10)); /* ldmxcsr */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0xf3, 0x0f, 0xae, 0x10));
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0x0f, 0xae, 0xd0)); /* wrfsbase has F3 */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0x0f, 0x0b)); /* ud2 */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0x0f, 0xf4, 0xc0)); /* pmuludq, not hlt */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER,
		    BYTES(0xc5, 0xf9, 0x7f, 0xc0)); /* vmovdqa, not jg */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0x8f, 0xe9, 0x78, 0xe2, 0xc0)); /* not loop */
}

Test(insn, mov_ss_in_all_its_forms) /* 43724-715 */
{
	static const u8 modrm[] = { 0xd0, 0xd1, 0xd7, 0x10, 0x17 };

	for (size_t i = 0; i < COUNT(modrm); i++)
		expect_kind(LWP_CODE64, LWP_INSN_MOV_SS, BYTES(0x8e, modrm[i]));
	expect_kind(LWP_CODE64, LWP_INSN_MOV_SS, BYTES(0x41, 0x8e, 0xd7));
	expect_kind(LWP_CODE64, LWP_INSN_MOV_SS, BYTES(0x66, 0x48, 0x8e, 0xd0));
	expect_kind(LWP_CODE64, LWP_INSN_MOV_SS, BYTES(0x8e, 0x54, 0x24, 0x08));
	/* REX.R does not make it another segment register */
	expect_kind(LWP_CODE64, LWP_INSN_MOV_SS, BYTES(0x44, 0x8e, 0xd0));
}

Test(insn, other_loads_of_segment_registers_have_no_shadow) /* 43724-715 */
{
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0x8e, 0xc0)); /* mov es, eax */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0x8e, 0xe8)); /* mov gs, eax */
	expect_kind(LWP_CODE64, LWP_INSN_OTHER, BYTES(0x8c, 0xd0)); /* mov eax, ss */
	expect_kind(LWP_CODE32, LWP_INSN_OTHER, BYTES(0x0f, 0xb2, 0x00)); /* lss */
	expect_kind(LWP_CODE32, LWP_INSN_OTHER, BYTES(0x07)); /* pop es */
}

Test(insn, string_instructions_tell_element_and_repetition) /* 43724-714 */
{
	insn_of(LWP_CODE64, BYTES(0xf3, 0xa4)); /* rep movsb */
	cr_expect(lwp_insn_is_repeated(&insn));
	cr_expect(eq(int, insn.rep, 0xf3));
	cr_expect(eq(int, insn.op_bits, 8));
	cr_expect(eq(int, insn.addr_bits, 64));
	insn_of(LWP_CODE64, BYTES(0xf3, 0x48, 0xab)); /* rep stosq */
	cr_expect(lwp_insn_is_repeated(&insn));
	cr_expect(eq(int, insn.op_bits, 64));
	insn_of(LWP_CODE64, BYTES(0xf2, 0x66, 0x67, 0xaf)); /* repne scasw [edi] */
	cr_expect(lwp_insn_is_repeated(&insn));
	cr_expect(eq(int, insn.rep, 0xf2));
	cr_expect(eq(int, insn.op_bits, 16));
	cr_expect(eq(int, insn.addr_bits, 32));
	insn_of(LWP_CODE64, BYTES(0xf2, 0xf3, 0xa6)); /* the last one counts */
	cr_expect(eq(int, insn.rep, 0xf3));
	insn_of(LWP_CODE16, BYTES(0xa5)); /* movsw */
	cr_expect(lwp_insn_is_string(&insn));
	cr_expect(not(lwp_insn_is_repeated(&insn)));
	cr_expect(eq(int, insn.op_bits, 16));
	cr_expect(eq(int, insn.addr_bits, 16));
	/* repz ret is a branch, not a string instruction */
	insn_of(LWP_CODE64, BYTES(0xf3, 0xc3));
	cr_expect(eq(int, insn.kind, LWP_INSN_RET));
	cr_expect(not(lwp_insn_is_repeated(&insn)));
}

#define OP_BITS(bits, ...) (insn_of(bits, BYTES(__VA_ARGS__)), insn.op_bits)

Test(insn, flags_image_is_64_bits_in_64_bit_code)
{
	cr_expect(eq(int, OP_BITS(LWP_CODE64, 0x9c), 64));
	cr_expect(eq(int, OP_BITS(LWP_CODE64, 0x66, 0x9d), 16));
	cr_expect(eq(int, OP_BITS(LWP_CODE32, 0x9c), 32));
	cr_expect(eq(int, OP_BITS(LWP_CODE16, 0x66, 0x9c), 32));
	/* IRET is 32 bits without REX.W */
	cr_expect(eq(int, OP_BITS(LWP_CODE64, 0xcf), 32));
	cr_expect(eq(int, OP_BITS(LWP_CODE64, 0x48, 0xcf), 64));
}

Test(insn, classes_of_kinds) /* 43724-702 */
{
	int branches = 0, conditional = 0, relative = 0, strings = 0;

	for (int kind = LWP_INSN_OTHER; kind <= LWP_INSN_LWPVAL; kind++) {
		insn.kind = (u8)kind;
		branches += lwp_insn_is_branch(&insn);
		conditional += lwp_insn_is_conditional(&insn);
		relative += lwp_insn_is_relative(&insn);
		strings += lwp_insn_is_string(&insn);
	}
	cr_expect(eq(int, branches, 10)); /* 5 conditional, JMP, CALL direct and indirect, RET */
	cr_expect(eq(int, conditional, 5)); /* Jcc, JCXZ, LOOP, LOOPE, LOOPNE */
	cr_expect(eq(int, relative, 7)); /* those, JMP and CALL */
	cr_expect(eq(int, strings, 7));
	insn.kind = LWP_INSN_JMP_FAR;
	cr_expect(not(lwp_insn_is_branch(&insn)));
}
