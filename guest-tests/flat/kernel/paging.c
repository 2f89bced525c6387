// SPDX-License-Identifier: GPL-2.0-or-later
/* Page tables: one last-level entry at a time. */
#include "apic.h"
#include "paging.h"
#include "place.h"
#include "report.h"
#include "x86.h"

#define IDENTITY_END (1ul << 30)
#define ENTRIES 512

extern char image_end[], user_text_start[], user_text_end[];

static u64 phys_next;
static u64 first_cr3;

u64 kernel_cr3(void)
{
	return first_cr3;
}

u64 phys_alloc(u32 pages, u64 align)
{
	u64 pa = (phys_next + align - 1) & ~(align - 1);

	phys_next = pa + pages * PAGE_SIZE;
	if (phys_next > PHYS_END)
		bail("out of memory: %u pages", pages);
	memset((void *)pa, 0, pages * PAGE_SIZE);
	return pa;
}

static int levels(void)
{
	return read_cr4() & CR4_LA57 ? 5 : 4;
}

/* Entry for va at `level` (1: 4 KiB, 2: 2 MiB), making the tables above it. */
static u64 *make_entry(u64 cr3, u64 va, int level)
{
	u64 *table = (u64 *)(cr3 & PTE_ADDRESS);

	for (int i = levels();; i--) {
		u64 *e = &table[va >> (12 + 9 * (i - 1)) & (ENTRIES - 1)];

		if (i == level)
			return e;
		if (!(*e & PTE_P))
			*e = (i == 2 && va >= USER_BASE && va < USER_END ?
				      place_table() :
				      phys_alloc(1, PAGE_SIZE)) |
			     PAGE_USER_RW;
		if (*e & PTE_PS)
			bail("%lx is in a large page", va);
		table = (u64 *)(*e & PTE_ADDRESS);
	}
}

u64 *as_pte(u64 cr3, u64 va)
{
	u64 *table = (u64 *)(cr3 & PTE_ADDRESS);

	for (int i = levels();; i--) {
		u64 *e = &table[va >> (12 + 9 * (i - 1)) & (ENTRIES - 1)];

		if (i == 1 || *e & PTE_PS)
			return e;
		if (!(*e & PTE_P))
			return NULL;
		table = (u64 *)(*e & PTE_ADDRESS);
	}
}

void as_map(u64 cr3, u64 va, u64 pa, u32 pages, u64 rights)
{
	for (u32 i = 0; i < pages; i++, va += PAGE_SIZE, pa += PAGE_SIZE) {
		*make_entry(cr3, va, 1) = pa | rights;
		invlpg(va);
	}
}

void as_map_large(u64 cr3, u64 va, u64 pa, u64 rights)
{
	*make_entry(cr3, va, 2) = pa | rights | PTE_PS;
	invlpg(va);
}

void *as_alloc(u64 cr3, u64 va, u32 pages, u64 rights)
{
	u64 pa = phys_alloc(pages, PAGE_SIZE);

	as_map(cr3, va, pa, pages, rights);
	return (void *)pa;
}

void as_protect(u64 cr3, u64 va, u64 rights)
{
	u64 *pte = as_pte(cr3, va);

	if (!pte)
		bail("as_protect of %lx, which was never mapped", va);
	*pte = (*pte & PTE_ADDRESS) | rights;
	invlpg(va);
}

u64 as_new(void)
{
	u64 cr3 = phys_alloc(1, PAGE_SIZE);
	u64 text = (u64)user_text_start & ~(LARGE_PAGE_SIZE - 1);

	for (u64 va = 0; va < IDENTITY_END; va += LARGE_PAGE_SIZE) {
		if (va < text || va >= (u64)user_text_end)
			as_map_large(cr3, va, va, PAGE_KERNEL_RW);
		else
			as_map(cr3, va, va, ENTRIES, PAGE_KERNEL_RW);
	}
	for (u64 va = (u64)user_text_start; va < (u64)user_text_end; va += PAGE_SIZE)
		as_map(cr3, va, va, 1, PAGE_USER_RO);
	as_map(cr3, APIC_BASE, APIC_BASE, 1, PAGE_KERNEL_RW | PTE_PCD | PTE_PWT);
	if (place_device())
		as_map(cr3, TESTDEV, TESTDEV, TESTDEV_PAGES, PAGE_KERNEL_RW);
	return cr3;
}

void paging_init(void)
{
	phys_next = (u64)image_end;
	first_cr3 = as_new();
	write_cr3(first_cr3);
}
