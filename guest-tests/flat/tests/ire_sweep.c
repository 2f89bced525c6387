// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every interval from 0 to 70 with every start that matters, over straight code and over loops: record k names
 * the instruction with the number start + k * (interval + 1), counted from 0, and no other.
 */
#include "lwp_fixture.h"
#include "test.h"

#define NOPS 300u
#define LOOP_TURNS 60u
#define LOOP_BODY 5u
#define RING_SLOTS 512u /* RING_PAGES */

extern char swp_nops[], swp_first[], swp_loop[], swp_l0[], swp_l1[], swp_l2[], swp_l3[], swp_l4[];

USER_CODE("swp_nops: llwpcb %rax\n"
	  "swp_first: .fill 300, 1, 0x90\n"
	  "user_exit\n"
	  /* esi turns of five instructions with three basic blocks. */
	  "swp_loop: llwpcb %rax\n"
	  "swp_l0: nop\n"
	  "swp_l1: jmp swp_l2\n"
	  "swp_l2: nop\n"
	  "swp_l3: dec %esi\n"
	  "swp_l4: jnz swp_l0\n"
	  "user_exit\n");

static u64 nop_address(u32 n)
{
	return (u64)swp_first + n;
}

static u64 loop_address(u32 n)
{
	static const char *const at[LOOP_BODY] = { swp_l0, swp_l1, swp_l2, swp_l3, swp_l4 };

	return (u64)at[n % LOOP_BODY];
}

/* Is what the ring holds right for `total` instructions? */
static bool right(const struct lwp *l, u32 interval, u32 start, u32 total, u64 (*address)(u32 n))
{
	u32 records = cb_head(l) / RECORD_SIZE, k;

	for (k = 0; k < records; k++) {
		struct rec got = ring_record(l, k);

		if (got.id != EV_IRE || got.address != address(start + k * (interval + 1)))
			break;
	}
	if (k == records && start + k * (interval + 1) >= total &&
	    (!k || start + (k - 1) * (interval + 1) < total))
		return true;
	report_note("  interval %u, start %u: %u records, record %u is wrong", interval, start,
		    records, k);
	return false;
}

static void sweep(struct lwp *l, const char *code, u32 total, u64 (*address)(u32 n),
		  const char *what)
{
	u32 interval, start, bad = 0;

	for (interval = 0; interval <= 70; interval++) {
		for (start = 0; start <= interval + 1; start += interval < 20 ? 1 : 11) {
			struct block b = { .size = RING_SLOTS * RECORD_SIZE,
					   .event = { { EV_IRE, interval, start } } };

			lwp_prepare(l, &b, code);
			l->u.r.rsi = LOOP_TURNS;
			lwp_resume(l);
			bad += !right(l, interval, start, total, address);
		}
	}
	report_eq(bad, 0, "%s", what);
}

FLAT_TEST(ire_sweep)
{
	struct lwp l;

	lwp_init(&l);
	sweep(&l, swp_nops, NOPS, nop_address, "straight code");
	sweep(&l, swp_loop, LOOP_TURNS * LOOP_BODY, loop_address, "a loop of three blocks");
}
