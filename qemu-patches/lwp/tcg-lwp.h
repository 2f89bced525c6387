/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP under TCG: the state of one vCPU, and declarations for tcg-lwp*.c.
 */
#ifndef TCG_LWP_H
#define TCG_LWP_H

#include "count/qemu-compat.h"
#include "count/x86-loads.h"
#include "exec/cputlb.h"
#include "exec/target_page.h"
#include "lwp_trace.h"
#include "lwp_context.h"

/* A load of the instruction that is stepped. */
typedef struct X86LWPNote {
    uint64_t address;
    uint32_t size;
} X86LWPNote;

struct X86LWP {
    struct lwp_engine engine;
    struct lwp_vcpu_ops ops;

    /* CPL 3 was entered, and no boundary has been processed since. */
    bool entered;
    bool replaced;  /* the running instruction has changed the block */
    struct lwp_cursor cursor; /* of usual records */

    /* lwp-context=auto */
    bool live;      /* the engine's state is the live context of this vCPU */
    struct lwp_ctx_key live_key; /* its key */
    bool lookup;    /* look for a context before the next insn at CPL 3 */
    bool unreadable; /* that of the thread could not be read: look again */

    /* lwp-dme, see tcg-lwp-load.c */
    struct x86_cache *cache;    /* NULL: no data cache misses */
    bool sees_loads;            /* misses are counted, at CPL 3 */
    bool load_due;              /* the next instruction is stepped */
    struct lwp_retired repeated; /* what it has missed so far, with REP */
    uint32_t notes;
    X86LWPNote note[64];        /* of XRSTOR, the most that there can be */

    /* For tests, see tcg-lwp-debug.c */
    uint64_t steps;         /* since reset */
    uint64_t stop_at;       /* stop the machine at this step, 0: never */
    QEMUTimer *stop_timer;  /* for x-lwp-clock, NULL: none yet */
    bool llwpcb_faulted;    /* the last step was a #PF by LLWPCB */
};

static inline bool x86_lwp_auto(const X86LWP *lwp)
{
    return lwp->engine.auto_context;
}

/* lwp_event_active(), with a fast path for kinds that are not counted. */
static inline bool x86_lwp_counts(const struct lwp_engine *e,
                                  enum lwp_kind kind)
{
    return (e->st.flags & LWP_BIT(e->rev->event_id[kind])) &&
           lwp_event_active(e, kind);
}

/* tcg-lwp.c */

/* Is a range canonical for linear addresses of a width? */
bool x86_lwp_canonical(uint64_t address, uint32_t len, uint8_t va_bits);

/* `os': does the operating system let LWP be used (43724-108)? */
bool x86_lwp_enabled(CPUX86State *env);

/* tcg-lwp-raise.c */

/* The width of linear addresses now */
uint8_t x86_lwp_va_bits(CPUX86State *env);

/*
 * LWP is off in SMM (43724-920), `auto' in SVM guest mode: no instructions, no
 * counting, no stores (43724-914, 43724-921).
 */
bool x86_lwp_suspended(CPUX86State *env);

/*
 * Raise the engine's exception.  Returns true if there is none; false if the
 * reason for a #PF has just gone away: try again (43724-815, 2007-209).
 */
bool x86_lwp_raise(CPUX86State *env, const struct lwp_exc *exc, uintptr_t ra);

/* tcg-lwp-count.c */

/* LWP among those who count */
extern const X86CntUser x86_lwp_user;

/* Is a store or a load outstanding, which may have to be retried? */
bool x86_lwp_outstanding(const struct lwp_engine *e);

/*
 * The running instruction replaces the block under which it began, so it does
 * not count.
 */
void x86_lwp_replaced(CPUX86State *env);

/* tcg-lwp-load.c */

/* Make the model of the caches if the CPU counts their misses. */
void x86_lwp_make_cache(X86CPU *cpu, X86LWP *lwp);

/* Another context begins or continues: all lines are gone (43724-730). */
void x86_lwp_empty_cache(CPUX86State *env);

/* The program is going to load: struct X86CntUser has the hook. */
void x86_lwp_load(CPUX86State *env, uint64_t address, uint32_t size,
                  uint32_t info, uintptr_t ra);
