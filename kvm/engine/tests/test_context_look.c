// SPDX-License-Identifier: GPL-2.0-or-later
/* Collection: contexts whose program is gone leave the table (docs/design.md#contexts). */
#include "fake_contexts.h"
#include "lwp_context_look.h"

#define AGE 10000 /* ms */

/* Physical memory: tables at TABLES, then the guest's pages at their linear addresses. */
#define TABLES 0x100000u
#define TABLE(n) (TABLES + (n)*0x1000u)
#define P 1u
#define U 4u

static u8 tables[4 * 0x1000];
static bool host_swapped;
static struct lwp_ctx_look l; /* the last look */

static const struct lwp_ctx_key key = { .cr3 = TABLES, .thread = 0x7f0000000000 };

static enum lwp_phys_result read_phys(void *ctx, u64 gpa, void *to, u32 len)
{
	cr_assert(gpa / PAGE == (gpa + len - 1) / PAGE);
	if (gpa >= TABLES && gpa + len <= TABLES + sizeof(tables)) {
		memcpy(to, tables + (gpa - TABLES), len);
		return LWP_PHYS_OK;
	}
	if (host_swapped)
		return LWP_PHYS_AWAY;
	if (gpa < MEM_BASE || gpa + len > MEM_BASE + sizeof(guest.mem))
		return LWP_PHYS_NONE;
	memcpy(to, guest.mem + (gpa - MEM_BASE), len);
	return LWP_PHYS_OK;
}

static const struct lwp_phys phys = { .read = read_phys, .bits = 40 };

static u8 *pte(u64 linear)
{
	return tables + 0x3000 + (linear >> 12 & 511) * 8;
}

static void map_page(u64 linear)
{
	lwp_put64(pte(linear), (linear & ~0xfffull) | P | U);
}

/* The program's own tables: all pages of the fake guest, linear = physical. */
static void make_tables(void)
{
	lwp_put64(tables, TABLE(1) | P | U);
	lwp_put64(tables + 0x1000, TABLE(2) | P | U);
	lwp_put64(tables + 0x2000 + (MEM_BASE >> 21) * 8, TABLE(3) | P | U);
	for (u32 i = 0; i < MEM_PAGES; i++)
		map_page(MEM_BASE + i * PAGE);
}

/* One record is stored (of 43724: in two pages), then the context is parked at 1 s. */
static void parked(u32 rev)
{
	start(rev);
	make_tables();
	make_block(BLOCK, RING + PAGE - 16);
	set_event(BLOCK, rev == LWP_REV_2007 ? 1 : 2, 9, 0);
	empty_table(2);
	cr_assert(create(BLOCK, 0, &key));
	steps(0x400000, 1);
	expect_head(32);
	lwp_ctx_park(&table, &eng, 0, 1000);
	guest.writes = 0;
	guest.maps = 0;
}

static enum lwp_ctx_fate look(void)
{
	static u64 now = ~(u64)0 / 2;

	now += AGE; /* when the next look is due */
	cr_assert(lwp_ctx_due(&table, now, &l));
	return lwp_ctx_look(&phys, &caps, &l.saved);
}

#define expect_fate(what) cr_expect(eq(int, look(), LWP_CTX_##what))

/* What the owner does; false: nothing was due. */
static bool collect(u64 now)
{
	if (!lwp_ctx_due(&table, now, &l))
		return false;
	lwp_ctx_looked(&table, now, &l, lwp_ctx_look(&phys, &caps, &l.saved));
	return true;
}

static void parked_43724(void)
{
	parked(LWP_REV_43724);
}

TestSuite(context_look, .init = parked_43724);

Test(context_look, tables_that_are_used_again_go)
{
	memset(tables, 0, sizeof(tables));
	expect_fate(GOES);
	memset(tables, 0x5a, sizeof(tables)); /* bit 0 clear */
	expect_fate(GOES);
	memset(tables, 0xff, sizeof(tables));
	expect_fate(GOES);
}

