/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AMD's performance counters at CPL 0: instructions of a known loop are counted
 * exactly, where the counter is to count, and not elsewhere.
 */
#include <stdint.h>
#include <stdbool.h>
#include <minilib.h>

#define PERF_CTL0 0xc0010000
#define CTL_USER (1 << 16)
#define CTL_OS (1 << 17)
#define CTL_ENABLE (1 << 22)
#define INSTRUCTIONS 0xc0
#define ROUNDS 1000

static void select(uint32_t value)
{
    asm volatile("wrmsr" : : "c"(PERF_CTL0), "a"(value), "d"(0));
}

/* What counter 0 counts from one RDPMC, which it has, to the next. */
static uint32_t count_loop(void)
{
    uint32_t count, high = 0, rounds = ROUNDS, first;

    asm volatile("rdpmc\n\t"
                 "mov %%eax, %3\n\t"
                 "1: dec %2\n\t"
                 "jnz 1b\n\t"
                 "rdpmc\n\t"
                 "sub %3, %%eax"
                 : "=&a"(count), "+d"(high), "+S"(rounds), "=&D"(first)
                 : "c"(0) : "cc");
    return count;
}

static bool is(const char *what, uint32_t have, uint32_t want)
{
    ml_printf("%s: %d, expected %d\n", what, have, want);
    return have == want;
}

int main(void)
{
    bool good = true;

    select(CTL_ENABLE | CTL_OS | INSTRUCTIONS);
    good &= is("instructions", count_loop(), 2 + 2 * ROUNDS);
    select(CTL_ENABLE | CTL_USER | INSTRUCTIONS);
    good &= is("instructions of user mode", count_loop(), 0);
    select(CTL_OS | INSTRUCTIONS);
    good &= is("while it is off", count_loop(), 0);
    return good ? 0 : 1;
}
