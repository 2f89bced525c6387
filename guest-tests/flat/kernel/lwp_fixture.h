/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the LWP tests share: a place in user memory for a control block, a ring, data and a stack;
 * control blocks written from a short description, in the layout of the revision the run is about
 * (rev=2007 on the command line, else 43724); and comparing a ring with the records it should hold.
 */
#ifndef FLAT_LWP_FIXTURE_H
#define FLAT_LWP_FIXTURE_H

#include "cpu.h"
#include "lwp_cb.h"
#include "lwp_msr.h"
#include "lwp_record.h"
#include "lwp_state.h"
#include "paging.h"
#include "report.h"

/* Where user code has its things, in every address space that lwp_map() prepared. */
#define CB_VA (USER_BASE + 0x00000)
#define CB_PAGES 2
#define RING_VA (USER_BASE + 0x10000)
#define RING_PAGES 4
#define DATA_VA (USER_BASE + 0x20000)
#define DATA_PAGES 2
#define STACK_VA (USER_BASE + 0x30000)
#define STACK_PAGES 2
#define STACK_TOP (STACK_VA + STACK_PAGES * PAGE_SIZE)
/* A second thread's block, in the page of the first, and its ring. */
#define SECOND 0x800u
#define SECOND_RING (RING_VA + 2 * PAGE_SIZE)

/* Of many threads each has 2 KiB: a block, and a ring of 32 records. FS tells the threads apart. */
#define THREADS_VA (USER_BASE + 0x400000)
#define THREAD_SIZE 2048u
#define THREAD_RING 1024u
#define THREAD_VA(i) (THREADS_VA + (i)*THREAD_SIZE)
#define FS_OF(i) ((i)*64ul + 0x100000)

/* EventIds of 43724 and of 2007. */
#define EV_VAL 1
#define EV_IRE 2
#define EV_BRE 3
#define EV_DME 4
#define EV_CNH 5
#define EV_RNH 6
#define EV_INS 255
#define EV07_IRE 1
#define EV07_BRE 2

#define RECORD_SIZE 32ul
/* Records of the smallest ring that the leaf allows, and of one whose description does not say its size. */
u32 least_records(void);
#define DEFAULT_RECORDS (least_records() > 64 ? least_records() : 64)
/* Every byte of a ring before a test. */
#define RING_FILL 0xee

struct block_event {
	u8 id; /* 0: the list ends */
	u32 interval, counter;
};

/* A control block as a test asks for it. */
struct block {
	u32 flags; /* Flags besides the bits of the events (43724) */
	u64 base; /* 0: RING_VA */
	u32 size; /* bytes, 0: DEFAULT_RECORDS records */
	u32 random;
	u32 head, tail, threshold, filters;
	u64 missed, base_ip, limit_ip;
	struct block_event event[4]; /* 43724: at the place of its EventId; 2007: in this order */
};

/* The usual ones: no event is on, or one. */
#define NO_EVENT (&(const struct block){ 0 })
#define EVENT(id, interval, counter) \
	(&(const struct block){ .event = { { id, interval, counter } } })
/* A block of 43724 in the revision of the run: in 2007 EventIds are one less, and EventInterval is the whole period. */
struct block in_revision(struct block b);
/* In the revision of the run: every instruction has a record. */
const struct block *every_insn(void);

/* A record as a test expects it: a field that is not named is zero. */
struct rec {
	u8 id, core;
	u16 flags;
	u32 data1;
	u64 address, data2, timestamp;
};
#define REC_INSN(event, at)                       \
	{                                         \
		.id = event, .address = (u64)(at) \
	}
#define REC_BRANCH(event, at, to, taken)                                          \
	{                                                                         \
		.id = event, .flags = (taken) ? 0x8000 : 0, .address = (u64)(at), \
		.data2 = (u64)(to)                                                \
	}
#define REC_IRE(at) REC_INSN(EV_IRE, at)
#define REC_BRE(at, to, taken) REC_BRANCH(EV_BRE, at, to, taken)
#define REC07_IRE(at) REC_INSN(EV07_IRE, at)
#define REC07_BRE(at, to, taken) REC_BRANCH(EV07_BRE, at, to, taken)
/* Of LWPINS and LWPVAL: EventId, immediate, and the operands of 32 bits and of the register. */
#define REC_SAMPLE(event, at, imm, value, operand)                                                \
	{                                                                                         \
		.id = event, .flags = imm, .data1 = value, .address = (u64)(at), .data2 = operand \
	}

