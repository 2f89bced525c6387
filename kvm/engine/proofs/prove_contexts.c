// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What vCPUs do with the table of contexts keeps the engine's invariant, and what it leaves in the
 * table can be loaded by another host. The table is any of two entries; what all_tables.c shows of
 * it is put in its place.
 * Stands in for: lwp_context_table.c
 * Unwind: 102
 * Split: context_is_found
 * Soak: context_is_created context_is_dropped context_is_found context_is_parked
 *	context_is_refreshed context_is_resumed
 */
#include "any_engine.h"
#include "lwp_context_table.h"

static struct lwp_ctx entry[2];
static struct lwp_ctx_table table = { .entry = entry, .size = 2 };
static const struct lwp_ctx *of_key; /* what was found last */

/* A parked context is one that can be live again. */
static bool saved_ok(const struct lwp_ctx *ctx)
{
	const struct lwp_ctx_saved *saved = &ctx->saved;

	return lwp_state_on(&saved->state) && state_ok(&e.caps, &saved->state) &&
	       !saved->state.cfg && late_ok(&ctx->late) &&
	       last_ok(saved->last_hash, saved->last_offset, saved->state.size, saved->constant);
}

static bool table_ok(void)
{
	for (u32 i = 0; i < 2; i++)
		if (entry[i].used && entry[i].holder == LWP_CTX_NOBODY && !saved_ok(&entry[i]))
			return false;
	return true;
}

struct lwp_ctx *lwp_ctx_by_key(const struct lwp_ctx_table *t, const struct lwp_ctx_key *key)
{
	ANY(u8, which);

	assume(which <= 2 && (which == 2 || entry[which].used));
	of_key = which == 2 ? NULL : &entry[which];
	return which == 2 ? NULL : &entry[which];
}

/* What a vCPU, here number 0, may change: what it holds, or nobody. */
static bool may_change(const struct lwp_ctx *ctx)
{
	return ctx->used && (ctx->holder == LWP_CTX_NOBODY || !ctx->holder);
}

void lwp_ctx_remove(struct lwp_ctx_table *t, struct lwp_ctx *ctx)
{
	check("43724-905", may_change(ctx));
	ctx->used = false;
}

struct lwp_ctx *lwp_ctx_add(struct lwp_ctx_table *t, const struct lwp_ctx_key *key, u64 now)
{
	ANY(u8, which);

	check("43724-905", !of_key || !of_key->used);
	assume(which < 2 && !entry[which].used);
	memset(&entry[which], 0, sizeof(entry[which]));
	entry[which].used = true;
	entry[which].holder = LWP_CTX_NOBODY;
	entry[which].saved.key = *key;
	return &entry[which];
}

void lwp_ctx_hold(struct lwp_ctx_table *t, struct lwp_ctx *ctx, s32 holder, u64 now)
{
	check("43724-902", may_change(ctx));
	ctx->holder = holder;
}

bool lwp_ctx_evict(struct lwp_ctx_table *t)
{
	ANY(u8, which);

	assume(which <= 2 &&
	       (which == 2 || (entry[which].used && entry[which].holder == LWP_CTX_NOBODY)));
	if (which < 2)
		entry[which].used = false;
	return which < 2;
}

void lwp_ctx_look_later(struct lwp_ctx_table *t, struct lwp_ctx *ctx, u64 now)
{
}

static void any_table(void)
{
	any_engine();
	ANY_AGAIN(entry);
	ANY_BOOL(entry[0].used);
	ANY_BOOL(entry[1].used);
	ANY_BOOL(entry[0].wanted);
	ANY_BOOL(entry[1].wanted);
	table.used = (u32)entry[0].used + entry[1].used;
	assume(table_ok());
}

PROPERTY(context_is_created)
{
	ANY(struct lwp_ctx_key, key);
	bool created;

	any_table();
	assume(lwp_engine_on(&e));
	created = lwp_ctx_create(&table, &e, 0, &key);
	check("43724-905", engine_ok() && table_ok() && created == lwp_engine_on(&e));
	cover(created);
	cover(!created);
}

PROPERTY(context_is_dropped)
{
	any_table();
	lwp_ctx_drop_live(&table, &e, 0);
	check("43724-902", engine_ok() && table_ok());
}

PROPERTY(context_is_parked)
{
	struct lwp_ctx_saved got;
	const struct lwp_ctx *live;
	u8 bytes[LWP_CTX_ENTRY_SIZE];

	any_table();
	assume(e.live <= 2);
	live = e.live ? &entry[e.live - 1] : NULL;
	lwp_ctx_park(&table, &e, 0, 0);
	check("43724-902", engine_ok() && table_ok() && !lwp_engine_on(&e));
	if (!live || !live->used || live->holder != LWP_CTX_NOBODY)
		return;
	assume(!live->saved.key.cr3 && !live->saved.key.flags);
	lwp_ctx_encode(&live->saved, &e.caps, bytes);
	check("43724-902", !lwp_ctx_decode(bytes, &e.caps, &got));
	cover(got.last_offset && got.state.pending.event_id);
}

PROPERTY(context_is_refreshed)
{
	struct lwp_ctx *live;

	any_table();
	assume(lwp_engine_on(&e) && e.live <= 2);
	live = e.live ? &entry[e.live - 1] : NULL;
	lwp_ctx_refresh(&table, &e, 0);
	check("43724-902", engine_ok() && table_ok());
	check("43724-902", !live || !live->used || live->holder || saved_ok(live));
}

PROPERTY(context_is_found)
{
	ANY(struct lwp_ctx_key, key);
	enum lwp_ctx_found found;
	s32 holder;

	any_table();
	assume(!lwp_engine_on(&e));
	found = lwp_ctx_find(&table, &e, 0, &key, &holder);
	check("43724-904", !records && !heads && !misses);
	check("43724-904", engine_ok() && table_ok());
	check("43724-903", (found == LWP_CTX_RESUMED) == lwp_engine_on(&e));
	check("43724-903",
	      found != LWP_CTX_BUSY || (of_key && of_key->wanted && of_key->holder == holder));
	cover(found == LWP_CTX_RESUMED && e.last_hash);
	cover(found == LWP_CTX_UNREADABLE);
	cover(found == LWP_CTX_BUSY);
}

PROPERTY(context_is_resumed)
{
	ANY(struct lwp_ctx_key, key);

	any_table();
	assume(!lwp_engine_on(&e));
	check("43724-902", lwp_ctx_resume(&table, &e, 0, &key) == lwp_engine_on(&e));
	check("43724-902", engine_ok() && table_ok());
	cover(lwp_engine_on(&e));
}
