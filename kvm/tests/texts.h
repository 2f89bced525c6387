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

/* Offsets: LLWPCB, 5 NOP, 6 PUSH, 7 POP, 8 MOV ECX 3, 13 NOP and 14 LOOP three times, 16 NOP, SLWPCB. */
extern const u8 straight[], straight_end[];

/* Offsets: LLWPCB, 5 STC, 6 PUSHF, 7 POP R8, 9 PUSH 46h, 11 POPF, 12 JNZ (not taken), 14 PUSHF, 15 POP R9, 17 NOP, SLWPCB. */
extern const u8 flags[], flags_end[];

#endif
