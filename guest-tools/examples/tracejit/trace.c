// SPDX-License-Identifier: MIT
/*
 * The compiler of traces. Registers of the bytecode that a path uses are loaded into registers of the processor
 * once, and stored when a guard fails.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "trace.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

/* RAX is for values between, RDI has the registers' address, RSI the memory's. */
static const uint8_t pool[] = { RCX, RDX, R8, R9, R10, R11, RBX, RBP, R12, R13, R14, R15 };
static const uint8_t saved[] = { RBX, RBP, R12, R13, R14, R15 };
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

#define REX_W 0x48
#define CODE_MAX 4096u
#define NO_PLACE 0xff

/* Opcodes with a register and an operand that is a register or memory. */
enum { ADD = 0x01, AND = 0x21, SUB = 0x29, XOR = 0x31, CMP = 0x39, STORE = 0x89, LOAD = 0x8b };
/* The second byte of a conditional branch with 32 bits of displacement. */
enum { JE = 0x84, JNE = 0x85, JL = 0x8c, JGE = 0x8d };

struct writer {
	uint8_t *code;
	size_t used;
	uint8_t place[REGISTERS]; /* of each register in the processor */
	unsigned int nr_places;
};

static void byte(struct writer *w, unsigned int value)
{
	w->code[w->used++] = (uint8_t)value;
}

static void word(struct writer *w, uint32_t value)
{
	memcpy(w->code + w->used, &value, sizeof(value));
	w->used += sizeof(value);
}

