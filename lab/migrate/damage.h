/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams of guest-tests/flat/tests/contained.c, and damage to what belongs to LWP in them: at random, or aimed
 * at memory that LWP must or must not write.
 */
#ifndef LAB_MIGRATE_DAMAGE_H
#define LAB_MIGRATE_DAMAGE_H

#include "contain.h"

/* Machines, and where they are saved */
#define BASES 5
extern const struct base {
	const char *cpu, *append;
	uint64_t step;
	const char *state; /* x-lwp-state there */
} bases[BASES];

/* What a block or ring was made to lie in: pages of these rights, or on their border with writable ones. */
#define AIMS (RIGHTS + 1)
#define ACROSS RIGHTS
#define NOT_AIMED AIMS
extern const char *const aim_names[AIMS];

struct damage {
	unsigned int aim;
	char *bytes; /* the stream; the caller's to free */
	size_t size;
};

/* Run and save the machine of base @which. */
void damage_prepare(unsigned int which);
/* Its memory when it was saved. */
const struct territory *damage_territory(unsigned int which);
/* The stream as it was, or damaged: all of it is drawn. */
struct damage damage_none(unsigned int which);
struct damage damage_draw(unsigned int which);

/* What the states of a stream let LWP write; returns how many spans those are. */
#define MAX_SPANS 16
unsigned int damage_spans(unsigned int which, const struct damage *d, struct span *span);

#endif
