// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that profiles itself: it starts LWP with a block and a ring of its own, marks its phases
 * with LWPINS, samples a value with LWPVAL, and reads the ring. No system call is involved.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lwp.h"

#define RING_SIZE (4096 * sizeof(struct lwp_event))
#define PHASE_MARK 0x1000
#define VALUE_MARK 0x2000

static _Alignas(4096) unsigned char block_page[4096];
static _Alignas(4096) unsigned char ring[RING_SIZE];

static void drain(struct lwp_block *block)
{
	const struct lwp_event *event;

	for (; (event = lwp_ring_peek(block)); lwp_ring_pop(block))
		printf("event %3u at %#" PRIx64 " flags %#06x data1 %" PRIu32 " data2 %" PRIu64
		       "\n",
		       event->event_id, event->address, (unsigned int)event->flags, event->data1,
		       event->data2);
}

static uint64_t collatz_steps(uint64_t n)
{
	uint64_t steps;

	for (steps = 0; n != 1; steps++)
		n = n % 2 ? 3 * n + 1 : n / 2;
	return steps;
}

int main(void)
{
	struct lwp_block *block = (struct lwp_block *)(void *)block_page;
	struct lwp_features features;

	if (!lwp_query(&features)) {
		fprintf(stderr, "selfprofile: this processor does not offer LWP\n");
		return 77;
	}
	lwp_block_init(block, &features, ring, RING_SIZE, 0);
	lwp_block_event(block, &features, LWP_EVENT_INSTRUCTION, 999999, 999999);
	lwp_block_event(block, &features, LWP_EVENT_VALUE, 9999, 0);
	lwp_llwpcb(block);
	for (unsigned int phase = 0; phase < 3; phase++) {
		lwp_lwpins(phase, 0, PHASE_MARK);
		for (uint32_t n = 1; n <= 20000; n++)
			lwp_lwpval(collatz_steps(n), n, VALUE_MARK);
		drain(block);
	}
	lwp_llwpcb(NULL);
	drain(block);
	printf("missed events: %" PRIu64 "\n", block->missed_events);
	return EXIT_SUCCESS;
}
