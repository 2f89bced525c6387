/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The instruction decoder beside objdump: run it, decode the bytes of each line, count what differs. */
#ifndef OBJDUMP_COMPARE_H
#define OBJDUMP_COMPARE_H

#include "lwp_insn.h"

struct comparison {
	enum lwp_code_bits bits; /* code size to decode for */
	u64 every; /* compare lines whose address is a multiple of it */
	unsigned long compared, branches, skipped, wrong;
};

bool objdump_is_there(void);

/*
 * Runs `objdump -w OPTIONS FILE` and compares each line. Prints the first 40 differences and counts all.
 * options must choose the code size of `bits`. False: objdump failed; the error has been printed.
 */
bool objdump_compare(struct comparison *c, const char *options, const char *file);

/* Prints the counts; true if nothing differs. */
bool objdump_report(const struct comparison *c, const char *what);

#endif
