// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of `auto` contexts: create, park, find, evict. Source: docs/design.md#contexts.
 */
#include "lwp_internal.h"
#include "lwp_context.h"
#include "lwp_context_verify.h"

#define CR3_LEGACY 0x00000000fffff000ull
#define CR3_PAE 0x00000000ffffffe0ull
#define CR3_LONG 0x000ffffffffff000ull

/* ---- keys ---- */

struct lwp_ctx_key lwp_ctx_make_key(enum lwp_paging paging, u64 cr3, bool code64, u64 fs_base)
{
	struct lwp_ctx_key key = { .cr3 = cr3 & CR3_LONG };

	if (paging == LWP_PAGING_LEGACY)
		key.cr3 = cr3 & CR3_LEGACY;
	if (paging == LWP_PAGING_PAE)
		key.cr3 = cr3 & CR3_PAE;
	if (code64)
		key.thread = fs_base;
	else
		key.flags = LWP_CTX_32BIT;
	return key;
}

bool lwp_ctx_key_equal(const struct lwp_ctx_key *a, const struct lwp_ctx_key *b)
{
	return a->cr3 == b->cr3 && a->thread == b->thread && a->flags == b->flags;
}

/* ---- entries ---- */

void lwp_ctx_table_init(struct lwp_ctx_table *t, struct lwp_ctx *entry, u32 size)
{
	memset(t, 0, sizeof(*t));
	t->entry = entry;
	t->size = size;
	lwp_ctx_table_reset(t);
}

void lwp_ctx_table_reset(struct lwp_ctx_table *t)
{
	memset(t->entry, 0, t->size * sizeof(*t->entry));
	t->used = 0;
}

/* All loops run from one used entry to the next and end with the last one. */
static struct lwp_ctx *next_used(const struct lwp_ctx_table *t, u32 *at, u32 *seen)
{
	while (*seen < t->used) {
		struct lwp_ctx *ctx = &t->entry[(*at)++];

		if (!ctx->used)
			continue;
		(*seen)++;
		return ctx;
	}
	return NULL;
}

static struct lwp_ctx *find_key(const struct lwp_ctx_table *t, const struct lwp_ctx_key *key)
{
	u32 at = 0, seen = 0;
	struct lwp_ctx *ctx;

	while ((ctx = next_used(t, &at, &seen)))
		if (lwp_ctx_key_equal(&ctx->saved.key, key))
			return ctx;
	return NULL;
}

static struct lwp_ctx *find_live(const struct lwp_ctx_table *t, s32 cpu)
{
	u32 at = 0, seen = 0;
	struct lwp_ctx *ctx;

	while ((ctx = next_used(t, &at, &seen)))
		if (ctx->holder == cpu)
			return ctx;
	return NULL;
}

static void count_siblings(struct lwp_ctx_table *t, u64 cr3)
{
	u32 siblings = 0;
	struct lwp_ctx *ctx;
	u32 at, seen;

	for (at = 0, seen = 0; (ctx = next_used(t, &at, &seen));)
		siblings += ctx->saved.key.cr3 == cr3;
	for (at = 0, seen = 0; (ctx = next_used(t, &at, &seen));)
		if (ctx->saved.key.cr3 == cr3)
			ctx->siblings = siblings;
}

static void remove_ctx(struct lwp_ctx_table *t, struct lwp_ctx *ctx)
{
	u64 cr3 = ctx->saved.key.cr3;

	memset(ctx, 0, sizeof(*ctx));
	t->used--;
	count_siblings(t, cr3);
}

/* Drop one parked context: the least recently used one of the address space with most contexts. */
static bool evict(struct lwp_ctx_table *t)
{
	struct lwp_ctx *victim = NULL;
	u32 at = 0, seen = 0;
	struct lwp_ctx *ctx;

	while ((ctx = next_used(t, &at, &seen))) {
		if (ctx->holder != LWP_CTX_NOBODY)
			continue;
		if (!victim || ctx->siblings > victim->siblings ||
		    (ctx->siblings == victim->siblings && ctx->stamp < victim->stamp))
			victim = ctx;
	}
	if (!victim)
		return false;
	remove_ctx(t, victim);
	t->stats.evicted++;
	return true;
}

struct lwp_ctx *lwp_ctx_add(struct lwp_ctx_table *t, const struct lwp_ctx_key *key)
{
	u32 at = 0;

	while (t->entry[at].used)
		at++;
	t->entry[at].used = true;
	t->entry[at].holder = LWP_CTX_NOBODY;
	t->entry[at].stamp = ++t->clock;
	t->entry[at].saved.key = *key;
	t->used++;
	count_siblings(t, key->cr3);
	return &t->entry[at];
}

