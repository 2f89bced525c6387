// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory, permissions and invariants of the fuzzed guest.
 */
#include "fuzz_guest.h"

#define SPAN_WRITE ((u64)1 << 60)

struct range {
	u64 from, len;
};

u8 mem[MEM_SIZE];
u8 perm[MEM_PAGES];
u64 current_rip;
u64 overshoots_told;
static struct range
	allowed[4]; /* block, ring, new block, and the next state's ring (deferred load) */

void guest_reset(void)
{
	memset(mem, 0, sizeof(mem));
	memset(perm, P_READ | P_WRITE, sizeof(perm));
	memset(allowed, 0, sizeof(allowed));
	overshoots_told = 0;
}

static u8 permission(u64 page)
{
	u64 first = MEM_BASE / PAGE;

	return page >= first && page < first + MEM_PAGES ? perm[page - first] : 0;
}

static bool within(const struct range *r, u64 gva, u32 len)
{
	return r->len && gva >= r->from && gva - r->from + len <= r->len;
}

static bool is_allowed(u64 gva, u32 len)
{
	u32 i;

	for (i = 0; i < 4; i++)
		if (within(&allowed[i], gva, len))
			return true;
	return false;
}

void allow_writes(const struct lwp_engine *e, u64 block)
{
	memset(allowed, 0, sizeof(allowed));
	if (lwp_engine_on(e)) {
		allowed[0] = (struct range){ e->st.cb_addr, e->caps.cb_size };
		allowed[1] = (struct range){ e->st.base, e->st.size };
	}
	if (block)
		allowed[2] = (struct range){ block, e->caps.cb_size };
	/* A deferred block names the ring that the next record goes to. */
	if (lwp_state_deferred(&e->st) && e->st.cb_addr >= MEM_BASE &&
	    e->st.cb_addr + 16 <= MEM_BASE + MEM_SIZE) {
		const u8 *image = mem + (e->st.cb_addr - MEM_BASE);

		allowed[3].from = lwp_get64(image + LWP_CB_BASE) & ~(u64)e->rev->ring_base_ignored;
		allowed[3].len = lwp_get32(image + LWP_CB_SIZE_RANDOM) & LWP_CB_BUFFER_SIZE;
	}
}

static enum lwp_mem_result map(void *vcpu, struct lwp_span *span, bool write,
			       struct lwp_fault *fault)
{
	u64 first = span->gva / PAGE, last = (span->gva + span->len - 1) / PAGE;
	u64 page;

	CHECK(span->len >= 1 && span->len <= LWP_CB_MAX_SIZE);
	CHECK(span->gva + span->len - 1 >= span->gva);
	for (page = first; page <= last; page++) {
		u8 have = permission(page);

		if (have & P_READ && (!write || have & P_WRITE))
			continue;
		fault->addr = page == first ? span->gva : page * PAGE;
		fault->error_code = 4u | (write ? 2u : 0) | (have & P_READ ? 1u : 0);
		return LWP_MEM_FAULT;
	}
	for (page = first; page <= last; page++) {
		if (permission(page) & P_ROM)
			return LWP_MEM_NOT_RAM;
		span->page[page - first] = page | (write ? SPAN_WRITE : 0);
	}
	return LWP_MEM_OK;
}

static u8 *mapped(const struct lwp_span *span, u32 offset, u32 len, bool write)
{
	u64 gva = span->gva + offset;
	u32 i;

	CHECK(len && offset + len <= span->len);
	for (i = 0; i < len; i++) {
		u64 found = span->page[(gva + i) / PAGE - span->gva / PAGE];

		CHECK((found & ~SPAN_WRITE) == (gva + i) / PAGE);
		CHECK(!write || found & SPAN_WRITE);
	}
	return mem + (gva - MEM_BASE);
}

static enum lwp_mem_result read_span(void *vcpu, const struct lwp_span *span, u32 offset, void *to,
				     u32 len)
{
	memcpy(to, mapped(span, offset, len, false), len);
	return LWP_MEM_OK;
}

static enum lwp_mem_result write_span(void *vcpu, const struct lwp_span *span, u32 offset,
				      const void *from, u32 len)
{
	CHECK(is_allowed(span->gva + offset, len));
	memcpy(mapped(span, offset, len, true), from, len);
	return LWP_MEM_OK;
}

static void interrupt(void *vcpu, u8 vector)
{
	const struct lwp_engine *e = vcpu;

	CHECK(lwp_engine_avail(e) & e->st.flags & LWP_F_INT);
	CHECK(vector == lwp_cfg_vector(e->st.cfg));
}

static u64 timestamp(void *vcpu)
{
	return current_rip;
}

/* Called after the statistic has counted it. */
static void overshoot(void *vcpu, enum lwp_kind kind, u64 address, u64 by)
{
	struct lwp_engine *e = vcpu;

	CHECK(e->delivery == LWP_DELIVERY_EXACT);
	CHECK(kind == LWP_KIND_IRE || kind == LWP_KIND_BRE);
	CHECK(lwp_event_active(e, kind));
	CHECK(!address || e->st.pending.address == address);
	overshoots_told++;
}

const struct lwp_vcpu_ops fuzz_ops = {
	.mem = { .map = map, .read = read_span, .write = write_span },
	.interrupt = interrupt,
	.timestamp = timestamp,
	.overshoot = overshoot,
};