Test(context_look, swapped_pages_are_away) /* 43724-905 */
{
	lwp_put64(pte(BLOCK), 0x1234000);
	expect_fate(AWAY);
	map_page(BLOCK);
	lwp_put64(pte(RING), 0x1234000);
	expect_fate(AWAY);
	map_page(RING);
	expect_fate(STAYS);
	host_swapped = true;
	expect_fate(AWAY);
}

/* What is there already says that the program is gone. */
Test(context_look, a_changed_block_goes_although_the_ring_is_swapped_out)
{
	lwp_put64(pte(RING), 0x1234000);
	put32(BLOCK + 4, 2048);
	expect_fate(GOES);
}

Test(context_look, of_a_deferred_block_only_the_place_is_known)
{
	table.entry[0].saved.state = (struct lwp_state){ .cb_addr = BLOCK };
	expect_fate(STAYS);
	lwp_put64(pte(BLOCK), 0);
	expect_fate(GOES);
	lwp_put64(pte(BLOCK), 0x1234000);
	expect_fate(AWAY);
}

Test(context_look, due_after_its_age_and_not_before)
{
	cr_expect(not(collect(1000 + AGE - 1)));
	cr_expect(collect(1000 + AGE));
	cr_expect(not(collect(1000 + 2 * AGE - 1)));
	cr_expect(collect(1000 + 2 * AGE));
	table.age = 0;
	cr_expect(not(collect(1000 + 100 * AGE)));
}

/* QEMU's virtual clock, when an older snapshot is loaded. */
Test(context_look, due_at_once_when_the_clock_went_back)
{
	cr_expect(collect(1000000));
	cr_expect(not(collect(1000000)));
	cr_expect(collect(500));
	cr_expect(not(collect(500 + AGE - 1)));
	cr_expect(collect(500 + AGE));
}

Test(context_look, what_is_live_is_never_due)
{
	cr_expect(eq(int, find(0, &key), LWP_CTX_RESUMED));
	cr_expect(not(collect(1000 + 100 * AGE)));
	/* Parked again: its age begins again. */
	lwp_ctx_park(&table, &eng, 0, 50000);
	cr_expect(not(collect(50000 + AGE - 1)));
	cr_expect(collect(50000 + AGE));
}

Test(context_look, a_dead_program_goes_at_its_first_look) /* 43724-905 */
{
	memset(tables, 0, sizeof(tables));
	cr_expect(collect(1000 + AGE));
	cr_expect(not(lwp_ctx_any(&table)));
	cr_expect(eq(u64, table.stats.collected, 1));
	cr_expect(eq(int, guest.writes, 0));
}

Test(context_look, a_sleeping_program_stays_for_days) /* 43724-905 */
{
	parked(LWP_REV_2007);
	for (u64 now = 1000 + AGE; now < 3 * 86400 * 1000ull; now += AGE)
		cr_assert(collect(now));
	cr_expect(lwp_ctx_any(&table));
	cr_expect(eq(u64, table.stats.collected, 0));
	cr_expect(eq(int, guest.maps, 0)); /* not through the current tables */
}

Test(context_look, away_for_an_hour_and_not_longer) /* 43724-905 */
{
	u64 now;

	lwp_put64(pte(BLOCK), 0x1234000);
	for (now = 1000 + AGE; now < 1000 + AGE + 3600000; now += AGE) {
		collect(now);
		cr_assert(lwp_ctx_any(&table), "at %u", (u32)now);
	}
	collect(now);
	cr_expect(not(lwp_ctx_any(&table)));
}

Test(context_look, the_hour_begins_anew_when_the_memory_was_there)
{
	u64 now = 1000 + AGE;

	lwp_put64(pte(BLOCK), 0x1234000);
	for (; now < 3000000; now += AGE)
		collect(now);
	map_page(BLOCK);
	collect(now);
	lwp_put64(pte(BLOCK), 0x1234000);
	for (now += AGE; now < 6000000; now += AGE) {
		collect(now);
		cr_assert(lwp_ctx_any(&table), "at %u", (u32)now);
	}
}

