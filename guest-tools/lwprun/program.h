/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding the program to run, and how it can be profiled. */
#ifndef LWPRUN_PROGRAM_H
#define LWPRUN_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* Where execvp(3) would find `name`: a new string, or NULL with errno set. */
char *program_find(const char *name);

/*
 * Can `path` be profiled? Follows #! lines. *preloads: it loads liblwprun.so; if not, it is static or for another C
 * library's loader, and wants inject.h. False with one sentence in `why` for a program that is not executable,
 * set-user-ID, set-group-ID or with file capabilities (the system then lets nobody interfere), or of another
 * architecture.
 */
bool program_check(const char *path, bool *preloads, char *why, size_t size);

#endif