void check_exception(const struct lwp_exc *exc, bool may_gp, bool may_ud)
{
	u8 have = permission(exc->fault.addr / PAGE);

	switch (exc->kind) {
	case LWP_EXC_NONE:
		break;
	case LWP_EXC_UD:
		CHECK(may_ud);
		break;
	case LWP_EXC_GP:
		CHECK(may_gp);
		break;
	case LWP_EXC_PF:
		CHECK(is_allowed(exc->fault.addr, 1));
		CHECK(!(have & P_READ) || !(have & P_WRITE));
		CHECK(exc->fault.error_code & 4u);
		break;
	}
}

static void check_round_trip(const struct lwp_engine *e)
{
	u8 image[LWP_IMAGE_SIZE], again[LWP_IMAGE_SIZE];
	struct lwp_state st;
	const char *reason;

	lwp_state_encode(&e->st, &e->caps, image);
	reason = lwp_state_decode(image, &e->caps, &st);
	if (reason)
		fprintf(stderr, "the engine's own state is refused: %s\n", reason);
	CHECK(!reason);
	lwp_state_encode(&st, &e->caps, again);
	CHECK(!memcmp(image, again, sizeof(image)));
}

void check_engine(const struct lwp_engine *e)
{
	const struct lwp_state *st = &e->st;
	u32 kind, i;

	for (i = 0; i < LWP_MAX_EVENT_ID; i++)
		CHECK(st->counter[i] >= LWP_COUNTER_MIN && st->counter[i] <= LWP_COUNTER_MAX);
	for (kind = 0; kind < LWP_KINDS; kind++)
		CHECK(lwp_budget(e, (enum lwp_kind)kind) >= 1);
	if (!lwp_engine_on(e) || lwp_state_deferred(st)) {
		CHECK(!st->pending.event_id && !(st->flags & LWP_STATE_BITS));
		CHECK(!e->late.branches && !e->late.owed && !e->late.behind);
	} else {
		CHECK(st->size % LWP_RECORD_SIZE == 0 && st->size >= lwp_cb_min_ring(&e->caps));
		CHECK(st->head < st->size && st->head % LWP_RECORD_SIZE == 0);
		CHECK(st->pending.event_id || !(st->flags & LWP_STATE_BITS));
		CHECK((!e->last_hash && !e->last_stored) ||
		      (e->last_offset < st->size && e->last_offset % LWP_RECORD_SIZE == 0));
	}
	CHECK(st->flags & LWP_STATE_FAULTED || !st->retry_rip);
	if (e->delivery != LWP_DELIVERY_EXACT)
		CHECK(!e->late.owed && !e->late.behind && !e->stats.overshoots);
	check_round_trip(e);
}

/* A list of indices, forwards and backwards; returns its length. */
static u32 check_list(const struct lwp_ctx_table *t, const struct lwp_ctx_link *links,
		      const struct lwp_ctx_list *list)
{
	u32 last = LWP_CTX_END, n = 0, i;

	for (i = list->first; i != LWP_CTX_END; i = links[i].next) {
		CHECK(i < t->size && n < t->size);
		CHECK(links[i].prev == last);
		last = i;
		n++;
	}
	CHECK(list->last == last);
	return n;
}

/* A space is in the list of its size, and there only, while one of its contexts is parked. */
static void check_space(const struct lwp_ctx_table *t, u32 s, u32 contexts, u32 parked)
{
	const struct lwp_ctx_space *space = &t->space[s];
	u32 size, i, found = 0;

	CHECK(space->contexts == contexts);
	CHECK(check_list(t, t->of_space, &space->parked) == parked);
	for (size = 0; size <= t->size; size++) {
		check_list(t, t->of_size, &t->by_size[size]);
		for (i = t->by_size[size].first; i != LWP_CTX_END; i = t->of_size[i].next) {
			CHECK(size <= t->largest);
			CHECK(i != s || size == contexts);
			found += i == s;
		}
	}
	CHECK(found == !!parked);
}

/* All parked contexts, in the order of their next looks. */
static void check_parked(const struct lwp_ctx_table *t)
{
	u32 parked = 0, i;

	for (i = 0; i < t->size; i++)
		parked += t->entry[i].used && t->entry[i].holder == LWP_CTX_NOBODY;
	CHECK(check_list(t, t->of_parked, &t->parked) == parked);
	for (i = t->parked.first; i != LWP_CTX_END && t->of_parked[i].next != LWP_CTX_END;
	     i = t->of_parked[i].next)
		CHECK(t->entry[i].due <= t->entry[t->of_parked[i].next].due);
}

void check_table(const struct lwp_ctx_table *t)
{
	u32 used = 0, i, j;

	for (i = 0; i < t->size; i++) {
		const struct lwp_ctx *a = &t->entry[i];
		u32 contexts = 0, parked = 0;

		if (!a->used)
			continue;
		used++;
		CHECK(a->space < t->size && t->space[a->space].cr3 == a->saved.key.cr3);
		for (j = 0; j < t->size; j++) {
			const struct lwp_ctx *b = &t->entry[j];

			if (!b->used)
				continue;
			CHECK((a->space == b->space) == (a->saved.key.cr3 == b->saved.key.cr3));
			contexts += a->space == b->space;
			parked += a->space == b->space && b->holder == LWP_CTX_NOBODY;
			if (i == j)
				continue;
			CHECK(a->stamp != b->stamp && a->stamp <= t->clock);
			CHECK(!lwp_ctx_key_equal(&a->saved.key, &b->saved.key));
			CHECK(a->holder == LWP_CTX_NOBODY || a->holder != b->holder);
		}
		check_space(t, a->space, contexts, parked);
	}
	CHECK(t->used == used);
	check_parked(t);
}
