/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers that C and assembly share: selectors, the per-processor area, fixed addresses. */
#ifndef FLAT_LAYOUT_H
#define FLAT_LAYOUT_H

#define KERNEL_CS 0x08
#define KERNEL_DS 0x10
/* SYSRET takes CS 32-bit, SS, CS 64-bit from consecutive descriptors. */
#define USER_CS32 0x23
#define USER_DS 0x2b
#define USER_CS64 0x33
/* Descriptors that a test fills: seg_set(). */
#define USER_FREE_DS 0x3b
#define USER_FREE_CS 0x43
#define TSS_SEL 0x48
#define GDT_ENTRIES 11

#define MAX_CPUS 4
/* struct cpu at the bottom, the kernel stack above it; aligned to its size. */
#define CPU_AREA_SIZE 16384
#define CPU_RSP0 0
#define CPU_USER_RSP 8

#define AP_TRAMPOLINE 0x8000

/* What a loader has in EAX when it is Multiboot2; and suite_restart(). */
#define MULTIBOOT2_MAGIC 0x36d76289
#define SUITE_MAGIC 0x666c6174
/* CPUID 7 ECX: five-level paging. */
#define BOOT_LA57 0x10000

/* "Vectors" 0..255 are the processor's; user code that comes back by SYSCALL has this one. */
#define VEC_EXIT_GATE 0x80
#define VEC_SYSCALL 0x100

#endif
