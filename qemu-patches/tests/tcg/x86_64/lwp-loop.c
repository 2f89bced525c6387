/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lightweight Profiling in user mode: each instruction of a loop with system
 * calls is recorded, and no round of the loop is lost.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>

#define ROUNDS 1000
#define TURNS 50
/*
 * A round: mov, SYSCALL, which does not count, mov, in each turn inc, dec and jnz,
 * then dec and jnz; xor at the end.
 */
#define INSNS (ROUNDS * (2 + 3 * TURNS + 2) + 1)
#define EVENT_INSNS 2
#define RECORD_SIZE 32
#define RECORDS (INSNS + 64)

static uint8_t ring[RECORDS * RECORD_SIZE] __attribute__((aligned(4096)));

static union {
    uint8_t bytes[2048];
    struct {
        uint32_t flags;
        uint32_t size;
        uint64_t base;
        uint32_t head;
        uint32_t unused;
        uint64_t missed;
    };
} block __attribute__((aligned(4096)));

static uint64_t loop(void)
{
    uint64_t turns = 0, rounds = ROUNDS, number, left;

    asm volatile("llwpcb %[block]\n"
                 "1: mov $39, %%eax\n" /* getpid */
                 "   syscall\n"
                 "   mov %[n], %%ebx\n"
                 "2: inc %[turns]\n"
                 "   dec %%ebx\n"
                 "   jnz 2b\n"
                 "   dec %[rounds]\n"
                 "   jnz 1b\n"
                 "xor %%eax, %%eax\n"
                 "llwpcb %%rax\n"
                 : [turns] "+r"(turns), [rounds] "+r"(rounds), "=&a"(number),
                   "=&b"(left)
                 : [block] "r"(&block), [n] "i"(TURNS)
                 : "rcx", "r11", "memory", "cc");
    return turns;
}

int main(void)
{
    uint64_t turns;

    block.flags = 1 << EVENT_INSNS;
    block.size = sizeof(ring);
    block.base = (uintptr_t)ring;
    turns = loop();
    printf("%lu turns, %u records, %lu missed\n", turns,
           block.head / RECORD_SIZE, block.missed);
    assert(turns == ROUNDS * TURNS);
    assert(block.head / RECORD_SIZE == INSNS && !block.missed);
    return 0;
}
