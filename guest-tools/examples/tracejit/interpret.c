// SPDX-License-Identifier: MIT
/* The interpreter. It is compiled twice: with a tracer, and without, where LWPVAL would be no instruction. */
#include "interpret.h"

static inline bool jumps(const struct machine *m, const struct insn *insn)
{
	switch (insn->op) {
	case OP_LESS:
		return m->r[insn->a] < m->r[insn->b];
	case OP_NOT_EQUAL:
		return m->r[insn->a] != m->r[insn->b];
	default:
		return true;
	}
}

/* At the beginning of a loop. Returns where to go on. */
static uint32_t begin_loop(struct machine *m, struct tracer *tracer, uint32_t pc)
{
	if (!--tracer->countdown)
		tracer_poll(tracer);
	if (tracer->traces[pc])
		return tracer->traces[pc]->enter(m->r, m->memory);
	return pc;
}

static inline __attribute__((always_inline)) void
run(struct machine *m, const struct program *program, struct tracer *tracer)
{
	const struct insn *code = program->code;
	uint32_t pc = 0;

	while (code[pc].op != OP_END) {
		const struct insn *insn = &code[pc];
		bool taken;

		if (insn->op < OP_JUMP) {
			calculate(m, insn);
			pc++;
			continue;
		}
		taken = jumps(m, insn);
		if (tracer)
			tracer_branch(tracer, pc, taken);
		if (taken && tracer && (uint32_t)insn->imm <= pc)
			pc = begin_loop(m, tracer, (uint32_t)insn->imm);
		else
			pc = taken ? (uint32_t)insn->imm : pc + 1;
	}
}

void interpret(struct machine *m, const struct program *program)
{
	run(m, program, NULL);
}

void interpret_traced(struct machine *m, struct tracer *tracer)
{
	tracer_begin(tracer);
	run(m, tracer->program, tracer);
	tracer_end(tracer);
}
