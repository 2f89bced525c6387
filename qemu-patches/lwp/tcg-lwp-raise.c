/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP under TCG: what the engine asks of a CPU, and the exceptions it raises,
 * in system mode and in user mode.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "count/qemu-compat.h"
#include "tcg/helper-tcg.h"
#include "lwp/tcg-lwp.h"

uint8_t x86_lwp_va_bits(CPUX86State *env)
{
    return env->cr[4] & CR4_LA57_MASK ? 57 : 48;
}

bool x86_lwp_suspended(CPUX86State *env)
{
    return (env->hflags & HF_SMM_MASK) ||
           ((env->hflags & HF_GUEST_MASK) && x86_lwp_auto(env->lwp));
}

bool x86_lwp_raise(CPUX86State *env, const struct lwp_exc *exc, uintptr_t ra)
{
    x86_lwp_mem_done(env);
    switch (exc->kind) {
    case LWP_EXC_NONE:
        return true;
    case LWP_EXC_UD:
        raise_exception_ra(env, EXCP06_ILLOP, ra);
    case LWP_EXC_GP:
        raise_exception_err_ra(env, EXCP0D_GPF, 0, ra);
    case LWP_EXC_PF:
        x86_lwp_step(env);
        /*
         * Repeat the access: its fault has the right CR2, error code,
         * intercepts and nested paging.
         */
        probe_access(env, exc->fault.addr, 1,
                     exc->fault.error_code & PG_ERROR_W_MASK ?
                     MMU_DATA_STORE : MMU_DATA_LOAD,
                     x86_lwp_mmu_index(env), ra);
        return false;
    case LWP_EXC_AGAIN:
        break; /* lwp_map() always has the memory */
    }
    g_assert_not_reached();
}
