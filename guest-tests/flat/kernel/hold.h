/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stores and instruction fetches that the host stops half way, so that a test decides what another processor does
 * in between. Only in runs with `.hold`: runner/hold.c is loaded into the emulator there.
 */
#ifndef FLAT_HOLD_H
#define FLAT_HOLD_H

#include "lwp_types.h"

/* Physical address of struct hold. */
#define HOLD_ADDRESS 0x9000

enum hold_what {
	HOLD_NOTHING,
	/* The next store to the page is held until `release`. */
	HOLD_STORE,
	/* The next fetch from the page is held after its first access, until the page has changed. */
	HOLD_FETCH,
	/* The next store is held until the fetch after it is, and that until the store is done. */
	HOLD_STORE_IN_FETCH,
};

/* The firmware leaves anything in memory; this is the guest's. */
#define HOLD_READY 0x646c6f6864616572ull

struct hold {
	u64 ready; /* guest: HOLD_READY, when the rest is zero */
	u64 page; /* guest: physical address of the page */
	u32 what; /* guest: enum hold_what; host: HOLD_NOTHING when the page is watched */
	u32 present; /* host: 1 */
	u32 held; /* host: 1 when something is held */
	u32 release; /* guest: 1 ends HOLD_STORE */
	u32 limit_ms; /* guest: nothing is held for longer */
	u32 expired; /* host: 1 if something was held for that long */
};

/* The rest is the guest's. */
extern volatile struct hold *const hold;

/* Wait for the host's library; bails without it. */
void hold_init(void);
/* From now on: what the next access to the page (of the kernel's memory) meets. */
void hold_watch(const void *page, enum hold_what what, u32 limit_ms);

#endif
