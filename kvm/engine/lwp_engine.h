/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The LWP engine: what LWP does, for one vCPU. An event source (QEMU's translator, KVM's
 * single-step or PMU backend) tells it what retired; it counts, gathers records and stores them
 * into the guest's ring.
 *
 * The engine allocates nothing, has no globals and touches guest memory only through `struct
 * lwp_mem_ops`, inside the functions whose comment says so. Everything read from the guest is
 * untrusted: it is read once and bounded, and can only spoil that guest's own profile.
 *
 * Not thread-safe: one vCPU's engine is used by one thread at a time.
 */
#ifndef LWP_ENGINE_H
#define LWP_ENGINE_H

#include "lwp_cb.h"
#include "lwp_msr.h"
#include "lwp_record.h"
#include "lwp_state.h"

/* How an access to guest memory ended. */
enum lwp_mem_result {
	LWP_MEM_OK,
	LWP_MEM_FAULT, /* the guest's own tables forbid it: #PF */
	LWP_MEM_NOT_RAM, /* no record can be written there: LWP goes off */
	/* the source cannot tell without waiting: nothing is stored; repeat the call */
	LWP_MEM_AGAIN,
};

/*
 * A guest range of at most two pages that has been looked up; page[] belongs to the event source.
 */
struct lwp_span {
	u64 gva; /* linear address */
	u32 len; /* 1..LWP_CB_MAX_SIZE bytes */
	u64 page[2]; /* the source's handles of the one or two pages */
	/* where the whole range lies, if the source lets the engine access it there; else NULL */
	u8 *direct;
};

#define LWP_PAGE_BYTES 4096u

/* How many bytes of a span are in its first page. */
static inline u32 lwp_span_first(const struct lwp_span *span)
{
	u32 in_page = LWP_PAGE_BYTES - (u32)(span->gva % LWP_PAGE_BYTES);

	return span->len < in_page ? span->len : in_page;
}

/*
 * How many of the `len` bytes at this offset of a span are in one page, and their address *at.
 * page[] are the addresses of the span's first byte in each page.
 */
static inline u32 lwp_span_part(const struct lwp_span *span, u32 offset, u32 len, u64 *at)
{
	u32 first = lwp_span_first(span);
	bool second = offset >= first;

	*at = span->page[second] + offset - (second ? first : 0);
	return second || len < first - offset ? len : first - offset;
}

struct lwp_fault {
	u64 addr; /* CR2: lowest byte that is missing */
	/* from the source's page walk (user; write, if it was for writing) */
	u32 error_code;
	u64 opaque[3]; /* the source's own: returned in lwp_exc, and not read */
};

/*
 * Guest memory. All accesses have user rights (U/S, R/W, NX-less, PKU), whatever the CPL.
 * map() looks [gva, gva + len) up for reading or for reading and writing, and changes nothing but
 * accessed/dirty bits; on LWP_MEM_FAULT it fills *fault. read() and write() use a mapped span
 * (offset and length within it) and only what map() found, even if the guest's tables have changed
 * since. read() returns LWP_MEM_NOT_RAM or LWP_MEM_AGAIN if the memory has gone since map().
 * write() does not fail: map() for writing keeps the memory at hand. `to` lies outside struct
 * lwp_engine: Linux copies between user memory and a vCPU's own structure only by a list. A span
 * lives until the engine's function returns. If map() sets span->direct, the engine accesses the
 * range there and does not call read() and write() for it.
 */
struct lwp_mem_ops {
	enum lwp_mem_result (*map)(void *vcpu, struct lwp_span *span, bool write,
				   struct lwp_fault *fault);
	enum lwp_mem_result (*read)(void *vcpu, const struct lwp_span *span, u32 offset, void *to,
				    u32 len);
	void (*write)(void *vcpu, const struct lwp_span *span, u32 offset, const void *from,
		      u32 len);
};

/*
 * How the engine writes into a span->direct, and a source into its pages. Aligned words are written
 * as words: another vCPU may read them meanwhile.
 */
