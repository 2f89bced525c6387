// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `auto` contexts are bounded in number: one address space with more threads than that loses its own
 * contexts, oldest first, and never those of another (43724-905).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define THREADS 1500u
#define OTHERS 3u

static u8 *area;

static bool is_on(u32 i)
{
	wrmsr(MSR_FS_BASE, FS_OF(i));
	return lwp_touch() == THREAD_VA(i);
}

/* An address space of its own over the same memory. */
static void map_area(struct lwp *l, u64 cr3)
{
	lwp_map(l, cr3);
	as_map(cr3, THREADS_VA, (u64)area, THREADS * THREAD_SIZE / PAGE_SIZE, PAGE_USER_RW);
}

FLAT_TEST(context_many)
{
	struct lwp many, few;
	u32 kept = 0, last_lost = 0;

	rule("43724-902 43724-903 43724-904", CHOICE);
	lwp_enable();
	area = (u8 *)phys_alloc(THREADS * THREAD_SIZE / PAGE_SIZE, PAGE_SIZE);
	map_area(&many, kernel_cr3());
	map_area(&few, as_new());

	write_cr3(few.cr3);
	for (u32 i = 0; i < OTHERS; i++)
		lwp_start_thread(&few, area, THREADS - OTHERS + i, 1000, lwp_start);
	write_cr3(many.cr3);
	for (u32 i = 0; i < THREADS - OTHERS; i++)
		lwp_start_thread(&many, area, i, 1000, lwp_start);
	report(is_on(THREADS - OTHERS - 1), "the newest context is there");
	for (u32 i = 0; i < THREADS - OTHERS; i++) {
		if (is_on(i))
			kept++;
		else
			last_lost = i;
	}
	report(kept && kept < THREADS - OTHERS, "%u threads: %u contexts are kept",
	       THREADS - OTHERS, kept);
	report_eq(last_lost + 1 + kept, THREADS - OTHERS, "the oldest have gone");
	write_cr3(few.cr3);
	for (u32 i = 0; i < OTHERS; i++)
		report(is_on(THREADS - OTHERS + i), "context %u of another address space is kept",
		       i);
}
