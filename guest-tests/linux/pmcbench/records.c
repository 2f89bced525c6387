// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Values from LWP's records: with an interval of 0 each event stores one, so the ring is the list of what
 * happened. An instruction stores only one record, so each event has runs of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lwp.h"
#include "pmcbench.h"

#define RING_SIZE (4u << 20)
#define WARM_UP 2

static struct lwp_features features;
static struct lwp_block *block;
static uint8_t *ring;

/* The EventId whose records say how often an event of the PMU happened; 0: none. */
static unsigned int event_id(const struct event *e)
{
	switch (e->select) {
	case 0xc0:
		return LWP_EVENT_INSTRUCTION;
	case 0xc2:
	case 0xc4:
		return LWP_EVENT_BRANCH;
	default:
		return 0;
	}
}

void records_open(const struct options *options)
{
	if (!lwp_query(&features))
		quit(STATUS_SKIPPED, "this machine has no LWP");
	for (unsigned int i = 0; i < options->nr_events; i++) {
		unsigned int id = event_id(&options->events[i]);

		if (!id)
			quit(STATUS_USAGE,
			     "LWP has no records of %s, only of instructions, branches and taken",
			     options->events[i].name);
		if (!(features.available & LWP_ENABLE(id)))
			quit(STATUS_SKIPPED, "LWP does not offer %s here", options->events[i].name);
	}
	block = aligned_alloc(4096, 4096);
	ring = mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (!block || ring == MAP_FAILED)
		quit(STATUS_FAILED, "no memory for a ring: %s", strerror(errno));
}

/* mov %rdi, %rax; llwpcb %rax; the snippet; xor %eax, %eax; llwpcb %rax */
static routine_fn build(const struct snippet *snippet)
{
	static const uint8_t on[] = { 0x48, 0x89, 0xf8, 0x8f, 0xe9, 0xf8, 0x12, 0xc0 };
	static const uint8_t off[] = { 0x31, 0xc0, 0x8f, 0xe9, 0xf8, 0x12, 0xc0 };
	struct routine r;

	routine_begin(&r);
	routine_add(&r, on, sizeof(on));
	routine_add_fenced(&r, snippet);
	routine_add(&r, off, sizeof(off));
	return routine_end(&r);
}

static uint32_t count_records(const struct event *e)
{
	const struct lwp_event *record;
	uint32_t count = 0;

	while ((record = lwp_ring_peek(block))) {
		count += e->select != 0xc4 || record->flags & LWP_EVENT_TAKEN;
		lwp_ring_pop(block);
	}
	if (block->missed_events)
		quit(STATUS_FAILED,
		     "the snippet has more than %u events, which is all that the ring holds",
		     RING_SIZE / (unsigned int)sizeof(*record) - 1);
	return count;
}

void records_measure(const struct options *options, const struct snippet *snippet,
		     struct samples *samples)
{
	routine_fn routine = build(snippet);

	for (unsigned int i = 0; i < options->nr_events; i++) {
		const struct event *e = &options->events[i];

		for (unsigned int run = 0; run < options->runs + WARM_UP; run++) {
			lwp_block_init(block, &features, ring, RING_SIZE, 0);
			lwp_block_event(block, &features, event_id(e), 0, 0);
			routine(block);
			if (run >= WARM_UP)
				samples->value[i][run - WARM_UP] = count_records(e);
		}
	}
}
