/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory. Physical pages come from a bump allocator and are reachable at their own address by the
 * kernel. Every address space has the kernel, the executable user pages of the image and the APIC at
 * the same place, and is empty from USER_BASE to USER_END.
 */
#ifndef FLAT_PAGING_H
#define FLAT_PAGING_H

#include "lwp_types.h"

#define USER_BASE 0x40000000ul
#define USER_END 0x80000000ul
/* The runner gives at least 64 MiB; what lies above the image up to here is the allocator's. */
#define PHYS_END (60ul << 20)
#define RAM_END (64ul << 20)

#define PTE_P 0x001ul
#define PTE_W 0x002ul
#define PTE_U 0x004ul
#define PTE_PWT 0x008ul
#define PTE_PCD 0x010ul
#define PTE_A 0x020ul
#define PTE_D 0x040ul
#define PTE_PS 0x080ul
#define PTE_ADDRESS 0x000ffffffffff000ul

/* Rights of a user page. */
#define PAGE_NONE 0ul
#define PAGE_USER_RO (PTE_P | PTE_U)
#define PAGE_USER_RW (PTE_P | PTE_U | PTE_W)
#define PAGE_KERNEL_RW (PTE_P | PTE_W)

void paging_init(void);
/* The address space in which the kernel starts. */
u64 kernel_cr3(void);

/* Zeroed pages, physically contiguous, aligned to `align` bytes (a power of two, at least 4096). */
u64 phys_alloc(u32 pages, u64 align);

/* A new address space; returns its CR3. */
u64 as_new(void);
/* Map pages * 4096 bytes at va to pa. Rights: PAGE_*. */
void as_map(u64 cr3, u64 va, u64 pa, u32 pages, u64 rights);
/* Map 2 MiB at va to pa with one entry; both aligned. */
void as_map_large(u64 cr3, u64 va, u64 pa, u64 rights);
/* Map pages at va to fresh memory; returns the kernel's address of it. */
void *as_alloc(u64 cr3, u64 va, u32 pages, u64 rights);
/* Change the rights of one 4 KiB page that was mapped before, keeping its memory. */
void as_protect(u64 cr3, u64 va, u64 rights);
/* The last-level entry that maps va, or NULL. */
u64 *as_pte(u64 cr3, u64 va);

#endif
