// SPDX-License-Identifier: GPL-2.0-or-later
/* The walk through page tables that are not the current ones (APM volume 2, chapter 5). */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "lwp_walk.h"

#define MEMORY 0x10000u

/* Tables of one level each, at these physical addresses. */
#define TOP 0x1000u
#define SECOND 0x2000u
#define THIRD 0x3000u
#define FOURTH 0x4000u
#define FIFTH 0x5000u

#define P 1u
#define W 2u
#define U 4u
#define PS 0x80u
#define NX (1ull << 63)

static u8 memory[MEMORY];
static u64 cr3 = TOP;
static u64 away; /* a page of memory that cannot be read now */
static int reads;
static u64 gpa;

static enum lwp_phys_result read_phys(void *ctx, u64 at, void *to, u32 len)
{
	reads++;
	cr_assert(at / 4096 == (at + len - 1) / 4096);
	if (away && at / 4096 == away / 4096)
		return LWP_PHYS_AWAY;
	if (at > MEMORY - len)
		return LWP_PHYS_NONE;
	memcpy(to, memory + at, len);
	return LWP_PHYS_OK;
}

static struct lwp_phys phys = { .read = read_phys, .bits = 40 };

static void set64(u64 table, u32 index, u64 entry)
{
	lwp_put64(memory + table + index * 8, entry);
}

static void set32(u64 table, u32 index, u32 entry)
{
	lwp_put32(memory + table + index * 4, entry);
}

/* Linear address with these indices, of 4 or 5 levels. */
#define AT5(a, b, c, d, e) \
	((u64)(a) << 48 | (u64)(b) << 39 | (u64)(c) << 30 | (u64)(d) << 21 | (u64)(e) << 12)
#define AT4(b, c, d, e) AT5(0, b, c, d, e)

static enum lwp_walk_result walk(enum lwp_paging paging, u64 linear)
{
	return lwp_walk(&phys, paging, cr3, linear, &gpa);
}

