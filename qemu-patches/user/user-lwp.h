/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP in user mode, for tcg-lwp*.c.  Each thread has a CPU of its own, and so
 * LWP of its own: contexts and world switches are not needed.
 */
#ifndef USER_LWP_H
#define USER_LWP_H

#include "user/guest-base.h"
#include "user/guest-host.h"

/*
 * The host address of a range in one page if the program may access it.  Until
 * x86_lwp_hit_done() or x86_lwp_mem_done() no thread changes mappings, and no
 * code in them is translated.
 */
uint8_t *x86_lwp_tlb_hit(CPUX86State *env, uint64_t gva, uint32_t len,
                         bool write);

/* The engine's function is over: mappings may change. */
static inline void x86_lwp_mem_done(CPUX86State *env)
{
    if (have_mmap_lock()) {
        mmap_unlock();
    }
}

static inline void x86_lwp_hit_done(CPUX86State *env)
{
    x86_lwp_mem_done(env);
}

/* What only contexts, and tests of machines, need. */
static inline void x86_lwp_before_llwpcb(CPUX86State *env, uintptr_t ra)
{
}

static inline void x86_lwp_after_llwpcb(CPUX86State *env)
{
}

static inline void x86_lwp_before_insn(CPUX86State *env, uintptr_t ra)
{
}

static inline void x86_lwp_lookup(CPUX86State *env, uintptr_t ra)
{
}

static inline void x86_lwp_context_drop(CPUX86State *env)
{
}

static inline void x86_lwp_step(CPUX86State *env)
{
    env->lwp->steps++;
}

#endif
