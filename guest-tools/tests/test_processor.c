// SPDX-License-Identifier: GPL-2.0-or-later
/* From CPUID 8000_001C and options to a control block (43724-104, 43724-401; 2007-104, 2007-401). */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "processor.h"

static struct leaf leaf;
static struct pool pool;
static char why[256];

/* All of 43724; a real Bulldozer, enabled; all of 2007 but its interrupt. */
static const struct lwp_leaf full = { 0x7f, 0x80062016, 0x00010230, 0x7f };
static const struct lwp_leaf fam15h = { 0x8000000f, 0x80032013, 0x00010200, 0x8000000f };
static const struct lwp_leaf full07 = { 0x0f, 0x01032040, 0xc0000030, 0x1d };

static void decode(const struct lwp_leaf *regs)
{
	leaf.regs = *regs;
	cr_assert(leaf_decode(&leaf));
}

static struct options options(uint32_t nr, uint32_t first, uint32_t second)
{
	return (struct options){
		.nr_events = nr,
		.events = { { first, 1000 }, { second, 0x1ffffff } },
		.ring_size = 4096,
		.random = 6,
	};
}

static uint32_t word(uint32_t offset)
{
	return lwp_get32(pool.template + offset);
}

Test(processor, the_revision_is_told_by_the_event_offset)
{
	decode(&full);
	cr_expect(eq(u8, leaf.rev->id, LWP_REV_43724));
	decode(&fam15h);
	cr_expect(eq(u8, leaf.rev->id, LWP_REV_43724));
	decode(&full07);
	cr_expect(eq(u8, leaf.rev->id, LWP_REV_2007));
}

Test(processor, a_block_of_43724_has_slots_by_event_id)
{
	struct options o = options(2, LWP_KIND_BRE, LWP_KIND_IRE);

	decode(&full);
	cr_assert(leaf_fill_pool(&leaf, &o, &pool, why, sizeof(why)), "%s", why);
	cr_expect(eq(u32, word(0), 1 << 3 | 1 << 2), "Flags");
	cr_expect(eq(u32, word(4), 4096 | 6u << 28), "BufferSize and Random");
	/* EventInterval2 at 128 + 8, EventInterval3 at 128 + 16. */
	cr_expect(eq(u32, word(144), 1000));
	cr_expect(eq(u32, word(136), 0x1ffffff));
	cr_expect(eq(u32, pool.counter_offset[0], 148));
	cr_expect(eq(u32, pool.counter_offset[1], 140));
	cr_expect(eq(u32, pool.block_size, 176));
	cr_expect(eq(u32, pool.base_offset, 8));
	cr_expect(eq(u32, pool.unique_offset, 40), "BaseIP");
	cr_expect(eq(u32, pool.counter_min, 0));
}

Test(processor, a_block_of_2007_has_slots_that_select)
{
	struct options o = options(2, LWP_KIND_BRE, LWP_KIND_IRE);

	decode(&full07);
	cr_assert(leaf_fill_pool(&leaf, &o, &pool, why, sizeof(why)), "%s", why);
	cr_expect(eq(u32, word(0), 0), "Flags are output");
	/* Slots at 40 and 48: interval, EventId in 31:26; branches are 2, instructions 1. */
	cr_expect(eq(u32, word(40), 1000 | 2u << 26));
	cr_expect(eq(u32, word(48), 0x1ffffff | 1u << 26));
	cr_expect(eq(u32, pool.counter_offset[0], 44));
	cr_expect(eq(u32, pool.counter_offset[1], 52));
	cr_expect(eq(u32, pool.unique_offset, 0));
	cr_expect(eq(u32, pool.counter_min, 1), "a counter of 0 stays there");
	o.events[0].interval = 0;
	cr_expect(not(leaf_fill_pool(&leaf, &o, &pool, why, sizeof(why))));
	cr_expect(strstr(why, "at least 1") != NULL, "%s", why);
}

Test(processor, records_have_time_stamps_where_the_processor_has_them_but_not_in_windows)
{
	struct options o = options(1, LWP_KIND_BRE, 0);
	struct lwp_leaf regs = full;

	regs.eax |= 1u << 30;
	decode(&regs);
	cr_assert(leaf_fill_pool(&leaf, &o, &pool, why, sizeof(why)));
	cr_expect(eq(u32, word(0), 1u << 30 | 1 << 3));
	o.windows = WINDOWS_SAMPLED;
	cr_assert(leaf_fill_pool(&leaf, &o, &pool, why, sizeof(why)));
	cr_expect(eq(u32, word(0), 1 << 3));
}

Test(processor, events_that_are_not_there_are_named)
{
	struct options o = options(1, LWP_KIND_CNH, 0);

	decode(&fam15h);
	cr_expect(not(leaf_fill_pool(&leaf, &o, &pool, why, sizeof(why))));
	cr_expect(eq(str, why,
		     (char *)"this processor does not count cycles; it has: values, "
			     "instructions, branches"));
}

Test(processor, events_that_the_system_has_not_enabled_are_not_there)
{
	struct options o = options(1, LWP_KIND_BRE, 0);
	struct lwp_leaf regs = fam15h;

	regs.eax &= ~(1u << 3); /* EAX has what LWP_CFG enables, EDX what there is */
	decode(&regs);
	cr_expect(not(leaf_fill_pool(&leaf, &o, &pool, why, sizeof(why))));
	cr_expect(
		eq(str, why,
		   (char *)"this processor does not count branches; it has: values, instructions"));
}

Test(processor, a_ring_has_at_least_the_leafs_minimum)
{
	struct options o = options(1, LWP_KIND_IRE, 0);

	/* LwpMinBufferSize 1: 32 records of 32 bytes. */
	decode(&full);
	cr_expect(eq(u32, leaf_ring_min(&leaf), 1024));
	o.ring_size = 1024;
	cr_expect(leaf_fill_pool(&leaf, &o, &pool, why, sizeof(why)));
	o.ring_size = 992;
	cr_expect(not(leaf_fill_pool(&leaf, &o, &pool, why, sizeof(why))));
	cr_expect(strstr(why, "1024") != NULL, "%s", why);
	/* 2007 has none; one place of a ring stays empty. */
	decode(&full07);
	cr_expect(eq(u32, leaf_ring_min(&leaf), 64));
}
