/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest of the engine's fuzz targets: a few pages whose permissions change, and the rules that every
 * access and every state of the engine must keep.
 */
#ifndef FUZZ_GUEST_H
#define FUZZ_GUEST_H

#include "check_table.h"
#include "fuzz.h"

#define PAGE 0x1000u
#define MEM_BASE 0x10000u
#define MEM_PAGES 8u
#define MEM_SIZE (MEM_PAGES * PAGE)

/* Page permissions */
#define P_READ 1
#define P_WRITE 2
#define P_ROM 4

extern u8 mem[MEM_SIZE];
extern u8 perm[MEM_PAGES];
extern const struct lwp_vcpu_ops fuzz_ops;
extern u64 current_rip; /* PTSC and nothing else */
extern u64 overshoots_told; /* calls of overshoot() since guest_reset() */

void guest_reset(void);

/*
 * What LWP may write from now on: block and ring of the state as it is, and `block` (0 = none), which an
 * LLWPCB is about to load. Call it before each call of the engine.
 */
void allow_writes(const struct lwp_engine *e, u64 block);

/* A #PF must name a byte of block or ring that the guest's tables deny to user code. */
void check_exception(const struct lwp_exc *exc, bool may_gp, bool may_ud);

/* The state is legal, and so is what the engine keeps besides. */
void check_engine(const struct lwp_engine *e);

#endif
