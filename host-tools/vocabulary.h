/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words for what an LWP has, as users write them: the names of QEMU's CPU properties, and names for the
 * bits that have no property. Used in JSON, libvirt XML, -cpu strings and messages.
 */
#ifndef LWPCTL_VOCABULARY_H
#define LWPCTL_VOCABULARY_H

#include "lwp_cpuid.h"

/* A feature with a property of its own. */
struct feature_word {
	const char *name; /* "lwp-ire" */
	u32 bit; /* in 43724's Flags positions */
	enum lwp_kind kind; /* event, or LWP_KIND_NONE */
	const char *text; /* "instruction records" */
};
extern const struct feature_word feature_words[];
extern const unsigned int nr_feature_words;

/* A bit of leaf 8000_001C ECX. */
struct filter_word {
	const char *name; /* "ip-filtering" */
	u32 bit; /* LWP_ECX_* */
};
extern const struct filter_word filter_words[];
extern const unsigned int nr_filter_words;

/* A property with two values; the index of the value is its number on the wire. */
extern const char *const context_words[2]; /* lwp-context */
extern const char *const delivery_words[2]; /* lwp-delivery */
extern const char *const profile_words[2]; /* lwp-profile */

/* Index of @word in @words, or -1. */
int word_index(const char *const words[2], const char *word);
/* A feature's bit in a revision's own Flags positions (struct lwp_caps.features); 0: not in it. */
u32 feature_bit(const struct feature_word *word, u32 rev);
/* The feature of this name, or NULL. */
const struct feature_word *feature_by_name(const char *name);
/* The filter of this name, or NULL. */
const struct filter_word *filter_by_name(const char *name);

#endif