static inline void lwp_write_direct(u8 *to, const void *from, u32 len)
{
	typedef u32 __attribute__((__may_alias__)) word32;
	typedef u64 __attribute__((__may_alias__)) word64;
	word32 low;
	word64 both;

	if (len == sizeof(low) && !((unsigned long)to % sizeof(low))) {
		memcpy(&low, from, sizeof(low));
		lwp_write_once(*(word32 *)to, low);
	} else if (len == sizeof(both) && sizeof(void *) == 8 &&
		   !((unsigned long)to % sizeof(both))) {
		memcpy(&both, from, sizeof(both));
		lwp_write_once(*(word64 *)to, both);
	} else {
		memcpy(to, from, len);
	}
}

struct lwp_vcpu_ops {
	struct lwp_mem_ops mem;
	/*
	 * Threshold interrupt: fixed vector to this vCPU's local APIC. May be NULL if not offered.
	 */
	void (*interrupt)(void *vcpu, u8 vector);
	/* Time stamp for PTSC records. May be NULL if not offered. */
	u64 (*timestamp)(void *vcpu);
	/*
	 * For a trace: a record of a kind is late by `by` events although `exact`. `address` is the
	 * record's; 0: it is not gathered yet. May be NULL.
	 */
	void (*overshoot)(void *vcpu, enum lwp_kind kind, u64 address, u64 by);
};

enum lwp_delivery {
	LWP_DELIVERY_EXACT,
	LWP_DELIVERY_PROMPT,
};

struct lwp_stats {
	u64 records; /* stored records of all events, including those that overwrite a slot */
	u64 missed; /* added to MissedEvents */
	/* the part of `missed` for whole periods that an overrun skipped (prompt) */
	u64 skipped_periods;
	u64 overshoots; /* records gathered late although `exact` */
	u64 faults; /* #PF raised by LWP's own accesses */
	u64 turned_off; /* LWP switched off because block or ring was not RAM or no longer valid */
	u64 interrupts; /* threshold interrupts */
	/* By kind: what the counters of all blocks have counted, whatever became of the blocks. */
	u64 counted[LWP_KINDS];
};

/*
 * What the engine owes since lwp_pass(), see lwp_late.c. It belongs to the context and goes with
 * it; it is not part of the image. `owed` and `behind` have LWP_BIT(kind) of kinds that can
 * overshoot, and decide about the statistic and the trace only.
 */
struct lwp_late {
	u64 branches; /* they have passed, and the next one gets the record; 0 = none */
	u32 owed; /* counted as an overshoot; the record is not gathered yet */
	u32 behind; /* the record is gathered; the next one may be late too */
};

struct lwp_engine {
	/* Set up once by lwp_engine_init(). */
	const struct lwp_rev *rev;
	struct lwp_caps caps;
	const struct lwp_vcpu_ops *ops;
	void *vcpu; /* first argument of all callbacks */
	enum lwp_delivery delivery;
	bool auto_context;

	/* Set by the source when it changes; see lwp_engine_avail(). */
	bool xcr0_lwp;

	/* The state that a world switch or a migration carries. */
	struct lwp_state st;

	/* Taken from the block by LLWPCB, or read again after st came from outside. */
	bool ip_valid; /* base_ip, limit_ip hold the block's; always true without an IP filter */
	u64 base_ip, limit_ip;

	/*
	 * Reading the block at a CPL-3 moment (deferred load, BaseIP and LimitIP) faulted before
	 * the instruction at load_rip: it is tried again there. Not part of the state: a state from
	 * outside is tried at once.
	 */
	bool load_faulted;
	u64 load_rip;

	struct lwp_late late;

	/* For contexts: the memory as the last store left it. */
	u64 last_hash; /* of the last record, unless last_stored; 0 = nothing stored yet */
	u8 last_record[LWP_RECORD_SIZE]; /* aligned as it is copied, by words */
	u8 constant[LWP_CTX_CONST_SIZE]; /* all zero = not known (state came from outside) */
	u32 last_offset;
	bool last_stored; /* last_record is the last one: its hash is made on request */
	u32 live; /* 1 + index of the live entry in the table, see lwp_ctx_live(); 0 = none */

	struct lwp_stats stats;
};

