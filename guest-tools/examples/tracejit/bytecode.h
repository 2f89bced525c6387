/* SPDX-License-Identifier: MIT */
/* The machine whose programs are interpreted and compiled: 16 registers of 64 bits and a memory of words. */
#ifndef TRACEJIT_BYTECODE_H
#define TRACEJIT_BYTECODE_H

#include <stdbool.h>
#include <stdint.h>

#define REGISTERS 16
#define MEMORY_WORDS 4096u /* a power of two: addresses are taken modulo it */
#define PROGRAM_MAX 64u /* instructions */

enum op {
	OP_SET, /* a = imm */
	OP_ADD, /* a = b + c */
	OP_SUB,
	OP_MUL,
	OP_XOR,
	OP_AND,
	OP_ADDI, /* a = b + imm */
	OP_SHRI, /* a = b >> imm, unsigned; 0 <= imm < 64 */
	OP_LOAD, /* a = memory[b] */
	OP_JUMP, /* go to imm */
	OP_LESS, /* go to imm if a < b, signed */
	OP_NOT_EQUAL, /* go to imm if a != b */
	OP_END,
};

struct insn {
	uint8_t op, a, b, c;
	int32_t imm;
};

struct program {
	const struct insn *code;
	uint32_t length; /* at most PROGRAM_MAX; the last one is OP_END or OP_JUMP */
};

struct machine {
	int64_t r[REGISTERS];
	int64_t memory[MEMORY_WORDS];
};

static inline bool is_conditional(const struct insn *insn)
{
	return insn->op == OP_LESS || insn->op == OP_NOT_EQUAL;
}

/* All but branches and OP_END. */
static inline void calculate(struct machine *m, const struct insn *insn)
{
	int64_t *r = m->r;
	uint64_t b = (uint64_t)r[insn->b], c = (uint64_t)r[insn->c];

	switch (insn->op) {
	case OP_SET:
		r[insn->a] = insn->imm;
		break;
	case OP_ADD:
		r[insn->a] = (int64_t)(b + c);
		break;
	case OP_SUB:
		r[insn->a] = (int64_t)(b - c);
		break;
	case OP_MUL:
		r[insn->a] = (int64_t)(b * c);
		break;
	case OP_XOR:
		r[insn->a] = (int64_t)(b ^ c);
		break;
	case OP_AND:
		r[insn->a] = (int64_t)(b & c);
		break;
	case OP_ADDI:
		r[insn->a] = (int64_t)(b + (uint64_t)(int64_t)insn->imm);
		break;
	case OP_SHRI:
		r[insn->a] = (int64_t)(b >> insn->imm);
		break;
	case OP_LOAD:
		r[insn->a] = m->memory[b % MEMORY_WORDS];
		break;
	default:
		break;
	}
}

#endif
