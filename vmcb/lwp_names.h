/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The features of LWP and the names that users write for them: the events of lwp_events.h, what
 * else the leaf announces in EDX, and the filters of ECX.
 */
#ifndef LWP_NAMES_H
#define LWP_NAMES_H

#include "lwp_rev.h"

/* What LWP may have or not: an event, or a switch such as continuous mode. */
struct lwp_feature {
	const char *property; /* QEMU's CPU property: "lwp-ire" */
	const char *text; /* "instruction records" */
	enum lwp_kind kind; /* of an event; else LWP_KIND_NONE */
	u32 flag[LWP_REVS]; /* of a switch: in Flags, LWP_CFG and EAX; 0: the revision has none */
	const char *spec; /* the specification's name after "Lwp" (43724) or "LWP" (2007): "IRE" */
	const char *meaning; /* what the bit says: "instructions retired" */
	const char *event; /* of an event, on lwprun's command line: "instructions" */
	u32 interval; /* of an event: lwprun's default */
};
/* Events by EventId, then switches; the last row has no property. */
extern const struct lwp_feature lwp_features[];

/* A bit of leaf 8000_001C ECX. */
struct lwp_filter {
	const char *name; /* "ip-filtering" */
	u32 flag; /* LWP_ECX_* */
	bool in_2007;
	const char *spec; /* as in struct lwp_feature */
	const char *meaning;
};
/* By ascending bits; the last row has no name. */
extern const struct lwp_filter lwp_filters[];

/* A feature's flag in a revision's own Flags positions (struct lwp_caps.features); 0: not in it. */
u32 lwp_feature_flag(const struct lwp_feature *feature, u32 rev);
/* The feature of this property, or NULL. */
const struct lwp_feature *lwp_feature_by_property(const char *property);
/* The feature that has this flag in a revision, or NULL. */
const struct lwp_feature *lwp_feature_by_flag(u32 rev, u32 flag);
/* Where the data of a cache miss came from, as reports say it; NULL: a reserved value. */
const char *lwp_source_name(u32 source);
/* The filter of this name, or NULL. */
const struct lwp_filter *lwp_filter_by_name(const char *name);

#endif