/*
 * BufferTailOffset of a block, corrected if it breaks the protocol (see the choices in lwp_store.c)
 * (43724-304, 43724-420, 43724-805, 43724-806, 2007-410, 2007-418, 2007-801, 2007-802, 2007-809).
 */
static inline u32 lwp_ring_tail(const struct lwp_engine *e, const u8 *block)
{
	u32 tail = lwp_get32(block + e->rev->cb_tail_offset);

	return tail < e->st.size ? tail - tail % LWP_RECORD_SIZE : 0;
}

/* One architectural result of an instruction or of a store. */
enum lwp_exc_kind {
	LWP_EXC_NONE,
	LWP_EXC_UD,
	LWP_EXC_GP, /* error code 0 */
	LWP_EXC_PF, /* fault.addr, fault.error_code */
	LWP_EXC_AGAIN, /* none, by LWP_MEM_AGAIN: repeat the instruction, or the call */
};

struct lwp_exc {
	enum lwp_exc_kind kind;
	struct lwp_fault fault;
};

/* ---- set-up and reset ---- */

/* *caps must be lwp_caps_valid(). LWP is off, LWP_CFG at its reset value. */
void lwp_engine_init(struct lwp_engine *e, const struct lwp_caps *caps, bool auto_context,
		     enum lwp_delivery delivery, const struct lwp_vcpu_ops *ops, void *vcpu);

/* RESET and INIT: LWP off, LWP_CFG as lwp_cfg_reset() (43724-207, 43724-214). */
void lwp_engine_reset(struct lwp_engine *e, bool preset, u32 apic_id);

/*
 * Take over a state that was decoded (and so validated) elsewhere: XRSTOR, VMLOAD, migration, a
 * found context. Touches no guest memory; BaseIP and LimitIP are read at the next lwp_boundary().
 */
void lwp_engine_load(struct lwp_engine *e, const struct lwp_state *st);

/*
 * EAX of leaf 8000_001C now; 0 = the four instructions raise #UD (43724-109, 43724-110, 2007-203).
 */
static inline u32 lwp_engine_avail(const struct lwp_engine *e)
{
	return lwp_avail_of(e->rev, e->caps.features, e->st.cfg, e->auto_context, e->xcr0_lwp);
}

static inline bool lwp_engine_on(const struct lwp_engine *e)
{
	return lwp_state_on(&e->st);
}

/* ---- MSRs ---- */

/* WRMSR LWP_CFG by the guest; false = #GP(0). Touches no guest memory. */
bool lwp_engine_write_cfg(struct lwp_engine *e, u64 value);

/*
 * WRMSR LWP_CBADDR where the revision executes nothing (rev->cbaddr_executes is false): 0 discards
 * the state without a flush. false = #GP(0).
 */
bool lwp_engine_write_cbaddr(struct lwp_engine *e, u64 value);

/*
 * Load a block at the next CPL-3 moment (2007 LLWPCB at CPL != 3; KVM's `os` contexts by MSR).
 * `linear` must be canonical and not 0 (2007-207).
 */
void lwp_engine_defer(struct lwp_engine *e, u64 linear);

/*
 * ---- the four instructions; they access guest memory ----
 *
 * All four give LWP_EXC_UD while lwp_engine_avail() is 0; LWPINS and LWPVAL do so always in 2007. A
 * record that is pending is stored first; if that faults the instruction has done nothing. LWP may
 * be off afterwards (lwp_engine_on()), because block or ring are not RAM.
 */

/* Segmentation as the instruction sees it. */
struct lwp_ds {
	u64 base;
	u64 first; /* lowest valid offset; 0 in 64-bit code */
	u64 limit; /* highest valid offset; ~0 in 64-bit code; if it is below `first`, none is */
	bool long_mode; /* 64-bit code: base ignored, addresses must be canonical */
	u8 va_bits; /* 48 or 57 */
};

/*
 * LLWPCB with effective address `ea` (already truncated to 32 bits where W = 0), 0 = off.
 * `old` gets what 2007 returns in rAX (the previous pointer, effective), 0 in 43724.
 * On any exception the instruction is restartable and *e is as 43724-614 says (a fault while
 * flushing the old block leaves LWP on; a fault or #GP by the new one leaves it off). Because 2007
 * returns the old pointer, there #PF by the new block leaves the old one on, flushed: the restart
 * returns it again (43724-213, 43724-611, 43724-619, 2007-602, 2007-603, 2007-612).
 */
