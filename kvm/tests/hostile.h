/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions that the kinds of hostile guests share. All random numbers come from one seed. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include "kvm_vm.h"

/* Guest-physical memory that must keep its pattern whatever the guest's programs do. */
#define HOSTILE_READONLY 0x340000 /* mapped for users, not writable */
#define HOSTILE_KERNEL 0x350000 /* mapped for the kernel only */
#define HOSTILE_NEXT 0x3a0000 /* memory of a later program that gets the first one's CR3 */
#define HOSTILE_PAGES 16

/* Linear addresses at which each address space has memory of its own, HOSTILE_PAGES. */
#define HOSTILE_PRIVATE 0x2a0000
#define HOSTILE_PRIVATE_OTHER 0x380000 /* its physical address in VM_CR3_OTHER */

u64 rnd(u64 *state);
/* A number below n, n >= 1. */
u32 below(u64 *state, u32 n);
/* Bytes that look like a block in parts, so that some get past the checks. */
void random_block(u64 *state, u8 *at);
/* An address; LWP may be able to use it or not. */
u64 random_pointer(u64 *state);

/* Descriptor tables, stubs, stacks and page tables are for the kernel only. */
void protect_kernel(struct vm *vm, u64 cr3);
void fill_pattern(u8 *at, u32 pages, u64 which);
/* Is the pattern of a VM's memory intact? Reports one that is broken. */
bool check_pattern(const struct vm *vm, u64 at, const char *what);

/* Add KVM's statistics of the vCPUs to the figures that are printed at the end. */
void tally(const struct vm *vm);

/* One round of each kind. False: something was wrong, and has been reported. */
bool hostile_processes(u64 *state);
bool hostile_hypervisor(u64 *state);
/* Results of setting attributes. */
extern struct hostile_sets {
	u32 accepted, refused;
} hostile_sets;
bool hostile_user_space(u64 *state);

#endif
