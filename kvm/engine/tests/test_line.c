// SPDX-License-Identifier: GPL-2.0-or-later
/* The straight line ahead (lwp_line.h): where it ends, and what may not be in it. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "lwp_line.h"

#define NONE (~(u64)0)

static struct lwp_line line;

#define ENDS(insns, branches, ...)                                                      \
	lwp_line_ends((const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ }), \
		      LWP_CODE64, insns, branches, &line)

#define NOP 0x90
#define ADD 0x48, 0x01, 0xc8 /* add %rcx, %rax */
#define JZ 0x74, 0x10
#define LOOP 0xe2, 0xf0
#define JMP 0xeb, 0x10
#define CALL 0xe8, 1, 2, 3, 4
#define RET 0xc3
#define JMP_RAX 0xff, 0xe0
#define CALL_RAX 0xff, 0xd0

/* The line ends only by a breakpoint `at` bytes behind rIP, after so many instructions. */
#define GUARDED(at, insns, ...)                        \
	do {                                           \
		cr_expect(ENDS(__VA_ARGS__));          \
		cr_expect(eq(u32, line.guard, at));    \
		cr_expect(eq(u32, line.insns, insns)); \
	} while (0)

Test(line, ends_with_the_first_unconditional_branch)
{
	cr_expect(ENDS(NONE, NONE, ADD, NOP, JMP, NOP, RET));
	cr_expect(eq(u32, line.insns, 3));
	cr_expect(eq(u32, line.branches, 1));
	cr_expect(ENDS(NONE, NONE, CALL));
	cr_expect(ENDS(NONE, NONE, RET));
	cr_expect(ENDS(NONE, NONE, JMP_RAX));
	cr_expect(ENDS(NONE, NONE, CALL_RAX));
}

Test(line, continues_behind_a_conditional_branch)
{
	cr_expect(ENDS(NONE, NONE, JZ, NOP, LOOP, ADD, RET, NOP));
	cr_expect(eq(u32, line.insns, 5));
	cr_expect(eq(u32, line.branches, 3));
	GUARDED(5, 3, NONE, NONE, JZ, NOP, LOOP);
}

Test(line, says_how_long_the_first_instruction_is)
{
	cr_expect(ENDS(NONE, NONE, ADD, RET));
	cr_expect(eq(u32, line.first, 3));
	cr_expect(ENDS(NONE, NONE, JZ, RET));
	cr_expect(eq(u32, line.first, 0));
	cr_expect(ENDS(NONE, NONE, RET));
	cr_expect(eq(u32, line.first, 0));
	cr_expect(ENDS(NONE, NONE, NOP, ADD, RET));
	cr_expect(eq(u32, line.first, 1));
}

Test(line, holds_no_instruction_that_is_due)
{
	/* NOP is the first, RET the third. */
	GUARDED(0, 3, 4, NONE, NOP, ADD, RET);
	GUARDED(4, 2, 3, NONE, NOP, ADD, RET);
	GUARDED(1, 1, 2, NONE, NOP, ADD, RET);
	cr_expect(not(ENDS(1, NONE, NOP, ADD, RET)));
	cr_expect(not(ENDS(1, NONE, RET)));
}

Test(line, holds_no_branch_that_is_due)
{
	GUARDED(0, 3, NONE, 3, JZ, NOP, RET);
	GUARDED(3, 2, NONE, 2, JZ, NOP, RET);
	cr_expect(not(ENDS(NONE, 1, JZ, NOP, RET)));
	GUARDED(1, 1, NONE, 1, NOP, RET);
}

Test(line, is_guarded_where_the_bytes_end)
{
	GUARDED(1, 1, NONE, NONE, NOP);
	GUARDED(3, 1, NONE, NONE, ADD, 0xe8, 1, 2, 3);
	cr_expect(not(ENDS(NONE, NONE, 0xe8, 1, 2, 3)));
}

Test(line, is_guarded_before_an_undefined_instruction)
{
	GUARDED(1, 1, NONE, NONE, NOP, 0x06, RET); /* PUSH ES */
}

