/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The instruction decoder for single-stepping, which looks at the next instruction, and for
 * branches.
 *
 * It finds the length of every instruction. It recognises near branches, and instructions that need
 * care while a hypervisor sets RFLAGS.TF; every other instruction is LWP_INSN_OTHER.
 */
#ifndef LWP_INSN_H
#define LWP_INSN_H

#include "lwp_operand.h"

enum lwp_insn_kind {
	LWP_INSN_OTHER,

	/* Near branches: what EventId 3 counts. Conditional ones first. */
	LWP_INSN_JCC, /* cond */
	LWP_INSN_JCXZ, /* JCXZ, JECXZ, JRCXZ by addr_bits */
	LWP_INSN_LOOP, /* rCX by addr_bits */
	LWP_INSN_LOOPE,
	LWP_INSN_LOOPNE,
	LWP_INSN_JMP_REL,
	LWP_INSN_JMP_IND, /* rm */
	LWP_INSN_CALL_REL,
	LWP_INSN_CALL_IND, /* rm */
	LWP_INSN_RET, /* C3, and C2 with its imm16 */

	/*
	 * String instructions; repeated if rep is set. addr_bits is the width of the count in rCX.
	 */
	LWP_INSN_MOVS,
	LWP_INSN_CMPS,
	LWP_INSN_STOS,
	LWP_INSN_LODS,
	LWP_INSN_SCAS,
	LWP_INSN_INS,
	LWP_INSN_OUTS,

	/* Far transfers and changes of privilege. */
	LWP_INSN_JMP_FAR,
	LWP_INSN_CALL_FAR,
	LWP_INSN_RET_FAR,
	LWP_INSN_IRET,
	LWP_INSN_INT, /* vector; CD 03 is this one */
	LWP_INSN_INT3,
	LWP_INSN_INTO,
	LWP_INSN_ICEBP,
	LWP_INSN_SYSCALL,
	LWP_INSN_SYSRET,
	LWP_INSN_SYSENTER,
	LWP_INSN_SYSEXIT,

	/* Instructions that read or write RFLAGS as an image, or delay a trap. */
	LWP_INSN_PUSHF,
	LWP_INSN_POPF,
	LWP_INSN_MOV_SS, /* LSS is not one: it has no shadow */
	LWP_INSN_POP_SS,
	LWP_INSN_CLI,
	LWP_INSN_STI,

	/* Instructions that a hypervisor may intercept and complete itself. */
	LWP_INSN_HLT,
	LWP_INSN_PAUSE,
	LWP_INSN_MONITOR, /* MONITOR, MONITORX */
	LWP_INSN_MWAIT, /* MWAIT, MWAITX */
	LWP_INSN_CPUID,
	LWP_INSN_RDTSC,
	LWP_INSN_RDTSCP,
	LWP_INSN_RDPMC,
	LWP_INSN_RDPRU,
	LWP_INSN_RDRAND,
	LWP_INSN_RDSEED,
	LWP_INSN_IN,
	LWP_INSN_OUT,
	LWP_INSN_VMMCALL,
	LWP_INSN_RDFSBASE, /* these four are defined in 64-bit code only */
	LWP_INSN_RDGSBASE,
	LWP_INSN_WRFSBASE,
	LWP_INSN_WRGSBASE,
	LWP_INSN_LLWPCB, /* lwp_xop_decode() gives the operands of these four */
	LWP_INSN_SLWPCB,
	LWP_INSN_LWPINS,
	LWP_INSN_LWPVAL,
};

struct lwp_insn {
	u8 kind; /* enum lwp_insn_kind */
	u8 length; /* 1..LWP_INSN_MAX_LENGTH */
	u8 code_bits; /* as given */
	/*
	 * Operand size 8, 16, 32 or 64: of a near branch that of rIP; of PUSHF, POPF that of the
	 * image; of a string instruction that of one element.
	 */
	u8 op_bits;
	u8 addr_bits; /* address size 16, 32 or 64 */
	u8 rep; /* F2h or F3h, whichever prefix comes last, 0 = neither */
	u8 cond; /* JCC: condition code 0..15, the low 4 bits of the opcode */
	u8 vector; /* INT */
	s32 rel; /* relative branches: sign-extended displacement from the next instruction */
	struct lwp_operand rm; /* JMP_IND, CALL_IND: holds the target; also RDFSBASE to WRGSBASE */
};

/*
 * Decodes one instruction from bytes[0..count).
 *
 * LWP_DECODE_OK    *insn is filled.
 * LWP_DECODE_MORE  the instruction has more than `count` bytes.
 * LWP_DECODE_UD    undefined in this mode. Not every undefined encoding is recognised (those that
 *                  depend on CPUID are not); the others are LWP_INSN_OTHER with the length that
 *                  they would have.
 * LWP_DECODE_GP    more than LWP_INSN_MAX_LENGTH bytes.
 *
 * A result other than MORE stays the same for every larger count. Sizes follow AMD64: a 66h prefix
 * makes a near branch in 64-bit code 16 bits wide, displacement and rIP (other vendors ignore it
 * there).
 */
enum lwp_decode lwp_insn_decode(const u8 *bytes, unsigned int count, enum lwp_code_bits code_bits,
				struct lwp_insn *insn);

static inline bool lwp_insn_is_branch(const struct lwp_insn *insn)
{
	return insn->kind >= LWP_INSN_JCC && insn->kind <= LWP_INSN_RET;
}

static inline bool lwp_insn_is_conditional(const struct lwp_insn *insn)
{
	return insn->kind >= LWP_INSN_JCC && insn->kind <= LWP_INSN_LOOPNE;
}

/* A branch whose target is encoded in the instruction. */
static inline bool lwp_insn_is_relative(const struct lwp_insn *insn)
{
	return lwp_insn_is_conditional(insn) || insn->kind == LWP_INSN_JMP_REL ||
	       insn->kind == LWP_INSN_CALL_REL;
}

static inline bool lwp_insn_is_string(const struct lwp_insn *insn)
{
	return insn->kind >= LWP_INSN_MOVS && insn->kind <= LWP_INSN_OUTS;
}

/* A string instruction that repeats: one instruction, but one #DB per iteration under TF. */
static inline bool lwp_insn_is_repeated(const struct lwp_insn *insn)
{
	return lwp_insn_is_string(insn) && insn->rep;
}

/* rIP of the instruction that follows in memory. ip: rIP (offset in CS) of insn. */
u64 lwp_insn_next_ip(const struct lwp_insn *insn, u64 ip);

/*
 * Is a branch taken (TKN)? rflags and rcx are those before it executes. Unconditional branches are
 * true, instructions that are no near branches are false.
 */
bool lwp_insn_taken(const struct lwp_insn *insn, u64 rflags, u64 rcx);

/*
 * The rIP (offset in CS) where a near branch goes if taken. ip: rIP of insn, not yet executed.
 * Relative branches need no access (it may be NULL); indirect ones and RET read the operand or the
 * top of the stack. Returns 0, or what access->read returned. Not for other kinds than near
 * branches.
 */
int lwp_insn_target(const struct lwp_insn *insn, u64 ip, const struct lwp_access *access,
		    u64 *target);

#endif
