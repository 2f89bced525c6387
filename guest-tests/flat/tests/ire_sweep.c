// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every interval from 70 to 0 with every start that matters, over straight code and over loops: record k names
 * the instruction with the number start + k * (interval + 1), counted from 0, and no other
 * (43724-616, 43724-704, 43724-710, 43724-822).
 */
#include "lwp_fixture.h"
#include "test.h"

#define NOPS 300u
#define LOOP_TURNS 60u
#define LOOP_BODY 5u
/* More straight code than TCG translates at once to find the due instruction, and not only once. */
#define LONG_TURNS 10u
#define LONG_NOPS 48u
#define LONG_BODY (LONG_NOPS + 2)
#define RING_SLOTS 512u /* RING_PAGES */

extern char swp_nops[], swp_first[], swp_loop[], swp_l0[], swp_l1[], swp_l2[], swp_l3[], swp_l4[];
extern char swp_long[], swp_b0[], swp_b1[], swp_b2[];

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
	  "user_exit\n"
	  "swp_long: llwpcb %rax\n"
	  "swp_b0: .fill 48, 1, 0x90\n"
	  "swp_b1: dec %esi\n"
	  "swp_b2: jnz swp_b0\n"
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

static u64 long_address(u32 n)
{
	u32 at = n % LONG_BODY;

	return at < LONG_NOPS ? (u64)swp_b0 + at : at == LONG_NOPS ? (u64)swp_b1 : (u64)swp_b2;
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

static void sweep(struct lwp *l, const char *code, u32 turns, u32 total, u64 (*address)(u32 n),
		  const char *what)
{
	u32 bad = 0;

	/* Long ones first: what they leave translated the others meet, and not the other way round. */
	for (u32 interval = 71; interval-- > 0;) {
		for (u32 start = 0; start <= interval + 1; start += interval < 20 ? 1 : 11) {
			struct block b = { .size = RING_SLOTS * RECORD_SIZE,
					   .event = { { EV_IRE, interval, start } } };

			lwp_go_rsi(l, &b, code, turns);
			bad += !right(l, interval, start, total, address);
		}
	}
	report_eq(bad, 0, "%s", what);
}

LWP_TEST(ire_sweep)
{
	rule("43724-704 43724-410", CHOICE);
	sweep(l, swp_nops, 1, NOPS, nop_address, "straight code");
	sweep(l, swp_loop, LOOP_TURNS, LOOP_TURNS * LOOP_BODY, loop_address,
	      "a loop of three blocks");
	sweep(l, swp_long, LONG_TURNS, LONG_TURNS * LONG_BODY, long_address,
	      "a loop of a long block");
}
