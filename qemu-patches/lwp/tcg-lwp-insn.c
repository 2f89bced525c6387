/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP under TCG: the four instructions.  Translated code has taken them out of
 * the count of their TB and has set EIP to their own address.  The helpers
 * count those that count.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "count/qemu-compat.h"
#include "exec/helper-proto.h"
#include "tcg/helper-tcg.h"
#include "lwp/tcg-lwp.h"
#include "lwp_segment.h"

/* The attributes as in a VMCB. */
static struct lwp_offsets lwp_offsets(const SegmentCache *seg, bool write)
{
    return lwp_seg_offsets((seg->flags >> DESC_TYPE_SHIFT & 0xff) |
                           (seg->flags >> 12 & 0xf00), seg->limit, write);
}

/* 43724-609 */
static struct lwp_ds lwp_ds(CPUX86State *env)
{
    const SegmentCache *ds = &env->segs[R_DS];
    struct lwp_offsets offsets;

    if (env->hflags & HF_CS64_MASK) {
        return (struct lwp_ds) {
            .limit = UINT64_MAX,
            .long_mode = true,
            .va_bits = x86_lwp_va_bits(env),
        };
    }
    /* Block and ring are written. */
    offsets = lwp_offsets(ds, true);
    return (struct lwp_ds) {
        .base = ds->base,
        .first = offsets.first,
        .limit = offsets.last,
        .va_bits = x86_lwp_va_bits(env),
    };
}

/*
 * #UD without LWP, and in SVM guest mode with `auto'.  The engine checks the
 * other conditions at run time, the decoder the static ones (43724-606,
 * 2007-607).
 */
static void lwp_check(CPUX86State *env, uintptr_t ra)
{
    if (!env->lwp || x86_lwp_suspended(env)) {
        raise_exception_ra(env, EXCP06_ILLOP, ra);
    }
    x86_cnt_fold(env);
}

/* Returns the new value of rAX (43724-609, 43724-712, 2007-601, 2007-602). */
target_ulong helper_llwpcb(CPUX86State *env, target_ulong ea, uint32_t w)
{
    X86LWP *lwp = env->lwp;
    struct lwp_exc exc;
    struct lwp_ds ds;
    uint64_t old;

    lwp_check(env, GETPC());
    ds = lwp_ds(env);
    x86_lwp_before_llwpcb(env, GETPC());
    do {
        lwp_llwpcb(&lwp->engine, ea, &ds, env->hflags & HF_CPL_MASK, &old,
                   &exc);
        x86_lwp_after_llwpcb(env);
        x86_cnt_update(env);
        lwp->llwpcb_faulted = exc.kind == LWP_EXC_PF;
    } while (!x86_lwp_raise(env, &exc, GETPC()));

    /* LWP does not count LLWPCB; others do. */
    lwp->replaced = true;
    x86_cnt_retire(env, x86_cnt_linear(env, env->eip));
    lwp->replaced = false;
    if (!lwp->engine.rev->llwpcb_returns_old) {
        return env->regs[R_EAX];
    }
    return w ? old : (uint32_t)old;
}

/* 43724-622 */
target_ulong helper_slwpcb(CPUX86State *env)
{
    struct lwp_exc exc;
    struct lwp_ds ds;
    uint64_t ea;

    lwp_check(env, GETPC());
    x86_lwp_before_insn(env, GETPC());
    ds = lwp_ds(env);
    do {
        lwp_slwpcb(&env->lwp->engine, &ds, &ea, &exc);
        x86_cnt_update(env);
    } while (!x86_lwp_raise(env, &exc, GETPC()));

    x86_cnt_retire(env, x86_cnt_linear(env, env->eip));
    return ea;
}

static bool lwp_canonical(CPUX86State *env, uint64_t address)
{
    uint64_t last = address + sizeof(uint32_t) - 1;

    return address == sextract64(address, 0, x86_lwp_va_bits(env)) &&
           last == sextract64(last, 0, x86_lwp_va_bits(env));
}

/*
 * QEMU checks no segment limits; those of this operand are checked (43724-629).
 * Nor does it tell an address on the stack that is not canonical: #SS(0).
 */
static uint32_t lwp_load(CPUX86State *env, target_ulong address, uint32_t info,
                         uintptr_t ra)
{
    int seg = info >> X86_LWP_OPERAND_SEGMENT_SHIFT;
    const SegmentCache *cache = &env->segs[seg];
    struct lwp_offsets offsets;

    if (!(env->hflags & HF_CS64_MASK)) {
        offsets = lwp_offsets(cache, false);
        if (!lwp_offsets_have(&offsets, (uint32_t)(address - cache->base),
                              sizeof(uint32_t))) {
            raise_exception_err_ra(env, seg == R_SS ? EXCP0C_STACK : EXCP0D_GPF,
                                   0, ra);
        }
    } else if (seg == R_SS && !lwp_canonical(env, address)) {
        raise_exception_err_ra(env, EXCP0C_STACK, 0, ra);
    }
    return cpu_ldl_data_ra(env, address, ra);
}

/*
 * Operands of LWPINS and LWPVAL: `rm' is a value, or the address of one.  A
 * pending record is stored before the operand is read.
 */
static struct lwp_sample lwp_operands(CPUX86State *env, uint64_t address,
                                      target_ulong data2, target_ulong rm,
                                      uint32_t info, bool reads, uintptr_t ra)
{
    struct lwp_sample s = {
        .address = address,
        .data2 = data2,
        .flags = info,
    };
    struct lwp_exc exc;

    if (!(info & X86_LWP_OPERAND_MEMORY)) {
        s.data1 = rm;
        return s;
    }
    if (!reads) {
        return s;
    }
    do {
        reads = lwp_sample_settle(&env->lwp->engine, address, &exc);
        x86_cnt_update(env);
    } while (!x86_lwp_raise(env, &exc, ra));
    if (reads) {
        s.data1 = lwp_load(env, rm, info, ra);
    }
    return s;
}

/* LWPINS, 43724-628, which gives CF; value: LWPVAL. */
static bool lwp_insert(CPUX86State *env, bool value, target_ulong data2,
                       target_ulong rm, uint32_t info, uintptr_t ra)
{
    uint64_t address = x86_cnt_linear(env, env->eip);
    struct lwp_engine *e;
    struct lwp_sample s;
    struct lwp_exc exc;
    bool cf = false;

    lwp_check(env, ra);
    x86_lwp_before_insn(env, ra);
    e = &env->lwp->engine;
    s = lwp_operands(env, address, data2, rm, info,
                     value ? lwp_val_reads(e, address) : lwp_ins_reads(e), ra);
    do {
        if (value) {
            lwp_val(e, &s, &exc);
        } else {
            lwp_ins(e, &s, &cf, &exc);
        }
        x86_cnt_update(env);
    } while (!x86_lwp_raise(env, &exc, ra));

    x86_cnt_retire(env, address);
    return cf;
}

uint32_t helper_lwpins(CPUX86State *env, target_ulong data2, target_ulong rm,
                       uint32_t info)
{
    return lwp_insert(env, false, data2, rm, info, GETPC());
}

void helper_lwpval(CPUX86State *env, target_ulong data2, target_ulong rm,
                   uint32_t info)
{
    lwp_insert(env, true, data2, rm, info, GETPC());
}
