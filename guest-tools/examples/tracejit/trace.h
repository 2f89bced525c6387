/* SPDX-License-Identifier: MIT */
/* Loops as machine code for x86-64: a path through the bytecode, with a guard where it could be left. */
#ifndef TRACEJIT_TRACE_H
#define TRACEJIT_TRACE_H

#include <stddef.h>

#include "bytecode.h"

#define TRACE_MAX 32u /* instructions of a path */

/* An instruction of a path. */
struct step {
	uint32_t pc;
	bool taken; /* of a conditional branch: where the path goes on */
};

struct guard {
	uintptr_t address; /* of its branch, which is taken when the path is left */
	uint32_t pc; /* of the bytecode's branch */
	uint32_t passed, failed; /* samples */
};

struct trace {
	/* Runs the loop until a guard fails. Returns where the interpreter goes on. */
	uint32_t (*enter)(int64_t *registers, const int64_t *memory);
	uint32_t header; /* where the path begins and ends */
	uint32_t length; /* instructions of bytecode */
	struct guard guards[TRACE_MAX];
	uint32_t nr_guards;
	size_t bytes; /* mapped */
};

/*
 * Compile a path, which begins at path[0].pc and leads back to it. NULL if it uses more registers than the
 * processor has, or there is no memory. It is never writable and executable at once.
 */
struct trace *trace_compile(const struct program *program, const struct step *path,
			    uint32_t length);
void trace_free(struct trace *trace);

#endif
