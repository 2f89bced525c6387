// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The example's compiler beside its interpreter: a trace leaves the same registers as the interpreter does.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

#include "interpret.h"

static struct machine machine, expected;

static void fill(struct machine *m)
{
	for (int i = 0; i < REGISTERS; i++)
		m->r[i] = (int64_t)(0x9e3779b97f4a7c15u * (uint64_t)(i + 1));
	for (unsigned int i = 0; i < MEMORY_WORDS; i++)
		m->memory[i] = (int64_t)(0xbf58476d1ce4e5b9u * (i + 1));
}

/* A loop of `insn` that is left after the first turn: registers 1 and 2 are its ends. */
static void once(const struct insn *insn)
{
	const struct insn code[] = { *insn, { OP_NOT_EQUAL, 1, 1, 0, 0 }, { OP_END, 0, 0, 0, 0 } };
	const struct program program = { code, 3 };
	const struct step path[] = { { 0, false }, { 1, true } };
	struct trace *trace;

	fill(&machine);
	fill(&expected);
	trace = trace_compile(&program, path, 2);
	cr_assert(trace != NULL);
	cr_assert(eq(u32, trace->enter(machine.r, machine.memory), 2));
	interpret(&expected, &program);
	cr_assert(memcmp(machine.r, expected.r, sizeof(machine.r)) == 0, "op %u %u %u %u %d",
		  insn->op, insn->a, insn->b, insn->c, insn->imm);
	trace_free(trace);
}

Test(tracejit, each_calculation_is_that_of_the_interpreter)
{
	static const int32_t immediates[] = { 0, 1, 63, 17, -1, INT32_MAX, INT32_MIN };

	for (uint8_t op = OP_SET; op < OP_JUMP; op++) {
		for (unsigned int n = 0; n < 512; n++)
			once(&(struct insn){ op, n & 7, n >> 3 & 7, n >> 6 & 7, 5 });
		for (size_t i = 0; i < sizeof(immediates) / sizeof(immediates[0]); i++)
			if (op != OP_SHRI || (immediates[i] >= 0 && immediates[i] < 64))
				once(&(struct insn){ op, 15, 3, 4, immediates[i] });
	}
}

/* Sums the even words of the memory: two guards, of which the first fails at times. */
static const struct insn sums[] = {
	{ OP_LOAD, 4, 0, 0, 0 }, { OP_AND, 5, 4, 6, 0 },  { OP_NOT_EQUAL, 5, 7, 0, 4 },
	{ OP_ADD, 3, 3, 4, 0 },	 { OP_ADDI, 0, 0, 0, 1 }, { OP_LESS, 0, 1, 0, 0 },
	{ OP_END, 0, 0, 0, 0 },
};

static void sum_registers(struct machine *m)
{
	fill(m);
	memset(m->r, 0, sizeof(m->r));
	m->r[1] = MEMORY_WORDS;
	m->r[6] = 1;
}

Test(tracejit, a_guard_that_fails_leaves_the_path_where_the_branch_goes)
{
	const struct program program = { sums, 7 };
	const struct step even[] = { { 0, false }, { 1, false }, { 2, false },
				     { 3, false }, { 4, false }, { 5, true } };
	struct trace *trace = trace_compile(&program, even, 6);

	cr_assert(trace != NULL);
	cr_assert(eq(u32, trace->nr_guards, 2));
	sum_registers(&machine);
	machine.memory[0] = 2;
	machine.memory[1] = 4;
	machine.memory[2] = 5;
	cr_assert(eq(u32, trace->enter(machine.r, machine.memory), 4));
	cr_assert(eq(i64, machine.r[3], 6));
	cr_assert(eq(i64, machine.r[0], 2));
	/* And at the loop's end. */
	sum_registers(&machine);
	machine.r[1] = 1;
	machine.memory[0] = 8;
	cr_assert(eq(u32, trace->enter(machine.r, machine.memory), 6));
	cr_assert(eq(i64, machine.r[3], 8));
	trace_free(trace);
}

Test(tracejit, a_path_with_more_registers_than_the_processor_has_is_not_compiled)
{
	struct insn code[8];
	struct step path[8];
	const struct program program = { code, 8 };

	for (uint32_t i = 0; i < 7; i++) {
		path[i] = (struct step){ .pc = i };
		code[i] = (struct insn){ OP_ADD, 2 * i % 16, (2 * i + 1) % 16, 0, 0 };
	}
	code[7] = (struct insn){ OP_JUMP, 0, 0, 0, 0 };
	path[7] = (struct step){ .pc = 7 };
	cr_assert(trace_compile(&program, path, 8) == NULL);
	cr_assert(trace_compile(&program, path, 0) == NULL);
}

Test(tracejit, code_is_never_writable_and_executable)
{
	const struct program program = { sums, 7 };
	const struct step jump[] = { { 5, true } };
	struct trace *trace = trace_compile(&program, jump, 1);
	char line[512], permissions[8];
	unsigned long start, end;
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "r");

	cr_assert(trace != NULL && maps != NULL);
	while (fgets(line, sizeof(line), maps)) {
		cr_assert(sscanf(line, "%lx-%lx %7s", &start, &end, permissions) == 3);
		if (start > trace->guards[0].address || end <= trace->guards[0].address)
			continue;
		found = true;
		cr_assert(strncmp(permissions, "r-x", 3) == 0, "%s", permissions);
	}
	fclose(maps);
	cr_assert(found);
	trace_free(trace);
}
