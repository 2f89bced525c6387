/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code for guests that several programs run; it is position-independent. */
#ifndef TEXTS_H
#define TEXTS_H

#include "lwp_types.h"

/*
 * A program that stops with SYSCALL between its three parts, and the test plays the guest's kernel: two NOPs, three NOPs,
 * one. Then SLWPCB and the end.
 */
extern const u8 parts[], parts_end[];

/*
 * What a kernel does from SYSCALL on that returns as 64-bit Windows does, to the thread with GS base r8d. rcx is where
 * SYSCALL put the return address.
 */
extern const u8 windows[], windows_end[];

/* A kernel that stops once, and returns to the thread with FS base r8. From offset 2 on it does not stop. */
extern const u8 wrfsbase[], wrfsbase_end[];

/*
 * ROUNDS turns of three instructions. Offsets: LLWPCB, 5 MOV ECX, 10 NOP, 11 DEC, 13 JNZ, SLWPCB. Number n > 1 is at
 * offset 10, 11 or 13 as (n - 2) % 3 is 0, 1 or 2.
 */
#define ROUNDS 20000
extern const u8 loop[], loop_end[];
/* begin_delivery() with that loop, of so many turns. */
void begin_loop(u32 rounds, u32 delivery, u32 events);
/* The same to its end, with one event; see event_each(). */
void run_loop(u32 rounds, u32 delivery, u32 event, u32 period);
/* The place of its n-th instruction. */
u64 loop_place(u32 n);

/* The same loop, after which the profile ends. */
extern const u8 profiled[], profiled_end[];

/* Three loops of 1,001 instructions with a SYSCALL after each, then a MOV and SLWPCB. */
extern const u8 loops[], loops_end[];

/*
 * IRET within CPL 3, in 64-bit code: five words, the new RSP is the old one. Offsets: 5 MOV, 8 MOV, 10, 11, 12 PUSH, 13
 * MOV, 15 PUSH, 16 LEA, 23 PUSH, 24 IRETQ, 26 NOP, 27 MOV EBX, 32 SLWPCB.
 */
extern const u8 iret[], iret_end[];

/*
 * 500 rounds of what counters and LWP count differently. LWP counts 11 of a round: LWPVAL, CPUID, MOV, PUSH, LEA, PUSH,
 * far RET, XOR, JMP, DEC, JNZ. INT n, INT3, SYSCALL and the DIV that faults do not count, and the far RET, which stays at
 * CPL 3, is no branch. The kernel's handlers run in between. A MOV comes before it, and one after it.
 */
extern const u8 mixed[], mixed_end[];
/* begin_delivery() with that. */
void begin_mixed(u32 delivery, u32 events);

/* A kernel's handler of #DE: it returns behind a DIV of two bytes. */
extern const u8 skip_div[], skip_div_end[];

/* Offsets: LLWPCB, 5 NOP, 6 PUSH, 7 POP, 8 MOV ECX 3, 13 NOP and 14 LOOP three times, 16 NOP, SLWPCB. */
extern const u8 straight[], straight_end[];

/* Offsets: LLWPCB, 5 STC, 6 PUSHF, 7 POP R8, 9 PUSH 46h, 11 POPF, 12 JNZ (not taken), 14 PUSHF, 15 POP R9, 17 NOP, SLWPCB. */
extern const u8 flags[], flags_end[];

#endif