/* One profiled program: its memory as the kernel sees it, and its registers. */
struct lwp {
	u64 cr3;
	u8 *cb, *ring, *data, *stack;
	struct user u;
};

bool rev07(void);

/*
 * Make LWP available on this processor: nothing to do with context=auto; with context=os (on the
 * command line) sets XCR0[62], where there is such a bit, and writes all features of EDX but INT to LWP_CFG. Bails when it is not there.
 */
void lwp_enable(void);

/* Give the address space cr3 block, ring, data and stack pages (fresh ones). */
void lwp_map(struct lwp *l, u64 cr3);
/* The usual beginning of a test: lwp_enable(), and lwp_map() of the kernel's address space. */
void lwp_init(struct lwp *l);
/* FLAT_TEST(id) with a program, `l`, that has begun so; and one that does not use LWP from the beginning. */
#define LWP_TEST(id) PROGRAM_TEST(id, lwp_init(&l))
#define USER_TEST(id) PROGRAM_TEST(id, lwp_map(&l, kernel_cr3()))
#define PROGRAM_TEST(id, begin)                  \
	static void profile_##id(struct lwp *l); \
	FLAT_TEST(id)                            \
	{                                        \
		struct lwp l;                    \
                                                 \
		begin;                           \
		profile_##id(&l);                \
	}                                        \
	static void profile_##id(struct lwp *l)

/* 64-bit code that is no profiled program, with the stack and rdi = DATA_VA, until it comes back. */
void user_go(struct user *u, const char *code);

/* A page that user code may not write: filled, and not a byte of it written since. */
extern u8 kernel_page[];
void kernel_page_fill(void);
bool kernel_page_intact(void);
/* FNV-1a, from HASH_START on. */
#define HASH_START 0xcbf29ce484222325
u64 hash(u64 h, const void *data, u64 n);
/* The next of a series of random numbers (xorshift). */
u64 random_after(u64 *seed);

/* Write the block to CB_VA + offset; the rest of the block's bytes become zero. */
void block_write_at(struct lwp *l, u32 offset, const struct block *b);
static inline void block_write(struct lwp *l, const struct block *b)
{
	block_write_at(l, 0, b);
}

/*
 * LWP off; block written, ring filled with RING_FILL; registers set for 64-bit code at `code` with
 * rax = CB_VA, rdi = DATA_VA.
 */
void lwp_prepare(struct lwp *l, const struct block *b, const char *code);
/* lwp_prepare() and user_run(); bails when the code does not come back by the exit gate. */
void lwp_go(struct lwp *l, const struct block *b, const char *code);
/* The same with rsi, where many programs take their number of rounds. */
void lwp_go_rsi(struct lwp *l, const struct block *b, const char *code, u64 rsi);
/* lwp_prepare() and lwp_go() of 32-bit code. */
void lwp_prepare32(struct lwp *l, const struct block *b, const char *code);
void lwp_go32(struct lwp *l, const struct block *b, const char *code);
/* Run on; bails when the code does not come back by the exit gate. */
void lwp_resume(struct lwp *l);
/* Bring the page that was missing, as a kernel does, and run on. */
void lwp_bring(struct lwp *l, u64 va);
/* Run on at `code`. */
void lwp_run(struct lwp *l, const char *code);
/* Run on at `code`, however it comes back. */
void lwp_try(struct lwp *l, const char *code);
/* What many tests run: LLWPCB of rax, alone or before one NOP or two; the two; SLWPCB into rbx; 32-bit LLWPCB of eax. */
extern char lwp_on[], lwp_one[], lwp_start[], lwp_nop_1[], lwp_nop_2[], lwp_slwpcb[], lwp_on32[];
/* Run on at SLWPCB; returns what it does. */
u64 lwp_query(struct lwp *l);
/* Become thread i of many, whose memory is at `area`, and begin with an EV_IRE of this interval at `code`. */
void lwp_start_thread(struct lwp *l, u8 *area, u32 i, u32 interval, const char *code);
/*
 * Enter CPL 3 and come straight back by the gate, so that what waits for CPL 3 (finding a context) happens;
 * nothing is counted. Returns LWP_CBADDR.
 */
