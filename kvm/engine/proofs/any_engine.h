/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An engine in any state that the invariant allows, and a hostile guest: each access to its memory
 * gives any bytes, faults, or finds no RAM, whatever the access before it gave. The model checks
 * each access: within block or slot, mapped for writing before a write, LWP's own fields only. What
 * is accessed directly (span->direct) has properties of its own in prove_store.c.
 *
 * A property that ends with check(engine_ok()) shows that a function keeps the invariant, so every
 * sequence of calls keeps it, of any length.
 */
#ifndef ANY_ENGINE_H
#define ANY_ENGINE_H

#include "any_caps.h"
#include "lwp_internal.h"
#include "state_ok.h"

static struct lwp_engine e;

/* What was written since the beginning. */
static u32 records, heads, misses;
/* By how much the last record was late. */
static u64 overshoot;

enum { SLOT, BLOCK };

/* Two words of a block, of 4 bytes: as they were read, and as they were written last. */
struct word {
	u32 at, was, now;
	bool written;
};

static struct word watched[2];

/* What is mapped last of each: how it went, and where a fault is. The record that was written last. */
static enum lwp_mem_result mapped[2];
static u64 fault_at[2];
static u8 in_slot[LWP_RECORD_SIZE];
static u32 interrupts;

static inline void watch(u32 i, u32 at)
{
	watched[i].at = at;
	watched[i].written = false;
}

static enum lwp_mem_result any_result(struct lwp_fault *fault)
{
	ANY(u8, result);
	ANY(u64, addr);

	assume(result <= LWP_MEM_AGAIN);
	if (result == LWP_MEM_FAULT && fault)
		fault->addr = addr;
	return result;
}

/* The bytes that the engine may access of a span end where its array ends. */
static inline u32 accessible(u32 kind)
{
	return kind == SLOT ? LWP_RECORD_SIZE : lwp_block_bytes(&e.caps);
}

static enum lwp_mem_result any_map(void *vcpu, struct lwp_span *span, bool write,
				   struct lwp_fault *fault)
{
	u32 kind = span->len == LWP_RECORD_SIZE ? SLOT : BLOCK;

	check("43724-402", kind == SLOT || span->len == e.caps.cb_size);
	check("43724-612", range_ok(span->gva, span->len));
	check("43724-814", fault != NULL);
	span->page[0] = write;
	span->page[1] = kind;
	mapped[kind] = any_result(fault);
	fault_at[kind] = fault->addr;
	return mapped[kind];
}

static enum lwp_mem_result any_read(void *vcpu, const struct lwp_span *span, u32 offset, void *to,
				    u32 len)
{
	u32 most = accessible((u32)span->page[1]), i;

	check("43724-402", offset <= most && len <= most - offset);
#ifdef __CPROVER__
	check("43724-402", __CPROVER_w_ok(to, len));
#else
	any_bytes(to, len);
#endif
	for (i = 0; i < 2; i++)
		if (offset <= watched[i].at && len >= 4 && watched[i].at - offset <= len - 4)
			watched[i].was = lwp_get32((u8 *)to + (watched[i].at - offset));
	return any_result(NULL) == LWP_MEM_OK ? LWP_MEM_OK : LWP_MEM_NOT_RAM;
}

/* Is [offset, offset + len) of the block a field that LWP owns? */
static bool owned(u32 offset, u32 len)
{
	u32 first = lwp_cb_slot_offset(&e.caps, 0);

	if (offset == LWP_CB_MISSED && len == 8)
		return true;
	if ((offset == LWP_CB_FLAGS || offset == LWP_CB_SIZE_RANDOM || offset == LWP_CB_HEAD ||
	     offset == LWP_CB_THRESHOLD) &&
	    len == 4)
		return true;
	return offset >= first && (len == 4 || len == 8) && (offset - first) % 4 == 0;
}

static void any_write(void *vcpu, const struct lwp_span *span, u32 offset, const void *from,
		      u32 len)
{
	u32 kind = (u32)span->page[1], most = accessible(kind), i;

	check("43724-613", span->page[0]);
	check("43724-402", offset <= most && len <= most - offset);
	if (kind == SLOT) {
		check("43724-501", offset == 0 && len == LWP_RECORD_SIZE);
		memcpy(in_slot, from, LWP_RECORD_SIZE);
		records++;
	} else {
		check("43724-421", owned(offset, len));
		misses += offset == LWP_CB_MISSED;
		heads += offset == LWP_CB_HEAD;
		if (offset == LWP_CB_HEAD)
			check("43724-408", lwp_get32(from) % LWP_RECORD_SIZE == 0);
		for (i = 0; i < 2; i++) {
			if (watched[i].at < offset || watched[i].at - offset > len - 4)
				continue;
			watched[i].now = lwp_get32((const u8 *)from + (watched[i].at - offset));
			watched[i].written = true;
		}
	}
}

