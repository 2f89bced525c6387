// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of contexts: keys, parking, finding, taking over, evicting (docs/design.md#contexts). */
#include "fake_contexts.h"

#define ROOM 4

static const struct lwp_ctx_key key_a = { .cr3 = 0x1000, .thread = 0x7f0000000000 };
static const struct lwp_ctx_key key_b = { .cr3 = 0x1000, .thread = 0x7f0000001000 };
static const struct lwp_ctx_key key_c = { .cr3 = 0x2000, .thread = 0x7f0000000000 };

static void start_table(void)
{
	start(LWP_REV_43724);
	set_event(BLOCK, 2, 9, 9);
	set_event(BLOCK2, 2, 99, 50);
	empty_table(ROOM);
}

TestSuite(context, .init = start_table);

Test(context, key_of_the_address_space) /* 43724-902 */
{
	struct lwp_ctx_key key =
		lwp_ctx_make_key(LWP_PAGING_LONG, 0x8fff123456789fffull, true, 0x1234, 0);

	cr_expect(eq(u64, key.cr3, 0x000f123456789000ull)); /* CR3[51:12] */
	cr_expect(eq(u64, key.thread, 0x1234));
	cr_expect(eq(u32, key.flags, 0));
	key = lwp_ctx_make_key(LWP_PAGING_LEGACY, 0x123456fff, false, 0x1234, 0);
	cr_expect(eq(u64, key.cr3, 0x23456000)); /* CR3[31:12] */
	key = lwp_ctx_make_key(LWP_PAGING_PAE, 0x123456fff, false, 0x1234, 0);
	cr_expect(eq(u64, key.cr3, 0x23456fe0)); /* CR3[31:5] */
}

Test(context, code_of_32_bits_has_a_thread_part) /* 43724-902 */
{
	struct lwp_ctx_key a = lwp_ctx_make_key(LWP_PAGING_LONG, 0x1000, false, 1, 0);
	struct lwp_ctx_key b = lwp_ctx_make_key(LWP_PAGING_LONG, 0x1000, false, 2, 0);
	struct lwp_ctx_key c = lwp_ctx_make_key(LWP_PAGING_LONG, 0x1000, true, 1, 0);

	cr_expect(not(lwp_ctx_key_equal(&a, &b)));
	cr_expect(not(lwp_ctx_key_equal(&a, &c)));
	cr_expect(not(lwp_ctx_key_equal(&key_a, &key_b)));
	cr_expect(not(lwp_ctx_key_equal(&key_a, &key_c)));
}

/* 64-bit Windows keeps its thread block at GS, and FS base is the same for all threads. */
Test(context, gs_base_is_part_of_the_thread) /* 43724-902 */
{
	struct lwp_ctx_key a = lwp_ctx_make_key(LWP_PAGING_LONG, 0x1000, true, 0, 0x7ff000);
	struct lwp_ctx_key b = lwp_ctx_make_key(LWP_PAGING_LONG, 0x1000, true, 0, 0x7fd000);

	cr_expect(eq(u64, a.gs, 0x7ff000));
	cr_expect(not(lwp_ctx_key_equal(&a, &b)));
	start_table();
	cr_expect(create(BLOCK, 0, &a));
	lwp_ctx_park(&table, &eng, 0, 0);
	cr_expect(eq(int, find(0, &b), LWP_CTX_NONE));
	cr_expect(eq(int, find(0, &a), LWP_CTX_RESUMED));
}

/* The same CR3 means another thing in another way of paging. */
Test(context, the_way_of_paging_is_part_of_the_key) /* 43724-902 */
{
	struct lwp_ctx_key four = lwp_ctx_make_key(LWP_PAGING_LONG, 0x1000, true, 0, 0);
	struct lwp_ctx_key five = lwp_ctx_make_key(LWP_PAGING_LONG5, 0x1000, true, 0, 0);
	struct lwp_ctx_key off = lwp_ctx_make_key(LWP_PAGING_OFF, 0x123456fff, false, 0, 0);

	cr_expect(not(lwp_ctx_key_equal(&four, &five)));
	cr_expect(eq(int, lwp_ctx_paging(&five), LWP_PAGING_LONG5));
	cr_expect(eq(u64, off.cr3, 0x23456000));
	cr_expect(eq(u32, off.flags, 9));
}

Test(context, parked_and_found_again) /* 43724-902 */
{
	cr_expect(not(lwp_ctx_any(&table)));
	cr_expect(create(BLOCK, 0, &key_a));
	cr_expect(lwp_ctx_any(&table));
	cr_expect(lwp_ctx_live(&table, &eng, 0) != NULL &&
		  lwp_ctx_key_equal(lwp_ctx_live(&table, &eng, 0), &key_a));
	steps(0x400000, 3);
	lwp_ctx_park(&table, &eng, 0, 0);
	cr_expect(not(lwp_engine_on(&eng)));
	cr_expect(eq(u64, eng.st.cfg, 0x6000007e)); /* LWP_CFG stays with the vCPU */
	cr_expect(lwp_ctx_live(&table, &eng, 0) == NULL);
	steps(0x800000, 50); /* another program runs: counts nowhere */
	cr_expect(eq(int, find(0, &key_b), LWP_CTX_NONE));
	cr_expect(eq(int, find(0, &key_a), LWP_CTX_RESUMED));
	cr_expect(eq(u64, eng.st.cb_addr, BLOCK));
	cr_expect(eq(i32, eng.st.counter[1], 6));
	cr_expect(eq(u64, eng.st.cfg, 0x6000007e));
	steps(0x40000c, 7);
	expect_head(32);
	cr_expect(eq(u64, record(0).address, 0x400024));
	cr_expect(eq(u64, table.stats.parked, 1));
	cr_expect(eq(u64, table.stats.resumed, 1));
	cr_expect(eq(u64, table.stats.created, 1));
}

