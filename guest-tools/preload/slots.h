/* SPDX-License-Identifier: GPL-2.0-or-later */
/* liblwprun.so: slots of the pool, one for each thread that is profiled. */
#ifndef LWPRUN_SLOTS_H
#define LWPRUN_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "pool.h"

/* The pool, NULL in a process that is not profiled. */
extern struct pool *slots_pool;

static inline struct pool_slot *slot_of(int32_t i)
{
	return pool_slot(slots_pool, (uint32_t)i);
}

static inline unsigned char *slot_block(int32_t i)
{
	return pool_block(slots_pool, (uint32_t)i);
}

/*
 * A slot for this thread, ready for LLWPCB; -1 if there is none. If lwprun does not know this process
 * yet, `attach` says how it came to be; it is not profiled at all if lwprun refuses it.
 */
int32_t slot_take(enum pool_request attach);

/* Does slot i (-1: none) belong to this process? Not so in a vfork child in its parent's memory. */
bool slot_is_mine(int32_t i);

void slot_set_state(int32_t i, enum pool_state state);

/* Ask lwprun for something and wait for the answer. False if it refused or is gone. */
bool slot_request(int32_t i, enum pool_request what);

#endif
