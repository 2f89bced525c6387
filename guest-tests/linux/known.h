/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Routines of known.S and how many instructions each retires while LWP is on. */
#ifndef KNOWN_H
#define KNOWN_H

#include <stdint.h>

extern const uint8_t known_loop_begin[], known_loop_end[];
extern const uint8_t known_yield_begin[], known_yield_end[];
extern const uint8_t known_touch_begin[], known_touch_end[];
extern const uint8_t known_rep_begin[], known_rep_end[];
extern const uint8_t known_sequence_begin[], known_sequence_end[];
extern const uint8_t known_handler_end[];
extern volatile uint64_t known_signals;

void known_loop(void *block, unsigned long n);
void known_yield(void *block, unsigned long rounds, unsigned long n);
void known_touch(void *block, void *memory, unsigned long pages);
void known_rep(void *block, unsigned long rounds, void *to, const void *from);
void known_sequence(void *block, unsigned long n, unsigned long turns);
void known_handler(int signal);
void known_restorer(void);

/* The bytes of known_loop's DEC; what a system call retires: in 32 bits with the vDSO's 9, in 64 the MOV before it. */
#ifdef __i386__
#define KNOWN_DEC 1
#define KNOWN_SCHED_YIELD 10
#define REG_RIP REG_EIP
#else
#define KNOWN_DEC 3
#define KNOWN_SCHED_YIELD 1
#endif
#define KNOWN_LOOP(n) (2 * (uint64_t)(n) + 1)
#define KNOWN_YIELD(rounds, n) \
	((uint64_t)(rounds) * (2 * (uint64_t)(n) + 3 + KNOWN_SCHED_YIELD) + 1)
#define KNOWN_TOUCH(pages) (4 * (uint64_t)(pages) + 1)
#define KNOWN_REP(rounds) (8 * (uint64_t)(rounds) + 1)
#define KNOWN_SEQUENCE(n, turns) ((uint64_t)(n) * (2 * (uint64_t)(turns) + 5) + 1)
#define KNOWN_SEQUENCE_BRANCHES(n, turns) ((uint64_t)(n) * ((uint64_t)(turns) + 1))
#define KNOWN_SIGNAL 10

#endif
