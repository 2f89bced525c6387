/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of source files, as far as this machine has them. */
#ifndef LWPCTL_SOURCE_TEXT_H
#define LWPCTL_SOURCE_TEXT_H

#include <stddef.h>

struct source_file;

struct sources {
	const char *sysroot; /* "": the host's root */
	struct source_file *files;
	size_t nr, room;
};

/*
 * Line `line`, counted from 1, of a file: printable, tabs as spaces, of at most `most` bytes of the file; NULL if there
 * is no such line or no such file. Free it.
 */
char *sources_line(struct sources *sources, const char *path, int line, size_t most);

void sources_free(struct sources *sources);

#endif
