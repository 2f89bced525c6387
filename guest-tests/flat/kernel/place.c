// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the memory of the profiled programs lies. */
#include "place.h"
#include "lwp_fixture.h"
#include "smp.h"
#include "test.h"
#include "x86.h"

#define END_PAGES ((RAM_END - PHYS_END) / PAGE_SIZE)
/* DR7: breakpoint n is on, for reads and writes, of 8 bytes. */
#define DR7_WATCH(n) (2ul << 2 * (n) | 0xbul << (16 + 4 * (n)))
/* Eight bytes of a page that no test uses. */
#define UNUSED 0xcb8

#define HASH_PRIME 0x100000001b3ul

extern char user_text_start[], user_text_end[];

static bool place_is(const char *name)
{
	return option_is("place", name);
}

bool place_device(void)
{
	return place_is("data") || place_is("table") || place_is("ring") || place_is("block");
}

/*
 * Of a device or of RAM's end: the last pages that are free, while there are any. The same number of other pages is
 * taken in any case, so that all else lies at the same addresses everywhere.
 */
static u64 take(bool elsewhere, u32 pages)
{
	static u32 taken;
	u64 ram = phys_alloc(pages, PAGE_SIZE), pa;
	bool end = place_is("end");

	taken += elsewhere || end ? pages : 0;
	if (!(elsewhere || end) || taken > (end ? END_PAGES : TESTDEV_PAGES))
		return ram;
	pa = (end ? RAM_END : TESTDEV + TESTDEV_PAGES * PAGE_SIZE) - taken * PAGE_SIZE;
	memset((void *)pa, 0, pages * PAGE_SIZE);
	return pa;
}

u64 place_table(void)
{
	return take(place_is("table"), 1);
}

static bool in_device(u64 va)
{
	return va == CB_VA   ? place_is("block") :
	       va == RING_VA ? place_is("ring") :
			       place_is("data");
}

static bool in_hole(u64 va)
{
	return (va == CB_VA && place_is("block-hole")) || (va == RING_VA && place_is("ring-hole"));
}

/* Breakpoints on bytes of block, ring, data and stack. */
static void watch(void)
{
	asm volatile("mov %0, %%dr0; mov %1, %%dr1; mov %2, %%dr2; mov %3, %%dr3; mov %4, %%dr7"
		     :
		     : "r"(CB_VA + UNUSED), "r"(RING_VA + UNUSED), "r"(DATA_VA + UNUSED),
		       "r"(STACK_TOP - PAGE_SIZE),
		       "r"(DR7_NONE | DR7_WATCH(0) | DR7_WATCH(1) | DR7_WATCH(2) | DR7_WATCH(3)));
}

/* What the other processor writes: a byte of each page, and all bytes of the code. */
static volatile u8 *volatile written[64];
static volatile u32 written_count;

static void write_all(void *arg)
{
	volatile u8 *code = (u8 *)user_text_start;

	write_cr0(read_cr0() & ~CR0_WP);
	for (;;) {
		for (u32 i = 0; i < written_count; i++)
			__atomic_fetch_or(written[i], 0, __ATOMIC_SEQ_CST);
		__atomic_fetch_or(code, 0, __ATOMIC_SEQ_CST);
		if (++code == (u8 *)user_text_end)
			code = (u8 *)user_text_start;
	}
}

void place_begin(void)
{
	u32 count = smp_count();

	if (!place_is("written"))
		return;
	smp_set_count(count + 1);
	smp_start();
	smp_run(count, write_all, NULL);
	smp_set_count(count);
}

u8 *place_map(u64 cr3, u64 va, u32 pages)
{
	u64 pa = take(in_device(va), pages);

	as_map(cr3, va, in_hole(va) ? HOLE : pa, pages, PAGE_USER_RW);
	if (place_is("watched"))
		watch();
	for (u32 i = 0; i < pages && written_count < sizeof(written) / sizeof(written[0]); i++) {
		written[written_count] = (u8 *)pa + i * PAGE_SIZE;
		__atomic_fetch_add(&written_count, 1, __ATOMIC_RELEASE);
	}
	return (u8 *)pa;
}

static u64 runs, registers;

/* Without place= nothing but LWP writes while programs run (tests/contained.c). */
void place_came_back(const struct user *u)
{
	struct regs regs = u->r;
	const u64 *r = (const u64 *)&regs;
	u64 sum = 0;

	if (!option_given("place"))
		return;
	/* QEMU clears it where its translated code ends. */
	regs.rflags &= ~RFLAGS_RF;
	for (u64 i = 0; i < sizeof(regs) / sizeof(*r); i++)
		sum = (sum ^ r[i]) * HASH_PRIME;
	__atomic_fetch_add(&registers, sum, __ATOMIC_RELAXED);
	__atomic_fetch_add(&runs, 1, __ATOMIC_RELAXED);
}

void place_end(void)
{
	if (option_given("place"))
		report_note("registers %lx of %lu", registers, runs);
}
