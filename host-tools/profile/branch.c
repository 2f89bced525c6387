// SPDX-License-Identifier: GPL-2.0-or-later
/* What kind of branch an instruction of x86-64 is. */
#include "branch.h"
#include "lwp_insn.h"

enum branch_kind branch_kind_of(const struct lwp_insn *insn)
{
	if (lwp_insn_is_conditional(insn))
		return BRANCH_CONDITIONAL;
	switch (insn->kind) {
	case LWP_INSN_JMP_REL:
	case LWP_INSN_JMP_IND:
		return BRANCH_JUMP;
	case LWP_INSN_CALL_REL:
	case LWP_INSN_CALL_IND:
		return BRANCH_CALL;
	case LWP_INSN_RET:
		return BRANCH_RETURN;
	default:
		return BRANCH_UNKNOWN;
	}
}

enum branch_kind branch_kind(const uint8_t *code, size_t size, uint64_t address, uint64_t *target)
{
	unsigned int length = size < LWP_INSN_MAX_LENGTH ? (unsigned int)size : LWP_INSN_MAX_LENGTH;
	struct lwp_insn insn;

	*target = 0;
	if (lwp_insn_decode(code, length, LWP_CODE64, &insn) != LWP_DECODE_OK)
		return BRANCH_UNKNOWN;
	if (lwp_insn_is_relative(&insn))
		lwp_insn_target(&insn, address, NULL, target);
	if (insn.kind == LWP_INSN_CALL_FAR)
		return BRANCH_CALL;
	return insn.kind == LWP_INSN_JMP_FAR ? BRANCH_JUMP : branch_kind_of(&insn);
}
