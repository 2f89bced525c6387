// SPDX-License-Identifier: GPL-2.0-or-later
#include "lwp_net.h"

/* Does it neither delay a breakpoint, nor push RFLAGS or load another CS without an exit? */
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
	case LWP_INSN_MOV_SS:
	case LWP_INSN_POP_SS:
		return false;
	default:
		return true;
	}
}

bool lwp_insn_exits(const struct lwp_insn *insn)
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

enum state {
	OPEN, /* may be looked into; else it is a cut */
	BLOCK, /* decoded: the paths go on behind it */
	CUT,
	END, /* begins with an instruction that exits */
};

/* A place that can be reached. Node 0 is rIP; a cut there is another node. */
struct node {
	u64 ip;
	u32 insns, branches; /* the most before it */
	u32 own_insns, own_branches; /* of a block */
	u8 state;
	u8 nexts, next[2];
};

struct graph {
	const struct lwp_net_code *code;
	u64 insns, branches; /* the due ones */
	unsigned int nr;
	struct node node[LWP_NET_NODES];
};

/* The node of a place, a new one if there is none; nr: they do not suffice. */
static unsigned int node_at(struct graph *g, u64 ip, enum state state)
{
	unsigned int i;

	for (i = 1; i < g->nr; i++)
		if (g->node[i].ip == ip)
			return i;
	if (g->nr == LWP_NET_NODES)
		return LWP_NET_NODES;
	/* What leads back to rIP ends there. */
	g->node[g->nr] = (struct node){ .ip = ip, .state = ip == g->node[0].ip ? CUT : state };
	return g->nr++;
}

static bool raise(u32 *most, u32 to)
{
	bool higher = to > *most;

	if (higher)
		*most = to;
	return higher;
}

/*
 * Recompute how much passes before each node. False: there is a circle, or something due can pass.
 */
static bool measure(struct graph *g)
{
	bool changed = true;
	unsigned int round, i, k;

	for (i = 0; i < g->nr; i++)
		g->node[i].insns = g->node[i].branches = 0;
	for (round = 0; changed && round <= g->nr; round++) {
		changed = false;
		for (i = 0; i < g->nr; i++) {
			const struct node *n = &g->node[i];
			u32 insns = n->insns + n->own_insns;
			u32 branches = n->branches + n->own_branches;

			for (k = 0; k < n->nexts; k++) {
				struct node *next = &g->node[n->next[k]];

				changed |= raise(&next->insns, insns);
				changed |= raise(&next->branches, branches);
			}
			if (n->nexts && (insns >= g->insns || branches >= g->branches))
				return false;
		}
	}
	return !changed;
}

/* The addresses of the cuts. Returns how many; more than LWP_NET_CUTS: that there are more. */
static unsigned int cuts(const struct graph *g, u64 cut[LWP_NET_CUTS])
{
	unsigned int nr = 0, i, k;

	for (i = 0; i < g->nr; i++) {
		const struct node *n = &g->node[i];

		if (n->state == BLOCK || n->state == END)
			continue;
		for (k = 0; k < nr && cut[k] != n->ip; k++)
			;
		if (k < nr)
			continue;
		if (nr == LWP_NET_CUTS)
			return LWP_NET_CUTS + 1;
		cut[nr++] = n->ip;
	}
	return nr;
}

static void add_next(struct graph *g, struct node *n, u64 ip, enum state state)
{
	/* Without a place for it nexts says so. */
	n->next[n->nexts++] = node_at(g, ip, state);
}

/* Does it go where it says, or where a register says that has its value now? */
static bool known_way(const struct lwp_insn *insn, bool now)
{
	return !lwp_insn_is_branch(insn) || lwp_insn_is_relative(insn) ||
	       (now && insn->kind != LWP_INSN_RET && !insn->rm.is_mem);
}

/*
 * Decode the block at a node, up to what it cannot hold. False: it would be empty, and is not OPEN
 * any more.
 */
static bool decode(struct graph *g, struct node *n)
{
	u8 bytes[LWP_NET_BYTES];
	unsigned int count = 0, at = 0;
	struct lwp_insn insn;
	u64 ip = n->ip;

	for (;; ip = lwp_insn_next_ip(&insn, ip), at += insn.length) {
		enum lwp_decode result =
			lwp_insn_decode(bytes + at, count - at, g->code->bits, &insn);

		if (result == LWP_DECODE_MORE) {
			count = g->code->fetch(g->code->ctx, ip, bytes);
			at = 0;
			result = lwp_insn_decode(bytes, count, g->code->bits, &insn);
		}
		if (result == LWP_DECODE_OK && lwp_insn_exits(&insn)) {
			if (n->own_insns)
				add_next(g, n, ip, END);
			else
				n->state = END;
			return n->own_insns;
		}
		if (result != LWP_DECODE_OK || !plain(&insn) ||
		    !known_way(&insn, n == g->node && !n->own_insns) ||
		    n->insns + n->own_insns + 1 >= g->insns ||
		    (lwp_insn_is_branch(&insn) && n->branches + 1 >= g->branches)) {
			if (n->own_insns)
				add_next(g, n, ip, CUT);
			else
				n->state = CUT;
			return n->own_insns;
		}
		n->own_insns++;
		if (lwp_insn_is_branch(&insn))
			break;
	}
	n->own_branches = 1;
	if (lwp_insn_is_conditional(&insn))
		add_next(g, n, lwp_insn_next_ip(&insn, ip), OPEN);
	lwp_insn_target(&insn, ip, g->code->access, &ip);
	add_next(g, n, ip, OPEN);
	return true;
}

/* Have the paths go on behind an open node if the net can still be made, else it is a cut. */
static void look_into(struct graph *g, struct node *n)
{
	unsigned int nr = g->nr, k;
	u64 cut[LWP_NET_CUTS];
	bool fits;

	if (!decode(g, n))
		return;
	n->state = BLOCK;
	for (k = 0, fits = true; k < n->nexts; k++)
		fits &= n->next[k] < LWP_NET_NODES;
	if (fits && measure(g) && cuts(g, cut) <= LWP_NET_CUTS)
		return;
	g->nr = nr;
	*n = (struct node){ .ip = n->ip, .state = CUT };
	measure(g);
}

/* The open node before which least passes; NULL: there is none. */
static struct node *nearest(struct graph *g)
{
	struct node *found = NULL;
	unsigned int i;

	for (i = 0; i < g->nr; i++)
		if (g->node[i].state == OPEN && (!found || g->node[i].insns < found->insns))
			found = &g->node[i];
	return found;
}

bool lwp_net_lay(const struct lwp_net_code *code, u64 ip, u64 insns, u64 branches,
		 struct lwp_net *net)
{
	struct graph g = { .code = code, .insns = insns, .branches = branches, .nr = 1 };
	struct node *n;
	unsigned int i;

	g.node[0].ip = ip;
	while ((n = nearest(&g)))
		look_into(&g, n);
	if (g.node[0].state != BLOCK)
		return false;
	*net = (struct lwp_net){};
	net->cuts = cuts(&g, net->cut);
	for (i = 0; i < net->cuts; i++)
		net->again |= net->cut[i] == ip;
	for (i = 1; i < g.nr; i++) {
		raise(&net->insns, g.node[i].insns);
		raise(&net->branches, g.node[i].branches);
	}
	return true;
}
