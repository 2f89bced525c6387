// SPDX-License-Identifier: GPL-2.0-or-later
/* What a decoded branch does: whether it is taken, and where it goes. */
#include "lwp_insn.h"

#define RFLAGS_CF 0x0001
#define RFLAGS_PF 0x0004
#define RFLAGS_ZF 0x0040
#define RFLAGS_SF 0x0080
#define RFLAGS_OF 0x0800

/* Condition codes, without the low bit, which inverts. */
enum {
	COND_O,
	COND_B,
	COND_Z,
	COND_BE,
	COND_S,
	COND_P,
	COND_L,
	COND_LE,
};

/* 43724-509 */
static bool condition_holds(unsigned int cond, u64 rflags)
{
	bool less = !(rflags & RFLAGS_SF) != !(rflags & RFLAGS_OF);
	bool holds = false;

	switch (cond >> 1) {
	case COND_O:
		holds = rflags & RFLAGS_OF;
		break;
	case COND_B:
		holds = rflags & RFLAGS_CF;
		break;
	case COND_Z:
		holds = rflags & RFLAGS_ZF;
		break;
	case COND_BE:
		holds = rflags & (RFLAGS_CF | RFLAGS_ZF);
		break;
	case COND_S:
		holds = rflags & RFLAGS_SF;
		break;
	case COND_P:
		holds = rflags & RFLAGS_PF;
		break;
	case COND_L:
		holds = less;
		break;
	case COND_LE:
		holds = less || (rflags & RFLAGS_ZF);
		break;
	}
	return cond & 1 ? !holds : holds;
}

bool lwp_insn_taken(const struct lwp_insn *insn, u64 rflags, u64 rcx)
{
	/* LOOP and its variants decrement rCX first. */
	bool again = lwp_truncate(rcx - 1, insn->addr_bits) != 0;

	switch (insn->kind) {
	case LWP_INSN_JCC:
		return condition_holds(insn->cond, rflags);
	case LWP_INSN_JCXZ:
		return lwp_truncate(rcx, insn->addr_bits) == 0;
	case LWP_INSN_LOOP:
		return again;
	case LWP_INSN_LOOPE:
		return again && (rflags & RFLAGS_ZF);
	case LWP_INSN_LOOPNE:
		return again && !(rflags & RFLAGS_ZF);
	default:
		return lwp_insn_is_branch(insn);
	}
}

u64 lwp_insn_next_ip(const struct lwp_insn *insn, u64 ip)
{
	/* EIP has 32 bits in 16-bit code too; only a branch with 16-bit operands cuts it. */
	return lwp_truncate(ip + insn->length, insn->code_bits == LWP_CODE64 ? 64 : 32);
}

int lwp_insn_target(const struct lwp_insn *insn, u64 ip, const struct lwp_access *access,
		    u64 *target)
{
	u64 next = lwp_insn_next_ip(insn, ip);
	unsigned int size = insn->op_bits / 8;

	if (lwp_insn_is_relative(insn)) {
		*target = lwp_truncate(next + (u64)(s64)insn->rel, insn->op_bits);
		return 0;
	}
	if (insn->kind == LWP_INSN_RET)
		return lwp_stack_read(insn->code_bits, size, access, target);
	return lwp_operand_read(&insn->rm, size, next, access, target);
}
