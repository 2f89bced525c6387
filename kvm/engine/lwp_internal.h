/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations that only the engine's own files use. */
#ifndef LWP_INTERNAL_H
#define LWP_INTERNAL_H

#include "lwp_engine.h"

/* The widest linear addresses there are; the images of vmcb/ accept the same. */
#define LWP_LINEAR_BITS 57

/*
 * The greatest size of a block's fixed part and event slots (LwpEventOffset 248, 8 slots). The rest
 * of a block has no meaning: it is mapped with the block and never copied.
 */
#define LWP_BLOCK_BYTES_MAX 312

static inline u32 lwp_block_bytes(const struct lwp_caps *caps)
{
	return lwp_cb_slot_offset(caps, caps->max_events);
}

/* Is `addr` canonical with va_bits bits of linear address? */
static inline bool lwp_canonical(u64 addr, u32 va_bits)
{
	u64 high = addr >> (va_bits - 1);

	return !high || high == ~(u64)0 >> (va_bits - 1);
}

/* The same for [addr, addr + len), len >= 1, which also must not wrap round or leave its half. */
static inline bool lwp_canonical_range(u64 addr, u32 len, u32 va_bits)
{
	u64 last = addr + len - 1;

	return last >= addr && lwp_canonical(addr, va_bits) && lwp_canonical(last, va_bits) &&
	       !((addr ^ last) >> 63);
}

/* LWP is on and its block has been read. */
static inline bool lwp_block_known(const struct lwp_engine *e)
{
	return lwp_state_on(&e->st) && !lwp_state_deferred(&e->st) && e->ip_valid;
}

/*
 * Flags that are active now: granted by LLWPCB, and still allowed by LWP_CFG. 0 while nothing may
 * count: LWP is off or not available, or its block has not been read (43724-208).
 */
static inline u32 lwp_active(const struct lwp_engine *e)
{
	return lwp_block_known(e) ? e->st.flags & lwp_engine_avail(e) : 0;
}

/* Is this flag active? Nearly always the block does not have it, which is seen at once. */
static inline bool lwp_flag_active(const struct lwp_engine *e, u32 flag)
{
	return e->st.flags & flag && lwp_active(e) & flag;
}

/* Is the IP filter active? LWP is on. */
static inline bool lwp_ip_filter_on(const struct lwp_engine *e)
{
	return e->st.filters & LWP_FILTER_IPF && e->rev->has_ip_filter;
}

/*
 * Is a record pending whose store has not faulted? Then lwp_boundary_wanted() is true, wherever the
 * vCPU is.
 */
static inline bool lwp_store_wanted(const struct lwp_engine *e)
{
	return e->st.pending.event_id && !(e->st.flags & LWP_STATE_FAULTED) && lwp_engine_avail(e);
}

/* Does the IP filter let an instruction at `address` pass? LWP is on (43724-725). */
bool lwp_ip_passes(const struct lwp_engine *e, u64 address);

/* Does the branch filter let a branch pass? Not for LWP_BRANCH_NONE. */
bool lwp_branch_passes(const struct lwp_engine *e, enum lwp_branch_class branch);

/* Data1, SRC and DAV of a data cache miss record (43724-511, 43724-512, 2007-507). */
void lwp_miss_record(const struct lwp_engine *e, const struct lwp_miss *miss,
		     struct lwp_record *rec);

/*
 * A record with the fields that all events have in common (43724-205, 43724-504, 43724-514,
 * 2007-504).
 */
void lwp_record_begin(const struct lwp_engine *e, u8 event_id, u64 address, struct lwp_record *rec);

/* ---- counting ---- */

/* The highest value of a counter at which its event is due (2007-702). */
static inline s32 lwp_due_limit(const struct lwp_engine *e)
{
	return e->rev->freezes_at_zero ? 0 : -1;
}

/*
 * Count n events. Returns true if the event is due. If it becomes due while a record is pending,
 * the store of that record is retried.
 */