Test(context, parking_touches_no_memory) /* 43724-902 */
{
	cr_expect(create(BLOCK, 0, &key_a));
	lwp_ctx_park(&table, &eng, 0, 0);
	cr_expect(eq(int, guest.maps, 0));
}

Test(context, two_programs_on_one_vcpu) /* 43724-902, 2007-901, 2007-902 */
{
	cr_expect(create(BLOCK, 0, &key_a));
	steps(0x400000, 3);
	lwp_ctx_park(&table, &eng, 0, 0);
	cr_expect(create(BLOCK2, 0, &key_c));
	steps(0x600000, 5);
	lwp_ctx_park(&table, &eng, 0, 0);
	cr_expect(eq(int, find(0, &key_a), LWP_CTX_RESUMED));
	cr_expect(eq(i32, eng.st.counter[1], 6));
	cr_expect(eq(u64, eng.st.base, RING));
	lwp_ctx_park(&table, &eng, 0, 0);
	cr_expect(eq(int, find(0, &key_c), LWP_CTX_RESUMED));
	cr_expect(eq(i32, eng.st.counter[1], 45));
	cr_expect(eq(u64, eng.st.base, RING2));
}

Test(context, a_pending_record_waits_with_its_context) /* 43724-902 */
{
	set_event(BLOCK, 2, 9, 0);
	cr_expect(create(BLOCK, 0, &key_a));
	cr_expect(retire_at(0x400000));
	lwp_ctx_park(&table, &eng, 0, 0);
	expect_exc(boundary(0x800000, true), NONE);
	expect_head(0);
	cr_expect(eq(int, find(0, &key_a), LWP_CTX_RESUMED));
	expect_exc(boundary(0x400004, true), NONE);
	expect_head(32);
	cr_expect(eq(u64, record(0).address, 0x400000));
}

Test(context, core_id_is_the_vcpus) /* 43724-205, 43724-902 */
{
	cr_expect(create(BLOCK, 0, &key_a));
	lwp_ctx_park(&table, &eng, 0, 0);
	lwp_engine_write_cfg(&eng, 0x0000000900000004ull);
	cr_expect(eq(int, find(3, &key_a), LWP_CTX_RESUMED));
	steps(0x400000, 10);
	cr_expect(eq(u8, record(0).core_id, 9));
}

Test(context, live_on_another_vcpu_is_busy_until_parked_there) /* 43724-903 */
{
	struct lwp_engine other;

	cr_expect(create(BLOCK, 2, &key_a));
	steps(0x400000, 4);
	other = eng;
	start_engine(true, LWP_DELIVERY_EXACT); /* vCPU 1 looks up the key */
	cr_expect(eq(int, find(1, &key_a), LWP_CTX_BUSY));
	cr_expect(eq(i32, holder, 2));
	cr_expect(not(lwp_engine_on(&eng)));
	lwp_ctx_park(&table, &other, 2, 0);
	cr_expect(eq(int, find(1, &key_a), LWP_CTX_RESUMED));
	cr_expect(eq(i32, eng.st.counter[1], 5));
	cr_expect(eq(u64, table.stats.taken_over, 1));
	cr_expect(lwp_ctx_live(&table, &other, 2) == NULL);
	cr_expect(lwp_ctx_live(&table, &eng, 1) != NULL);
	/* A lookup by the vCPU that had it is no take-over. */
	lwp_ctx_park(&table, &eng, 1, 0);
	cr_expect(eq(int, find(2, &key_a), LWP_CTX_RESUMED));
	cr_expect(eq(u64, table.stats.taken_over, 1));
}

Test(context, live_on_the_same_vcpu_goes_on)
{
	cr_expect(create(BLOCK, 2, &key_a));
	steps(0x400000, 4);
	cr_expect(eq(int, find(2, &key_a), LWP_CTX_RESUMED));
	cr_expect(eq(i32, eng.st.counter[1], 5));
	cr_expect(eq(u64, table.stats.resumed, 0));
	/* LWP goes off without lwp_ctx_drop_live(). */
	cr_expect(lwp_engine_write_cbaddr(&eng, 0));
	cr_expect(eq(int, find(2, &key_a), LWP_CTX_NONE));
	cr_expect(not(lwp_ctx_any(&table)));
}

