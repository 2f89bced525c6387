/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The other processors: start them, give them work, wait for it. APIC id = index. */
#ifndef FLAT_SMP_H
#define FLAT_SMP_H

#include "layout.h"
#include "lwp_types.h"

/* Each processor's area: struct cpu and its stack. */
extern char boot_cpu_area[MAX_CPUS][CPU_AREA_SIZE];

/* Start processors 1..count-1; bails when one does not come. count is what the run asked for. */
void smp_start(void);
/* INIT of all that were started, whatever they do; smp_start() starts them again. */
void smp_init_others(void);
/* The others are in INIT, and nowhere in the kernel, when it returns. false: one does not answer. */
bool smp_park(void);
/* Number of processors that the runner promised (cpus=N on the command line, 1 without it). */
u32 smp_count(void);
void smp_set_count(u32 count);

/* Have fn(arg) run on a processor that was started, without waiting. One at a time per processor. */
void smp_run(u32 cpu, void (*fn)(void *arg), void *arg);
/* Wait until what smp_run() gave to it has returned. */
void smp_wait(u32 cpu);
static inline void smp_call(u32 cpu, void (*fn)(void *arg), void *arg)
{
	smp_run(cpu, fn, arg);
	smp_wait(cpu);
}

#endif