bool lwp_count_event(struct lwp_engine *e, u32 id, u64 n);

/* The record of an event that is due with r. */
void lwp_record_of(const struct lwp_engine *e, u32 id, const struct lwp_retired *r,
		   struct lwp_record *rec);

/*
 * Gather the record of an event that is due with r. The pending slot is free (43724-506 to
 * 43724-508, 43724-510, 43724-513, 2007-505, 2007-506).
 */
void lwp_gather(struct lwp_engine *e, u32 id, const struct lwp_retired *r);

/* Count the events of an instruction, and gather a record of one that is due. */
void lwp_count_retired(struct lwp_engine *e, const struct lwp_retired *r);

/* Does the engine owe a record, or may the next one be late? See lwp_late.c. */
static inline bool lwp_owes(const struct lwp_engine *e)
{
	return e->late.branches | e->late.owed | e->late.behind;
}

/* What lwp_late_before() has seen; [0] is of instructions, [1] of branches. */
struct lwp_late_look {
	struct lwp_retired r; /* the instruction, as lwp_retire() counts it */
	bool free; /* no record was pending */
	bool in_time[2]; /* a record is due with this instruction, in time */
	bool caught_up[2]; /* none was due before it */
};

/*
 * Around the counting of an instruction while lwp_owes(). The first settles a late branch, and
 * returns what is left to count; the second settles a record that was owed and has been gathered.
 */
const struct lwp_retired *lwp_late_before(struct lwp_engine *e, const struct lwp_retired *r,
					  struct lwp_late_look *look);
void lwp_late_after(struct lwp_engine *e, const struct lwp_late_look *look);

/* Switch LWP off and discard all state of the block. */
void lwp_engine_off(struct lwp_engine *e);

/*
 * Turn the result of an access into an architectural one. True: the access succeeded. A #PF is
 * counted and set in *exc, whose fault is filled already; memory that is not RAM turns LWP off
 * without an exception (43724-818).
 */
bool lwp_access_done(struct lwp_engine *e, enum lwp_mem_result result, struct lwp_exc *exc);

/* ---- guest memory: LWP_MEM_FAULT comes with *fault filled ---- */

static inline enum lwp_mem_result lwp_map(struct lwp_engine *e, struct lwp_span *span, u64 gva,
					  u32 len, bool write, struct lwp_fault *fault)
{
	memset(span, 0, sizeof(*span));
	span->gva = gva;
	span->len = len;
	return e->ops->mem.map(e->vcpu, span, write, fault);
}

/* Read bytes of a mapped span, once. */
static inline enum lwp_mem_result lwp_read(struct lwp_engine *e, const struct lwp_span *span,
					   u32 offset, void *to, u32 len)
{
	if (!span->direct)
		return e->ops->mem.read(e->vcpu, span, offset, to, len);
	memcpy(to, span->direct + offset, len);
	return LWP_MEM_OK;
}

/* Write bytes of a span that is mapped for writing. */
static inline void lwp_write(struct lwp_engine *e, const struct lwp_span *span, u32 offset,
			     const void *from, u32 len)
{
	if (span->direct)
		lwp_write_direct(span->direct + offset, from, len);
	else
		e->ops->mem.write(e->vcpu, span, offset, from, len);
}

/* Map the whole block of `e` (address `linear`) and copy its lwp_block_bytes(), once. */
enum lwp_mem_result lwp_read_block(struct lwp_engine *e, u64 linear, bool write,
				   struct lwp_span *span, u8 image[LWP_BLOCK_BYTES_MAX],
				   struct lwp_fault *fault);

/* The verdict of LLWPCB on a block that could be read. */
enum lwp_block_verdict {
	LWP_BLOCK_ON, /* LWP runs with it now */
	LWP_BLOCK_OFF, /* 2007: nothing to do, Flags = 0; LWP is to go off */
	LWP_BLOCK_INVALID, /* #GP(0); LWP is to go off */
};

