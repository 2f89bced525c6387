/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the context table: adding an entry, and whether a parked context still belongs to the
 * memory that its key leads to.
 */
#ifndef LWP_CONTEXT_VERIFY_H
#define LWP_CONTEXT_VERIFY_H

#include "lwp_context.h"

/* Add a parked entry for a key that is not in the table. The table must have room. */
struct lwp_ctx *lwp_ctx_add(struct lwp_ctx_table *t, const struct lwp_ctx_key *key);

/* BaseIP and LimitIP as they are in the block. */
struct lwp_ctx_ip {
	u64 base, limit;
};

enum lwp_ctx_verdict {
	LWP_CTX_INTACT,
	LWP_CTX_CHANGED,
	LWP_CTX_CANNOT_READ,
};

/*
 * Compare block and last record in memory (current tables, read only, never faults the guest) with
 * the copies in the context. *ip is filled if the result is LWP_CTX_INTACT. A block that has not
 * been read yet (deferred) has no copies to compare and is intact.
 */
enum lwp_ctx_verdict lwp_ctx_verify(struct lwp_engine *e, const struct lwp_ctx_saved *saved,
				    struct lwp_ctx_ip *ip);

#endif