u64 lwp_touch(void);
/* The same after a change to this address space; a debugger that stops at lwp_touch() does not see it. */
u64 lwp_touch_in(u64 cr3);
/* LWP off for this address space and thread, nothing flushed. */
void lwp_stop(void);
/* A guest's LWP off in its VMCB, with all that is offered allowed. */
void vmcb_lwp_off(u8 *vmcb);

/* Fields of the block at CB_VA. */
u32 cb_flags(const struct lwp *l);
u64 cb_head(const struct lwp *l);
u64 cb_missed(const struct lwp *l);
/* Records that were stored or missed, of a tail at 0. */
u64 cb_stored(const struct lwp *l);
/* Where slot n (43724: of EventId n) is in a block. */
u32 cb_slot(u32 n);
void cb_set_tail(struct lwp *l, u32 tail);
/* Interval and counter of an EventId (2007: of the slot number, from 1): the 32-bit words. */
u32 cb_interval(const struct lwp *l, u32 n);
u32 cb_counter(const struct lwp *l, u32 n);

/* The number of records in the ring after a flush, of a head that was at 0. */
u64 flushed(const struct lwp *l);
/* The record in slot i of the ring. */
struct rec ring_record(const struct lwp *l, u32 i);
/* Has nothing been written to slot i since lwp_prepare()? */
bool ring_untouched(const struct lwp *l, u32 i);

/*
 * Records are looked for at once. An implementation may store later (43724-813, 2007-806) and know whether a branch was
 * predicted (43724-510): what is there only after a flush, or differs only so, is right, and another point says it.
 */
bool expect_number(const struct lwp *l, u64 (*get)(const struct lwp *l), u64 want, const char *fmt,
		   ...) PRINTF_LIKE(4);
#define expect_head(l, ...) expect_number(l, cb_head, __VA_ARGS__)
#define expect_missed(l, ...) expect_number(l, cb_missed, __VA_ARGS__)
#define expect_stored(l, ...) expect_number(l, cb_stored, __VA_ARGS__)
/* One point: slot i holds this record. */
bool expect_record(const struct lwp *l, u32 i, struct rec want, const char *fmt, ...)
	PRINTF_LIKE(4);
/*
 * One point: the ring holds exactly these records from offset 0 on, the head is after them, and the
 * slot after them is untouched. With dump=1 on the command line the records go to the serial line.
 */
bool expect_records(const struct lwp *l, const struct rec *want, u32 count, const char *what);
#define EXPECT_RECORDS(l, what, ...)                           \
	expect_records(l, (const struct rec[]){ __VA_ARGS__ }, \
		       sizeof((const struct rec[]){ __VA_ARGS__ }) / sizeof(struct rec), what)
/* The same of records of instructions at these addresses, which have nothing else. */
bool expect_ire(const struct lwp *l, const char *const *at, u32 count, const char *what);
#define EXPECT_IRE(l, what, ...)                            \
	expect_ire(l, (const char *const[]){ __VA_ARGS__ }, \
		   sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), what)
/* One point: no record at all. */
bool expect_no_records(const struct lwp *l, const char *what);

/* Answers: a fault as "fault VECTOR ERROR", or `otherwise`; how user code came back, or whether LWP is "on" or "off". */
const char *fault_or(u32 fault, const char *otherwise);
const char *outcome(const struct lwp *l);

/* One point: user code came back with this #PF of a store, with user rights, and CR2. */
bool expect_store_fault(const struct lwp *l, u64 error, u64 cr2, u64 rip, const char *what);
/* Run on; one point: user code comes back with this exception and error code at rip, or with such a #PF. */
bool run_to_fault(struct lwp *l, u32 vector, u64 error, u64 rip, const char *what);
bool run_to_store_fault(struct lwp *l, u64 error, u64 cr2, u64 rip, const char *what);
/* The same after the page of CR2 was taken away; lwp_bring() brings it. */
bool run_to_missing(struct lwp *l, u64 cr2, u64 rip, const char *what);

#endif
