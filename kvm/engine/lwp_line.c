// SPDX-License-Identifier: GPL-2.0-or-later
#include "lwp_line.h"

/*
 * Can the instruction run while TF and BTF are set? Not if it shows RFLAGS to the program or loads
 * it, delays traps, or leaves CPL 3 in a way that pushes RFLAGS or loads another CS.
 */
static bool plain(const struct lwp_insn *insn)
{
	switch (insn->kind) {
	case LWP_INSN_JMP_FAR:
	case LWP_INSN_CALL_FAR:
	case LWP_INSN_RET_FAR:
	case LWP_INSN_IRET:
	case LWP_INSN_INTO:
	case LWP_INSN_SYSRET:
	case LWP_INSN_SYSENTER:
	case LWP_INSN_SYSEXIT:
	case LWP_INSN_PUSHF:
	case LWP_INSN_POPF:
	case LWP_INSN_MOV_SS:
	case LWP_INSN_POP_SS:
		return false;
	default:
		return true;
	}
}

/* Does the hypervisor intercept it always while it counts, before it does anything? */
static bool exits(const struct lwp_insn *insn)
{
	switch (insn->kind) {
	case LWP_INSN_INT:
	case LWP_INSN_INT3:
	case LWP_INSN_ICEBP:
	case LWP_INSN_SYSCALL:
	case LWP_INSN_LLWPCB:
	case LWP_INSN_SLWPCB:
	case LWP_INSN_LWPINS:
	case LWP_INSN_LWPVAL:
		return true;
	default:
		return false;
	}
}

bool lwp_line_ends(const u8 *bytes, unsigned int count, enum lwp_code_bits code_bits, u64 insns,
		   u64 branches, struct lwp_line *line)
{
	struct lwp_insn insn;
	unsigned int at = 0;

	*line = (struct lwp_line){};
	while (lwp_insn_decode(bytes + at, count - at, code_bits, &insn) == LWP_DECODE_OK &&
	       plain(&insn)) {
		bool branch = lwp_insn_is_branch(&insn);

		if (exits(&insn))
			return at;
		if (line->insns + 1 >= insns || line->branches + branch >= branches)
			break;
		if (!at && !branch)
			line->first = insn.length;
		line->insns++;
		line->branches += branch;
		if (branch && !lwp_insn_is_conditional(&insn))
			return true;
		at += insn.length;
	}
	line->guard = at;
	return at;
}

bool lwp_line_explains(const struct lwp_line *line, u64 insns, u64 branches, bool trapped)
{
	u64 fewest = line->first ? 2 : 1;

	if (~insns && (insns > line->insns || (trapped && insns < fewest)))
		return false;
	return !~branches || (branches <= line->branches && !(trapped && !branches));
}
