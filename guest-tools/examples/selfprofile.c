// SPDX-License-Identifier: MIT
/*
 * A program that profiles itself in two threads. LWP belongs to a thread: each has a block and a ring of its own, starts
 * LWP, marks its phases with LWPINS, samples a value with LWPVAL, reads its ring, and stops LWP before it ends. No
 * system call is involved.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "lwp.h"

#define RING_SIZE (4096 * sizeof(struct lwp_event))
#define INSTRUCTIONS 1000000 /* a record of so many */
#define VALUES 10000
#define PHASES 3
#define PHASE_VALUES 20000
#define PHASE_MARK 0x1000
#define VALUE_MARK 0x2000

/* One thread's. It must not be freed while LWP runs. */
struct profile {
	_Alignas(4096) unsigned char block_page[4096];
	_Alignas(4096) unsigned char ring[RING_SIZE];
	const char *name;
	uint32_t begin; /* what it computes from */
};

static struct lwp_features features;
static struct profile profiles[] = { { .name = "first" }, { .name = "second", .begin = 100000 } };

static void drain(const struct profile *profile, struct lwp_block *block)
{
	const struct lwp_event *event;

	for (; (event = lwp_ring_peek(block)); lwp_ring_pop(block))
		printf("%s: event %3u at %#" PRIx64 " flags %#06x data1 %" PRIu32 " data2 %" PRIu64
		       "\n",
		       profile->name, event->event_id, event->address, (unsigned int)event->flags,
		       event->data1, event->data2);
}

static uint64_t collatz_steps(uint64_t n)
{
	uint64_t steps;

	for (steps = 0; n != 1; steps++)
		n = n % 2 ? 3 * n + 1 : n / 2;
	return steps;
}

static void *profiled(void *arg)
{
	struct profile *profile = arg;
	struct lwp_block *block = (struct lwp_block *)(void *)profile->block_page;

	lwp_block_init(block, &features, profile->ring, RING_SIZE, 0);
	lwp_block_event(block, &features, LWP_EVENT_INSTRUCTION, INSTRUCTIONS - 1,
			INSTRUCTIONS - 1);
	lwp_block_event(block, &features, LWP_EVENT_VALUE, VALUES - 1, 0);
	lwp_llwpcb(block);
	for (unsigned int phase = 0; phase < PHASES; phase++) {
		lwp_lwpins(phase, 0, PHASE_MARK);
		for (uint32_t n = 1; n <= PHASE_VALUES; n++)
			lwp_lwpval(collatz_steps(profile->begin + n), n, VALUE_MARK);
		drain(profile, block);
	}
	lwp_llwpcb(NULL);
	drain(profile, block);
	printf("%s: missed events: %" PRIu64 "\n", profile->name, block->missed_events);
	return NULL;
}

int main(void)
{
	pthread_t second;

	if (!lwp_query(&features)) {
		fprintf(stderr, "selfprofile: this processor does not offer LWP\n");
		return 77;
	}
	if (pthread_create(&second, NULL, profiled, &profiles[1])) {
		fprintf(stderr, "selfprofile: there is no second thread\n");
		return EXIT_FAILURE;
	}
	profiled(&profiles[0]);
	pthread_join(second, NULL);
	return EXIT_SUCCESS;
}