/* They show or load RFLAGS, delay a trap, or leave CPL 3. */
Test(line, is_guarded_before_an_instruction_that_needs_care)
{
	GUARDED(1, 1, NONE, NONE, NOP, 0x9c, RET); /* PUSHF */
	GUARDED(1, 1, NONE, NONE, NOP, 0x9d, RET); /* POPF */
	cr_expect(not(ENDS(NONE, NONE, 0x8e, 0xd0, RET)), "MOV SS");
	cr_expect(not(ENDS(NONE, NONE, 0x48, 0xcf)), "IRET");
	cr_expect(not(ENDS(NONE, NONE, 0xcb)), "far RET");
	cr_expect(not(ENDS(NONE, NONE, 0xff, 0x28)), "far JMP");
	cr_expect(not(ENDS(NONE, NONE, 0xff, 0x18, RET)), "far CALL");
	cr_expect(not(ENDS(NONE, NONE, 0x0f, 0x07, RET)), "SYSRET");
	cr_expect(not(ENDS(NONE, NONE, 0x0f, 0x34, RET)), "SYSENTER");
	cr_expect(not(ENDS(NONE, NONE, 0x0f, 0x35, RET)), "SYSEXIT");
}

#define EXITS(...)                                                                   \
	do {                                                                         \
		GUARDED(0, 2, 3, NONE, NOP, JZ, __VA_ARGS__, 0x9c);                  \
		GUARDED(1, 1, 2, NONE, NOP, JZ, __VA_ARGS__, 0x9c);                  \
		cr_expect(not(ENDS(NONE, NONE, __VA_ARGS__, RET)), "an empty line"); \
	} while (0)

/* Even if it is due, because it exits before it does anything. */
Test(line, ends_before_an_instruction_that_is_intercepted)
{
	EXITS(0xcd, 0x80); /* INT */
	EXITS(0xcc); /* INT3 */
	EXITS(0xf1); /* ICEBP */
	EXITS(0x0f, 0x05); /* SYSCALL */
	EXITS(0x8f, 0xe9, 0x78, 0x12, 0xc0); /* LLWPCB */
	EXITS(0x8f, 0xe9, 0x78, 0x12, 0xc8); /* SLWPCB */
	EXITS(0x8f, 0xea, 0x78, 0x12, 0xc0, 1, 2, 3, 4); /* LWPINS */
	EXITS(0x8f, 0xea, 0x78, 0x12, 0xc8, 1, 2, 3, 4); /* LWPVAL */
}

static bool legacy_ends(u8 opcode)
{
	const u8 bytes[] = { NOP, opcode, RET };

	return lwp_line_ends(bytes, sizeof(bytes), LWP_CODE32, NONE, NONE, &line) && !line.guard;
}

Test(line, holds_neither_into_nor_pop_ss_in_32_bit_code)
{
	cr_expect(not(legacy_ends(0xce)), "INTO");
	cr_expect(not(legacy_ends(0x17)), "POP SS");
	cr_expect(legacy_ends(0x06), "PUSH ES is defined there");
}

/* What a counter at full speed handles too: instructions that KVM may complete, or that repeat. */
Test(line, may_hold_what_kvm_completes)
{
	cr_expect(ENDS(NONE, NONE, 0x0f, 0xa2, RET), "CPUID");
	cr_expect(ENDS(NONE, NONE, 0x0f, 0x31, RET), "RDTSC");
	cr_expect(ENDS(NONE, NONE, 0xf3, 0xa4, RET), "REP MOVS");
	cr_expect(eq(u32, line.insns, 2));
}

Test(line, explains_no_more_than_it_has)
{
	cr_assert(ENDS(NONE, NONE, NOP, JZ, ADD, RET));
	cr_expect(lwp_line_explains(&line, 4, 2, true));
	cr_expect(lwp_line_explains(&line, 0, 0, false));
	cr_expect(not(lwp_line_explains(&line, 5, 2, true)));
	cr_expect(not(lwp_line_explains(&line, 4, 3, true)));
	cr_expect(not(lwp_line_explains(&line, 5, 0, false)));
	cr_expect(lwp_line_explains(&line, NONE, NONE, true), "neither is counted");
	cr_expect(not(lwp_line_explains(&line, NONE, 3, true)));
	cr_expect(not(lwp_line_explains(&line, 5, NONE, true)));
}

Test(line, explains_no_trap_before_a_branch)
{
	cr_assert(ENDS(NONE, NONE, NOP, JZ, ADD, RET));
	cr_expect(lwp_line_explains(&line, 2, 1, true));
	cr_expect(not(lwp_line_explains(&line, 1, NONE, true)));
	cr_expect(not(lwp_line_explains(&line, NONE, 0, true)));
	cr_expect(lwp_line_explains(&line, 1, 0, false), "but another exit");
	cr_assert(ENDS(NONE, NONE, JZ, ADD, RET));
	cr_expect(lwp_line_explains(&line, 1, 1, true), "the first may be the branch");
	cr_expect(not(lwp_line_explains(&line, 0, NONE, true)));
}
