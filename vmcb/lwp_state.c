// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The volatile state and its 128-byte image: encode, and decode with every check that bytes from a
 * guest, a hypervisor or a file need.
 *
 * An image has one form per state (what is off, deferred or not pending is zero), so that decoding
 * and encoding again gives the same bytes.
 */
#include "lwp_cb.h"
#include "lwp_state.h"

_Static_assert(LWP_IMAGE_PENDING + LWP_RECORD_SIZE == LWP_IMAGE_COUNTERS, "record before counters");
_Static_assert(LWP_IMAGE_COUNTERS + 4 * LWP_MAX_EVENT_ID == LWP_IMAGE_XSAVE_SIZE,
	       "the counters end the XSAVE part");
_Static_assert(LWP_IMAGE_RETRY_RIP + 8 <= LWP_IMAGE_SIZE, "the retry address is in the image");
_Static_assert(LWP_XSAVE_SIZE == LWP_IMAGE_SIZE, "the image fills the XSAVE component");
_Static_assert(LWP_XSAVE_OFFSET + LWP_XSAVE_SIZE == 0x3c0, "the XSAVE area ends at 3C0h");
_Static_assert(LWP_VMCB_OFFSET + LWP_IMAGE_SIZE == 0x1000, "the image ends the VMCB page");
_Static_assert(LWP_VMCB_OFFSET == 0x400 + LWP_VMCB_SAVE_OFFSET, "the save area begins at 400h");

/*
 * Linear addresses may have 57 bits: whether the guest uses them all is its paging mode, which the
 * image does not know; an address that the mode does not reach faults like any other that is not
 * mapped.
 */
#define LINEAR_BITS 57

static bool canonical(u64 addr)
{
	u64 high = addr >> (LINEAR_BITS - 1);

	return !high || high == ~(u64)0 >> (LINEAR_BITS - 1);
}

/* [addr, addr + len) is canonical, without a wrap; it is too short to span the hole. len >= 1 */
static bool canonical_range(u64 addr, u32 len)
{
	u64 last = addr + len - 1;

	return last >= addr && canonical(addr) && canonical(last);
}

static bool all_zero(const u8 *p, u32 len)
{
	u8 any = 0;

	while (len--)
		any |= *p++;
	return !any;
}

void lwp_state_off(struct lwp_state *st)
{
	u64 cfg = st->cfg;

	memset(st, 0, sizeof(*st));
	st->cfg = cfg;
}

/* ---- encode ---- */

static void encode_ring(const struct lwp_state *st, u8 *image)
{
	lwp_put32(image + LWP_IMAGE_HEAD, st->head);
	lwp_put64(image + LWP_IMAGE_BASE, st->base);
	lwp_put32(image + LWP_IMAGE_SIZE_RANDOM, lwp_field_put(LWP_CB_BUFFER_SIZE, st->size) |
							 lwp_field_put(LWP_CB_RANDOM, st->random));
	lwp_put32(image + LWP_IMAGE_FILTERS, st->filters);
}

/* 43724-302, 43724-305 */
void lwp_state_encode_xsave(const struct lwp_state *st, u8 image[LWP_IMAGE_SIZE])
{
	u32 i;

	memset(image, 0, LWP_IMAGE_SIZE);
	lwp_put64(image + LWP_IMAGE_CBADDR, st->cb_addr);
	if (!lwp_state_on(st) || lwp_state_deferred(st))
		return;
	encode_ring(st, image);
	lwp_put32(image + LWP_IMAGE_FLAGS, st->flags & ~LWP_STATE_BITS);
	if (st->pending.event_id) {
		lwp_put32(image + LWP_IMAGE_FLAGS, st->flags);
		lwp_record_encode(&st->pending, image + LWP_IMAGE_PENDING);
	}
	for (i = 0; i < LWP_MAX_EVENT_ID; i++)
		lwp_put32(image + LWP_IMAGE_COUNTERS + 4 * i, (u32)st->counter[i]);
}

