/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random programs for comparing accelerators: what their code, generator and kernel share. */
#ifndef FLAT_DIFF_H
#define FLAT_DIFF_H

/* Placed after what lwp_map() maps (lwp.h). */
#define DIFF_CODE_VA 0x40040000
#define DIFF_CODE_PAGES 4
#define DIFF_APIC_VA 0x40050000
#define DIFF_ABSENT_VA 0x40060000

/* Byte of the data that a watchpoint may watch. */
#define DIFF_WATCH 0xc0
#define DIFF_IRQ 0x41

/* Of a block; for assembly. */
#define DIFF_CB_HEAD 16
#define DIFF_CB_TAIL 64

/* System calls, in eax with SYSCALL or INT3. */
#define DIFF_SYS_NOTHING 0x5100
#define DIFF_SYS_DRAIN 0x5101 /* the ring's tail moves to its head */
#define DIFF_SYS_UNMAP 0x5102 /* a page of ring, block or data goes, or becomes read-only */
#define DIFF_SYS_THREAD 0x5103 /* another thread runs for a moment */
#define DIFF_SYS_PROCESS 0x5104 /* another process does */
#define DIFF_SYS_SIGNAL 0x5105 /* a signal is delivered */
#define DIFF_SYS_RETURN 0x5106 /* its handler is done */

#ifndef __ASSEMBLER__
#include "lwp_fixture.h"

/* A piece of code and row of the histogram. */
struct snip {
	const char *name;
	const u8 *start, *end;
	u32 bits; /* 32 or 64 */
	u32 process; /* a process can run it */
	u32 count; /* how often it has been used */
};

/* clang-format off */
/* Rows that are not pieces of code. */
#define DIFF_ROW_TABLE(row) \
	row(ALU, "arithmetic") \
	row(JCC, "conditional jumps") \
	row(LOOP, "loops") \
	row(CODE32, "into 32-bit code") \
	row(CODE32_BASE, "into 32-bit code with a base") \
	row(SYSRET, "return by SYSRET") \
	row(IRET, "return by IRET") \
	row(SIGNAL, "signal frames") \
	row(BREAKPOINT, "breakpoints") \
	row(RING_FAULT, "faults of stores") \
	row(CROSSING, "records across pages") \
	row(RANDOM, "random intervals") \
	row(FILTERS, "branch filters") \
	row(IP_FILTER, "IP filters") \
	row(MISSED, "missed events")
/* clang-format on */
#define DIFF_ROW_ID(id, name) DIFF_ROW_##id,
enum diff_row { DIFF_ROW_TABLE(DIFF_ROW_ID) DIFF_ROWS };

extern u32 diff_rows[DIFF_ROWS];
extern const char *const diff_row_names[DIFF_ROWS];
extern struct snip diff_snips[], diff_snips_end[];

/* Repeatable random numbers; the same seed gives the same program everywhere. */
struct diff_random {
	u64 state;
};

u32 diff_random(struct diff_random *r);
/* 0..n-1 */
u32 diff_below(struct diff_random *r, u32 n);

/* A program: its control block, and code of `length` bytes for DIFF_CODE_VA. */
struct diff_program {
	u32 spin; /* greatest number of turns of the loops between the pieces, 0: no loops */
	u32 interval; /* added to the intervals of instructions and branches */
	bool counters; /* every fourth program counts what a performance counter can count */
	bool process; /* of pieces that a process can run; it switches LWP off before its end */
	struct block block;
	u8 *code;
	u32 length, room;
	u32 break_at; /* where a breakpoint is put, DIFF_NO_BREAK: nowhere */
	bool irqs; /* RFLAGS.IF at the start */
	bool watch;
};
#define DIFF_NO_BREAK 0xffffffffu

/* Make program number n of this seed, spin and interval into p->code, which has p->room bytes. */
void diff_generate(struct diff_program *p, u32 seed, u32 n);

/* One line for a program that has ended: hashes of ring, block and memory, and of its stops. */
void diff_dump(const struct lwp *l, u32 n, u64 log, u32 stops);
/* The records in the ring, of which there are none yet at its end, in the order of their slots. */
void diff_print_records(const struct lwp *l, const struct block *b);
#endif

#endif
