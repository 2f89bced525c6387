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

struct place {
	const char *symbol; /* NO_SYMBOL if there is none */
	const char *object; /* path, "[vdso]", "[jit]", "[anon]" or "[unmapped]" */
	const char *file; /* source file, NULL if not known */
	int line;
	uint32_t object_id; /* LWPDATA_NONE for those in brackets but [vdso] */
};

struct resolver {
	const struct profile *profile;
	const char *sysroot;
	bool lines; /* look source lines up */
	struct symbols **objects; /* opened when first needed */
	struct symbols **perf_maps; /* one a process */
	struct intern strings;
};

void resolver_init(struct resolver *r, const struct profile *profile, const char *sysroot,
		   bool lines);

/* `map` as profile_find_map() gave it. Equal strings in results are equal pointers. */
void resolve(struct resolver *r, uint32_t process, size_t map, uint64_t address,
	     struct place *place);

/* Why an object that was looked into has no symbols, NULL if it has. */
const char *resolver_problem(const struct resolver *r, uint32_t object);

void resolver_free(struct resolver *r);

#endif
