// SPDX-License-Identifier: GPL-2.0-or-later
/* The context table on the wire (docs/design.md#migration). */
#include "fake_contexts.h"

static u8 wire[4 * LWP_CTX_ENTRY_SIZE];
static u32 bad;

static const struct lwp_ctx_key key_a = { .cr3 = 0x1000, .thread = 0x7f0000000000 };
static const struct lwp_ctx_key key_b = { .cr3 = 0x2000, .flags = LWP_CTX_32BIT };

/* A has a stored and a pending record, B has none. */
static void two_parked(void)
{
	start(LWP_REV_43724);
	set_event(BLOCK, 2, 9, 0);
	set_event(BLOCK2, 2, 99, 50);
	empty_table(3);
	cr_assert(create(BLOCK, 0, &key_a));
	steps(0x400000, 10);
	cr_assert(retire_at(0x400100));
	lwp_ctx_park(&table, &eng, 0, 0);
	cr_assert(create(BLOCK2, 0, &key_b));
	steps(0x500000, 5);
	lwp_ctx_park(&table, &eng, 0, 0);
}

TestSuite(context_wire, .init = two_parked);

Test(context_wire, an_empty_table_is_no_bytes)
{
	start(LWP_REV_43724);
	empty_table(3);
	cr_expect(eq(sz, lwp_ctx_save(&table, &caps, wire, 0), 0));
	cr_expect(lwp_ctx_load(&table, &caps, wire, 0, 0, &bad) == NULL);
}

Test(context_wire, the_size_is_asked_first)
{
	memset(wire, 0xaa, sizeof(wire));
	cr_expect(eq(sz, lwp_ctx_save(&table, &caps, wire, 479), 480));
	cr_expect(eq(u8, wire[0], 0xaa));
	cr_expect(eq(sz, lwp_ctx_save(&table, &caps, wire, 480), 480));
	cr_expect(eq(u64, lwp_get64(wire), 0x1000));
	cr_expect(eq(u64, lwp_get64(wire + 240), 0x2000));
	cr_expect(eq(u8, wire[480], 0xaa));
}

Test(context_wire, programs_go_on_where_they_were)
{
	lwp_ctx_save(&table, &caps, wire, sizeof(wire));
	start_engine(true, LWP_DELIVERY_EXACT); /* another host */
	memset(table_memory, 0xff, sizeof(table_memory));
	empty_table(3);
	cr_expect(lwp_ctx_load(&table, &caps, wire, 480, 0, &bad) == NULL);
	cr_expect(eq(u32, table.used, 2));
	cr_expect(eq(int, find(1, &key_a), LWP_CTX_RESUMED));
	cr_expect(eq(u64, eng.st.cfg, 0x6000007e));
	expect_exc(boundary(0x400104, true), NONE);
	expect_head(64);
	cr_expect(eq(u64, record(1).address, 0x400100));
	lwp_ctx_park(&table, &eng, 1, 0);
	cr_expect(eq(int, find(1, &key_b), LWP_CTX_RESUMED));
	cr_expect(eq(i32, eng.st.counter[1], 45));
}

Test(context_wire, verification_travels)
{
	lwp_ctx_save(&table, &caps, wire, sizeof(wire));
	cr_expect(lwp_ctx_load(&table, &caps, wire, 480, 0, &bad) == NULL);
	put64(RING + 8, 0); /* the last record */
	put32(BLOCK2 + 32, 32); /* a constant field */
	cr_expect(eq(int, find(1, &key_a), LWP_CTX_NONE));
	cr_expect(eq(int, find(1, &key_b), LWP_CTX_NONE));
	cr_expect(eq(u64, table.stats.dropped, 2));
}

Test(context_wire, what_is_live_is_saved_and_stays_live)
{
	struct lwp_engine before;

	cr_expect(eq(int, find(1, &key_b), LWP_CTX_RESUMED));
	eng.st.counter[1] = 44;
	before = eng;
	lwp_ctx_refresh(&table, &eng, 1);
	lwp_ctx_refresh(&table, &eng, 0); /* nothing is live there */
	cr_expect(eq(sz, lwp_ctx_save(&table, &caps, wire, sizeof(wire)), 480));
	cr_expect(not(memcmp(&before, &eng, sizeof(eng))));
	cr_expect(lwp_ctx_key_equal(lwp_ctx_live(&table, &eng, 1), &key_b));
	cr_expect(eq(u64, lwp_get64(wire + 240), 0x2000));
	cr_expect(eq(u32, lwp_get32(wire + 240 + 112 + 64 + 4), 44));
	cr_expect(eq(u64, lwp_get64(wire + 240 + 112 + 96), 0)); /* LWP_CFG is the vCPU's */
}

Test(context_wire, loading_replaces_the_table)
{
	lwp_ctx_save(&table, &caps, wire, sizeof(wire));
	cr_expect(lwp_ctx_load(&table, &caps, wire + 240, 240, 0, &bad) == NULL);
	cr_expect(eq(u32, table.used, 1));
	cr_expect(eq(int, find(0, &key_a), LWP_CTX_NONE));
}

static const char *load(size_t size)
{
	return lwp_ctx_load(&table, &caps, wire, size, 0, &bad);
}

Test(context_wire, a_bad_array_is_named_and_leaves_the_table)
{
	lwp_ctx_save(&table, &caps, wire, sizeof(wire));
	cr_expect(eq(int, strcmp(load(479), "size is not a multiple of an entry's"), 0));
	cr_expect(eq(int, strcmp(load(sizeof(wire)), "more contexts than the table holds"), 0));
	wire[240 + 112 + 16 + 7] = 0x40; /* B's ring: not canonical */
	cr_expect(load(480) != NULL);
	cr_expect(eq(u32, bad, 1));
	memcpy(wire + 240, wire, 240);
	cr_expect(eq(int, strcmp(load(480), "two contexts have the same key"), 0));
	cr_expect(eq(u32, bad, 1));
	wire[24] = 16; /* unknown flags */
	cr_expect(load(480) != NULL);
	cr_expect(eq(u32, bad, 0));
	cr_expect(eq(u32, table.used, 2));
}
