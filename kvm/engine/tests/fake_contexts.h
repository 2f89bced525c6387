/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of contexts for the fake guest's engine. */
#ifndef FAKE_CONTEXTS_H
#define FAKE_CONTEXTS_H

#include "fake_guest.h"
#include "lwp_context.h"

static u64 table_memory[512];
static struct lwp_ctx_table table;
static s32 holder; /* as the last find() set it */

static inline void empty_table(u32 room)
{
	lwp_ctx_table_init(&table, table_memory, room, 1);
}

/* The engine runs with the block, in a context of its own. */
static inline bool create(u64 block, s32 cpu, const struct lwp_ctx_key *key)
{
	enable(block);
	return lwp_ctx_create(&table, &eng, cpu, key);
}

static inline enum lwp_ctx_found find(s32 cpu, const struct lwp_ctx_key *key)
{
	holder = -5;
	return lwp_ctx_find(&table, &eng, cpu, key, &holder);
}

#endif
