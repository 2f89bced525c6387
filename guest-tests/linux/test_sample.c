// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The documented example of the compilers' intrinsics, in 64 and in 32 bits: EventInterval 9 and EventCounter 0, 31 rounds of
 * LWPVAL, LWPINS in each seventh. 32-bit: 9 records, 4 LWPVAL and 5 LWPINS. 64-bit, which has a second loop of the wide
 * forms: 17, 7 and 10. Without the LWPVAL event 5 and 10 of LWPINS. Their order and contents are
 * checked (43724-601, 43724-630, 43724-632).
 */
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include "lwptest.h"
#include "mlwp.h"

#define RECORDS 4096
#define ROUNDS 31
#define VAL 1
#define INS 255
#define INS_FLAGS 0x4567 /* the low 16 bits of the immediates */
#define VAL_FLAGS 0x0cad

static struct event_record ring[RECORDS];
static struct lwpcb cb;

/* What is to be in the ring, in this order: EventId, round, wide. */
struct expected {
	unsigned int id, round, wide;
};

static const struct expected all[] = {
	{ INS, 0, 0 },	{ VAL, 0, 0 },	{ INS, 7, 0 },	{ VAL, 10, 0 }, { INS, 14, 0 },
	{ VAL, 20, 0 }, { INS, 21, 0 }, { INS, 28, 0 }, { VAL, 30, 0 },
#ifdef __x86_64__
	{ INS, 0, 1 },	{ INS, 7, 1 },	{ VAL, 9, 1 },	{ INS, 14, 1 }, { VAL, 19, 1 },
	{ INS, 21, 1 }, { INS, 28, 1 }, { VAL, 29, 1 },
#endif
};
#define ALL (sizeof(all) / sizeof(all[0]))

/* As the example does: the ring begins three records before its end. */
static void start(unsigned int flags)
{
	memset(&cb, 0, sizeof(cb));
	memset(ring, 0, sizeof(ring));
	cb.flags = flags;
	cb.buffer_size = sizeof(ring);
	cb.buffer_base = (uintptr_t)ring;
	cb.buffer_head_offset = sizeof(ring) - 3 * sizeof(ring[0]);
	cb.buffer_tail_offset = cb.buffer_head_offset;
	cb.threshold = 2 * sizeof(ring);
	cb.event[0].interval = 9;
	__llwpcb(&cb);
	tap(__slwpcb() == &cb, "SLWPCB returns the block");
}

static void rounds(void)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		if (i % 7 == 0)
			__lwpins32(0xdeadbeef, i, 0x01234567);
		__lwpval32(0x0badf00d, i, 0xcad00cad);
	}
#ifdef __x86_64__
	for (unsigned int i = 0; i < ROUNDS; i++) {
		if (i % 7 == 0)
			__lwpins64(0xdeadbeefdeadbeef, i, 0x01234567);
		__lwpval64(0x0badf00d0badf00d, i, 0xcad00cad);
	}
#endif
	__slwpcb();
}

static bool same(const struct event_record *r, const struct expected *want)
{
	unsigned long long narrow = want->id == INS ? 0xdeadbeef : 0x0badf00d;

	return r->id == want->id && r->flags == (want->id == INS ? INS_FLAGS : VAL_FLAGS) &&
	       r->data1 == want->round &&
	       r->data2 == (want->wide ? narrow << 32 | narrow : narrow) && r->address &&
	       !r->reserved;
}

/* The records that `id` has, or all with 0. */
static void expect(unsigned int id, const char *what)
{
	unsigned int slot = RECORDS - 3, count = 0;
	bool ok = true;

	for (unsigned int i = 0; i < ALL; i++) {
		if (id && all[i].id != id)
			continue;
		ok &= same(&ring[slot], &all[i]);
		slot = (slot + 1) % RECORDS;
		count++;
	}
	tap(ok && cb.buffer_head_offset == slot * sizeof(ring[0]) && !cb.missed_events,
	    "%s: %u records in order", what, count);
}

int main(void)
{
	lwptest_need(VAL);
	start(1u << VAL);
	rounds();
	__llwpcb(NULL);
	expect(0, "LWPVAL and LWPINS");
	start(0);
	rounds();
	__llwpcb(NULL);
	expect(INS, "without the event of LWPVAL");
	return tap_done();
}
