// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See lwp_context_look.h. Verification is that of a lookup; only the way to memory is another one.
 */
#include "lwp_internal.h"
#include "lwp_context_look.h"

struct look {
	const struct lwp_phys *phys;
	const struct lwp_ctx_key *key;
	bool away; /* what could not be read is swapped out */
};

static enum lwp_mem_result missing(struct look *look, bool away)
{
	look->away |= away;
	return LWP_MEM_FAULT;
}

static enum lwp_mem_result look_map(void *ctx, struct lwp_span *span, bool write,
				    struct lwp_fault *fault)
{
	u32 first = lwp_span_first(span), i;
	struct look *look = ctx;

	for (i = 0; i < (first < span->len ? 2 : 1); i++) {
		enum lwp_walk_result result = lwp_walk(look->phys, lwp_ctx_paging(look->key),
						       look->key->cr3, span->gva + (i ? first : 0),
						       &span->page[i]);

		fault->addr = span->gva;
		fault->error_code = 0;
		if (result != LWP_WALK_OK)
			return missing(look, result == LWP_WALK_AWAY);
	}
	return LWP_MEM_OK;
}

static enum lwp_mem_result look_read(void *ctx, const struct lwp_span *span, u32 offset, void *to,
				     u32 len)
{
	const struct lwp_phys *phys = ((struct look *)ctx)->phys;
	enum lwp_phys_result result;
	u8 *p = to;
	u32 part;
	u64 gpa;

	for (; len; offset += part, p += part, len -= part) {
		part = lwp_span_part(span, offset, len, &gpa);
		result = phys->read(phys->ctx, gpa, p, part);
		if (result != LWP_PHYS_OK)
			return missing(ctx, result == LWP_PHYS_AWAY);
	}
	return LWP_MEM_OK;
}

static const struct lwp_vcpu_ops look_ops = { .mem = { .map = look_map, .read = look_read } };

/* Of a block that has not been read yet only its place is known. */
static enum lwp_ctx_verdict block_there(struct lwp_engine *e, u64 linear)
{
	struct lwp_fault fault;
	struct lwp_span span;

	return lwp_map(e, &span, linear, e->caps.cb_size, false, &fault) == LWP_MEM_OK ?
		       LWP_CTX_INTACT :
		       LWP_CTX_CANNOT_READ;
}

enum lwp_ctx_fate lwp_ctx_look(const struct lwp_phys *phys, const struct lwp_caps *caps,
			       const struct lwp_ctx_saved *saved)
{
	struct look look = { .phys = phys, .key = &saved->key };
	enum lwp_ctx_verdict verdict;
	struct lwp_ctx_ip ip;
	struct lwp_engine e;

	lwp_engine_init(&e, caps, true, LWP_DELIVERY_EXACT, &look_ops, &look);
	if (lwp_state_deferred(&saved->state))
		verdict = block_there(&e, saved->state.cb_addr);
	else
		verdict = lwp_ctx_verify(&e, saved, &ip);
	if (verdict == LWP_CTX_INTACT)
		return LWP_CTX_STAYS;
	return look.away ? LWP_CTX_AWAY : LWP_CTX_GOES;
}
