// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An entry of the context array: a parked program's key, what verification compares, and its state.
 */
#include "lwp_cb.h"
#include "lwp_state.h"

_Static_assert(LWP_CTX_ENTRY_CONST + LWP_CTX_CONST_SIZE == LWP_CTX_ENTRY_IMAGE,
	       "constants before the image");
_Static_assert(LWP_CTX_ENTRY_IMAGE + LWP_IMAGE_SIZE == LWP_CTX_ENTRY_SIZE,
	       "the image ends the entry");
_Static_assert(LWP_CTX_CONST_HEAD + 4 == LWP_CTX_CONST_END, "the head is the last constant");

/* CR3[51:5]: the widest of the three address-space keys (long mode, 2-level, PAE). */
#define CR3_KEY 0x000fffffffffffe0ull

void lwp_ctx_constants(const struct lwp_caps *caps, const u8 *block, u8 out[LWP_CTX_CONST_SIZE])
{
	memset(out, 0, LWP_CTX_CONST_SIZE);
	memcpy(out + LWP_CTX_CONST_FLAGS, block + LWP_CB_FLAGS, 4);
	memcpy(out + LWP_CTX_CONST_SIZE_RANDOM, block + LWP_CB_SIZE_RANDOM, 4);
	memcpy(out + LWP_CTX_CONST_BASE, block + LWP_CB_BASE, 8);
	memcpy(out + LWP_CTX_CONST_THRESHOLD, block + LWP_CB_THRESHOLD, 4);
	memcpy(out + LWP_CTX_CONST_FILTERS, block + LWP_CB_FILTERS, 4);
	if (lwp_rev_get(caps->rev)->has_ip_filter) {
		memcpy(out + LWP_CTX_CONST_BASE_IP, block + LWP_CB_BASE_IP, 8);
		memcpy(out + LWP_CTX_CONST_LIMIT_IP, block + LWP_CB_LIMIT_IP, 8);
	}
	memcpy(out + LWP_CTX_CONST_HEAD, block + LWP_CB_HEAD, 4);
}

void lwp_ctx_encode(const struct lwp_ctx_saved *ctx, const struct lwp_caps *caps,
		    u8 out[LWP_CTX_ENTRY_SIZE])
{
	memset(out, 0, LWP_CTX_ENTRY_SIZE);
	lwp_put64(out + LWP_CTX_ENTRY_CR3, ctx->key.cr3);
	lwp_put64(out + LWP_CTX_ENTRY_THREAD, ctx->key.thread);
	lwp_put64(out + LWP_CTX_ENTRY_GS, ctx->key.gs);
	lwp_put32(out + LWP_CTX_ENTRY_FLAGS, ctx->key.flags);
	lwp_put32(out + LWP_CTX_ENTRY_FORMAT, LWP_CTX_FORMAT_VERSION);
	lwp_put64(out + LWP_CTX_ENTRY_HASH, ctx->last_hash);
	if (ctx->last_hash)
		lwp_put32(out + LWP_CTX_ENTRY_LAST, ctx->last_offset);
	memcpy(out + LWP_CTX_ENTRY_CONST, ctx->constant, LWP_CTX_CONST_SIZE);
	lwp_state_encode(&ctx->state, caps, out + LWP_CTX_ENTRY_IMAGE);
}

static const char *check_key(const struct lwp_ctx_key *key)
{
	if (key->cr3 & ~CR3_KEY)
		return "context key has bits that are no page-table address";
	if (key->flags & ~(LWP_CTX_32BIT | LWP_CTX_PAGING) || lwp_ctx_paging(key) > LWP_PAGING_OFF)
		return "unknown context flags";
	return NULL;
}

static const char *check_last_record(const struct lwp_ctx_saved *ctx)
{
	if (!ctx->last_hash)
		return ctx->last_offset ? "place of a last record, there is none" : NULL;
	if (ctx->last_offset >= ctx->state.size)
		return "last record is outside the buffer";
	if (ctx->last_offset % LWP_RECORD_SIZE)
		return "place of the last record is not a multiple of the record size";
	return NULL;
}

struct lwp_ctx_key lwp_ctx_decode_key(const u8 in[LWP_CTX_ENTRY_SIZE])
{
	struct lwp_ctx_key key = {
		.cr3 = lwp_get64(in + LWP_CTX_ENTRY_CR3),
		.thread = lwp_get64(in + LWP_CTX_ENTRY_THREAD),
		.gs = lwp_get64(in + LWP_CTX_ENTRY_GS),
		.flags = lwp_get32(in + LWP_CTX_ENTRY_FLAGS),
	};

	return key;
}

static const char *decode_entry(const u8 *in, const struct lwp_caps *caps,
				struct lwp_ctx_saved *ctx)
{
	const char *reason;
	u32 i;

	if (lwp_get32(in + LWP_CTX_ENTRY_FORMAT) != LWP_CTX_FORMAT_VERSION)
		return "context of another format";
	if (lwp_get32(in + LWP_CTX_ENTRY_LAST + 4))
		return "reserved bytes are not zero";
	ctx->key = lwp_ctx_decode_key(in);
	reason = check_key(&ctx->key);
	if (reason)
		return reason;
	memcpy(ctx->constant, in + LWP_CTX_ENTRY_CONST, LWP_CTX_CONST_SIZE);
	for (i = LWP_CTX_CONST_END; i < LWP_CTX_CONST_SIZE; i++)
		if (ctx->constant[i])
			return "unused constant bytes are not zero";
	reason = lwp_state_decode(in + LWP_CTX_ENTRY_IMAGE, caps, &ctx->state);
	if (reason)
		return reason;
	if (!lwp_state_on(&ctx->state))
		return "context with LWP off";
	ctx->last_hash = lwp_get64(in + LWP_CTX_ENTRY_HASH);
	ctx->last_offset = lwp_get32(in + LWP_CTX_ENTRY_LAST);
	return check_last_record(ctx);
}

const char *lwp_ctx_decode(const u8 in[LWP_CTX_ENTRY_SIZE], const struct lwp_caps *caps,
			   struct lwp_ctx_saved *ctx)
{
	const char *reason;

	memset(ctx, 0, sizeof(*ctx));
	reason = decode_entry(in, caps, ctx);
	if (reason)
		memset(ctx, 0, sizeof(*ctx));
	return reason;
}
