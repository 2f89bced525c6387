// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The engine and the control block: read it, take it over (LLWPCB, deferred load), flush into it.
 *
 * A block is copied once and judged from the copy. Only the fields that LWP owns are written back,
 * so that what the program's other threads write meanwhile (tail, software's own fields) is not
 * undone.
 */
#include "lwp_internal.h"

enum lwp_mem_result lwp_read_block(struct lwp_engine *e, u64 linear, bool write,
				   struct lwp_span *span, u8 image[LWP_BLOCK_BYTES_MAX],
				   struct lwp_fault *fault)
{
	enum lwp_mem_result result = lwp_map(e, span, linear, e->caps.cb_size, write, fault);

	if (result != LWP_MEM_OK)
		return result;
	return lwp_read(e, span, 0, image, lwp_block_bytes(&e->caps));
}

/*
 * The ring's linear address. False = #GP(0): outside the segment or not canonical
 * (43724-612). In 2007 BufferBase is a linear address, so DS has no say. A ring that would wrap
 * round the end of a 32-bit address space is refused like one outside the limit, and outside
 * 64-bit code the high half of BufferBase is ignored (43724-414, 43724-415, 43724-423, 2007-408,
 * 2007-419, 2007-610).
 */
static bool ring_linear(const struct lwp_engine *e, const struct lwp_cb *cb,
			const struct lwp_ds *ds, u64 *linear)
{
	u32 va_bits = ds ? ds->va_bits : LWP_LINEAR_BITS;
	u64 base;

	if (!ds || ds->long_mode) {
		*linear = cb->base;
		return lwp_canonical_range(cb->base, cb->size, va_bits);
	}
	base = (u32)cb->base;
	*linear = e->rev->ring_base_linear ? base : (u32)(ds->base + base);
	if (*linear + cb->size - 1 > (u32)~0u)
		return false;
	return e->rev->ring_base_linear || (base >= ds->first && base + cb->size - 1 <= ds->limit);
}

/* 43724-407, 43724-618, 2007-406, 2007-409 */
static enum lwp_block_verdict judge(const struct lwp_engine *e, enum lwp_cb_verdict decoded,
				    const struct lwp_cb *cb, const struct lwp_ds *ds, u64 *ring)
{
	if (decoded == LWP_CB_NO_EVENTS ||
	    (decoded == LWP_CB_RING_TOO_SMALL && e->rev->off_without_events))
		return LWP_BLOCK_OFF;
	if (decoded != LWP_CB_OK || !ring_linear(e, cb, ds, ring))
		return LWP_BLOCK_INVALID;
	return LWP_BLOCK_ON;
}

/* The fields that lwp_cb_write_back() may have changed (43724-421). */
static void write_back(struct lwp_engine *e, const struct lwp_span *span, const struct lwp_cb *cb,
		       const u8 *image)
{
	u32 i, at;

	lwp_write(e, span, LWP_CB_FLAGS, image + LWP_CB_FLAGS, 4);
	if (!e->rev->flags_are_input)
		return;
	lwp_write(e, span, LWP_CB_SIZE_RANDOM, image + LWP_CB_SIZE_RANDOM, 4);
	lwp_write(e, span, LWP_CB_HEAD, image + LWP_CB_HEAD, 4);
	lwp_write(e, span, LWP_CB_THRESHOLD, image + LWP_CB_THRESHOLD, 4);
	for (i = 0; i < LWP_MAX_EVENT_ID; i++) {
		if (!cb->enabled[i])
			continue;
		at = lwp_cb_slot_offset(&e->caps, cb->slot[i]);
		lwp_write(e, span, at, image + at, LWP_CB_SLOT_SIZE);
	}
}

