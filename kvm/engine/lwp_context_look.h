/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A look at the memory of a parked context whose address space is not the current one. */
#ifndef LWP_CONTEXT_LOOK_H
#define LWP_CONTEXT_LOOK_H

#include "lwp_context.h"
#include "lwp_walk.h"

/*
 * Would a lookup in the context's own address space find block and last record intact? Reads
 * guest-physical memory from the CR3 of its key on; writes nothing and faults nothing. The program
 * may run meanwhile on another vCPU: lwp_ctx_looked() finds that out. `caps` are those of the
 * context's machine (43724-905).
 */
enum lwp_ctx_fate lwp_ctx_look(const struct lwp_phys *phys, const struct lwp_caps *caps,
			       const struct lwp_ctx_saved *saved);

#endif
