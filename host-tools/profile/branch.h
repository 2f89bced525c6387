/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What kind of branch an instruction of x86-64 is. */
#ifndef LWPCTL_BRANCH_H
#define LWPCTL_BRANCH_H

#include <stddef.h>
#include <stdint.h>

enum branch_kind {
	BRANCH_UNKNOWN, /* no code, or no branch */
	BRANCH_JUMP,
	BRANCH_CONDITIONAL,
	BRANCH_CALL,
	BRANCH_RETURN,
};

/* Of a near branch that is decoded. */
struct lwp_insn;
enum branch_kind branch_kind_of(const struct lwp_insn *insn);

/*
 * The branch at `address`, near or far, whose code is given. `*target`: where it goes when it is taken, 0 if only the
 * processor knows (indirect, return).
 */
enum branch_kind branch_kind(const uint8_t *code, size_t size, uint64_t address, uint64_t *target);

#endif
