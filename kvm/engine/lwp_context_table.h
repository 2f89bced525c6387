/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside the context table: entries, the hash by key, and which context goes when it is full. */
#ifndef LWP_CONTEXT_TABLE_H
#define LWP_CONTEXT_TABLE_H

#include "lwp_context.h"

static inline u32 lwp_ctx_index(const struct lwp_ctx_table *t, const struct lwp_ctx *ctx)
{
	return (u32)(ctx - t->entry);
}

/* The entry of a key, or NULL (43724-905). */
struct lwp_ctx *lwp_ctx_by_key(const struct lwp_ctx_table *t, const struct lwp_ctx_key *key);

/*
 * Add an entry for a key that is not in the table; nobody holds it since `now`. The table must have
 * room.
 */
struct lwp_ctx *lwp_ctx_add(struct lwp_ctx_table *t, const struct lwp_ctx_key *key, u64 now);

void lwp_ctx_remove(struct lwp_ctx_table *t, struct lwp_ctx *ctx);

/*
 * For a check of keys[0], keys[1] ...: forget all; is the key of number i, which key_of() reads
 * from the array, one that was noted before? If not, it is noted. i < t->size.
 */
void lwp_ctx_seen_none(struct lwp_ctx_table *t);
bool lwp_ctx_seen(struct lwp_ctx_table *t, const u8 *array, u32 i,
		  struct lwp_ctx_key (*key_of)(const u8 *array, u32 i));

/* Give the entry to a vCPU, or at the time `now` to nobody. It becomes the one used last. */
void lwp_ctx_hold(struct lwp_ctx_table *t, struct lwp_ctx *ctx, s32 holder, u64 now);

/* The next look at a parked entry is t->age from now. */
void lwp_ctx_look_later(struct lwp_ctx_table *t, struct lwp_ctx *ctx, u64 now);

/*
 * Remove one parked context: of the address spaces with most contexts the one not used for longest,
 * and of that the one not used for longest. False: all are live (43724-905).
 */
bool lwp_ctx_evict(struct lwp_ctx_table *t);

#endif
