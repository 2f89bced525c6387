/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the probe's files have of each other. */
#ifndef PROBE_H
#define PROBE_H

#include <linux/kvm.h>
#include <stdio.h>

#include "lwp_types.h"
#include "pmc_row.h"

#define TURNS 4096 /* of each measurement */
#define QUICK 64

/* ---- machine.c: a VM of one vCPU ---- */

/* Where things are in its memory; linear = physical. */
#define AT_CODE 0x10000
#define AT_FRESH 0x20000 /* a page whose memory is taken away before it is read */
#define AT_HOLE 0x21000 /* a page that the guest's page tables do not have */
#define AT_LINE 0x22000 /* for locked instructions from two sides */
#define AT_RING 0x40000 /* of pointers */
/* Address of a label of guest.S */
#define AT(label) (AT_CODE + (u64)((label)-guest))
#define LOCKS 16 /* instructions at at_lock */
#define LOOP 256 /* in each turn of the last four */
#define VECTOR 0x40 /* of what is injected */

extern const u8 guest[], guest_end[], at_out[], at_cpuid[], at_read[], at_spin[], at_nops[],
	at_second_nop[], at_int80[], at_int81[], at_int82[], at_syscall[], at_rep[], at_lock[],
	at_straight[], at_chain[], at_chase[], at_branchy[];

/* Why the guest has stopped: OUT to the first ports, or something else. */
enum { STOP_CPL3 = 1, STOP_CPL0, STOP_FAULT, STOP_HLT, STOP_DEBUG, STOP_SIGNAL, STOP_OTHER };

struct machine {
	int kvm, vm, vcpu, stats;
	long exits, irqs; /* offsets in stats */
	struct kvm_run *run;
	struct kvm_sregs sregs; /* at CPL 3 */
	u8 *mem;
};

/* NULL, or what is missing, and errno. */
const char *machine_new(struct machine *m);
/* It will run at CPL 3 from `rip`. */
void machine_start(struct machine *m, u64 rip, u64 rsi, u64 rcx);
int machine_run(struct machine *m);
/* Exits so far: all, and those by interrupts of the host. */
void machine_exits(const struct machine *m, u64 exits[2]);

/* ---- numbers.c; both sort n > 0 values ---- */

struct spread {
	s32 least, usual, most; /* usual: the most frequent, the least of several */
	s32 low,
		high; /* without a hundredth at each end, where an interrupt of the host may have come in */
	u32 turns; /* 0: it was not measured */
};

/* `times`: each value is the sum of so many; result: of one of them. */
struct spread spread_of(s32 *values, u32 n, s32 times);
void quantiles(s32 *values, u32 n, s32 quantile[PMC_LATES]);

/* ---- count.c, lateness.c, ibs.c ---- */

#define RUNS 8 /* four codes, each idle and loaded */

struct lateness {
	s32 cycles[PMC_LATES], insns[PMC_LATES];
	u32 interrupts, lost;
	u32 rate; /* instructions in 1,000 cycles; 0: nothing was measured */
};

struct result {
	char vendor[13], brand[49], kernel[66], microcode[16];
	u32 family, model, stepping;
	bool hypervisor, freezes;
	double load;
	u32 turns;
	struct spread over[PMC_EVENTS][PMC_PLACES];
	struct lateness late[RUNS]; /* idle and loaded of a code stand together */
	u32 ibs_due,
		ibs_samples; /* of the guest, if IBS counts across VMRUN; 0 due: there is no IBS */
	bool ibs_throttled; /* perf has left samples out */
};

/* A counter of the guest's CPL 3 on this thread; with a period it interrupts. -1: errno. */
int counter_open(u32 event, u64 period, int group);
/* The counts of a group; false: it did not count all the time. */
bool counter_read(int group, u64 *count, u32 n);
/* NULL, or what is missing, and errno. `other`: a CPU, or -1. */
const char *count_places(struct machine *m, struct result *r, int other);
const char *measure_lateness(struct machine *m, struct result *r, bool loaded);
void measure_ibs(struct machine *m, struct result *r);
/* A thread that keeps a CPU busy with locked instructions on a word. */
bool beside_start(int cpu, u32 *word);
void beside_stop(void);

/* ---- report.c ---- */

void row_of(const struct result *r, struct pmc_row *row);
/* "exact", or as "+1 per entry, lock not known" */
void verdict(const struct pmc_row *row, enum pmc_event event, char *buf, size_t size);
void report_text(const struct result *r, FILE *out);
void report_json(const struct result *r, FILE *out);

/* ---- options.c ---- */

/* -1: go on. Otherwise the exit status, and all is said. */
int options_read(int argc, char **argv, const char **json, u32 *turns);

#endif
