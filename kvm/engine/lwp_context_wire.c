// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The context table as an array of bytes, for migration.
 */
#include "lwp_internal.h"
#include "lwp_context_verify.h"

size_t lwp_ctx_save(const struct lwp_ctx_table *t, const struct lwp_caps *caps, u8 *to, size_t size)
{
	size_t needed = (size_t)t->used * LWP_CTX_ENTRY_SIZE;
	u32 at;

	if (size < needed)
		return needed;
	for (at = 0; at < t->size; at++) {
		if (!t->entry[at].used)
			continue;
		lwp_ctx_encode(&t->entry[at].saved, caps, to);
		to += LWP_CTX_ENTRY_SIZE;
	}
	return needed;
}

/* CR3, thread part and flags are the first bytes of an entry. */
static bool same_key(const u8 *a, const u8 *b)
{
	return !memcmp(a, b, LWP_CTX_ENTRY_RESERVED);
}

static const char *check(const struct lwp_caps *caps, const u8 *from, u32 index)
{
	const u8 *entry = from + (size_t)index * LWP_CTX_ENTRY_SIZE;
	struct lwp_ctx_saved saved;
	const char *reason;
	u32 other;

	reason = lwp_ctx_decode(entry, caps, &saved);
	if (reason)
		return reason;
	for (other = 0; other < index; other++)
		if (same_key(entry, from + (size_t)other * LWP_CTX_ENTRY_SIZE))
			return "two contexts have the same key";
	return NULL;
}

const char *lwp_ctx_load(struct lwp_ctx_table *t, const struct lwp_caps *caps, const u8 *from,
			 size_t size, u32 *index)
{
	u32 count = (u32)(size / LWP_CTX_ENTRY_SIZE);
	const char *reason;
	u32 i;

	*index = 0;
	if (size % LWP_CTX_ENTRY_SIZE)
		return "size is not a multiple of an entry's";
	if (size / LWP_CTX_ENTRY_SIZE > t->size)
		return "more contexts than the table holds";
	for (i = 0; i < count; i++) {
		*index = i;
		reason = check(caps, from, i);
		if (reason)
			return reason;
	}
	lwp_ctx_table_reset(t);
	for (i = 0; i < count; i++) {
		struct lwp_ctx_saved saved;

		lwp_ctx_decode(from + (size_t)i * LWP_CTX_ENTRY_SIZE, caps, &saved);
		saved.state.cfg = 0;
		lwp_ctx_add(t, &saved.key)->saved = saved;
	}
	return NULL;
}
