// SPDX-License-Identifier: GPL-2.0-or-later
/* The context table as an array of bytes, for migration. */
#include "lwp_internal.h"
#include "lwp_context_table.h"

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

static struct lwp_ctx_key key_of(const u8 *array, u32 i)
{
	return lwp_ctx_decode_key(array + (size_t)i * LWP_CTX_ENTRY_SIZE);
}

static const char *check(struct lwp_ctx_table *t, const struct lwp_caps *caps, const u8 *from,
			 u32 index)
{
	struct lwp_ctx_saved saved;
	const char *reason;

	reason = lwp_ctx_decode(from + (size_t)index * LWP_CTX_ENTRY_SIZE, caps, &saved);
	if (!reason && lwp_ctx_seen(t, from, index, key_of))
		reason = "two contexts have the same key";
	return reason;
}

const char *lwp_ctx_load(struct lwp_ctx_table *t, const struct lwp_caps *caps, const u8 *from,
			 size_t size, u64 now, u32 *index)
{
	u32 count = (u32)(size / LWP_CTX_ENTRY_SIZE);
	const char *reason;
	u32 i;

	*index = 0;
	if (size % LWP_CTX_ENTRY_SIZE)
		return "size is not a multiple of an entry's";
	if (size / LWP_CTX_ENTRY_SIZE > t->size)
		return "more contexts than the table holds";
	lwp_ctx_seen_none(t);
	for (i = 0; i < count; i++) {
		*index = i;
		reason = check(t, caps, from, i);
		if (reason)
			return reason;
	}
	lwp_ctx_table_reset(t);
	for (i = 0; i < count; i++) {
		struct lwp_ctx_saved saved;

		lwp_ctx_decode(from + (size_t)i * LWP_CTX_ENTRY_SIZE, caps, &saved);
		saved.state.cfg = 0;
		lwp_ctx_add(t, &saved.key, now)->saved = saved;
	}
	return NULL;
}
