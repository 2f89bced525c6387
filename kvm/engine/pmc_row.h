/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A row: one line of text with what was measured of a processor's performance counters. Its items
 * are separated by commas and stand in any order, each at most once:
 *
 *   cpu=FAMILY/FIRST/LAST  family and its models, hexadecimal, 0..fff
 *   EVENT.PLACE=N, N/M, ?  the counter is N ahead of the truth each time, N to M, or nobody knows:
 *                          0..65535, N < M
 *   EVENT.entry=...        the same for each of the eight exits
 *   late=MIN/MEDIAN/P99/P999/P9999/MAX
 *                          lateness of the overflow interrupt in cycles, 0..10000000, not falling
 *   rate=N                 instructions in 1,000 cycles of the code in which that was measured,
 *                          1..16000; it goes with late
 *   lost=N                 one of N interrupts never comes, 2..1000000
 *   freeze=0|1             counters and LBR freeze at the interrupt
 *
 * A place that is not named is 0. All counts are those of the guest's CPL 3.
 */
#ifndef PMC_ROW_H
#define PMC_ROW_H

#ifdef __KERNEL__
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#endif

/* Retired instructions (C0h), branches (C2h), far transfers (C6h). */
enum pmc_event { PMC_INSNS, PMC_BRANCHES, PMC_FAR, PMC_EVENTS };

/*
 * First the eight exits, each with the entry after it: step is #DB after RFLAGS.TF, bp a
 * breakpoint, cpuid also any exit that is none of the others.
 * Then what the guest does without an exit: pf is its #PF, inject an interrupt that VMRUN injects,
 * lock a locked instruction whose line another CPU wants.
 */
/* clang-format off */
#define PMC_FOR_PLACES(x, event)                                                               \
	x(event, CPUID, "cpuid") x(event, HLT, "hlt") x(event, OUT, "out")                     \
	x(event, NPF, "npf") x(event, INTR, "intr") x(event, NMI, "nmi")                       \
	x(event, STEP, "step") x(event, BP, "bp") x(event, PF, "pf") x(event, INTN, "intn")    \
	x(event, IRET, "iret") x(event, SYSCALL, "syscall") x(event, SYSRET, "sysret")         \
	x(event, INJECT, "inject") x(event, REP, "rep") x(event, LOCK, "lock") x(event, SMI, "smi")
/* clang-format on */
#define PMC_PLACE(event, place, name) PMC_##place,
enum pmc_place { PMC_FOR_PLACES(PMC_PLACE, ) PMC_PLACES, PMC_EXITS = PMC_PF };

enum pmc_late { PMC_MIN, PMC_MEDIAN, PMC_P99, PMC_P999, PMC_P9999, PMC_MAX, PMC_LATES };
enum pmc_item { PMC_CPU, PMC_LATE, PMC_RATE, PMC_LOST, PMC_FREEZE, PMC_ITEMS };

#define PMC_BIT(n) ((uint32_t)1 << (n))
#define PMC_UNKNOWN (~(uint32_t)0)
#define PMC_OVER_MAX 65535u
#define PMC_LATE_MAX 10000000u /* cycles */
#define PMC_ROW_SIZE 2048 /* of a buffer for any row and its NUL */

struct pmc_row {
	/* Counts too many each time, least <= most. Not known: 0 and PMC_UNKNOWN. */
	struct pmc_over {
		uint32_t least, most;
	} over[PMC_EVENTS][PMC_PLACES];
	uint32_t items; /* PMC_BIT(enum pmc_item) of each that the row has; the others are 0 here */
	uint32_t cpu[3]; /* family, first and last model */
	uint32_t late[PMC_LATES]; /* cycles */
	uint32_t rate; /* instructions in 1,000 cycles */
	uint32_t lost; /* one of so many interrupts */
	uint32_t freeze; /* no: 0, yes: 1 */
};

struct pmc_row_error {
	size_t at; /* where the text is wrong, 0..length */
	const char *message; /* constant */
};

/*
 * Read a row from `length` characters, which need no NUL. False: `err` says where it is wrong, and
 * `row` means nothing. No characters are a row without items.
 */
bool pmc_row_parse(const char *text, size_t length, struct pmc_row *row, struct pmc_row_error *err);

/*
 * Write a row that pmc_row_parse() could have given, without what is 0, always in the same order.
 * Returns the text's length without NUL. A text that does not fit into `size` with its NUL is cut.
 */
size_t pmc_row_format(const struct pmc_row *row, char *buf, size_t size);

/*
 * May counts of an event be corrected: has each of its places one number, and is the lateness
 * known? False: `why` is a constant sentence with the first that is missing.
 */
bool pmc_row_exact(const struct pmc_row *row, enum pmc_event event, const char **why);

/*
 * The place of a #VMEXIT with this exit code of SVM; step: RFLAGS.TF has caused it. An exit that
 * has no place of its own counts as that of CPUID, an instruction that is intercepted.
 */
enum pmc_place pmc_place_of_exit(uint64_t code, bool step);

/* The words of the grammar. */
const char *pmc_event_name(enum pmc_event event);
const char *pmc_place_name(enum pmc_place place);

#endif