void lwp_state_encode(const struct lwp_state *st, const struct lwp_caps *caps,
		      u8 image[LWP_IMAGE_SIZE])
{
	lwp_state_encode_xsave(st, image);
	lwp_put64(image + LWP_IMAGE_CFG, st->cfg);
	image[LWP_IMAGE_REVISION] = caps->rev;
	image[LWP_IMAGE_FORMAT] = LWP_IMAGE_FORMAT_VERSION;
	if (lwp_get32(image + LWP_IMAGE_FLAGS) & LWP_STATE_FAULTED)
		lwp_put64(image + LWP_IMAGE_RETRY_RIP, st->retry_rip);
}

/* ---- decode ---- */

static const char *check_ring(const struct lwp_caps *caps, const struct lwp_state *st)
{
	if (st->size % LWP_RECORD_SIZE)
		return "buffer size is not a multiple of the record size";
	if (st->size < lwp_cb_min_ring(caps))
		return "buffer size is below the minimum";
	if (!canonical_range(st->base, st->size))
		return "buffer is not canonical";
	if (st->base & lwp_rev_get(caps->rev)->ring_base_ignored)
		return "buffer is not aligned";
	if (st->head >= st->size)
		return "buffer head is outside the buffer";
	if (st->head % LWP_RECORD_SIZE)
		return "buffer head is not a multiple of the record size";
	return NULL;
}

static const char *check_pending(const struct lwp_caps *caps, const struct lwp_state *st)
{
	const struct lwp_rev *rev = lwp_rev_get(caps->rev);
	u8 id = st->pending.event_id;

	if (!id)
		return st->flags & LWP_STATE_BITS ?
			       "flags tell of a pending record, there is none" :
			       NULL;
	if (id > rev->max_event_id || rev->kind[id] == LWP_KIND_VAL ||
	    !(caps->features & LWP_BIT(id)))
		return "pending record has an event id that cannot be pending";
	return NULL;
}

static const char *check_counters(const struct lwp_caps *caps, const struct lwp_state *st)
{
	const struct lwp_rev *rev = lwp_rev_get(caps->rev);
	u32 id;

	for (id = 1; id <= LWP_MAX_EVENT_ID; id++) {
		s32 counter = st->counter[id - 1];

		if (counter < LWP_COUNTER_MIN || counter > LWP_COUNTER_MAX)
			return "counter is not a sign-extended 26-bit number";
		if (counter && id > rev->max_event_id)
			return "counter of an undefined event is not zero";
	}
	return NULL;
}

/*
 * The first 96 bytes of a state that is on. st->flags may still hold bits that the caller judges.
 */
static const char *decode_on(const u8 *image, const struct lwp_caps *caps, struct lwp_state *st)
{
	const char *reason;
	u32 i;

	if (!canonical_range(st->cb_addr, caps->cb_size))
		return "control block is not canonical";
	if (all_zero(image + LWP_IMAGE_FLAGS, LWP_IMAGE_XSAVE_SIZE - LWP_IMAGE_FLAGS))
		return NULL; /* deferred */
	st->head = lwp_get32(image + LWP_IMAGE_HEAD);
	st->base = lwp_get64(image + LWP_IMAGE_BASE);
	st->size = lwp_field_get(LWP_CB_BUFFER_SIZE, lwp_get32(image + LWP_IMAGE_SIZE_RANDOM));
	st->random = (u8)lwp_field_get(LWP_CB_RANDOM, lwp_get32(image + LWP_IMAGE_SIZE_RANDOM));
	st->filters = lwp_get32(image + LWP_IMAGE_FILTERS);
	for (i = 0; i < LWP_MAX_EVENT_ID; i++)
		st->counter[i] = (s32)lwp_get32(image + LWP_IMAGE_COUNTERS + 4 * i);
	lwp_record_decode(image + LWP_IMAGE_PENDING, &st->pending);
	reason = check_ring(caps, st);
	if (reason)
		return reason;
	if (st->filters & ~lwp_cb_filters(caps))
		return "filters are not announced";
	return check_counters(caps, st);
}