/* The program runs on another vCPU between look and verdict. */
Test(context_look, what_was_resumed_meanwhile_stays) /* 43724-905 */
{
	cr_assert(lwp_ctx_due(&table, 1000 + AGE, &l));
	cr_assert(eq(int, find(0, &key), LWP_CTX_RESUMED));
	lwp_ctx_looked(&table, 1000 + AGE, &l, LWP_CTX_GOES);
	cr_expect(lwp_ctx_live(&table, &eng, 0) != NULL);
	lwp_ctx_park(&table, &eng, 0, 1000 + AGE);
	lwp_ctx_looked(&table, 1000 + AGE, &l, LWP_CTX_GOES);
	cr_expect(lwp_ctx_any(&table));
}

/* ---- verification without the lock ---- */

static void search(void)
{
	cr_assert(eq(int, lwp_ctx_search(&table, &eng, 0, &key, &l), LWP_CTX_VERIFY));
}

static const struct lwp_ctx_ip no_ip;
static struct lwp_engine other; /* of another vCPU */

#define expect_claim(e, cpu, verdict, found)                                            \
	cr_expect(eq(int, lwp_ctx_claim(&table, e, cpu, &l, LWP_CTX_##verdict, &no_ip), \
		     LWP_CTX_##found))

Test(context_look, claimed_if_nothing_has_happened_since) /* 43724-904 */
{
	search();
	expect_claim(&eng, 0, INTACT, RESUMED);
	cr_expect(lwp_ctx_live(&table, &eng, 0) != NULL);
}

Test(context_look, of_two_that_verify_at_once_one_claims) /* 43724-904 */
{
	other = eng;
	search();
	expect_claim(&other, 1, INTACT, RESUMED);
	expect_claim(&eng, 0, INTACT, AGAIN);
	cr_expect(not(lwp_engine_on(&eng)));
	cr_expect(eq(int, lwp_ctx_search(&table, &eng, 0, &key, &l), LWP_CTX_BUSY));
	cr_expect(eq(i32, l.holder, 1));
}

/* The other vCPU ran the program and parked it: the copy is old, its verdict counts for nothing. */
Test(context_look, what_was_resumed_and_parked_meanwhile_is_searched_again) /* 43724-904 */
{
	other = eng;
	search();
	lwp_ctx_claim(&table, &other, 1, &l, LWP_CTX_INTACT, &no_ip);
	lwp_ctx_park(&table, &other, 1, 2000);
	expect_claim(&eng, 0, CHANGED, AGAIN);
	cr_expect(lwp_ctx_any(&table));
}

Test(context_look, what_was_emptied_and_filled_meanwhile_is_searched_again) /* 43724-904 */
{
	search();
	lwp_ctx_table_reset(&table);
	expect_claim(&eng, 0, INTACT, AGAIN);
	cr_assert(create(BLOCK, 0, &key));
	lwp_ctx_park(&table, &eng, 0, 2000);
	expect_claim(&eng, 0, CHANGED, AGAIN);
	cr_expect(lwp_ctx_any(&table));
}

/* As user space may do under KVM at any time. */
Test(context_look, what_was_loaded_again_meanwhile_is_searched_again)
{
	u8 wire[LWP_CTX_ENTRY_SIZE];
	u32 bad;

	lwp_ctx_save(&table, &caps, wire, sizeof(wire));
	cr_assert(lwp_ctx_load(&table, &caps, wire, sizeof(wire), 0, &bad) == NULL);
	search();
	cr_assert(lwp_ctx_load(&table, &caps, wire, sizeof(wire), 0, &bad) == NULL);
	expect_claim(&eng, 0, CHANGED, AGAIN);
	cr_expect(lwp_ctx_any(&table));
}
