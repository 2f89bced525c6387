// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does a parked context still belong to the memory that its key leads to? Source:
 * docs/design.md#contexts.
 */
#include "lwp_internal.h"
#include "lwp_context.h"

static enum lwp_ctx_verdict unread(enum lwp_mem_result result)
{
	return result == LWP_MEM_NOT_RAM ? LWP_CTX_CHANGED : LWP_CTX_CANNOT_READ;
}

/*
 * Are the constant fields intact? A state that came from outside has no copy of them; it is
 * compared with the state that decoding the block would give.
 */
static bool block_intact(const struct lwp_engine *e, const struct lwp_ctx_saved *saved,
			 const u8 *image)
{
	const struct lwp_state *st = &saved->state;
	u8 constant[LWP_CTX_CONST_SIZE];
	struct lwp_cb cb;

	if (lwp_constants_known(saved->constant)) {
		lwp_ctx_constants(&e->caps, image, constant);
		return !memcmp(constant, saved->constant, sizeof(constant));
	}
	lwp_cb_decode(&e->caps, lwp_engine_avail(e), image, &cb);
	return cb.size == st->size && cb.random == st->random && cb.head == st->head &&
	       cb.filters == st->filters;
}

static enum lwp_ctx_verdict record_intact(struct lwp_engine *e, const struct lwp_ctx_saved *saved)
{
	u64 gva = saved->state.base + saved->last_offset;
	enum lwp_mem_result result;
	u8 record[LWP_RECORD_SIZE];
	struct lwp_fault fault;
	struct lwp_span span;

	if (!saved->last_hash)
		return LWP_CTX_INTACT;
	result = lwp_map(e, &span, gva, LWP_RECORD_SIZE, false, &fault);
	if (result == LWP_MEM_OK)
		result = lwp_read(e, &span, 0, record, sizeof(record));
	if (result != LWP_MEM_OK)
		return unread(result);
	return lwp_record_hash(record) == saved->last_hash ? LWP_CTX_INTACT : LWP_CTX_CHANGED;
}

enum lwp_ctx_verdict lwp_ctx_verify(struct lwp_engine *e, const struct lwp_ctx_saved *saved,
				    struct lwp_ctx_ip *ip)
{
	u8 image[LWP_BLOCK_BYTES_MAX];
	enum lwp_mem_result result;
	struct lwp_fault fault;
	struct lwp_span span;

	if (lwp_state_deferred(&saved->state))
		return LWP_CTX_INTACT;
	result = lwp_read_block(e, saved->state.cb_addr, false, &span, image, &fault);
	if (result != LWP_MEM_OK)
		return unread(result);
	if (!block_intact(e, saved, image))
		return LWP_CTX_CHANGED;
	if (e->rev->has_ip_filter) {
		ip->base = lwp_get64(image + LWP_CB_BASE_IP);
		ip->limit = lwp_get64(image + LWP_CB_LIMIT_IP);
	}
	return record_intact(e, saved);
}
