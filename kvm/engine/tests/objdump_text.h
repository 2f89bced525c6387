/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a line of `objdump -d` (AT&T syntax) says about an instruction, in the terms of lwp_insn.h.
 */
#ifndef OBJDUMP_TEXT_H
#define OBJDUMP_TEXT_H

#include "lwp_insn.h"

#define OBJDUMP_OPERAND_MAX 80

struct objdump_line {
	u64 address;
	u8 bytes[32];
	unsigned int length;
	bool valid; /* an instruction: not "(bad)", not prefixes that objdump leaves alone on a line */
	u8 kind; /* enum lwp_insn_kind, LWP_INSN_OTHER for names it does not know */
	u8 cond; /* JCC */
	bool repeated; /* a rep prefix is shown */
	bool undefined; /* shown as an instruction, but an encoding that is #UD */
	u64 target; /* relative branches */
	char operand[OBJDUMP_OPERAND_MAX]; /* JMP_IND, CALL_IND: text after the asterisk */
};

/* bits: the code size that objdump was asked for. False: not a line with instruction bytes. */
bool objdump_parse(const char *text, enum lwp_code_bits bits, struct objdump_line *line);

/* An operand as objdump writes it, e.g. "%gs:-0x8(%rax,%r12,4)". bits: width of a register operand. */
void objdump_operand(const struct lwp_operand *operand, unsigned int bits,
		     char text[OBJDUMP_OPERAND_MAX]);

#endif
