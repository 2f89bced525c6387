/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From an address in a process to names. */
#ifndef LWPCTL_RESOLVE_H
#define LWPCTL_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "keys.h"
#include "profile.h"
#include "symbols.h"

#define NO_SYMBOL "[no symbol]"
#define NO_VARIABLE "-"

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

/* What a data address lies in. */
struct data_place {
	const char *
		name; /* "OBJECT SECTION", the object alone, "[heap]", "[stack]", "[anon]", "[unmapped]" ... */
	const char *variable; /* "-": none is known */
	uint64_t offset; /* in the variable; without one in the mapping */
};

/* All that were seen, but for their offsets, each with its number from 1 on. */
struct data_places {
	struct data_place *list;
	size_t nr, room;
	struct keys keys;
	struct cached *cache;
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
	bool *has_code; /* objects that samples lie in, as code */
	struct symbols **perf_maps; /* one a process */
	size_t nr_objects, nr_processes; /* that these have room for */
	struct data_places data;
	struct keys strings;
};

void resolver_init(struct resolver *r, const struct profile *profile, const char *sysroot,
		   bool lines);

/* The profile has got more objects and processes. */
void resolver_update(struct resolver *r);

/* The file's path without its directories. */
const char *last_part(const char *path);

/* Symbols of an object, opened if they were not yet. */
struct symbols *resolver_object(struct resolver *r, uint32_t id);

/* The names of a process's compiled code; NULL if it has none. */
struct symbols *resolver_perf_map(struct resolver *r, uint32_t process);

/* `map` as profile_find_map() gave it. Equal strings in results are equal pointers. */
void resolve(struct resolver *r, uint32_t process, size_t map, uint64_t address,
	     struct place *place);

/* What an address of data lay in when section `section` was written. Equal strings are equal pointers here too. */
void resolve_data(struct resolver *r, uint32_t process, uint64_t section, uint64_t address,
		  struct data_place *place);

/* The same as a number, which is equal for places with equal strings. */
uint32_t data_number(struct resolver *r, uint32_t process, uint64_t section, uint64_t address);

/* What a number stands for, but for the offset; NULL for 0. */
const struct data_place *data_place(const struct resolver *r, uint32_t number);

void data_places_free(struct data_places *places);

/* Why an object that code was looked up in has no symbols, NULL if it has. */
const char *resolver_problem(const struct resolver *r, uint32_t object);

void resolver_free(struct resolver *r);

#endif
