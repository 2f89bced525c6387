/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of all branches, as an event source that executes the program itself stores them. */
#ifndef LWP_BRANCH_TRACE_H
#define LWP_BRANCH_TRACE_H

#include "lwp_engine.h"

/*
 * One branch retired, which is due: lwp_retire() and lwp_boundary() in one step, for EventInterval
 * 0 of branches and no other event. Accesses guest memory. Returns whether the record was stored;
 * then the next branch is due, too, and nothing else has changed. If not, nothing was done.
 */
bool lwp_trace_branch(struct lwp_engine *e, const struct lwp_retired *r);

#endif