void lwp_llwpcb(struct lwp_engine *e, u64 ea, const struct lwp_ds *ds, u8 cpl, u64 *old,
		struct lwp_exc *exc);

/*
 * SLWPCB: flush, then *result = effective address of the block, not truncated; 0 when LWP is off
 * (43724-620, 43724-623, 2007-606).
 */
void lwp_slwpcb(struct lwp_engine *e, const struct lwp_ds *ds, u64 *result, struct lwp_exc *exc);

/* Operands of LWPINS and LWPVAL. */
struct lwp_sample {
	u64 address; /* linear address of the instruction */
	u64 data2; /* operand 1, zero-extended when 32-bit */
	u32 data1; /* r/m32; read only if lwp_ins_reads() / lwp_val_reads() */
	u16 flags; /* imm[15:0] */
};

/*
 * Will LWPINS / the LWPVAL at linear address `address` store a record? Then its memory operand must
 * be read first.
 */
bool lwp_ins_reads(const struct lwp_engine *e);
bool lwp_val_reads(const struct lwp_engine *e, u64 address);

/*
 * Before the memory operand of such an instruction is read: store the pending record, which goes
 * first (43724-636). False: *exc is to be raised, or LWP is off now and the operand is not read.
 */
bool lwp_sample_settle(struct lwp_engine *e, u64 address, struct lwp_exc *exc);

/*
 * LWPINS; *cf = ring was full (else false: CF is written in any case) (43724-624 to 43724-626,
 * 43724-629, 43724-637).
 */
void lwp_ins(struct lwp_engine *e, const struct lwp_sample *s, bool *cf, struct lwp_exc *exc);

/* LWPVAL; a fault leaves the counter as it was (43724-632, 43724-635, 43724-637). */
void lwp_val(struct lwp_engine *e, const struct lwp_sample *s, struct lwp_exc *exc);

/* ---- counting; no guest memory ---- */

enum lwp_branch_class {
	LWP_BRANCH_NONE,
	LWP_BRANCH_CONDITIONAL, /* Jcc, JCXZ, LOOPcc */
	LWP_BRANCH_RELATIVE, /* JMP rel */
	LWP_BRANCH_CALL_RELATIVE, /* CALL rel: as JMP rel in 43724; NDB of 2007 lets it pass */
	LWP_BRANCH_ABSOLUTE, /* RET, indirect JMP and CALL */
	LWP_BRANCH_CLASSES,
};

/* A data cache miss of a load. */
struct lwp_miss {
	u64 address; /* linear address of the lowest byte that missed */
	u32 latency; /* cycles, not rounded */
	u8 source; /* enum lwp_data_source */
};

/* One instruction that began and ended at CPL 3 under the same block and did not fault. */
struct lwp_retired {
	u64 address; /* linear address of the instruction */
	enum lwp_branch_class branch;
	bool taken; /* the evaluated condition; true for unconditional */
	u64 target; /* linear: where it goes, the next instruction if not taken */
	u32 cnh, rnh; /* clocks it took */
	u32 misses; /* data cache misses that lwp_retired_missed() has not counted */
	struct lwp_miss miss; /* the first of them */
};

/*
 * The budget: n means that the n-th event of a kind from now (that passes all filters) is due. At
 * least 1. LWP_BUDGET_NEVER: the kind is not counted (LWP off or not available, event not active,
 * block not read yet), or it is due already while a record is pending; then it still has to be
 * counted with lwp_count(), but its record waits for the pending one. Ask again after every call
 * that is not lwp_count(). Only lwp_val() counts LWP_KIND_VAL: for this function and the three
 * below no such event exists.
 */
#define LWP_BUDGET_NEVER (~(u64)0)
u64 lwp_budget(const struct lwp_engine *e, enum lwp_kind kind);

/* Are events of this kind counted? Not while the block is still to be read. */
bool lwp_event_active(const struct lwp_engine *e, enum lwp_kind kind);