#define expect_walk(paging, linear, result, address)                                      \
	do {                                                                              \
		cr_expect(eq(int, walk(LWP_PAGING_##paging, linear), LWP_WALK_##result)); \
		if (LWP_WALK_##result == LWP_WALK_OK)                                     \
			cr_expect(eq(u64, gpa, address));                                 \
	} while (0)

static const u64 table[] = { TOP, SECOND, THIRD, FOURTH };

static void four_levels(void)
{
	memset(memory, 0, sizeof(memory));
	away = 0;
	set64(TOP, 1, SECOND | P | W | U);
	set64(SECOND, 2, THIRD | P | W | U);
	set64(THIRD, 3, FOURTH | P | W | U);
	set64(FOURTH, 4, 0x7654321000 | P | U | NX);
}

TestSuite(walk, .init = four_levels);

Test(walk, four_levels) /* 43724-905 */
{
	expect_walk(LONG, AT4(1, 2, 3, 4) + 0xabc, OK, 0x7654321abc);
	cr_expect(eq(int, reads, 4)); /* every entry once */
}

Test(walk, five_levels) /* 43724-905 */
{
	cr3 = FIFTH;
	set64(FIFTH, 7, TOP | P | U);
	expect_walk(LONG5, AT5(7, 1, 2, 3, 4) + 0xabc, OK, 0x7654321abc);
	cr_expect(eq(int, reads, 5));
	set64(FIFTH, 511, TOP | P | U); /* the upper half */
	expect_walk(LONG5, 0xff00000000000000ull | AT5(255, 1, 2, 3, 4), OK, 0x7654321000);
}

Test(walk, pae) /* 43724-905 */
{
	u64 linear = 0x80000000 + AT4(0, 0, 5, 6);

	/* CR3[31:5]: the four entries lie anywhere at 32 bytes. */
	cr3 = 0x6020;
	set64(0x6000, 0x20 / 8 + 2, SECOND | P);
	set64(SECOND, 5, THIRD | P | U);
	set64(THIRD, 6, 0x1234567000 | P | U);
	expect_walk(PAE, linear + 1, OK, 0x1234567001);
	cr_expect(eq(int, reads, 3));
	set64(SECOND, 5, 0x3f00200000 | P | U | PS);
	expect_walk(PAE, linear, OK, 0x3f00206000);
	set64(0x6000, 0x20 / 8 + 2, SECOND | P | U); /* reserved there */
	expect_walk(PAE, linear, NONE, 0);
}

Test(walk, two_levels) /* 43724-905 */
{
	set32(TOP, 0x300, SECOND | P | U);
	set32(SECOND, 0x155, 0xfedcb000 | P | U);
	expect_walk(LEGACY, 0xc0155abc, OK, 0xfedcbabc);
	cr_expect(eq(int, reads, 2));
	/* 4 MiB; bits 20:13 are address bits 39:32. */
	set32(TOP, 0x300, 0xffc00000 | 0x7fu << 13 | P | U | PS);
	expect_walk(LEGACY, 0xc0155abc, OK, 0x7fffd55abc);
	set32(TOP, 0x300, 0xffc00000 | 1u << 21 | P | U | PS);
	expect_walk(LEGACY, 0xc0155abc, NONE, 0);
	phys.bits = 36;
	set32(TOP, 0x300, 0xffc00000 | 0x10u << 13 | P | U | PS);
	expect_walk(LEGACY, 0xc0155abc, NONE, 0);
}

Test(walk, without_paging_the_address_is_physical)
{
	expect_walk(OFF, 0xfedcba98, OK, 0xfedcba98);
	expect_walk(OFF, 0x1fedcba98, NONE, 0);
	cr_expect(eq(int, reads, 0));
}

Test(walk, large_pages) /* 43724-905 */
{
	set64(THIRD, 3, 0x7654200000 | P | U | PS | 0x1000); /* PAT */
	expect_walk(LONG, AT4(1, 2, 3, 4) + 0xabc, OK, 0x7654204abc);
	set64(THIRD, 3, 0x7654202000 | P | U | PS);
	expect_walk(LONG, AT4(1, 2, 3, 4), NONE, 0);
	set64(SECOND, 2, 0x7640000000 | P | U | PS);
	expect_walk(LONG, AT4(1, 2, 3, 4) + 0xabc, OK, 0x7640604abc);
	set64(SECOND, 2, 0x7650000000 | P | U | PS);
	expect_walk(LONG, AT4(1, 2, 3, 4), NONE, 0);
	four_levels();
	set64(TOP, 1, SECOND | P | U | PS); /* there are none of 512 GiB */
	expect_walk(LONG, AT4(1, 2, 3, 4), NONE, 0);
}

Test(walk, nothing_is_mapped)
{
	for (u32 i = 0; i < 4; i++) {
		four_levels();
		set64(table[i], i + 1, 0);
		expect_walk(LONG, AT4(1, 2, 3, 4), NONE, 0);
	}
}

/* An entry that is not present and not zero tells the guest's kernel where the page is. */
Test(walk, swapped_out)
{
	for (u32 i = 0; i < 4; i++) {
		four_levels();
		set64(table[i], i + 1, 0x123400);
		if (i < 2)
			expect_walk(LONG, AT4(1, 2, 3, 4), NONE, 0); /* no guest does that */
		else
			expect_walk(LONG, AT4(1, 2, 3, 4), AWAY, 0);
	}
	set32(TOP, 0x300, 0x80000000);
	expect_walk(LEGACY, 0xc0155abc, AWAY, 0);
}

Test(walk, user_rights_at_every_level) /* 43724-905 */
{
	for (u32 i = 0; i < 4; i++) {
		four_levels();
		memory[table[i] + (i + 1) * 8] &= (u8)~U;
		expect_walk(LONG, AT4(1, 2, 3, 4), NONE, 0);
	}
}

Test(walk, reserved_address_bits) /* 43724-905 */
{
	for (u32 i = 0; i < 4; i++) {
		four_levels();
		memory[table[i] + (i + 1) * 8 + 5] |= 1; /* bit 40 of 40 */
		expect_walk(LONG, AT4(1, 2, 3, 4), NONE, 0);
	}
}

Test(walk, tables_outside_memory)
{
	set64(SECOND, 2, 0x7654321000 | P | U);
	expect_walk(LONG, AT4(1, 2, 3, 4), NONE, 0);
	cr3 = 0xffffffffff000;
	expect_walk(LONG, 0, NONE, 0);
}

Test(walk, a_table_that_the_host_has_swapped_out)
{
	away = THIRD;
	expect_walk(LONG, AT4(1, 2, 3, 4), AWAY, 0);
}

Test(walk, addresses_that_the_mode_does_not_have)
{
	expect_walk(LONG, 1ull << 47, NONE, 0);
	expect_walk(LONG, 1ull << 63, NONE, 0);
	expect_walk(LONG5, 1ull << 56, NONE, 0);
	expect_walk(PAE, 1ull << 32, NONE, 0);
	expect_walk(LEGACY, 1ull << 32, NONE, 0);
	cr_expect(eq(int, reads, 0));
}

/* Whatever the tables hold, a walk ends after as many reads as there are levels. */
Test(walk, any_bytes_end) /* 43724-905 */
{
	u32 seed = 1;

	for (u32 turn = 0; turn < 20000; turn++) {
		for (u32 i = 0; i < 64; i++) {
			u32 at = (seed = seed * 1664525 + 1013904223) >> 16;

			memory[at % MEMORY] = (u8)(seed >> 8);
		}
		for (u32 paging = LWP_PAGING_LONG; paging <= LWP_PAGING_OFF; paging++) {
			reads = 0;
			lwp_walk(&phys, (enum lwp_paging)paging, seed % MEMORY & ~31u,
				 (u64)seed * seed, &gpa);
			cr_assert(reads <= 5);
		}
	}
}
