/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The volatile state: what a world switch or a migration carries, its 128-byte image (the same in
 * the XSAVE area, in the VMCB and on the wire) and the entry of the context array.
 */
#ifndef LWP_STATE_H
#define LWP_STATE_H

#include "lwp_msr.h"
#include "lwp_record.h"

/* Image */
#define LWP_IMAGE_SIZE 128
#define LWP_IMAGE_CBADDR 0 /* u64: linear address, 0 = off */
#define LWP_IMAGE_FLAGS 8 /* u32: active flags and LWP_STATE_* */
#define LWP_IMAGE_HEAD 12 /* u32 */
#define LWP_IMAGE_BASE 16 /* u64: linear */
#define LWP_IMAGE_SIZE_RANDOM 24 /* u32: 27:0 BufferSize, 31:28 Random */
#define LWP_IMAGE_FILTERS 28 /* u32 */
#define LWP_IMAGE_PENDING 32 /* 32 bytes: gathered record, EventId 0 = none */
#define LWP_IMAGE_COUNTERS 64 /* 8 x u32: EventIds 1..8, signed 26 bit */
#define LWP_IMAGE_XSAVE_SIZE 96 /* from here on not part of the XSAVE component */
#define LWP_IMAGE_CFG 96 /* u64: LWP_CFG */
#define LWP_IMAGE_REVISION 108 /* u8: LWP_REV_* */
#define LWP_IMAGE_FORMAT 109 /* u8: LWP_IMAGE_FORMAT_VERSION */
#define LWP_IMAGE_RETRY_RIP 112 /* u64: valid with LWP_STATE_FAULTED, else 0 */
#define LWP_IMAGE_FORMAT_VERSION 1

/* XSAVE component */
#define LWP_XSAVE_COMPONENT 62
#define LWP_XSAVE_OFFSET 0x340
#define LWP_XSAVE_SIZE 128
/* VMCB: end of the part of the save area that every published layout leaves reserved */
#define LWP_VMCB_OFFSET 0xf80
#define LWP_VMCB_SAVE_OFFSET 0xb80 /* the same, relative to the save area */

/*
 * Progress of the pending record, kept in reserved bits of the image's flags so that every home of
 * the image carries them. They are meaningless (and must be clear) without a pending record.
 */
#define LWP_STATE_RELOAD LWP_BIT(28) /* its counter has not been reloaded yet */
#define LWP_STATE_FAULTED LWP_BIT(27) /* its store raised #PF at retry_rip and awaits a retry */
#define LWP_STATE_LATE LWP_BIT(26) /* gathered late (`prompt` or an overshoot) */
#define LWP_STATE_BITS (LWP_STATE_RELOAD | LWP_STATE_FAULTED | LWP_STATE_LATE)

struct lwp_state {
	u64 cb_addr; /* linear address of the LWPCB, 0 = LWP off */
	u32 flags; /* active flags (bit n = EventId n) and LWP_STATE_* */
	u32 head; /* < size, multiple of the record size */
	u64 base; /* linear address of the ring */
	u32 size; /* bytes; 0 with cb_addr != 0: block not read yet, see lwp_state_deferred() */
	u8 random; /* 0..15 */
	u32 filters;
	struct lwp_record pending; /* event_id 0 = none */
	s32 counter[LWP_MAX_EVENT_ID]; /* index EventId - 1; LWP_COUNTER_MIN..LWP_COUNTER_MAX */
	u64 cfg; /* LWP_CFG */
	u64 retry_rip; /* linear; with LWP_STATE_FAULTED, 0 = not known */
};

static inline bool lwp_state_on(const struct lwp_state *st)
{
	return st->cb_addr != 0;
}

/* LWP is on, but the block is read (and checked) only at the next CPL-3 moment. */
static inline bool lwp_state_deferred(const struct lwp_state *st)
{
	return st->cb_addr != 0 && st->size == 0;
}

/* LWP off, everything but LWP_CFG forgotten. */
void lwp_state_off(struct lwp_state *st);

/*
 * Encode all 128 bytes (VMCB, wire). For the XSAVE component use lwp_state_encode_xsave(): bytes
 * 96..127 are written as zero (2007-301).
 */
void lwp_state_encode(const struct lwp_state *st, const struct lwp_caps *caps,
		      u8 image[LWP_IMAGE_SIZE]);
void lwp_state_encode_xsave(const struct lwp_state *st, u8 image[LWP_IMAGE_SIZE]);

/*
 * Decode and validate an image. The bytes may come from a hostile guest or file. What is refused:
 *   a non-canonical block or ring, a ring smaller than the leaf's minimum, not a multiple of the
 *   record size, reaching beyond the address space or (2007) not aligned; a head outside the ring
 *   or unaligned; filter or flag bits that the leaf does not announce; a pending record with an
 *   EventId that cannot be pending, flags without one; counters that are not 26-bit sign-extended;
 *   LWP_CFG bits that WRMSR would refuse; another revision or format; reserved bytes that are not
 *   zero.
 * Returns NULL and fills *st, or a short text that names the field; then *st is LWP off with cfg 0
 * (43724-913, 2007-301).
 */
