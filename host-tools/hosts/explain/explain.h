/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPUID leaf 8000_001C and LWP_CFG, bit by bit. */
#ifndef LWPCTL_EXPLAIN_H
#define LWPCTL_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Print what the bits of a register mean in a revision (LWP_REV_*). @name: "eax", "ebx", "ecx", "edx", "cfg".
 * Returns false when there is no such register.
 */
bool explain_register(const char *name, uint64_t value, uint32_t rev, FILE *to);

#endif