/* ---- operations of vCPUs ---- */

bool lwp_ctx_create(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu,
		    const struct lwp_ctx_key *key)
{
	struct lwp_ctx *ctx = find_key(t, key);

	if (ctx && ctx->holder == LWP_CTX_NOBODY) {
		remove_ctx(t, ctx);
		ctx = NULL;
	}
	if (ctx || (t->used == t->size && !evict(t))) {
		lwp_engine_off(e);
		return false;
	}
	lwp_ctx_add(t, key)->holder = cpu;
	t->stats.created++;
	return true;
}

void lwp_ctx_drop_live(struct lwp_ctx_table *t, s32 cpu)
{
	struct lwp_ctx *ctx = find_live(t, cpu);

	if (ctx)
		remove_ctx(t, ctx);
}

const struct lwp_ctx_key *lwp_ctx_live(const struct lwp_ctx_table *t, s32 cpu)
{
	const struct lwp_ctx *ctx = find_live(t, cpu);

	return ctx ? &ctx->saved.key : NULL;
}

static void keep(struct lwp_ctx *ctx, const struct lwp_engine *e)
{
	ctx->saved.state = e->st;
	ctx->saved.state.cfg = 0;
	ctx->saved.last_hash = e->last_hash;
	ctx->saved.last_offset = e->last_offset;
	memcpy(ctx->saved.constant, e->constant, sizeof(e->constant));
}

void lwp_ctx_park(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu)
{
	struct lwp_ctx *ctx = find_live(t, cpu);

	if (ctx && !lwp_engine_on(e))
		remove_ctx(t, ctx);
	else if (ctx) {
		ctx->holder = LWP_CTX_NOBODY;
		ctx->stamp = ++t->clock;
		keep(ctx, e);
		t->stats.parked++;
	}
	lwp_engine_off(e);
}

void lwp_ctx_refresh(struct lwp_ctx_table *t, const struct lwp_engine *e, s32 cpu)
{
	struct lwp_ctx *ctx = find_live(t, cpu);

	if (ctx)
		keep(ctx, e);
}

/* Make a parked context live. */
static void resume(struct lwp_ctx_table *t, struct lwp_ctx *ctx, struct lwp_engine *e, s32 cpu)
{
	struct lwp_state state = ctx->saved.state;

	state.cfg = e->st.cfg;
	lwp_engine_load(e, &state);
	e->last_hash = ctx->saved.last_hash;
	e->last_offset = ctx->saved.last_offset;
	memcpy(e->constant, ctx->saved.constant, sizeof(e->constant));
	if (ctx->wanted)
		t->stats.taken_over++;
	ctx->wanted = false;
	ctx->holder = cpu;
	ctx->stamp = ++t->clock;
	t->stats.resumed++;
}

bool lwp_ctx_resume(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu,
		    const struct lwp_ctx_key *key)
{
	struct lwp_ctx *ctx = find_key(t, key);

	if (!ctx || ctx->holder != LWP_CTX_NOBODY)
		return false;
	resume(t, ctx, e, cpu);
	return true;
}

enum lwp_ctx_found lwp_ctx_find(struct lwp_ctx_table *t, struct lwp_engine *e, s32 cpu,
				const struct lwp_ctx_key *key, s32 *holder)
{
	struct lwp_ctx *ctx = find_key(t, key);
	struct lwp_ctx_ip ip = { 0 };

	if (!ctx)
		return LWP_CTX_NONE;
	if (ctx->holder == cpu && lwp_engine_on(e))
		return LWP_CTX_RESUMED;
	/* LWP went off on this vCPU, so its context is gone. */
	if (ctx->holder == cpu) {
		remove_ctx(t, ctx);
		return LWP_CTX_NONE;
	}
	if (ctx->holder != LWP_CTX_NOBODY) {
		ctx->wanted = true;
		*holder = ctx->holder;
		return LWP_CTX_BUSY;
	}
	switch (lwp_ctx_verify(e, &ctx->saved, &ip)) {
	case LWP_CTX_INTACT:
		resume(t, ctx, e, cpu);
		/* Verification has read BaseIP and LimitIP. */
		e->ip_valid = true;
		e->base_ip = ip.base;
		e->limit_ip = ip.limit;
		return LWP_CTX_RESUMED;
	case LWP_CTX_CANNOT_READ:
		t->stats.unreadable++;
		return LWP_CTX_UNREADABLE;
	case LWP_CTX_CHANGED:
		break;
	}
	remove_ctx(t, ctx);
	t->stats.dropped++;
	return LWP_CTX_NONE;
}
