/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the memory of the profiled programs lies: place=NAME on the command line, for every test alike.
 *
 *   end              the last pages of RAM
 *   data             data and stack in a device that keeps what is written (QEMU's pc-testdev)
 *   table            page tables in that device
 *   ring, block      ring, or block, in that device: LWP goes off
 *   ring-hole, block-hole   where nothing answers: the same for the program
 *   watched          pages with a breakpoint on bytes that nobody uses
 *   written          pages, code included, that another processor writes all the time, without a change
 */
#ifndef FLAT_PLACE_H
#define FLAT_PLACE_H

#include "cpu.h"

#define TESTDEV 0xff000000ul
#define TESTDEV_PAGES 16
/* Nothing answers there: above the memory of the machine, below the 32-bit devices. It reads as zero. */
#define HOLE 0xa0000000ul

/* Is there such a device in this run? */
bool place_device(void);
/* Before the test: the other processor begins to write. */
void place_begin(void);
/* Map pages for what lies at CB_VA, RING_VA, DATA_VA or STACK_VA; returns the kernel's address of it. */
u8 *place_map(u64 cr3, u64 va, u32 pages);
/* A zeroed page for a last-level page table of user memory. */
u64 place_table(void);
/* The program has come back. */
void place_came_back(const struct user *u);
/* The test ends: "# registers N": a sum of those of all that have come back, in any order. */
void place_end(void);

#endif
