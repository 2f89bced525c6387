/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names for the stubs of the procedure linkage table, which no symbol table has. */
#ifndef LWPCTL_PLT_H
#define LWPCTL_PLT_H

#include <libelf.h>
#include <stdint.h>

/*
 * Calls `add` for each stub of an x86-64 ELF file with NAME@plt, its address and size. A stub is known by
 * what it does: it jumps through the word that a relocation for NAME fills.
 */
void plt_stubs(Elf *elf, void (*add)(void *to, const char *name, uint64_t start, uint64_t size),
	       void *to);

#endif
