/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From an address in a process to names. */
#ifndef LWPCTL_RESOLVE_H
#define LWPCTL_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "intern.h"
#include "profile.h"
#include "symbols.h"

#define NO_SYMBOL "[no symbol]"

/* Functions that were inlined at a place, the innermost first. */
struct inlined {
	unsigned int nr;
	const char *names[];
};

struct place {
	const char *symbol; /* a name; OBJECT+ADDRESS of a function without one; NO_SYMBOL */
	bool named; /* it is a name */
	const struct inlined *inlined; /* NULL: none, or not asked for */
	const char *object; /* path, "[vdso]", "[jit]", "[anon]" or "[unmapped]" */
	const char *file; /* source file, NULL if not known */
	int line;
	uint64_t address; /* that of the file; without one that of the process */
	uint32_t object_id; /* LWPDATA_NONE for those in brackets but [vdso] */
};

struct resolver {
	const struct profile *profile;
	const char *sysroot;
	bool lines; /* look source lines up */
	bool inlines; /* and what was inlined */
	bool mangled; /* leave names of C++ and Rust as they are in the file */
	struct inlined **all_inlined;
	size_t nr_inlined, inlined_room;
	struct symbols **objects; /* opened when first needed */
	struct symbols **perf_maps; /* one a process */
	struct intern strings;
};

void resolver_init(struct resolver *r, const struct profile *profile, const char *sysroot,
		   bool lines);

/* The file's path without its directories. */
const char *last_part(const char *path);

/* Symbols of an object, opened if they were not yet. */
struct symbols *resolver_object(struct resolver *r, uint32_t id);

/* `map` as profile_find_map() gave it. Equal strings in results are equal pointers. */
void resolve(struct resolver *r, uint32_t process, size_t map, uint64_t address,
	     struct place *place);

/* Why an object that was looked into has no symbols, NULL if it has. */
const char *resolver_problem(const struct resolver *r, uint32_t object);

void resolver_free(struct resolver *r);

#endif
