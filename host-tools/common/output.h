/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a command writes to: a file that the user names, or the standard output. */
#ifndef LWPCTL_OUTPUT_H
#define LWPCTL_OUTPUT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

/* `path` NULL: the standard output. NULL after one line. */
FILE *output_open(const char *path);

/*
 * Close it. Not `good`, or it cannot be written: a regular file is removed. Returns `good` and that it was written; the
 * latter is false after one line.
 */
bool output_close(FILE *out, const char *path, bool good);

/* To the standard output, for people too; releases it. */
void put_json(json_object *root);

#endif
