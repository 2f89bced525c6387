/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A walk through page tables that are not the current ones: guest-physical memory is read from the
 * CR3 of a context's key. It writes nothing (no accessed or dirty bits), never faults, and reads
 * each entry once. Formats: APM volume 2, chapter 5.
 */
#ifndef LWP_WALK_H
#define LWP_WALK_H

#include "lwp_state.h"

enum lwp_phys_result {
	LWP_PHYS_OK,
	LWP_PHYS_NONE, /* no RAM at this address */
	LWP_PHYS_AWAY, /* RAM that cannot be read now without waiting */
};

/* Guest-physical memory. */
struct lwp_phys {
	/* Copy `len` bytes that lie in one page of 4 KiB. */
	enum lwp_phys_result (*read)(void *ctx, u64 gpa, void *to, u32 len);
	void *ctx;
	u8 bits; /* width of guest-physical addresses, 32..52 */
};

enum lwp_walk_result {
	LWP_WALK_OK, /* mapped with user rights */
	/* an entry of the last two levels that is not present and not zero, or LWP_PHYS_AWAY */
	LWP_WALK_AWAY,
	LWP_WALK_NONE, /* nothing is mapped, or not for the program, or an entry is not valid */
};

/*
 * Where a linear address lies. With CR0.PG clear that is the address itself. Read access of user
 * code is looked for; protection keys and NX are not looked at. CR4.PSE is taken to be set
 * (43724-905).
 */
enum lwp_walk_result lwp_walk(const struct lwp_phys *phys, enum lwp_paging paging, u64 cr3,
			      u64 linear, u64 *gpa);

#endif
