/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest for the engine's tests: a few pages with permissions, a control block and a ring in them, one
 * vCPU in 64-bit code at CPL 3 with a flat DS. Criterion runs each test in a process of its own, so there is
 * one of everything.
 */
#ifndef FAKE_GUEST_H
#define FAKE_GUEST_H

#include "lwp_engine.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#define MEM_BASE 0x500000u
#define MEM_PAGES 16u
#define CHECK(cond) cr_assert(eq(int, !!(cond), 1), "%s", #cond)
#include "guest_pages.h"

/* Block and ring lie in pages of their own: 43724's block has 176 bytes, 2007's 64; the ring 32 records. */
#define BLOCK 0x502000u
#define BLOCK2 0x506000u
#define RING 0x504000u
#define RING2 0x508000u
#define RING_SIZE 1024u

/* A call of overshoot(). */
struct overshot {
	enum lwp_kind kind;
	u64 address, by;
};

struct fake_guest {
	u8 mem[MEM_PAGES * PAGE];
	u8 perm[MEM_PAGES];
	bool direct; /* map() lets the engine access what lies in one page */
	int maps; /* calls of map() so far */
	int fail_map; /* the call of map() that faults although the pages are there; -1 = none */
	bool fail_again; /* LWP_MEM_AGAIN is its result, instead of a fault */
	int fail_read; /* the read whose memory has gone since map(); -1 = none */
	int writes, reads;
	u64 lowest_write, highest_write; /* bytes written by LWP */
	u32 interrupts;
	u8 vector;
	u64 clock;
	u32 overshoots;
	struct overshot overshot[8]; /* the first of them */
};

extern struct fake_guest guest;
extern struct lwp_engine eng;
extern struct lwp_caps caps; /* of the engine; change before start() */
extern const struct lwp_vcpu_ops guest_ops;
extern const struct lwp_ds flat; /* 64-bit code, 48 bits of linear address */

/* What the last instruction or boundary left. */
extern struct lwp_exc exc;
extern u64 result; /* of LLWPCB and SLWPCB; 1 before them */
extern bool cf; /* of LWPINS; set before it */

/* All pages readable and writable, block and ring as above without events; engine with all features, auto. */
void start(u32 rev);
void start_43724(void);
/* Engine again with `caps` as they are now; memory stays. */
void start_engine(bool auto_context, enum lwp_delivery delivery);
/* Fill a block: ring of RING_SIZE at `ring`. */
void make_block(u64 block, u64 ring);
/* 43724: slot of the EventId, and its Flags bit. 2007: slot number EventId - 1 selects it. */
void set_event(u64 block, u32 event_id, u32 interval, u32 counter);
/* Filters and the range of BLOCK. */
void filter_ip(u32 filters, u64 first, u64 last);
void set_permission(u64 gva, u8 perm);

/* Memory as the program sees it. */
void put32(u64 gva, u32 value);
void put64(u64 gva, u64 value);
u32 get32(u64 gva);
u64 get64(u64 gva);
struct lwp_record record(u32 index); /* in the ring at RING */
void expect_record(u32 index, u8 event_id, u64 address);

/* LLWPCB of `block` in 64-bit code at CPL 3; must work. */
void enable(u64 block);
/* set_event() and enable(), of BLOCK; start() before it. */
void profile(u32 event_id, u32 interval, u32 counter);
void start_profile(u32 rev, u32 event_id, u32 interval, u32 counter);
enum lwp_exc_kind llwpcb(u64 ea);
enum lwp_exc_kind llwpcb_in(const struct lwp_ds *ds, u64 ea); /* with another DS */
enum lwp_exc_kind slwpcb(void);
enum lwp_exc_kind lwpins(u64 address, u64 data2, u32 data1, u16 flags);
enum lwp_exc_kind lwpval(u64 address, u64 data2, u32 data1, u16 flags);

/* Instruction of 4 bytes at rip retires; then the boundary before rip + 4, if it is wanted. */
enum lwp_exc_kind retire(const struct lwp_retired *r);
bool retire_at(u64 rip); /* a plain one retires; is the boundary wanted? */
enum lwp_exc_kind try_step(u64 rip); /* plain */
void step(u64 rip); /* the same; must not fault */
void steps(u64 rip, u32 n); /* n of them, rip, rip + 4, ... */
void branch(u64 rip, enum lwp_branch_class branch, bool taken, u64 target);
/* The boundary before rip, if it is wanted. */
enum lwp_exc_kind boundary(u64 rip, bool entered);

#define F_VAL 0x00000002u
#define F_IRE 0x00000004u
#define F_BRE 0x00000008u
#define F_CONT 0x20000000u
#define F_PTSC 0x40000000u
#define F_INT 0x80000000u

#define expect_head(offset) cr_expect(eq(u32, get32(BLOCK + 16), offset))
#define expect_missed(n) cr_expect(eq(u64, get64(BLOCK + 24), n))
#define expect_ring(offset, missed)    \
	do {                           \
		expect_head(offset);   \
		expect_missed(missed); \
	} while (0)
#define expect_exc(call, what) cr_expect(eq(int, call, LWP_EXC_##what))
#define expect_pf(call, at)                             \
	do {                                            \
		expect_exc(call, PF);                   \
		cr_expect(eq(u64, exc.fault.addr, at)); \
	} while (0)

/* The counter of an EventId after the call. */
#define expect_counter(call, event_id, wanted)                            \
	do {                                                              \
		call;                                                     \
		cr_expect(eq(i32, eng.st.counter[(event_id)-1], wanted)); \
	} while (0)

/* LLWPCB or SLWPCB, which works and has this result. */
#define expect_result(call, value)                 \
	do {                                       \
		expect_exc(call, NONE);            \
		cr_expect(eq(u64, result, value)); \
	} while (0)
/* LWP is off, and has been turned off by memory that is not RAM so often. */
#define expect_turned_off(times)                                 \
	do {                                                     \
		cr_expect(not(lwp_engine_on(&eng)));             \
		cr_expect(eq(u64, eng.stats.turned_off, times)); \
	} while (0)

#endif
