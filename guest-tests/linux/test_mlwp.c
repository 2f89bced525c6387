// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program as it was written for silicon: compiled with gcc -mlwp, the compiler's own intrinsics, the 43724
 * layout spelt out. Layout, count, order and contents of its LWPVAL and LWPINS records are
 * exact (43724-401, 43724-501, 43724-505, 43724-601, 43724-624, 43724-632, 2007-501).
 */
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include "lwpcb.h"
#include "lwptest.h"

#define RECORDS 256
static struct lwpcb cb __attribute__((aligned(64)));
static struct event_record ring[RECORDS] __attribute__((aligned(64)));

static bool same(unsigned int i, unsigned char id, unsigned short flags, unsigned int data1,
		 unsigned long long data2)
{
	const struct event_record *r = &ring[i];

	return r->id == id && r->flags == flags && r->data1 == data1 && r->data2 == data2 &&
	       r->reserved == 0 && r->address != 0;
}

static void start(int interval, int counter)
{
	memset(&cb, 0, sizeof(cb));
	memset(ring, 0xee, sizeof(ring));
	cb.flags = 1u << 1; /* LWPVAL */
	cb.buffer_size = sizeof(ring);
	cb.buffer_base = (unsigned long long)ring;
	cb.events[0].interval = interval;
	cb.events[0].counter = counter;
	__llwpcb(&cb);
}

static void inserted_records(void)
{
	unsigned char full;

	start(0, 0);
	tap(__slwpcb() == &cb, "SLWPCB returns the block");
	tap(cb.flags == 1u << 1, "Flags shows what is active");
	full = __lwpins32(0x11112222, 0x33334444, 0x5555);
	tap(!full && same(0, 255, 0x5555, 0x33334444, 0x11112222), "LWPINS, 32-bit operand");
	full = __lwpins64(0x1122334455667788, 0x99aabbcc, 0xffff);
	tap(!full && same(1, 255, 0xffff, 0x99aabbcc, 0x1122334455667788),
	    "LWPINS, 64-bit operand");
	tap(ring[1].address > ring[0].address, "addresses in program order");
	__slwpcb();
	tap(cb.buffer_head_offset == 64 && cb.missed_events == 0, "two records");
	for (int i = 2; i < RECORDS - 1; i++)
		full |= __lwpins32(i, 0, 0);
	tap(!full, "%d records fit", RECORDS - 1);
	tap(__lwpins32(1000, 0, 0) == 1 && __lwpins32(1001, 0, 0) == 1, "a full ring sets CF");
	tap(same(RECORDS - 1, 255, 0, 0, 1001), "the last record is overwritten");
	__llwpcb(NULL);
	tap(cb.missed_events == 2 && cb.buffer_head_offset == 32 * (RECORDS - 1), "2 MissedEvents");
	tap(!__slwpcb(), "LWP is off");
	tap(__lwpins32(1, 2, 3) == 0, "LWPINS does nothing when LWP is off");
}

static void sampled_values(void)
{
	start(9, 9);
	for (unsigned int i = 0; i < 1000; i++) {
		if (i & 1)
			__lwpval64(0xabcdef0000000000 + i, i, 7);
		else
			__lwpval32(i, ~i, 7);
	}
	__llwpcb(NULL);
	tap(cb.buffer_head_offset == 100 * 32, "interval 9: 1000 LWPVAL give 100 records (%u)",
	    cb.buffer_head_offset / 32);
	tap(cb.events[0].counter == 9, "the counter is back at its interval");
	for (unsigned int i = 0, wrong = 0; i < 100; i++) {
		/* The 10th, 20th, ... LWPVAL: i = 9, 19, ..., always odd. */
		wrong += !same(i, 1, 7, 10 * i + 9, 0xabcdef0000000000 + 10 * i + 9);
		if (i == 99)
			tap(!wrong, "LWPVAL, 64-bit operand: every tenth value");
	}

	start(10, 0);
	for (unsigned int i = 0; i < 1000; i++)
		__lwpval32(0x80000000 + i, i * 3, 0x8001);
	__llwpcb(NULL);
	for (unsigned int i = 0, wrong = 0; i < 91; i++) {
		wrong += !same(i, 1, 0x8001, 33 * i, 0x80000000 + 11 * i);
		if (i == 90)
			tap(!wrong && cb.buffer_head_offset == 91 * 32,
			    "LWPVAL, 32-bit operand, counter 0: the first, then every eleventh");
	}
}

int main(void)
{
	lwptest_need(1);
	inserted_records();
	sampled_values();
	return tap_done();
}