Test(context, switched_off_its_context_goes) /* 43724-902 */
{
	cr_expect(create(BLOCK, 0, &key_a));
	lwp_engine_write_cbaddr(&eng, 0);
	lwp_ctx_drop_live(&table, &eng, 0);
	cr_expect(not(lwp_ctx_any(&table)));
	lwp_ctx_drop_live(&table, &eng, 0); /* nothing live: nothing to do */
	cr_expect(create(BLOCK, 0, &key_a));
	lwp_engine_write_cbaddr(&eng, 0);
	lwp_ctx_park(&table, &eng, 0, 0); /* off while parking: the same */
	cr_expect(not(lwp_ctx_any(&table)));
	cr_expect(eq(u64, table.stats.parked, 0));
	lwp_ctx_park(&table, &eng, 0, 0);
	cr_expect(not(lwp_engine_on(&eng)));
}

Test(context, a_new_one_replaces_a_parked_one_of_its_key)
{
	cr_expect(create(BLOCK, 0, &key_a));
	lwp_ctx_park(&table, &eng, 0, 0);
	cr_expect(create(BLOCK2, 0, &key_a));
	cr_expect(eq(u32, table.used, 1));
	lwp_ctx_park(&table, &eng, 0, 0);
	cr_expect(eq(int, find(0, &key_a), LWP_CTX_RESUMED));
	cr_expect(eq(u64, eng.st.cb_addr, BLOCK2));
}

Test(context, one_that_is_live_elsewhere_cannot_be_created_again) /* 43724-903 */
{
	cr_expect(create(BLOCK, 0, &key_a));
	cr_expect(not(create(BLOCK2, 1, &key_a)));
	cr_expect(not(lwp_engine_on(&eng)));
	cr_expect(eq(u32, table.used, 1));
	cr_expect(eq(u64, table.stats.created, 1));
}

static struct lwp_ctx_key thread(u64 cr3, u64 n)
{
	return (struct lwp_ctx_key){ .cr3 = cr3, .thread = n };
}

static void parked(u64 cr3, u64 n)
{
	struct lwp_ctx_key key = thread(cr3, n);

	cr_assert(create(BLOCK, 0, &key));
	lwp_ctx_park(&table, &eng, 0, 0);
}

static bool there(u64 cr3, u64 n)
{
	struct lwp_ctx_key key = thread(cr3, n);
	bool found = find(0, &key) == LWP_CTX_RESUMED;

	lwp_ctx_park(&table, &eng, 0, 0);
	return found;
}

Test(context, a_full_table_evicts_from_the_address_space_that_has_most) /* 43724-905 */
{
	parked(0x1000, 1); /* the oldest, but alone */
	parked(0x2000, 1);
	parked(0x2000, 2);
	parked(0x2000, 3);
	parked(0x3000, 1);
	cr_expect(eq(u64, table.stats.evicted, 1));
	cr_expect(eq(u32, table.used, ROOM));
	cr_expect(there(0x1000, 1));
	cr_expect(not(there(0x2000, 1))); /* the oldest of the three */
	cr_expect(there(0x2000, 2));
	cr_expect(there(0x2000, 3));
	cr_expect(there(0x3000, 1));
}

Test(context, of_equals_the_one_not_used_for_longest_goes) /* 43724-905 */
{
	parked(0x1000, 1);
	parked(0x2000, 1);
	parked(0x3000, 1);
	parked(0x4000, 1);
	cr_expect(there(0x1000, 1)); /* used just now */
	parked(0x5000, 1);
	cr_expect(not(there(0x2000, 1)));
	cr_expect(there(0x1000, 1));
}

Test(context, machine_reset_drops_all) /* 43724-905 */
{
	parked(0x1000, 1);
	cr_expect(create(BLOCK, 0, &key_c));
	lwp_ctx_table_reset(&table);
	lwp_engine_reset(&eng, true, 0);
	cr_expect(not(lwp_ctx_any(&table)));
	cr_expect(eq(int, find(0, &key_c), LWP_CTX_NONE));
	cr_expect(eq(int, find(0, &key_a), LWP_CTX_NONE));
}

Test(context, resumed_without_a_look_at_memory)
{
	int maps;

	cr_expect(create(BLOCK, 0, &key_a));
	steps(0x400000, 3);
	lwp_ctx_park(&table, &eng, 0, 0);
	maps = guest.maps;
	cr_expect(not(lwp_ctx_resume(&table, &eng, 1, &key_b))); /* not there */
	cr_expect(not(lwp_engine_on(&eng)));
	cr_expect(lwp_ctx_resume(&table, &eng, 1, &key_a));
	cr_expect(eq(int, guest.maps, maps));
	cr_expect(eq(u64, eng.st.cb_addr, BLOCK));
	cr_expect(eq(i32, eng.st.counter[1], 6)); /* 9 - 3 */
	cr_expect(eq(u64, eng.st.cfg, 0x6000007e));
	cr_expect(lwp_ctx_live(&table, &eng, 1) != NULL);
	cr_expect(not(lwp_ctx_resume(&table, &eng, 0, &key_a))); /* live already */
	steps(0x40000c, 7);
	cr_expect(eq(u64, record(0).address, 0x400024));
}