/* Flags as LLWPCB grants them: the events and modes of the leaf, and bit 0. */
static u32 flags_announced(const struct lwp_caps *caps)
{
	return caps->features | LWP_F_AVAIL;
}

static const char *decode_whole(const u8 *image, const struct lwp_caps *caps, struct lwp_state *st)
{
	const char *reason;

	if (image[LWP_IMAGE_FORMAT] != LWP_IMAGE_FORMAT_VERSION)
		return "unknown format version";
	if (image[LWP_IMAGE_REVISION] != caps->rev)
		return "another revision of LWP";
	if (!all_zero(image + LWP_IMAGE_CFG + 8, LWP_IMAGE_REVISION - LWP_IMAGE_CFG - 8) ||
	    !all_zero(image + LWP_IMAGE_FORMAT + 1, LWP_IMAGE_RETRY_RIP - LWP_IMAGE_FORMAT - 1) ||
	    !all_zero(image + LWP_IMAGE_RETRY_RIP + 8, LWP_IMAGE_SIZE - LWP_IMAGE_RETRY_RIP - 8))
		return "reserved bytes are not zero";
	st->cfg = lwp_get64(image + LWP_IMAGE_CFG);
	if (!lwp_cfg_valid(caps, st->cfg))
		return "LWP_CFG has bits that WRMSR refuses";
	st->cb_addr = lwp_get64(image + LWP_IMAGE_CBADDR);
	if (!lwp_state_on(st) &&
	    !all_zero(image + LWP_IMAGE_FLAGS, LWP_IMAGE_XSAVE_SIZE - LWP_IMAGE_FLAGS))
		return "LWP is off, the rest is not zero";
	if (lwp_state_on(st)) {
		reason = decode_on(image, caps, st);
		if (reason)
			return reason;
	}
	st->flags = lwp_get32(image + LWP_IMAGE_FLAGS);
	if (st->flags & ~(flags_announced(caps) | LWP_STATE_BITS))
		return "flags are not announced";
	reason = check_pending(caps, st);
	if (reason)
		return reason;
	if (!st->pending.event_id && !all_zero(image + LWP_IMAGE_PENDING, LWP_RECORD_SIZE))
		return "pending record without an event id is not zero";
	st->retry_rip = lwp_get64(image + LWP_IMAGE_RETRY_RIP);
	if (st->retry_rip && !(st->flags & LWP_STATE_FAULTED))
		return "retry address without a faulted record";
	if (!canonical(st->retry_rip))
		return "retry address is not canonical";
	return NULL;
}

const char *lwp_state_decode(const u8 image[LWP_IMAGE_SIZE], const struct lwp_caps *caps,
			     struct lwp_state *st)
{
	const char *reason;

	memset(st, 0, sizeof(*st));
	reason = decode_whole(image, caps, st);
	if (reason)
		memset(st, 0, sizeof(*st));
	return reason;
}

static const char *decode_component(const u8 *image, const struct lwp_caps *caps, u32 avail,
				    struct lwp_state *st)
{
	const char *reason;

	st->cb_addr = lwp_get64(image + LWP_IMAGE_CBADDR);
	if (!lwp_state_on(st))
		return NULL;
	if (!(avail & LWP_F_AVAIL))
		return "LWP is not available";
	reason = decode_on(image, caps, st);
	if (reason)
		return reason;
	st->flags = lwp_get32(image + LWP_IMAGE_FLAGS);
	st->flags &= (flags_announced(caps) & avail) | LWP_STATE_BITS;
	if (!st->pending.event_id) {
		memset(&st->pending, 0, sizeof(st->pending));
		st->flags &= ~LWP_STATE_BITS;
	}
	return check_pending(caps, st);
}

const char *lwp_state_decode_xsave(const u8 image[LWP_IMAGE_SIZE], const struct lwp_caps *caps,
				   u32 avail, struct lwp_state *st)
{
	const char *reason;

	lwp_state_off(st);
	reason = decode_component(image, caps, avail, st);
	if (reason)
		lwp_state_off(st);
	return reason;
}
