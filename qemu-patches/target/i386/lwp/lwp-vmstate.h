/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP in the migration stream: the functions that accelerators provide.
 */
#ifndef LWP_VMSTATE_H
#define LWP_VMSTATE_H

#include "lwp_state.h"

/* The machine has contexts: from now on its streams include them. */
void x86_lwp_contexts_travel(void);

/* tcg-lwp-wire.c: the state of a stopped vCPU, to and from cpu->lwp_wire */
void x86_lwp_wire_save(X86CPU *cpu);
/* @st is the decoded image.  False: the live context does not exist. */
bool x86_lwp_wire_load(X86CPU *cpu, const struct lwp_state *st);

/*
 * tcg-lwp-context.c: all contexts, including live ones, as an array that the
 * caller frees.  Load returns NULL, or an error message for entry *index.
 */
uint8_t *x86_lwp_context_save(const struct lwp_caps *caps, size_t *size);
const char *x86_lwp_context_load(const struct lwp_caps *caps,
                                 const uint8_t *from, size_t size,
                                 uint32_t *index);

/* kvm-lwp.c: the same with KVM, which gets the vCPU's part by kvm_lwp_put(). */
int kvm_lwp_wire_save(X86CPU *cpu);
/* NULL: KVM refuses. */
uint8_t *kvm_lwp_context_save(size_t *size);
const char *kvm_lwp_context_load(const uint8_t *from, size_t size);

#endif