/* 43724-616, 2007-416 */
static void begin(struct lwp_engine *e, u64 linear, u64 ring, const struct lwp_cb *cb,
		  const u8 *image)
{
	struct lwp_state *st = &e->st;

	lwp_engine_off(e);
	st->cb_addr = linear;
	st->flags = cb->flags;
	st->head = cb->head;
	st->base = ring;
	st->size = cb->size;
	st->random = cb->random;
	st->filters = cb->filters;
	memcpy(st->counter, cb->counter, sizeof(st->counter));
	e->base_ip = cb->base_ip;
	e->limit_ip = cb->limit_ip;
	lwp_ctx_constants(&e->caps, image, e->constant);
}

enum lwp_mem_result lwp_block_take(struct lwp_engine *e, u64 linear, const struct lwp_ds *ds,
				   enum lwp_block_verdict *verdict, struct lwp_fault *fault)
{
	u8 image[LWP_BLOCK_BYTES_MAX];
	enum lwp_mem_result result;
	enum lwp_cb_verdict decoded;
	struct lwp_span span;
	struct lwp_cb cb;
	u64 ring = 0;

	result = lwp_read_block(e, linear, true, &span, image, fault);
	if (result != LWP_MEM_OK)
		return result;
	decoded = lwp_cb_decode(&e->caps, lwp_engine_avail(e), image, &cb);
	*verdict = judge(e, decoded, &cb, ds, &ring);
	if (*verdict == LWP_BLOCK_INVALID)
		return LWP_MEM_OK;
	lwp_cb_write_back(&e->caps, &cb, image);
	write_back(e, &span, &cb, image);
	if (*verdict == LWP_BLOCK_ON)
		begin(e, linear, ring, &cb, image);
	return LWP_MEM_OK;
}

void lwp_write_head(struct lwp_engine *e, const struct lwp_span *span, const u8 *image)
{
	u8 head[4];

	lwp_put32(head, e->st.head);
	if (!lwp_constants_known(e->constant))
		lwp_ctx_constants(&e->caps, image, e->constant);
	memcpy(e->constant + LWP_CTX_CONST_HEAD, head, sizeof(head));
	lwp_write(e, span, LWP_CB_HEAD, head, sizeof(head));
}

static void flush_counter(struct lwp_engine *e, const struct lwp_span *span, const u8 *image,
			  u32 id)
{
	int slot = lwp_cb_find_slot(&e->caps, image, id);
	u32 at, word;
	u8 bytes[4];

	/* 2007: the program has removed the EventId from its slot since LLWPCB. */
	if (slot < 0)
		return;
	at = lwp_cb_slot_offset(&e->caps, (u32)slot) + LWP_CB_SLOT_COUNTER;
	word = lwp_get32(image + at) & ~LWP_COUNTER_MASK;
	lwp_put32(bytes, word | ((u32)e->st.counter[id - 1] & LWP_COUNTER_MASK));
	lwp_write(e, span, at, bytes, sizeof(bytes));
}

enum lwp_mem_result lwp_block_flush(struct lwp_engine *e, struct lwp_fault *fault)
{
	u8 image[LWP_BLOCK_BYTES_MAX];
	enum lwp_mem_result result;
	struct lwp_span span;
	u32 id;

	result = lwp_read_block(e, e->st.cb_addr, true, &span, image, fault);
	if (result != LWP_MEM_OK)
		return result;
	for (id = 1; id <= e->rev->max_event_id; id++)
		if (e->st.flags & LWP_BIT(id))
			flush_counter(e, &span, image, id);
	lwp_write_head(e, &span, image);
	return LWP_MEM_OK;
}

enum lwp_mem_result lwp_block_read_ip(struct lwp_engine *e, struct lwp_fault *fault)
{
	u8 image[LWP_BLOCK_BYTES_MAX];
	enum lwp_mem_result result;
	struct lwp_span span;

	result = lwp_read_block(e, e->st.cb_addr, false, &span, image, fault);
	if (result != LWP_MEM_OK)
		return result;
	e->base_ip = lwp_get64(image + LWP_CB_BASE_IP);
	e->limit_ip = lwp_get64(image + LWP_CB_LIMIT_IP);
	e->ip_valid = true;
	return LWP_MEM_OK;
}
