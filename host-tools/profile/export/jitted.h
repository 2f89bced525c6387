/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code of just-in-time compilers as ELF images, which perf reads on any machine. */
#ifndef LWPCTL_JITTED_H
#define LWPCTL_JITTED_H

#include "export.h"

/* Of the code in an image, and its address there. hotspot wants a mapping of the beginning of a file. */
#define JITTED_OFFSET 0
#define JITTED_ALIGN 4096

/* The images of a profile, by the index of profile.maps; NULL: the mapping has none. */
struct jitted {
	char **paths;
	size_t nr;
};

/*
 * Write an image jitted-PID-N.so with symbols, but without code, for each mapping that a perf map has names for, into
 * the folder of `output`; `output` NULL: there are none. False after one line. jitted_free() in any case.
 */
bool jitted_write(struct jitted *jitted, struct export *e, const char *output);

void jitted_free(struct jitted *jitted);

#endif
