/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lightweight Profiling at CPL 0: LLWPCB loads a control block, LWPINS stores a
 * record, SLWPCB returns the block.  Pages are user pages in these tests, as
 * LWP wants.
 */
#include <stdint.h>
#include <stdbool.h>
#include <minilib.h>

#define EXT3_LWP 0x8000
#define CB_LWPVAL 2 /* Flags: the event of LWPVAL is active */
#define EVENT_LWPINS 255
#define RECORD_SIZE 32

static struct {
    uint32_t flags;
    uint32_t size;
    uint64_t base;
    uint32_t head;
    uint32_t unused;
    uint64_t missed;
    uint32_t threshold;
    uint32_t filters;
    uint64_t more[251];
} block __attribute__((aligned(4096)));

static uint8_t ring[64 * RECORD_SIZE] __attribute__((aligned(4096)));

static uint32_t cpuid_ecx(uint32_t leaf)
{
    uint32_t a = leaf, b, c = 0, d;

    asm("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return c;
}

static void llwpcb(void *address)
{
    asm volatile("llwpcb %0" : : "r"(address) : "memory");
}

static uint64_t slwpcb(void)
{
    uint64_t address;

    asm volatile("slwpcb %0" : "=r"(address) : : "memory");
    return address;
}

static bool is(const char *what, uint64_t have, uint64_t want)
{
    ml_printf("%s: 0x%lx, expected 0x%lx\n", what, have, want);
    return have == want;
}

int main(void)
{
    bool good = true;

    if (!(cpuid_ecx(0x80000001) & EXT3_LWP)) {
        ml_printf("the CPU has no LWP\n");
        return 1;
    }
    good &= is("SLWPCB while off", slwpcb(), 0);

    block.flags = CB_LWPVAL;
    block.size = sizeof(ring);
    block.base = (uintptr_t)ring;
    llwpcb(&block);
    good &= is("SLWPCB behind LLWPCB", slwpcb(), (uintptr_t)&block);

    asm volatile("lwpins $0x1234, %0, %1"
                 : : "r"(0x55667788), "r"(0x99ul) : "memory", "cc");
    good &= is("BufferHeadOffset", block.head, RECORD_SIZE);
    good &= is("EventId", ring[0], EVENT_LWPINS);
    good &= is("Data1", *(uint32_t *)(ring + 4), 0x55667788);

    llwpcb(0);
    good &= is("SLWPCB while off again", slwpcb(), 0);
    return good ? 0 : 1;
}