/* Does LWP look at loads now? */
bool x86_lwp_sees_loads(CPUX86State *env);

/* The stepped instruction retires, with its loads; it is over. */
void x86_lwp_retire_loads(CPUX86State *env, struct lwp_retired *r);
void x86_lwp_forget_loads(CPUX86State *env);

/* tcg-lwp-mem.c */
extern const struct lwp_mem_ops x86_lwp_mem_ops;

/* Index of the MMU mode that has user rights (43724-608). */
static inline int x86_lwp_mmu_index(CPUX86State *env)
{
    return env->hflags & HF_LMA_MASK ? MMU_USER64_IDX : MMU_USER32_IDX;
}

#ifdef CONFIG_USER_ONLY
#include "user/user-lwp.h"
#else

/*
 * The host address of a range in one page if the TLB has it, as RAM that
 * generated code would access itself: mapped with user rights, no code beside
 * it, not logged, not watched.  NULL: nothing is known.
 */
static inline uint8_t *x86_lwp_tlb_hit(CPUX86State *env, uint64_t gva,
                                       uint32_t len, bool write)
{
    const CPUTLBDescFast *tlb =
        cpu_tlb_fast(env_cpu(env), x86_lwp_mmu_index(env));
    uintptr_t index = (gva >> TARGET_PAGE_BITS) << CPU_TLB_ENTRY_BITS;
    const CPUTLBEntry *entry = (void *)tlb->table + (index & tlb->mask);
    uint64_t page = write ? qatomic_read(&entry->addr_write) :
                            entry->addr_read;

    /* Flags of the entry make its address differ. */
    if (page != (gva & TARGET_PAGE_MASK) ||
        len > TARGET_PAGE_SIZE - (gva & ~TARGET_PAGE_MASK)) {
        return NULL;
    }
    return (uint8_t *)(uintptr_t)(gva + entry->addend);
}

/* Code may be translated elsewhere without waiting for what the engine wrote. */
static inline void x86_lwp_mem_done(CPUX86State *env)
{
    tlb_host_stores_done(env_cpu(env));
}

/* The same after a hit alone, which needs no waiting. */
static inline void x86_lwp_hit_done(CPUX86State *env)
{
}

/* tcg-lwp-context.c */

/* @age: see struct lwp_ctx_table, in ms */
void x86_lwp_context_init(uint64_t age);

/*
 * Before an instruction at CPL 3, if lwp->lookup is set.  May leave the TB
 * (43724-902).
 */
void x86_lwp_lookup(CPUX86State *env, uintptr_t ra);

/* Before LLWPCB (which may have to be started again), and after it. */
void x86_lwp_before_llwpcb(CPUX86State *env, uintptr_t ra);
void x86_lwp_after_llwpcb(CPUX86State *env);

/*
 * Before another LWP instruction (the same): look again for a context that could
 * not be read, and for one that another thread of 32-bit code has taken.
 */
void x86_lwp_before_insn(CPUX86State *env, uintptr_t ra);

/*
 * Drop the live context (the engine is off); park it (turns the engine off)
 * (43724-902).
 */
void x86_lwp_context_drop(CPUX86State *env);
void x86_lwp_context_park(CPUX86State *env);

/*
 * CPL has just become 3: is the live context still that of the thread?  Look
 * again for one that could not be read.
 */
void x86_lwp_context_user_entered(CPUX86State *env);

/*
 * After a load: the context of a key, which was live on this vCPU when the
 * machine stopped, is live again.  False if there is no such context.
 */
bool x86_lwp_context_resume(CPUX86State *env, const struct lwp_ctx_key *key);

struct lwp_ctx_stats x86_lwp_context_stats(void);

/* tcg-lwp-debug.c */

/* One step was done; counted instructions of a TB do not call this. */
void x86_lwp_step(CPUX86State *env);

#endif /* !CONFIG_USER_ONLY */

/* Instructions to the one after which the machine stops, at least 1 */
static inline uint64_t x86_lwp_to_stop(const X86LWP *lwp)
{
    if (!lwp->stop_at) {
        return UINT64_MAX;
    }
    return lwp->stop_at > lwp->steps ? lwp->stop_at - lwp->steps : 1;
}

#endif
