/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The straight line ahead: the instructions from rIP on, in the order of memory, to the first one
 * that always branches, or that the hypervisor always intercepts. A trap after the next taken
 * branch (DEBUGCTL.BTF) comes at the line's end at the latest, because conditional branches on the
 * way trap if they are taken, and continue the line if not. Where something else ends the line, a
 * breakpoint does.
 */
#ifndef LWP_LINE_H
#define LWP_LINE_H

#include "lwp_insn.h"

/* Longer lines end there. */
#define LWP_LINE_BYTES 256

struct lwp_line {
	u32 insns; /* in the line: with the branch that ends it, without what is intercepted */
	u32 branches; /* near branches among them */
	u32 first; /* length in bytes of the first instruction; 0: it is a branch */
	u32 guard; /* 0, or the line ends only if there is a breakpoint so many bytes behind rIP */
};

/*
 * Look at the line that begins at bytes[0]; bytes has at least one byte and at most
 * LWP_LINE_BYTES. insns and branches say which one is due: 1 is the next one, ~0 is none.
 *
 * True: *line is filled, and is not empty: it ends before an instruction or a branch that is due. All
 * instructions in it can run while RFLAGS.TF and BTF are set without the program seeing TF, and none
 * of them leaves CPL 3 other than by a fault or an intercept.
 */
bool lwp_line_ends(const u8 *bytes, unsigned int count, enum lwp_code_bits code_bits, u64 insns,
		   u64 branches, struct lwp_line *line);

/*
 * A step over branches began in this line and has passed so many instructions and branches; ~0: not
 * counted. trapped: it has ended with its trap. False: it passed more than the line has, so a taken
 * branch did not trap; or it trapped before a branch.
 */
bool lwp_line_explains(const struct lwp_line *line, u64 insns, u64 branches, bool trapped);

#endif
