/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of all branches, as an event source that executes the program itself stores them. */
#ifndef LWP_BRANCH_TRACE_H
#define LWP_BRANCH_TRACE_H

#include "lwp_engine.h"

/* What stays the same from one such record to the next. */
struct lwp_branch_cursor {
	bool on, continuous, stamped;
	u8 classes; /* a bit each: those of enum lwp_branch_class that count */
	u16 interval; /* offset of EventInterval in the block */
	u32 id; /* EventId and CoreId, as a record begins with them */
};

/* Part of struct lwp_retired. */
struct lwp_retired_branch {
	u64 address, target;
	enum lwp_branch_class branch;
	bool taken;
};

/*
 * The cursor of an engine in its present state. It is on if each branch is due, branches are all
 * that counts, and nothing is outstanding; and no record interrupts.
 */
void lwp_branch_cursor_set(const struct lwp_engine *e, struct lwp_branch_cursor *c);

/*
 * A branch retired: lwp_retire() and lwp_boundary() in one step. The cursor is on and has been set
 * since the engine's state has changed by anything else than this. The block and the slot at the
 * head lie at these addresses of the engine's own. Returns whether the record was stored; then the
 * next branch is due, too, and nothing else has changed. If not, nothing was done.
 */
bool lwp_trace_branch(struct lwp_engine *e, const struct lwp_branch_cursor *c, u8 *block, u8 *slot,
		      const struct lwp_retired_branch *r);

#endif
