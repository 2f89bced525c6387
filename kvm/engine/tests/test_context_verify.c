// SPDX-License-Identifier: GPL-2.0-or-later
/* A parked context is used only where block and last record are intact (43724-904). */
#include "fake_contexts.h"

static const struct lwp_ctx_key key = { .cr3 = 0x1000, .thread = 0x7f0000000000 };

/* BLOCK, as it is now, gets a context in an empty table. */
static void create_only(void)
{
	empty_table(4);
	cr_assert(create(BLOCK, 0, &key));
}

/* Two records are stored (the second at ring offset 32), then the context is parked. */
static void parked(u32 rev)
{
	u32 ire = rev == LWP_REV_2007 ? 1 : 2;

	start(rev);
	set_event(BLOCK, ire, 9, 0);
	put32(BLOCK + 32, 512);
	put32(BLOCK + 36, 1u << 28);
	create_only();
	steps(0x400000, 11);
	expect_head(64);
	guest.writes = 0;
	lwp_ctx_park(&table, &eng, 0, 0);
}

#define expect_found(what) cr_expect(eq(int, find(0, &key), LWP_CTX_##what))

static void parked_43724(void)
{
	parked(LWP_REV_43724);
}

TestSuite(context_verify, .init = parked_43724);

Test(context_verify, an_intact_block_is_resumed_without_a_write) /* 43724-904 */
{
	set_permission(BLOCK, P_READ); /* reading is enough */
	set_permission(RING, P_READ);
	expect_found(RESUMED);
	cr_expect(eq(int, guest.writes, 0));
	parked(LWP_REV_2007);
	expect_found(RESUMED);
}

/* Each constant field, and the head. */
Test(context_verify, any_changed_field_drops_the_context) /* 43724-904, 2007-305 */
{
	static const u32 offsets[] = { 0, 4, 8, 12, 16, 32, 36, 40, 44, 48, 52 };

	for (u32 i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		parked(LWP_REV_43724);
		put32(BLOCK + offsets[i], get32(BLOCK + offsets[i]) ^ 0x400);
		expect_found(NONE);
		cr_expect(eq(u64, table.stats.dropped, 1), "offset %u", offsets[i]);
		cr_expect(not(lwp_ctx_any(&table)));
		cr_expect(not(lwp_engine_on(&eng)));
		cr_expect(eq(int, guest.writes, 0));
	}
}

Test(context_verify, what_software_or_lwp_changes_is_not_compared) /* 43724-904 */
{
	put32(BLOCK + 64, 64); /* tail */
	put64(BLOCK + 24, 7); /* MissedEvents */
	put32(BLOCK + 140, 5); /* counter */
	put64(BLOCK + 72, 1); /* software's own */
	expect_found(RESUMED);
}

Test(context_verify, in_2007_the_tail_is_not_compared) /* 43724-904 */
{
	parked(LWP_REV_2007);
	put32(BLOCK + 20, 64);
	expect_found(RESUMED);
	parked(LWP_REV_2007);
	put32(BLOCK + 36, 0);
	expect_found(NONE);
}

Test(context_verify, the_last_record_must_be_in_its_slot) /* 43724-904 */
{
	put64(RING + 32 + 8, 0x400020);
	expect_found(NONE);
	cr_expect(eq(u64, table.stats.dropped, 1));
	parked(LWP_REV_43724);
	put64(RING + 8, 0); /* an older one may go */
	put64(RING + 64, 0x1234); /* what follows too */
	expect_found(RESUMED);
}

/* The engine stores a record for another context before this one is resumed and parked again. */
Test(context_verify, the_last_record_of_another_context_is_not_its_own)
{
	static const struct lwp_ctx_key other = { .cr3 = 0x2000 };

	set_event(BLOCK2, 2, 9, 0);
	cr_assert(create(BLOCK2, 0, &other));
	step(0x400000);
	cr_expect(eq(u32, get32(BLOCK2 + 16), 32));
	lwp_ctx_park(&table, &eng, 0, 0);
	expect_found(RESUMED);
	lwp_ctx_park(&table, &eng, 0, 0);
	expect_found(RESUMED);
}

Test(context_verify, in_a_full_ring_the_last_record_is_at_the_head) /* 43724-904 */
{
	start(LWP_REV_43724);
	set_event(BLOCK, 2, 0, 0);
	put32(BLOCK + 64, 64);
	create_only();
	steps(0x400000, 3);
	expect_missed(2);
	lwp_ctx_park(&table, &eng, 0, 0);
	expect_found(RESUMED);
	lwp_ctx_park(&table, &eng, 0, 0);
	put64(RING + 32 + 8, 0);
	expect_found(NONE);
}

Test(context_verify, before_the_first_record_only_the_block_is_compared)
{
	start(LWP_REV_43724);
	create_only();
	lwp_ctx_park(&table, &eng, 0, 0);
	set_permission(RING, 0);
	expect_found(RESUMED);
}