/*
 * Are branches of this class counted? (BRE is active and the filter lets the class pass.)
 * (43724-723, 43724-724, 2007-709).
 */
bool lwp_branch_counted(const struct lwp_engine *e, enum lwp_branch_class branch);
/* Is this miss counted? (DME is active and the latency and cache-level filters let it pass.) */
bool lwp_miss_counted(const struct lwp_engine *e, const struct lwp_miss *miss);
/* An IP filter is active: eligibility depends on each instruction's address. */
bool lwp_ip_filtered(const struct lwp_engine *e);

/*
 * n events of a kind retired and none became due: n < lwp_budget(); any excess is dropped
 * (43724-703).
 */
void lwp_count(struct lwp_engine *e, enum lwp_kind kind, u64 n);

/*
 * One instruction retired: count all its events, gather at most one record (the due event furthest
 * below its limit, ties to the lowest EventId). Returns true if lwp_boundary() is wanted before the
 * next instruction. While a record is pending nothing is gathered: an event that becomes due then
 * causes a retry of the pending record's store, and is gathered at a later eligible instruction
 * (43724-710, 43724-711, 43724-722, 43724-726, 43724-822, 2007-703, 2007-705).
 */
bool lwp_retire(struct lwp_engine *e, const struct lwp_retired *r);

/*
 * A data cache miss of an instruction that is going to retire, before lwp_retire() gets it. The
 * miss is counted; if it is due, *r has it, and those that follow (43724-719, 2007-710).
 */
void lwp_retired_missed(struct lwp_engine *e, struct lwp_retired *r, const struct lwp_miss *miss);

/*
 * For counters that interrupt late (KVM with a PMU): n events of a kind have passed since the last
 * call, none of which lwp_retire() has seen. `next` is the instruction at rIP if the vCPU is at
 * CPL 3 and it counts; NULL: no instruction can be named. If one of the events was due, its record
 * is late. It names `next`, for branches the next one that retires, without `next` the next
 * eligible instruction. The statistic and ops->overshoot() have it if the delivery is `exact` and
 * the kind is not a clock. n may have any value.
 *
 * lwp_pass(e, LWP_KIND_BRE, 0, NULL) ends the wait of lwp_awaits_branch(), before a state is saved
 * (43724-823, 43724-824).
 */
void lwp_pass(struct lwp_engine *e, enum lwp_kind kind, u64 n, const struct lwp_retired *next);

/*
 * For sampled misses: the load at `address` missed, and stands for n misses, all of which count if
 * it passes the filters. If one of them was due, the record is late, and is that of this load
 * (43724-719, 2007-710).
 */
void lwp_pass_miss(struct lwp_engine *e, u64 n, u64 address, const struct lwp_miss *miss);

/*
 * Has the next branch to take a late record? Then every instruction is to be stepped and passed to
 * lwp_retire(); lwp_budget() does not know of these branches.
 */
static inline bool lwp_awaits_branch(const struct lwp_engine *e)
{
	return e->late.branches != 0;
}

/* ---- delivery; accesses guest memory ---- */

/*
 * At CPL 3 in this context, before the instruction at linear address rip: must lwp_boundary() be
 * called? `entered`: CPL 3 was entered just now (return from the kernel, start of a world switch).
 * Yes for a pending record that has not faulted; for one that has faulted, if `entered` and rip is
 * where it faulted, or after another event became due; for a block to load (deferred); and for
 * BaseIP and LimitIP to read again. No while lwp_engine_avail() is 0 (43724-208, 43724-816,
 * 43724-825).
 */
bool lwp_boundary_wanted(const struct lwp_engine *e, u64 rip, bool entered);

/*
 * Load a deferred block (one that is not valid turns LWP off), read BaseIP and LimitIP, store the
 * pending record. *exc is LWP_EXC_NONE or LWP_EXC_PF, raised with the rIP of the next
 * instruction; the record then stays pending and the state remembers rip for the retry. Does
 * nothing when lwp_boundary_wanted() is false (43724-813, 2007-302, 2007-303).
 */
void lwp_boundary(struct lwp_engine *e, u64 rip, bool entered, struct lwp_exc *exc);

#endif
