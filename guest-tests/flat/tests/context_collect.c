// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Collection of `auto` contexts (docs/design.md#contexts): one that is not used for lwp-context-age seconds
 * goes if its program's memory has gone, and stays if it is there or swapped out. The memory that was taken
 * away is given back as it was before the test looks: a context that is still there would be found
 * (43724-905).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define WAIT 4u /* seconds; the machine has lwp-context-age=1 */

static void wait_seconds(u32 n)
{
	u8 now = cmos_read(0);

	for (; n; n--) {
		while (cmos_read(0) == now)
			pause();
		now = cmos_read(0);
	}
}

/* What happens to a program while it is not running: a 64-bit word of its tables or memory changes. */
struct loss {
	const char *what;
	bool kept;
	u64 *at;
	u64 with;
	u64 before;
	struct lwp l;
};

enum {
	ASLEEP,
	BLOCK_GONE,
	RING_GONE,
	BLOCK_SWAPPED,
	BLOCK_ANOTHER,
	RECORD_ANOTHER,
	NO_TABLES,
	GARBAGE,
	LOSSES
};

static struct loss losses[LOSSES] = {
	[ASLEEP] = { "a program that sleeps", true },
	[BLOCK_GONE] = { "block unmapped", false },
	[RING_GONE] = { "ring unmapped", false },
	[BLOCK_SWAPPED] = { "block swapped out", true },
	[BLOCK_ANOTHER] = { "another block there", false },
	[RECORD_ANOTHER] = { "another record there", false },
	[NO_TABLES] = { "address space freed", false },
	[GARBAGE] = { "address space used again for data", false },
};

static void lose(u32 n)
{
	struct loss *loss = &losses[n];
	u64 cr3 = loss->l.cr3;
	u64 *word[LOSSES] = {
		[BLOCK_GONE] = as_pte(cr3, CB_VA),
		[RING_GONE] = as_pte(cr3, RING_VA),
		[BLOCK_SWAPPED] = as_pte(cr3, CB_VA),
		[BLOCK_ANOTHER] = (u64 *)loss->l.cb,
		[RECORD_ANOTHER] = (u64 *)loss->l.ring + 5,
		[NO_TABLES] = (u64 *)cr3,
		[GARBAGE] = (u64 *)cr3,
	};

	loss->at = word[n];
	if (!loss->at)
		return;
	loss->before = *loss->at;
	if (n == BLOCK_SWAPPED)
		*loss->at &= ~PTE_P;
	else if (n == BLOCK_ANOTHER || n == RECORD_ANOTHER)
		*loss->at ^= 0x100000000ul;
	else
		*loss->at = n == GARBAGE ? 0x6c6c6f5720666f20ul : 0;
}

/* All are lost for a moment, or for so long that what does not come back goes. */
static void lose_all(bool longer)
{
	for (u32 i = 0; i < LOSSES; i++)
		lose(i);
	wait_seconds(longer ? WAIT : 0);
	for (u32 i = 0; i < LOSSES; i++) {
		if (losses[i].at)
			*losses[i].at = losses[i].before;
	}
	for (u32 i = 0; i < LOSSES; i++) {
		bool kept = losses[i].kept || !longer;

		report_eq(lwp_touch_in(losses[i].l.cr3), kept ? CB_VA : 0,
			  "%s for %s: the context %s", losses[i].what,
			  longer ? "longer" : "a moment", kept ? "stays" : "goes");
		report_eq(cb_head(&losses[i].l), 2 * RECORD_SIZE, "%s: nothing is written",
			  losses[i].what);
		write_cr3(kernel_cr3());
	}
}

FLAT_TEST(context_collect)
{
	lwp_enable();
	for (u32 i = 0; i < LOSSES; i++) {
		lwp_map(&losses[i].l, as_new());
		write_cr3(losses[i].l.cr3);
		lwp_go(&losses[i].l, every_insn(), lwp_start);
		write_cr3(kernel_cr3());
	}
	lose_all(false);
	lose_all(true);
}