const char *lwp_state_decode(const u8 image[LWP_IMAGE_SIZE], const struct lwp_caps *caps,
			     struct lwp_state *st);

/*
 * The same for an XSAVE component: bytes 96..127 are ignored, st->cfg is kept, flags are masked
 * with `avail` instead of refused; reserved flag bits are dropped. A bad image turns LWP off
 * (returns the reason); it never faults (XRSTOR is unprivileged, 43724-312) (43724-302, 43724-305,
 * 43724-309, 43724-311, 43724-316, 2007-304).
 */
const char *lwp_state_decode_xsave(const u8 image[LWP_IMAGE_SIZE], const struct lwp_caps *caps,
				   u32 avail, struct lwp_state *st);

/*
 * Entry of the context array, format 2: key, what verification compares, and the image.
 * Little-endian. Format 1 had 232 bytes, and neither GS base nor the format's number.
 */
#define LWP_CTX_FORMAT_VERSION 2
#define LWP_CTX_CONST_SIZE 64
#define LWP_CTX_ENTRY_SIZE 240
#define LWP_CTX_ENTRY_CR3 0 /* u64 */
#define LWP_CTX_ENTRY_THREAD 8 /* u64 */
#define LWP_CTX_ENTRY_GS 16 /* u64 */
#define LWP_CTX_ENTRY_FLAGS 24 /* u32: LWP_CTX_* */
#define LWP_CTX_ENTRY_FORMAT 28 /* u32: LWP_CTX_FORMAT_VERSION */
#define LWP_CTX_ENTRY_HASH 32 /* u64: of the last stored record; 0 = none stored yet */
#define LWP_CTX_ENTRY_LAST 40 /* u32: ring offset of that record; u32 zero */
#define LWP_CTX_ENTRY_CONST 48 /* 64 bytes: constant fields of the block */
#define LWP_CTX_ENTRY_IMAGE 112 /* 128 bytes */

/* What CR3 points to. */
enum lwp_paging {
	LWP_PAGING_LONG, /* 4 levels: CR3[51:12] */
	LWP_PAGING_LONG5, /* 5 levels: CR3[51:12] */
	LWP_PAGING_PAE, /* legacy PAE: CR3[31:5] */
	LWP_PAGING_LEGACY, /* 2 levels: CR3[31:12] */
	LWP_PAGING_OFF, /* CR0.PG is clear: CR3[31:12], without a meaning */
};

#define LWP_CTX_32BIT LWP_BIT(0) /* of 32-bit code */
#define LWP_CTX_PAGING LWP_MASK(3, 1) /* enum lwp_paging */

struct lwp_ctx_key {
	u64 cr3; /* page-table address bits of CR3, others zero */
	u64 thread; /* FS base. `os` contexts: the pointer to the block */
	u64 gs; /* the program's GS base; 0 in `os` contexts */
	u32 flags; /* LWP_CTX_* */
};

static inline enum lwp_paging lwp_ctx_paging(const struct lwp_ctx_key *key)
{
	return (enum lwp_paging)lwp_field_get(LWP_CTX_PAGING, key->flags);
}

struct lwp_ctx_saved {
	struct lwp_ctx_key key;
	u64 last_hash; /* hash of the last stored record, 0 = none stored yet */
	u32 last_offset; /* its place in the ring, bytes */
	u8 constant[LWP_CTX_CONST_SIZE]; /* lwp_ctx_constants() of the block */
	struct lwp_state state;
};

/* Where the constant fields lie in their 64-byte form; the rest is zero. */
#define LWP_CTX_CONST_FLAGS 0 /* u32 */
#define LWP_CTX_CONST_SIZE_RANDOM 4 /* u32 */
#define LWP_CTX_CONST_BASE 8 /* u64 */
#define LWP_CTX_CONST_THRESHOLD 16 /* u32 */
#define LWP_CTX_CONST_FILTERS 20 /* u32 */
#define LWP_CTX_CONST_BASE_IP 24 /* u64; zero where the revision has no IP filter */
#define LWP_CTX_CONST_LIMIT_IP 32 /* u64 */
#define LWP_CTX_CONST_HEAD 40 /* u32 */
#define LWP_CTX_CONST_END 44

/*
 * The fields of a block that must not change while LWP is on, in a fixed 64-byte form: flags, size
 * and random, base, threshold, filters, BaseIP, LimitIP, and the head as flushed last; unused bytes
 * zero.
 */
void lwp_ctx_constants(const struct lwp_caps *caps, const u8 *block, u8 out[LWP_CTX_CONST_SIZE]);

void lwp_ctx_encode(const struct lwp_ctx_saved *ctx, const struct lwp_caps *caps,
		    u8 out[LWP_CTX_ENTRY_SIZE]);
/* The key of an entry; not checked. */
struct lwp_ctx_key lwp_ctx_decode_key(const u8 in[LWP_CTX_ENTRY_SIZE]);
/* As lwp_state_decode(): NULL, or the error. */
const char *lwp_ctx_decode(const u8 in[LWP_CTX_ENTRY_SIZE], const struct lwp_caps *caps,
			   struct lwp_ctx_saved *ctx);

#endif
