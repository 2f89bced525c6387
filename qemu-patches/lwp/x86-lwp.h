/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AMD Lightweight Profiling (LWP): declarations for the rest of target/i386.
 *
 * The state machine, the layouts and the rules are in lwp_*.[ch] of this
 * directory, which are shared with KVM; tcg-lwp*.c connect them to TCG.
 */
#ifndef X86_LWP_H
#define X86_LWP_H

#include "count/x86-count.h"

/* Bits of X86LWPProps.given */
#define LWP_HAS_MAX_EVENTS  1
#define LWP_HAS_MIN_BUFFER  2
#define LWP_HAS_LATENCY_MAX 4
#define LWP_HAS_CONTEXT_AGE 8
#define LWP_HAS_LATENCY_RND 16
#define LWP_HAS_REV         32
#define LWP_HAS_CONTEXT     64
#define LWP_HAS_PROFILE     128
#define LWP_HAS_DELIVERY    256 /* else prompt is KVM's default */
#define LWP_HAS_PRESET      512

/*
 * The CPU properties as the user gave them; x86_lwp_expand_features() turns
 * them into a struct lwp_caps.
 */
typedef struct X86LWPProps {
    uint32_t on, off;       /* lwp-val=on ...: bits of leaf 8000_001C EDX */
    uint32_t given;         /* LWP_HAS_*: set by the user or the host's file */
    uint32_t max_events;
    uint32_t min_buffer;
    uint32_t latency_max;
    uint32_t latency_rnd;
    uint32_t context_age;   /* seconds */
    uint32_t rev;           /* LWP_REV_* */
    uint32_t os_context;    /* this and the next five: 0 or 1 */
    uint32_t fam15h;
    uint32_t prompt;
    uint32_t vmcb;
    uint32_t no_preset;     /* LWP_CFG is 0 at reset with auto, too */
    uint32_t no_host_file;  /* what is not said is QEMU's own default */
    bool announced;         /* LWP that may be left out */
    struct x86_cache_geometry *cache; /* NULL: x86_cache_epyc */
} X86LWPProps;

/* Last argument of helper_lwpins() and helper_lwpval(): imm16, and */
#define X86_LWP_OPERAND_MEMORY 0x10000
#define X86_LWP_OPERAND_SEGMENT_SHIFT 17 /* R_ES to R_GS */

typedef struct X86LWP X86LWP;

/* The part of a vCPU's state that migrates, see lwp-vmstate.c. */
typedef struct X86LWPWire {
    uint8_t image[128];         /* LWP_CFG only, if a context is live */
    bool live;                  /* the context of this key is live */
    uint64_t cr3, thread, gs;
    uint32_t key_flags;
    bool lookup;                /* look for a context when CPL 3 is reached */
    bool entered;               /* CPL 3 was entered, nothing executed there */
    bool loaded;                /* KVM: loaded, and not given to KVM yet */
} X86LWPWire;

/* lwp-cpu.c: properties and CPUID (43724-101, 2007-101). */
void x86_lwp_class_init(ObjectClass *oc);
bool x86_lwp_expand_features(X86CPU *cpu, Error **errp);
void x86_lwp_cpuid(CPUArchState *env, uint32_t *eax, uint32_t *ebx,
                   uint32_t *ecx, uint32_t *edx);

/*
 * lwp-host.c reads the host's file before there is a CPU, and ends QEMU if it
 * is wrong; lwp-cpu.c: a default from it; whether all fit together; LWP for a
 * CPU that is made for a query, if the file says so.
 */
void x86_lwp_host_read(void);
bool x86_lwp_host_set(Visitor *v, const char *name, Error **errp);
bool x86_lwp_host_check(Error **errp);
void x86_lwp_announce(X86CPU *cpu);

/* Is LWP_CFG preset at reset (43724-207)? */
static inline bool x86_lwp_presets(const X86LWPProps *p)
{
    return !p->os_context && !p->no_preset;
}

/* lwp-context-age, in seconds */
uint32_t x86_lwp_context_age(const X86LWPProps *p);

/*
 * The property of a feature, by its bit in the Flags of revision @rev, and in
 * words; NULL if there is none.
 */
const char *x86_lwp_feature_name(uint32_t rev, uint32_t bit, const char **text);

/* lwp-stats.c: query-stats, when the first CPU has LWP */
void x86_lwp_stats_init(void);

/* lwp-vmstate.c */
extern const VMStateDescription vmstate_x86_lwp;

/*
 * lwp-cpu.c: can a CPU with these features be realized in this machine?  Free
 * what a CPU has, whether it was realized or not.
 */
bool x86_lwp_check(X86CPU *cpu, Error **errp);
void x86_lwp_free(CPUArchState *env);
void x86_lwp_finalize(X86CPU *cpu);

/*
 * tcg-lwp*.c.  Except for realize, unrealize and reset they may be called only
 * with env->lwp not NULL.
 */
void x86_lwp_realize(X86CPU *cpu);
void x86_lwp_unrealize(X86CPU *cpu);
void x86_lwp_reset(X86CPU *cpu);

/*
 * WRMSR and RDMSR of LWP_CFG and LWP_CBADDR; they raise #GP(0) and #PF
 * (43724-201, 2007-206, 2007-207).
 */
void x86_lwp_wrmsr(CPUArchState *env, uint32_t msr, uint64_t value,
                   uintptr_t ra);
uint64_t x86_lwp_rdmsr(CPUArchState *env, uint32_t msr, uintptr_t ra);

/* Properties for tests: lwp-debug.c for all, tcg-lwp-debug.c for TCG */
void x86_lwp_debug_class_init(ObjectClass *oc);
void x86_lwp_tcg_debug_class_init(ObjectClass *oc);

/* XCR0 has been written (43724-301). */
void x86_lwp_xcr0_changed(CPUArchState *env);

/*
 * XSAVE component 62: is it in use; its 128 bytes; load them, NULL: off
 * (43724-303).
 */
bool x86_lwp_xinuse(CPUArchState *env);
void x86_lwp_xsave(CPUArchState *env, uint8_t image[128]);
void x86_lwp_xrstor(CPUArchState *env, const uint8_t *image);

/*
 * VMLOAD and VMSAVE of the VMCB at an address of an MMU mode; they do nothing
 * unless ECX[24] is announced.
 */
void x86_lwp_vmload(CPUArchState *env, uint64_t vmcb, int mmu_idx);
void x86_lwp_vmsave(CPUArchState *env, uint64_t vmcb, int mmu_idx);

/* CR3, the base of FS or of GS, or KernelGSBase has been written. */
void x86_lwp_thread_changed(CPUArchState *env);

/* CPL has just become 3 (43724-816, 43724-820). */
void x86_lwp_user_entered(CPUArchState *env);

/* RSM has restored the state and left SMM (43724-920). */
void x86_lwp_smm_left(CPUArchState *env);

/*
 * The next instruction cannot be fetched.  LWP acts before that fault: it may
 * raise a #PF of its own, or an interrupt.
 */
void x86_lwp_fetch_fault(CPUArchState *env);

#endif
