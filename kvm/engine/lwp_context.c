// SPDX-License-Identifier: GPL-2.0-or-later
/* What vCPUs do with the table of contexts: create, park, find. Source: docs/design.md#contexts. */
#include "lwp_internal.h"
#include "lwp_context_table.h"

#define CR3_LEGACY 0x00000000fffff000ull
#define CR3_PAE 0x00000000ffffffe0ull
#define CR3_LONG 0x000ffffffffff000ull

/* ---- keys ---- */

struct lwp_ctx_key lwp_ctx_make_key(enum lwp_paging paging, u64 cr3, bool code64, u64 fs_base,
				    u64 gs_base)
{
	static const u64 address[] = {
		[LWP_PAGING_LONG] = CR3_LONG,  [LWP_PAGING_LONG5] = CR3_LONG,
		[LWP_PAGING_PAE] = CR3_PAE,    [LWP_PAGING_LEGACY] = CR3_LEGACY,
		[LWP_PAGING_OFF] = CR3_LEGACY,
	};
	struct lwp_ctx_key key = {
		.cr3 = cr3 & address[paging],
		.thread = fs_base,
		.gs = gs_base,
		.flags = lwp_field_put(LWP_CTX_PAGING, paging),
	};

	if (!code64)
		key.flags |= LWP_CTX_32BIT;
	return key;
}

/* ---- operations of vCPUs ---- */

/* The live entry of a vCPU. The table may have been emptied since its engine noted the index. */
static struct lwp_ctx *find_live(const struct lwp_ctx_table *t, const struct lwp_engine *e, s32 cpu)
{
	struct lwp_ctx *ctx;

	if (!e->live || e->live > t->size)
		return NULL;
	ctx = &t->entry[e->live - 1];
	return ctx->used && ctx->holder == cpu ? ctx : NULL;
}

static void make_live(struct lwp_ctx_table *t, struct lwp_ctx *ctx, struct lwp_engine *e, s32 cpu)
{
	lwp_ctx_hold(t, ctx, cpu, 0);
	e->live = lwp_ctx_index(t, ctx) + 1;
}

bool lwp_ctx_create(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu,
		    const struct lwp_ctx_key *key)
{
	struct lwp_ctx *ctx = lwp_ctx_by_key(t, key);

	if (ctx && ctx->holder == LWP_CTX_NOBODY) {
		lwp_ctx_remove(t, ctx);
		ctx = NULL;
	}
	if (ctx || (t->used == t->size && !lwp_ctx_evict(t))) {
		lwp_engine_off(e);
		return false;
	}
	make_live(t, lwp_ctx_add(t, key, 0), e, cpu);
	t->stats.created++;
	return true;
}

void lwp_ctx_drop_live(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu)
{
	struct lwp_ctx *ctx = find_live(t, e, cpu);

	if (ctx)
		lwp_ctx_remove(t, ctx);
}

const struct lwp_ctx_key *lwp_ctx_live(const struct lwp_ctx_table *t, const struct lwp_engine *e,
				       s32 cpu)
{
	const struct lwp_ctx *ctx = find_live(t, e, cpu);

	return ctx ? &ctx->saved.key : NULL;
}

static void keep(struct lwp_ctx *ctx, const struct lwp_engine *e)
{
	ctx->saved.state = e->st;
	ctx->saved.state.cfg = 0;
	ctx->late = e->late;
	ctx->saved.last_hash = lwp_last_hash(e);
	ctx->saved.last_offset = e->last_offset;
	memcpy(ctx->saved.constant, e->constant, sizeof(e->constant));
}

void lwp_ctx_park(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu, u64 now)
{
	struct lwp_ctx *ctx = find_live(t, e, cpu);

	if (ctx && !lwp_engine_on(e))
		lwp_ctx_remove(t, ctx);
	else if (ctx) {
		lwp_ctx_hold(t, ctx, LWP_CTX_NOBODY, now);
		keep(ctx, e);
		t->stats.parked++;
	}
	lwp_engine_off(e);
}

void lwp_ctx_refresh(struct lwp_ctx_table *t, const struct lwp_engine *e, s32 cpu)
{
	struct lwp_ctx *ctx = find_live(t, e, cpu);

	if (ctx)
		keep(ctx, e);
}

/* Make a parked context live. */
static void resume(struct lwp_ctx_table *t, struct lwp_ctx *ctx, struct lwp_engine *e, s32 cpu)
{
	struct lwp_state state = ctx->saved.state;

	state.cfg = e->st.cfg;
	lwp_engine_load(e, &state);
	e->late = ctx->late;
	e->last_hash = ctx->saved.last_hash;
	e->last_offset = ctx->saved.last_offset;
	memcpy(e->constant, ctx->saved.constant, sizeof(e->constant));
	if (ctx->wanted)
		t->stats.taken_over++;
	ctx->wanted = false;
	make_live(t, ctx, e, cpu);
	t->stats.resumed++;
}