Test(context_verify, what_cannot_be_read_stays_parked) /* 43724-904 */
{
	set_permission(BLOCK, 0);
	expect_found(UNREADABLE);
	cr_expect(not(lwp_engine_on(&eng)));
	cr_expect(eq(u64, table.stats.unreadable, 1));
	set_permission(BLOCK, P_READ | P_WRITE);
	set_permission(RING, 0);
	expect_found(UNREADABLE);
	cr_expect(eq(u64, eng.stats.faults, 0));
	set_permission(RING, P_READ | P_WRITE);
	expect_found(RESUMED);
	cr_expect(eq(u64, table.stats.dropped, 0));
}

Test(context_verify, what_is_not_ram_drops_the_context)
{
	set_permission(BLOCK, P_READ | P_WRITE | P_ROM);
	expect_found(NONE);
	parked(LWP_REV_43724);
	set_permission(RING, P_READ | P_WRITE | P_ROM);
	expect_found(NONE);
	cr_expect(eq(u64, table.stats.dropped, 1));
}

Test(context_verify, a_pending_record_goes_with_a_dropped_context) /* 43724-904 */
{
	expect_found(RESUMED);
	steps(0x400030, 9);
	cr_expect(retire_at(0x400100));
	lwp_ctx_park(&table, &eng, 0, 0);
	put32(BLOCK + 36, 0); /* another program got this CR3 */
	expect_found(NONE);
	expect_exc(boundary(0x400104, true), NONE);
	expect_head(64);
	cr_expect(eq(int, guest.writes, 0));
}

Test(context_verify, the_flushed_head_is_what_is_compared) /* 43724-904 */
{
	expect_found(RESUMED);
	expect_exc(lwpins(0x400000, 1, 2, 3), NONE);
	expect_exc(slwpcb(), NONE);
	lwp_ctx_park(&table, &eng, 0, 0);
	expect_head(96);
	expect_found(RESUMED);
	lwp_ctx_park(&table, &eng, 0, 0);
	put32(BLOCK + 16, 64);
	expect_found(NONE);
}

Test(context_verify, the_constants_stay_known_over_several_switches)
{
	expect_found(RESUMED);
	lwp_ctx_park(&table, &eng, 0, 0);
	put32(BLOCK + 32, 480); /* threshold: nothing else knows it */
	expect_found(NONE);
}

Test(context_verify, a_block_that_is_not_read_yet_has_nothing_to_compare)
{
	start(LWP_REV_2007);
	set_event(BLOCK, 1, 9, 5);
	empty_table(4);
	lwp_engine_defer(&eng, BLOCK);
	cr_assert(lwp_ctx_create(&table, &eng, 0, &key));
	lwp_ctx_park(&table, &eng, 0, 0);
	set_permission(BLOCK, 0);
	expect_found(RESUMED);
	cr_expect(lwp_state_deferred(&eng.st));
	set_permission(BLOCK, P_READ | P_WRITE);
	expect_exc(boundary(0x400000, true), NONE);
	cr_expect(eq(i32, eng.st.counter[0], 5));
}

Test(context_verify, the_ip_filter_is_known_again_at_once)
{
	start(LWP_REV_43724);
	filter_ip(1u << 31, 0x400100, 0x4001ff);
	set_event(BLOCK, 2, 9, 5);
	create_only();
	lwp_ctx_park(&table, &eng, 0, 0);
	expect_found(RESUMED);
	cr_expect(not(lwp_boundary_wanted(&eng, 0x400100, true)));
	expect_counter(step(0x400000), 2, 5);
	expect_counter(step(0x400100), 2, 4);
}

/* A live image from outside comes without the constant fields. */
static void from_outside(void)
{
	struct lwp_state st;

	parked(LWP_REV_43724);
	expect_found(RESUMED);
	st = eng.st;
	lwp_engine_load(&eng, &st);
	lwp_ctx_park(&table, &eng, 0, 0);
}

Test(context_verify, without_constants_the_state_is_compared_with_the_block)
{
	static const u32 offsets[] = { 4, 16, 36 };

	from_outside();
	expect_found(RESUMED);
	for (u32 i = 0; i < 3; i++) {
		from_outside();
		put32(BLOCK + offsets[i], get32(BLOCK + offsets[i]) ^ 0x20000220);
		expect_found(NONE);
		cr_expect(eq(u64, table.stats.dropped, 1), "offset %u", offsets[i]);
	}
	from_outside();
	put32(BLOCK + 4, get32(BLOCK + 4) | 0x10000000); /* Random */
	expect_found(NONE);
}

Test(context_verify, the_next_store_makes_the_constants_known)
{
	from_outside();
	expect_found(RESUMED);
	expect_exc(lwpins(0x400000, 1, 2, 3), NONE);
	lwp_ctx_park(&table, &eng, 0, 0);
	expect_found(RESUMED);
	lwp_ctx_park(&table, &eng, 0, 0);
	put32(BLOCK + 32, 480); /* threshold: only the constants have it */
	expect_found(NONE);
}
