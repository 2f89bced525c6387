// SPDX-License-Identifier: GPL-2.0-or-later
/* What a random program has left. */
#include "diff.h"
#include "x86.h"

#define COUNTER_SIGN (1u << 25)

void diff_print_records(const struct lwp *l, const struct block *b)
{
	u32 slots = b->size / RECORD_SIZE;

	for (u32 i = 0; i < slots; i++) {
		const u8 *rec = l->ring + (b->base - RING_VA) + i * RECORD_SIZE;

		if (rec[0] != RING_FILL)
			print("# record %lx %lx %lx\n", lwp_get64(rec), lwp_get64(rec + 8),
			      lwp_get64(rec + 16));
	}
}

/* Events of instructions and branches that are due and have no record. */
static u32 events_due(const struct lwp *l)
{
	u32 n = 0;

	for (u32 id = EV_IRE; id <= EV_BRE; id++)
		n += (cb_counter(l, id) & COUNTER_SIGN) != 0;
	return n;
}

void diff_dump(const struct lwp *l, u32 n, u64 log, u32 stops)
{
	u64 ring = hash(HASH_START, l->ring, RING_PAGES * PAGE_SIZE);
	u64 block = hash(HASH_START, l->cb, PAGE_SIZE);
	u64 memory = hash(hash(HASH_START, l->data, DATA_PAGES * PAGE_SIZE), l->stack,
			  STACK_PAGES * PAGE_SIZE);

	print("# dump program %u: ring %016lx block %016lx memory %016lx stops %016lx %u head %lx missed %lx due %u\n",
	      n, ring, block, memory, log, stops, cb_head(l), cb_missed(l), events_due(l));
}