bool lwp_ctx_resume(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu,
		    const struct lwp_ctx_key *key)
{
	struct lwp_ctx *ctx = lwp_ctx_by_key(t, key);

	if (!ctx || ctx->holder != LWP_CTX_NOBODY)
		return false;
	resume(t, ctx, e, cpu);
	return true;
}

static void begin_look(const struct lwp_ctx_table *t, const struct lwp_ctx *ctx,
		       struct lwp_ctx_look *look)
{
	look->index = lwp_ctx_index(t, ctx);
	look->stamp = ctx->stamp;
	look->saved = ctx->saved;
}

/* The context of a look; NULL if anything has happened to it since. */
static struct lwp_ctx *looked_at(struct lwp_ctx_table *t, const struct lwp_ctx_look *look)
{
	struct lwp_ctx *ctx = &t->entry[look->index];

	return ctx->used && ctx->stamp == look->stamp ? ctx : NULL;
}

enum lwp_ctx_found lwp_ctx_search(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu,
				  const struct lwp_ctx_key *key, struct lwp_ctx_look *look)
{
	struct lwp_ctx *ctx = lwp_ctx_by_key(t, key);

	if (!ctx)
		return LWP_CTX_NONE;
	if (ctx->holder == cpu && lwp_engine_on(e))
		return LWP_CTX_RESUMED;
	/* LWP went off on this vCPU, so its context is gone. */
	if (ctx->holder == cpu) {
		lwp_ctx_remove(t, ctx);
		return LWP_CTX_NONE;
	}
	if (ctx->holder != LWP_CTX_NOBODY) {
		ctx->wanted = true;
		look->holder = ctx->holder;
		return LWP_CTX_BUSY;
	}
	begin_look(t, ctx, look);
	return LWP_CTX_VERIFY;
}

/* 43724-904 */
enum lwp_ctx_found lwp_ctx_claim(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu,
				 const struct lwp_ctx_look *look, enum lwp_ctx_verdict verdict,
				 const struct lwp_ctx_ip *ip)
{
	struct lwp_ctx *ctx = looked_at(t, look);

	if (!ctx)
		return LWP_CTX_AGAIN;
	switch (verdict) {
	case LWP_CTX_INTACT:
		resume(t, ctx, e, cpu);
		/* Verification has read BaseIP and LimitIP. */
		e->ip_valid = true;
		e->base_ip = ip->base;
		e->limit_ip = ip->limit;
		return LWP_CTX_RESUMED;
	case LWP_CTX_CANNOT_READ:
		t->stats.unreadable++;
		return LWP_CTX_UNREADABLE;
	case LWP_CTX_CHANGED:
		break;
	}
	lwp_ctx_remove(t, ctx);
	t->stats.dropped++;
	return LWP_CTX_NONE;
}

enum lwp_ctx_found lwp_ctx_find(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu,
				const struct lwp_ctx_key *key, s32 *holder)
{
	enum lwp_ctx_verdict verdict;
	struct lwp_ctx_ip ip = { 0 };
	enum lwp_ctx_found found;
	struct lwp_ctx_look look;

	found = lwp_ctx_search(t, e, cpu, key, &look);
	if (found == LWP_CTX_BUSY)
		*holder = look.holder;
	if (found != LWP_CTX_VERIFY)
		return found;
	verdict = lwp_ctx_verify(e, &look.saved, &ip);
	return lwp_ctx_claim(t, e, cpu, &look, verdict, &ip);
}

/* ---- collection ---- */

bool lwp_ctx_due(struct lwp_ctx_table *t, u64 now, struct lwp_ctx_look *look)
{
	struct lwp_ctx *ctx;

	if (!t->age || t->parked.first == LWP_CTX_END)
		return false;
	ctx = &t->entry[t->parked.first];
	/* If it is due in more than an age, the clock has gone back: a snapshot was loaded. */
	if (now < ctx->due && ctx->due - now <= t->age)
		return false;
	begin_look(t, ctx, look);
	lwp_ctx_look_later(t, ctx, now);
	return true;
}

bool lwp_ctx_looked(struct lwp_ctx_table *t, u64 now, const struct lwp_ctx_look *look,
		    enum lwp_ctx_fate fate)
{
	struct lwp_ctx *ctx = looked_at(t, look);

	if (!ctx)
		return false;
	if (fate == LWP_CTX_STAYS) {
		ctx->away = 0;
		return false;
	}
	if (fate == LWP_CTX_AWAY) {
		if (!ctx->away)
			ctx->away = now ? now : 1;
		if (now - ctx->away < LWP_CTX_AWAY_MAX)
			return false;
	}
	lwp_ctx_remove(t, ctx);
	t->stats.collected++;
	return true;
}