/*
 * Take a block: read, check, normalise, write back, begin. ds NULL = flat (43724-420, 43724-613,
 * 43724-615, 43724-617, 2007-418, 2007-609).
 */
enum lwp_mem_result lwp_block_take(struct lwp_engine *e, u64 linear, const struct lwp_ds *ds,
				   enum lwp_block_verdict *verdict, struct lwp_fault *fault);

/* Write the head into the block whose copy is `image`, and remember it for contexts (43724-421). */
void lwp_write_head(struct lwp_engine *e, const struct lwp_span *span, const u8 *image);

/* Are the constant fields known? A block with which LWP is on never has BufferSize 0. */
static inline bool lwp_constants_known(const u8 constant[LWP_CTX_CONST_SIZE])
{
	return lwp_get32(constant + LWP_CTX_CONST_SIZE_RANDOM);
}

/*
 * Flush counters and head into the block (SLWPCB). The block must have been read (43724-421,
 * 43724-621).
 */
enum lwp_mem_result lwp_block_flush(struct lwp_engine *e, struct lwp_fault *fault);

/* Read BaseIP and LimitIP again (43724-304, 43724-310). */
enum lwp_mem_result lwp_block_read_ip(struct lwp_engine *e, struct lwp_fault *fault);

/* The store of one record. */
struct lwp_txn {
	struct lwp_span block, slot;
	u8 image[LWP_BLOCK_BYTES_MAX]; /* the block as read */
	u64 missed; /* MissedEvents */
};

/* Map the slot at the head for writing. */
static inline enum lwp_mem_result lwp_map_slot(struct lwp_engine *e, struct lwp_txn *t,
					       struct lwp_fault *fault)
{
	return lwp_map(e, &t->slot, e->st.base + e->st.head, LWP_RECORD_SIZE, true, fault);
}

/*
 * Write a record, and the head or MissedEvents. Both spans are mapped for writing; of the image,
 * tail and threshold are needed. A full ring gets the record in the slot at the head, which stays
 * (43724-803) (43724-625, 43724-633, 43724-802, 43724-804, 2007-801, 2007-802, 2007-809).
 */
void lwp_commit(struct lwp_engine *e, struct lwp_txn *t, const struct lwp_record *rec, bool *full);

/* Store the pending record, reloading its counter (43724-814, 2007-706, 2007-808). */
enum lwp_mem_result lwp_store_pending(struct lwp_engine *e, struct lwp_fault *fault);

/*
 * Store a record of LWPINS, or of LWPVAL (with_reload: the counter of its EventId, which stands at
 * `counter` < 0, is reloaded with it). A fault changes nothing. *full: MissedEvents was counted
 * instead of the head advanced.
 */
enum lwp_mem_result lwp_store_sample(struct lwp_engine *e, const struct lwp_record *rec,
				     bool with_reload, s32 counter, bool *full,
				     struct lwp_fault *fault);

/*
 * Do what is outstanding, in this order: load a deferred block, read BaseIP and LimitIP, store the
 * pending record. False: *exc has #PF or LWP_EXC_AGAIN. True: it has not; LWP may have gone off.
 * `rip`: see lwp_state.retry_rip, 0 = not known (43724-817, 2007-807).
 */
bool lwp_settle(struct lwp_engine *e, u64 rip, struct lwp_exc *exc);

/* A number and one more, mixed: all bits of the result depend on all bits of both. */
u64 lwp_mix(u64 hash, u64 number);

/* Hash of a stored record's bytes for contexts; never 0. */
u64 lwp_record_hash(const u8 record[LWP_RECORD_SIZE]);

/* The hash of the last stored record, 0 = nothing stored yet. */
static inline u64 lwp_last_hash(const struct lwp_engine *e)
{
	return e->last_stored ? lwp_record_hash(e->last_record) : e->last_hash;
}

/* Interval with its low random bits replaced (43724-706, 43724-709, 2007-704, 2007-716). */
s32 lwp_randomise(const struct lwp_engine *e, u32 event_id, u64 missed, s32 interval);

#endif
