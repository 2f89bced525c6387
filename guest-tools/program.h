/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding the program to run, and refusing what a preloaded library cannot profile. */
#ifndef LWPRUN_PROGRAM_H
#define LWPRUN_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Where execvp(3) would find `name`: a new string, or NULL with errno set.
 */
char *program_find(const char *name);

/*
 * Would `path` load liblwprun.so? Follows #! lines. False with one sentence in `why` for a program
 * that is not executable, statically linked, set-user-ID, set-group-ID or with file capabilities (the
 * loader then ignores LD_PRELOAD), of another architecture, or for another C library's loader.
 */
bool program_check(const char *path, char *why, size_t size);

#endif
