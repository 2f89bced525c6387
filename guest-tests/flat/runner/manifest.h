/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The suite without the lab: which rows another hypervisor or a real machine can run, and what CPUID must say for
 * each. It follows from the row's processor (table.c).
 */
#ifndef FLATRUN_MANIFEST_H
#define FLATRUN_MANIFEST_H

#include <stdio.h>
#include "table.h"

#define MAX_ROW_NEEDS 16

/* CPUID has `value` in the bits of `mask`. */
struct cpuid_need {
	const char *name;
	unsigned int leaf, subleaf;
	const char *reg; /* "eax" ... */
	unsigned int mask, value;
	const char *text;
};

/* The needs of a row: their number. The row has no .lab. */
unsigned int manifest_needs(const struct run *r, const struct cpuid_need *found[MAX_ROW_NEEDS]);

/* The file of rows that the kernel takes (kernel/suite.h). */
void manifest_rows(FILE *to);
/* The same for programs and people, and the rows that only the lab runs. */
void manifest_json(FILE *to);

#endif
