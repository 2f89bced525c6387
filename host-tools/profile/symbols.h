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
 * debug file of that build-id is, if there is one. Without a build-id its size must be `size` (0: not known).
 * Always returns an object; see symbols_problem().
 */
struct symbols *symbols_open(const char *sysroot, const char *path, uint64_t size,
			     struct lwpdata_bytes build_id, struct lwpdata_bytes image);

/* Symbols from the text of a /tmp/perf-PID.map. Addresses are those of the process. */
struct symbols *symbols_open_perf_map(struct lwpdata_bytes text);

/* Why the file could not be used, in a few words; NULL if it could. */
const char *symbols_problem(const struct symbols *symbols);

/* Calls `see` with each function of a perf map that no later one lies over the beginning of. */
void symbols_each(const struct symbols *symbols,
		  void (*see)(void *to, const char *name, uint64_t start, uint64_t size), void *to);

/*
 * Name of what lies at an offset in the file (perf map: at an address); NULL if no symbol covers it.
 * Stubs of the procedure linkage table are called NAME@plt. The string lives as long as `symbols`.
 */
const char *symbols_name(const struct symbols *symbols, uint64_t offset);

/* The address that the file itself gives to an offset; false if no loaded segment has it. */
bool symbols_address(const struct symbols *symbols, uint64_t offset, uint64_t *address);

/*
 * The function without a name that an offset lies in, by .eh_frame: its range in the file's own addresses. False
 * if there is none.
 */
bool symbols_unnamed(const struct symbols *symbols, uint64_t offset, uint64_t *start,
		     uint64_t *end);

/* The range of the function, named or not, that one of the file's own addresses lies in. */
bool symbols_range_at(const struct symbols *symbols, uint64_t address, uint64_t *start,
		      uint64_t *end);

/*
 * The address of the file for an offset of memory that it is mapped to: as symbols_address(), but memory after a
 * segment's bytes is its .bss, which may reach beyond the file's mapping.
 */
bool symbols_data_address(const struct symbols *symbols, uint64_t offset, uint64_t *address);

/* Name of the variable that one of the file's own addresses lies in, and its start; NULL if no symbol covers it. */
const char *symbols_variable(struct symbols *symbols, uint64_t address, uint64_t *start);

/* Name of the section that one of the file's own addresses lies in; NULL if there is none. */
const char *symbols_section(const struct symbols *symbols, uint64_t address);

/*
 * Functions that were inlined at an offset, the innermost first, by debugging information: fills up to `max` names
 * and returns their number. The names live as long as `symbols`.
 */
unsigned int symbols_inlined(const struct symbols *symbols, uint64_t offset, const char *names[],
			     unsigned int max);

/* The file's bytes at one of its own addresses, as many as `*size` says; NULL if it has none there. */
const uint8_t *symbols_code(const struct symbols *symbols, uint64_t address, uint64_t *size);

/* The source line on which the function begins that an address of the file lies in; false if not known. */
bool symbols_first_line(const struct symbols *symbols, uint64_t address, int *line);

/*
 * Source file and line of an offset in the file; false if not known. A relative *file is below *folder, in which the
 * compiler ran (NULL: not known). Both live as `symbols`.
 */
bool symbols_line(const struct symbols *symbols, uint64_t offset, const char **folder,
		  const char **file, int *line);

void symbols_free(struct symbols *symbols);

#endif
