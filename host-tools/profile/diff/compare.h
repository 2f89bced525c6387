/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two profiles of one program: what has another share in the second, and whether that can be chance. */
#ifndef LWPCTL_COMPARE_H
#define LWPCTL_COMPARE_H

#include "rows.h"

struct change {
	const char *symbol, *object; /* the object without its directories */
	double share[2];
	double effective[2]; /* of how many independent samples it would be as exact */
	double error; /* of the difference of the shares: half of the interval of 95% */
	double p; /* of a difference as great as this, or greater, if there is none: by chance alone */
};

struct changes {
	struct change *list;
	size_t nr, room;
	uint64_t samples[2]; /* altogether */
	uint64_t windows[2]; /* in which they are */
};

/*
 * The rows of two groupings by symbol and object, the greatest difference first. Symbols are the same if their names and
 * the objects' last parts are.
 */
void changes_make(struct changes *changes, const struct rows *before, const struct rows *after);
void changes_free(struct changes *changes);

/*
 * Is a change of `nr` significant: would it come about by chance in less than 5 of 100 comparisons, all rows taken
 * together (Bonferroni)?
 */
bool change_significant(const struct change *change, size_t nr);

#endif
