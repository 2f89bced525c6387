/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A net of breakpoints: at most four addresses that cut every path which the program can take from
 * rIP on, before an instruction or a branch that is due. Between rIP and the net only code runs
 * that was decoded, and the program cannot choose another way than the two of a conditional branch.
 */
#ifndef LWP_NET_H
#define LWP_NET_H

#include "lwp_insn.h"

#define LWP_NET_CUTS 4
#define LWP_NET_NODES 24
#define LWP_NET_BYTES 64 /* that are asked for at once */

struct lwp_net {
	u64 cut[LWP_NET_CUTS]; /* offsets in CS, as rIP; all different */
	u32 cuts; /* how many; 0: all paths end with an instruction that exits by itself */
	u32 insns, branches; /* the most that pass */
	bool again; /* one of the cuts is rIP: it must not stop the first instruction */
};

/* Does the hypervisor intercept it always while it counts, before it does anything? */
bool lwp_insn_exits(const struct lwp_insn *insn);

struct lwp_net_code {
	void *ctx;
	enum lwp_code_bits bits;
	const struct lwp_access *access; /* gpr is that of the program at rIP */
	/* Reads at most LWP_NET_BYTES bytes at an offset in CS. Returns how many; 0: none. */
	unsigned int (*fetch)(void *ctx, u64 ip, u8 *bytes);
};

/*
 * Lay a net around rIP. insns and branches say which one is due: 1 is the next one, ~0 is none.
 *
 * True: at least one instruction, and no due one, passes before each way ends at a cut, or before
 * an instruction that the hypervisor always intercepts while it counts (lwp_insn_exits()). No
 * instruction in between delays a breakpoint, leaves CPL 3, or jumps to where memory says; but the
 * first one may jump to where a register says. False: step.
 */
bool lwp_net_lay(const struct lwp_net_code *code, u64 ip, u64 insns, u64 branches,
		 struct lwp_net *net);

#endif
