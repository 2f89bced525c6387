/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What LWP this processor offers, and the control block that a request for events becomes. */
#ifndef LWPRUN_LEAF_H
#define LWPRUN_LEAF_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "pool.h"

/* CPUID 8000_001C and what follows from it, for either revision. */
struct leaf {
	uint32_t eax, ebx, ecx, edx;
	uint32_t revision; /* LWP_REV_43724 or LWP_REV_2007 */
	uint32_t block_size; /* bytes */
	uint32_t slots; /* number of event slots */
	uint32_t slots_offset; /* bytes from the block's start */
	uint32_t tail_offset; /* of BufferTailOffset */
	uint32_t ring_min; /* bytes */
	uint32_t lowest; /* smallest counter and interval: 0, in 2007 1 */
};

/* False if programs cannot use LWP here; *why then says which part is missing. */
bool leaf_query(struct leaf *leaf, const char **why);

/*
 * Take registers of the leaf apart. They do not say which revision they describe, but only 43724 has
 * an event offset in EBX[31:24], and it lies behind the block's fixed part; 2007 has a version there.
 */
void leaf_decode(struct leaf *leaf, uint32_t eax, uint32_t ebx, uint32_t ecx, uint32_t edx);

/* EventId that the leaf's revision gives to an event named by its id in 43724; 0 = it has none. */
uint32_t leaf_event_id(const struct leaf *leaf, uint32_t event_id);

/*
 * Fill the pool's description of the block: sizes, template, where counters go. False if what is asked
 * for is not there; *why (size bytes) says what, in one line.
 */
bool leaf_fill_pool(const struct leaf *leaf, const struct options *options, struct pool *pool,
		    char *why, size_t size);

#endif
