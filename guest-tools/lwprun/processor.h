/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What LWP this processor offers, and the control block that a request for events becomes. */
#ifndef LWPRUN_PROCESSOR_H
#define LWPRUN_PROCESSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lwp_cpuid.h"
#include "lwprun_options.h"
#include "pool.h"

/* CPUID 8000_001C and what follows from it, for either revision. */
struct leaf {
	struct lwp_leaf regs;
	struct lwp_caps caps;
	const struct lwp_rev *rev;
};

/* Ask CPUID. False if programs cannot use LWP here; *why then says which part is missing. */
bool leaf_query(struct leaf *leaf, const char **why);

/*
 * Take the registers in leaf->regs apart. They do not say which revision they describe, but only 43724
 * has an event offset in EBX[31:24], and it lies after the block's fixed part; 2007 has a version there.
 * False if they describe no LWP that is known.
 */
bool leaf_decode(struct leaf *leaf);

/* Bytes of the smallest ring. */
uint32_t leaf_ring_min(const struct leaf *leaf);

/*
 * Fill the pool's description of the block: sizes, template, where counters lie. False if the processor
 * lacks something of the request; `why` (size bytes) names it in one line.
 */
bool leaf_fill_pool(const struct leaf *leaf, const struct options *options, struct pool *pool,
		    char *why, size_t size);

#endif
