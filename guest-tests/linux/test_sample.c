// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The example of Microsoft's page on __llwpcb, in 64 and in 32 bits: its layouts, its walk of CPUID, its calls, what they
 * print, and its mistakes (43724-601, 43724-630, 43724-632). The page names no licence: this is equal in structure, no copy.
 */
#include <cpuid.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>

#include "lwpcb.h"

#define ROUNDS 31

static struct event_record ring[4096];
static struct lwpcb cb;

/* Bit `bit` of EAX, EBX, ECX or EDX: 0 to 3. */
static unsigned int cpuid_bit(unsigned int leaf, int of, int bit)
{
	unsigned int id[4];

	__cpuid(leaf, id[0], id[1], id[2], id[3]);
	return id[of] >> bit & 1;
}
#define lwp_supported() cpuid_bit(0x80000001, 2, 15)
#define lwp_available() cpuid_bit(0x8000001c, 0, 0)
#define lwpval_supported() cpuid_bit(0x8000001c, 3, 1)
#define lwpval_available() cpuid_bit(0x8000001c, 3, 1) /* of EDX, where EAX says it */

static void initialize(struct lwpcb *p)
{
	struct event *events = p->events;

	p->flags = p->random = 0;
	p->buffer_size = sizeof(ring);
	p->buffer_base = (unsigned long long)(intptr_t)ring; /* in 32 bits its sign is extended */
	p->buffer_head_offset = p->buffer_size - 3 * sizeof(ring[0]);
	p->threshold = 2 * p->buffer_size;
	p->missed_events = p->filters = p->base_ip = p->limit_ip = 0;
	p->buffer_tail_offset = p->buffer_head_offset;
	p->reserved_1 = p->reserved_2 = p->reserved_3 = 0;
	for (int i = 0; i < 7; i++)
		p->reserved_4[i] = 0;
	/* Off by one: the last reserved field, and all events but the last. */
	for (int i = 0; i < 6; i++)
		events[i - 1] = (struct event){ 0 };
	if (lwpval_supported() && lwpval_available()) {
		p->flags |= 2;
		p->events[0].interval = 9;
	}
}

static void rounds(int val)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		if (i % 7 == 0)
			__lwpins32(0xdeadbeef, i, 0x01234567);
		if (val)
			__lwpval32(0x0badf00d, i, 0xcad00cad);
	}
#ifdef __x86_64__
	for (unsigned int i = 0; i < ROUNDS; i++) {
		if (i % 7 == 0)
			__lwpins64(0xdeadbeefdeadbeef, i, 0x01234567);
		if (val)
			__lwpval64(0x0badf00d0badf00d, i, 0xcad00cad);
	}
#endif
}

static void report(void)
{
	const unsigned int one = sizeof(ring[0]), size = cb.buffer_size / one;
	const unsigned int tail = cb.buffer_tail_offset / one, head = cb.buffer_head_offset / one;
	unsigned int count[256] = { 0 };

	printf("%u entries in ring buffer\n", head - tail + (tail <= head ? 0 : size));
	for (unsigned int i = tail; i != head; i = (i + 1) % size) {
		if (ring[i].id != 1 && ring[i].id != 255)
			printf("WARNING: bad EventId %u in ring buffer\n", ring[i].id);
		count[ring[i].id]++;
	}
	printf("%u LWPVAL instructions, %u LWPINS instructions\n", count[1], count[255]);
}

static void fail(const char *text)
{
	puts(text);
	exit(1);
}

int main(void)
{
	if (!lwp_supported())
		fail("LWP is not supported by this hardware");
	if (!lwp_available())
		fail("OS has not made LWP available");
	printf("%d-bit compiler\n", 8 * (int)sizeof(void *));
	initialize(&cb);
	__llwpcb(&cb);
	if (__slwpcb() != &cb)
		fail("Test failed: bad return from __slwpcb()");
	if (!lwpval_supported())
		puts("LWPVAL instruction not supported by the hardware");
	else if (!lwpval_available())
		puts("LWPVAL instruction not enabled");
	rounds(lwpval_supported() && lwpval_available());
	__slwpcb();
	report();
	return 0;
}
