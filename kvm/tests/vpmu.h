/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's own performance counters (vPMU), programmed as the guest would, and samples taken by their overflow.
 */
#ifndef VPMU_H
#define VPMU_H

#include "kvm_vm.h"

/* The legacy four, which every vPMU has. */
#define PERF_CTL(n) (0xc0010000 + (n))
#define PERF_CTR(n) (0xc0010004 + (n))
#define PERF_CTL_USR 0x10000
#define PERF_CTL_OS 0x20000
#define PERF_CTL_INT 0x100000
#define PERF_CTL_EN 0x400000
#define PERF_INSTRUCTIONS 0xc0
#define PERF_BRANCHES 0xc2
#define PERF_FAR 0xc6

/* Count an event at CPL 3, with PERF_CTL_OS at all CPLs, by counter n, from 0. */
void vpmu_count(struct vcpu *v, unsigned int n, u32 event);
u64 vpmu_counted(struct vcpu *v, unsigned int n);

/*
 * Have counter 0 interrupt by NMI after each `period` instructions at CPL 3. The handler does the work that Linux's
 * handler for AMD processors cannot avoid (LVTPC, RDPMC, WRMSR of the counter), and stores the interrupted rIP. The
 * program must not change rdi.
 */
void vpmu_sample(struct vm *vm, struct vcpu *v, u32 period);
u64 vpmu_samples(const struct vm *vm);
u64 vpmu_sampled_rip(const struct vm *vm, u64 index);

#endif
