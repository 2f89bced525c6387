/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols and source lines of one object: an ELF file, the vDSO, or a just-in-time compiler's map. */
#ifndef LWPCTL_SYMBOLS_H
#define LWPCTL_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "lwpdata.h"

struct symbols;

/*
 * Open the file of an object. `path` is looked up below `sysroot` ("" for the host's root); `image`, if
 * not empty, is used in its place. The file is used if its build-id is `build_id`; if not, a separate
 * debug file of that build-id is, if there is one. Always returns an object; see symbols_problem().
 */
struct symbols *symbols_open(const char *sysroot, const char *path, struct lwpdata_bytes build_id,
			     struct lwpdata_bytes image);

/* Symbols from the text of a /tmp/perf-PID.map. Addresses are those of the process. */
struct symbols *symbols_open_perf_map(struct lwpdata_bytes text);

/* Why the file could not be used, in a few words; NULL if it could. */
const char *symbols_problem(const struct symbols *symbols);

/*
 * Name of what lies at an offset in the file (perf map: at an address); NULL if no symbol covers it.
 * Stubs of the procedure linkage table are called NAME@plt. The string lives as long as `symbols`.
 */
const char *symbols_name(const struct symbols *symbols, uint64_t offset);

/* Source file and line of an offset in the file; false if not known. *file lives as `symbols`. */
bool symbols_line(const struct symbols *symbols, uint64_t offset, const char **file, int *line);

void symbols_free(struct symbols *symbols);

#endif
