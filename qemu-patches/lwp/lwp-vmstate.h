/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP in the migration stream: the functions that accelerators provide.
 */
#ifndef LWP_VMSTATE_H
#define LWP_VMSTATE_H

#include "lwp_context.h"
#include "lwp_state.h"

/* What an accelerator does for a machine whose CPUs have LWP. */
typedef struct X86LWPAccel {
    /* The state of a stopped vCPU, to cpu->lwp_wire; an errno, or 0 */
    int (*wire_save)(X86CPU *cpu);
    /*
     * And from there; @st is the decoded image.  NULL, or an error message.
     * Without the function it is loaded with the vCPU's registers.
     */
    const char *(*wire_load)(X86CPU *cpu, const struct lwp_state *st);
    /*
     * All contexts, including live ones, as an array that the caller frees;
     * NULL: refused.  Load returns NULL, or an error message for entry *index.
     */
    uint8_t *(*context_save)(const struct lwp_caps *caps, size_t *size);
    const char *(*context_load)(const struct lwp_caps *caps,
                                const uint8_t *from, size_t size,
                                uint32_t *index);
    struct lwp_ctx_stats (*context_stats)(void);
    /* Have the statistics what translated code has counted; NULL: nothing. */
    void (*fold)(X86CPU *cpu);
    /* lwp-context=os has contexts as well */
    bool os_has_contexts;
} X86LWPAccel;

/* That of this machine, set when its first CPU with LWP is realized. */
extern const X86LWPAccel *x86_lwp_accel;
extern const X86LWPAccel tcg_lwp_accel;

/* The machine has contexts: from now on its streams include them. */
void x86_lwp_contexts_travel(void);

/* tcg-lwp-context.c */
uint8_t *x86_lwp_context_save(const struct lwp_caps *caps, size_t *size);
const char *x86_lwp_context_load(const struct lwp_caps *caps,
                                 const uint8_t *from, size_t size,
                                 uint32_t *index);

#endif