/* An instruction whose operand `rm` is a register. */
static void registers(struct writer *w, unsigned int opcode, unsigned int reg, unsigned int rm)
{
	byte(w, REX_W | (reg >> 3) << 2 | rm >> 3);
	byte(w, opcode);
	byte(w, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

/* LOAD or STORE of the bytecode's register n, which lies in memory. */
static void home(struct writer *w, unsigned int opcode, unsigned int n)
{
	unsigned int reg = w->place[n];

	byte(w, REX_W | (reg >> 3) << 2);
	byte(w, opcode);
	byte(w, 0x80 | (reg & 7) << 3 | RDI);
	word(w, n * (uint32_t)sizeof(int64_t));
}

static void each_home(struct writer *w, unsigned int opcode)
{
	for (unsigned int n = 0; n < REGISTERS; n++)
		if (w->place[n] != NO_PLACE)
			home(w, opcode, n);
}

static void push_or_pop(struct writer *w, unsigned int opcode, unsigned int reg)
{
	if (reg >= R8)
		byte(w, 0x41);
	byte(w, opcode + (reg & 7));
}

/* A jump with an open displacement; returns its place. */
static size_t jump_forward(struct writer *w, unsigned int condition)
{
	if (condition) {
		byte(w, 0x0f);
		byte(w, condition);
	} else {
		byte(w, 0xe9);
	}
	word(w, 0);
	return w->used - sizeof(uint32_t);
}

static void lands(struct writer *w, size_t jump, size_t target)
{
	uint32_t distance = (uint32_t)(target - (jump + sizeof(uint32_t)));

	memcpy(w->code + jump, &distance, sizeof(distance));
}

/* ---- The instructions of the bytecode ------------------------------------------------------- */

static void two_operands(struct writer *w, const struct insn *insn)
{
	static const uint8_t opcodes[] = {
		[OP_ADD] = ADD, [OP_SUB] = SUB, [OP_XOR] = XOR, [OP_AND] = AND
	};
	unsigned int c = w->place[insn->c];

	registers(w, STORE, w->place[insn->b], RAX);
	if (insn->op == OP_MUL) {
		byte(w, REX_W | c >> 3);
		byte(w, 0x0f);
		byte(w, 0xaf);
		byte(w, 0xc0 | (c & 7));
	} else {
		registers(w, opcodes[insn->op], c, RAX);
	}
	registers(w, STORE, RAX, w->place[insn->a]);
}

static void calculation(struct writer *w, const struct insn *insn)
{
	unsigned int a = w->place[insn->a];

	switch (insn->op) {
	case OP_SET:
		registers(w, 0xc7, 0, a);
		word(w, (uint32_t)insn->imm);
		break;
	case OP_ADDI:
		registers(w, STORE, w->place[insn->b], RAX);
		registers(w, 0x81, 0, RAX);
		word(w, (uint32_t)insn->imm);
		registers(w, STORE, RAX, a);
		break;
	case OP_SHRI:
		registers(w, STORE, w->place[insn->b], RAX);
		registers(w, 0xc1, 5, RAX);
		byte(w, (unsigned int)insn->imm);
		registers(w, STORE, RAX, a);
		break;
	case OP_LOAD:
		registers(w, STORE, w->place[insn->b], RAX);
		byte(w, 0x25); /* and eax, MEMORY_WORDS - 1 */
		word(w, MEMORY_WORDS - 1);
		byte(w, REX_W | (a >> 3) << 2); /* mov a, [rsi + 8 * rax] */
		byte(w, LOAD);
		byte(w, (a & 7) << 3 | 4);
		byte(w, 0xc0 | RAX << 3 | RSI);
		break;
	default:
		two_operands(w, insn);
		break;
	}
}

/* Branches that leave the path have the condition under which it is left. */
static size_t guard(struct writer *w, struct trace *t, const struct insn *insn,
		    const struct step *step)
{
	unsigned int leave = insn->op == OP_LESS ? (step->taken ? JGE : JL) :
						   (step->taken ? JE : JNE);

	registers(w, CMP, w->place[insn->b], w->place[insn->a]);
	t->guards[t->nr_guards++] =
		(struct guard){ .address = (uintptr_t)(w->code + w->used), .pc = step->pc };
	return jump_forward(w, leave);
}

/* ---- A path --------------------------------------------------------------------------------- */

static bool want_register(struct writer *w, unsigned int n)
{
	if (w->place[n] != NO_PLACE)
		return true;
	if (w->nr_places == COUNT(pool))
		return false;
	w->place[n] = pool[w->nr_places++];
	return true;
}

static bool place_registers(struct writer *w, const struct program *program,
			    const struct step *path, uint32_t length)
{
	memset(w->place, NO_PLACE, sizeof(w->place));
	for (uint32_t i = 0; i < length; i++) {
		const struct insn *insn = &program->code[path[i].pc];

		if (insn->op != OP_JUMP &&
		    (!want_register(w, insn->a) || !want_register(w, insn->b) ||
		     !want_register(w, insn->c)))
			return false;
	}
	return true;
}

/* Where the interpreter goes on when the guard of a branch fails. */
static uint32_t other_way(const struct insn *insn, const struct step *step)
{
	return step->taken ? step->pc + 1 : (uint32_t)insn->imm;
}

static void write_exits(struct writer *w, const struct program *program, const struct step *path,
			uint32_t length, const size_t *exits)
{
	size_t to_end[TRACE_MAX];
	uint32_t nr = 0;

	for (uint32_t i = 0; i < length; i++) {
		const struct insn *insn = &program->code[path[i].pc];

		if (!is_conditional(insn))
			continue;
		lands(w, exits[nr], w->used);
		byte(w, 0xb8); /* mov eax, pc */
		word(w, other_way(insn, &path[i]));
		to_end[nr++] = jump_forward(w, 0);
	}
	for (uint32_t i = 0; i < nr; i++)
		lands(w, to_end[i], w->used);
	each_home(w, STORE);
	for (size_t i = COUNT(saved); i-- > 0;)
		push_or_pop(w, 0x58, saved[i]);
	byte(w, 0xc3);
}

static void write_path(struct writer *w, struct trace *t, const struct program *program,
		       const struct step *path)
{
	size_t exits[TRACE_MAX], begin;

	for (size_t i = 0; i < COUNT(saved); i++)
		push_or_pop(w, 0x50, saved[i]);
	each_home(w, LOAD);
	begin = w->used;
	for (uint32_t i = 0; i < t->length; i++) {
		const struct insn *insn = &program->code[path[i].pc];

		if (is_conditional(insn)) {
			size_t exit = guard(w, t, insn, &path[i]);

			exits[t->nr_guards - 1] = exit;
		} else if (insn->op != OP_JUMP) {
			calculation(w, insn);
		}
	}
	lands(w, jump_forward(w, 0), begin);
	write_exits(w, program, path, t->length, exits);
}

struct trace *trace_compile(const struct program *program, const struct step *path, uint32_t length)
{
	struct trace *t = calloc(1, sizeof(*t));
	struct writer w = { 0 };
	void *memory;

	/* No path of TRACE_MAX instructions needs more than CODE_MAX bytes. */
	if (!t || !length || length > TRACE_MAX || !place_registers(&w, program, path, length))
		goto no_trace;
	memory = mmap(NULL, CODE_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		goto no_trace;
	w.code = memory;
	t->header = path[0].pc;
	t->length = length;
	t->bytes = CODE_MAX;
	write_path(&w, t, program, path);
	if (mprotect(memory, CODE_MAX, PROT_READ | PROT_EXEC)) {
		munmap(memory, CODE_MAX);
		goto no_trace;
	}
	memcpy(&t->enter, &memory, sizeof(memory));
	return t;

no_trace:
	free(t);
	return NULL;
}

void trace_free(struct trace *t)
{
	void *memory;

	if (!t)
		return;
	memcpy(&memory, &t->enter, sizeof(memory));
	munmap(memory, t->bytes);
	free(t);
}
