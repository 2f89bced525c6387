/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the sections of lwpdata consist of (docs/lwpdata.md): for its writer, its reader, and who changes what is read. */
#ifndef LWPDATA_FIELDS_H
#define LWPDATA_FIELDS_H

#include "lwpdata.h"

enum lwpdata_kind {
	FIELD_SECTION, /* none: the next section begins, of type `more`, whose name is `text` */
	/* u32: */
	FIELD_U32, /* below `more`, if that is not 0 */
	FIELD_ID, /* the next number of a list, `more` */
	FIELD_REFERENCE, /* a number of a list, `more`, that was introduced */
	FIELD_OR_NONE, /* the same, or LWPDATA_NONE */
	FIELD_EVENT, /* the EventId of one of CONFIG's events */
	FIELD_COUNT, /* at least 1 */
	FIELD_ZERO, /* has no member */
	/* u64, `more` of them, but 0 is one: */
	FIELD_U64,
	FIELD_TIME,
	FIELD_WEIGHT, /* of a window */
	FIELD_RANGE, /* start and end */
	/* others: */
	FIELD_EVENTS, /* as many as CONFIG's nr_events says */
	FIELD_ARGS, /* as many as its nr_args says */
	FIELD_COUNTERS, /* u32 how many, u32 for each of CONFIG's events */
	FIELD_TEXT,
	FIELD_BUILD_ID,
	FIELD_REST, /* all bytes that are left */
	FIELD_RECORDS, /* as many as the u32 at `more` says */
};

struct lwpdata_field {
	enum lwpdata_kind kind;
	size_t at; /* in the struct of its section */
	size_t more;
	const char *text; /* what a reader says of a number that does not fit */
};

/* The fields of a section up to the next FIELD_SECTION; the one before them has its name. */
const struct lwpdata_field *lwpdata_fields(uint32_t type);

#endif