static void any_interrupt(void *vcpu, u8 vector)
{
	check("43724-812", vector >= LWP_VECTOR_MIN);
	interrupts++;
}

static u64 any_timestamp(void *vcpu)
{
	ANY(u64, timestamp);

	return timestamp;
}

static void any_overshoot(void *vcpu, enum lwp_kind kind, u64 address, u64 by)
{
	check("43724-824", kind == LWP_KIND_IRE || kind == LWP_KIND_BRE);
	overshoot = by;
}

static const struct lwp_vcpu_ops any_ops = {
	.mem = { any_map, any_read, any_write },
	.interrupt = any_interrupt,
	.timestamp = any_timestamp,
	.overshoot = any_overshoot,
};
/* A source need not have the others. */
static const struct lwp_vcpu_ops fewer_ops = { .mem = { any_map, any_read, any_write } };

static inline bool late_ok(const struct lwp_late *late)
{
	return late->branches <= (u64)1 << 32 &&
	       !((late->owed | late->behind) & ~(LWP_BIT(LWP_KIND_IRE) | LWP_BIT(LWP_KIND_BRE)));
}

/* A last record is in the ring, and bytes of constants that have no meaning are zero. */
static inline bool last_ok(u64 last_hash, u32 last_offset, u32 size, const u8 *constant)
{
	return last_offset % LWP_RECORD_SIZE == 0 && (!last_offset || last_offset < size) &&
	       (size || !last_hash) && !lwp_get32(constant + LWP_CTX_CONST_END) &&
	       !lwp_get64(constant + LWP_CTX_CONST_END + 4) &&
	       !lwp_get64(constant + LWP_CTX_CONST_END + 12);
}

static bool engine_ok(void)
{
	return state_ok(&e.caps, &e.st) && lwp_cfg_valid(&e.caps, e.st.cfg) && late_ok(&e.late) &&
	       e.rev == lwp_rev_get(e.caps.rev) && (e.ops == &any_ops || e.ops == &fewer_ops) &&
	       (e.st.cb_addr || !e.late.branches) && (e.st.size || !e.last_stored) &&
	       last_ok(e.last_hash, e.last_offset, e.st.size, e.constant);
}

/* What the source sets up stays; everything else is any that the invariant allows. */
static void any_engine_of(const struct lwp_caps *caps, const struct lwp_vcpu_ops *ops)
{
	ANY_AGAIN(e);
	ANY_BOOL(e.auto_context);
	ANY_BOOL(e.xcr0_lwp);
	ANY_BOOL(e.ip_valid);
	ANY_BOOL(e.load_faulted);
	ANY_BOOL(e.last_stored);
	e.caps = *caps;
	e.rev = lwp_rev_get(caps->rev);
	e.ops = ops;
	e.vcpu = NULL;
	assume(e.delivery == LWP_DELIVERY_EXACT || e.delivery == LWP_DELIVERY_PROMPT);
	assume(engine_ok());
}

static inline void any_engine(void)
{
	struct lwp_caps caps = any_caps();
	ANY(u8, fewer);

	records = heads = misses = interrupts = 0;
	mapped[SLOT] = mapped[BLOCK] = LWP_MEM_OK;
	any_engine_of(&caps, fewer & 1 ? &fewer_ops : &any_ops);
}

/* The same vCPU after a call: the leaf and what the source sets have stayed. */
static inline void any_engine_later(void)
{
	enum lwp_delivery delivery = e.delivery;
	bool auto_context = e.auto_context, xcr0_lwp = e.xcr0_lwp;
	struct lwp_caps caps = e.caps;
	u64 cfg = e.st.cfg;

	any_engine_of(&caps, e.ops);
	assume(e.delivery == delivery && e.auto_context == auto_context && e.xcr0_lwp == xcr0_lwp &&
	       e.st.cfg == cfg);
}

static inline bool is_2007(void)
{
	return e.caps.rev == LWP_REV_2007;
}

/* A slot of the block is watched. False: there is none of that number. */
static inline bool watch_slot(u32 slot)
{
	watch(0, lwp_cb_slot_offset(&e.caps, slot));
	watch(1, watched[0].at + 4);
	return slot < e.caps.max_events && slot < LWP_MAX_EVENT_ID;
}

/* Its event, when it has been read. */
static inline u32 event_of(u32 slot)
{
	return is_2007() ? watched[0].was >> 26 : slot + 1;
}

static inline struct lwp_retired any_retired(void)
{
	ANY(struct lwp_retired, r);

	ANY_BOOL(r.taken);
	assume((u32)r.branch < LWP_BRANCH_CLASSES);
	return r;
}

static inline struct lwp_ds any_ds(void)
{
	ANY(struct lwp_ds, ds);

	ANY_BOOL(ds.long_mode);
	assume(ds.va_bits == 48 || ds.va_bits == 57);
	assume(ds.long_mode ||
	       (ds.base <= 0xffffffff && ds.limit <= 0xffffffff && ds.first <= 0x100000000ull));
	return ds;
}

#endif
