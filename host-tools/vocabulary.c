// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Words for what an LWP has.
 */
#include <string.h>

#include "vocabulary.h"

const struct feature_word feature_words[] = {
	{ "lwp-val", LWP_F_VAL, LWP_KIND_VAL, "LWPVAL records" },
	{ "lwp-ire", LWP_F_IRE, LWP_KIND_IRE, "instruction records" },
	{ "lwp-bre", LWP_F_BRE, LWP_KIND_BRE, "branch records" },
	{ "lwp-dme", LWP_F_DME, LWP_KIND_DME, "data cache miss records" },
	{ "lwp-cnh", LWP_F_CNH, LWP_KIND_CNH, "core clock records" },
	{ "lwp-rnh", LWP_F_RNH, LWP_KIND_RNH, "reference clock records" },
	{ "lwp-cont", LWP_F_CONT, LWP_KIND_NONE, "continuous mode" },
	{ "lwp-ptsc", LWP_F_PTSC, LWP_KIND_NONE, "time stamps in records" },
	{ "lwp-int", LWP_F_INT, LWP_KIND_NONE, "threshold interrupts" },
};
const unsigned int nr_feature_words = sizeof(feature_words) / sizeof(feature_words[0]);

const struct filter_word filter_words[] = {
	{ "data-address", LWP_ECX_DATA_ADDRESS },
	{ "branch-prediction", LWP_ECX_BRANCH_PREDICTION },
	{ "ip-filtering", LWP_ECX_IP_FILTERING },
	{ "cache-levels", LWP_ECX_CACHE_LEVELS },
	{ "cache-latency", LWP_ECX_CACHE_LATENCY },
};
const unsigned int nr_filter_words = sizeof(filter_words) / sizeof(filter_words[0]);

const char *const context_words[2] = { "auto", "os" };
const char *const delivery_words[2] = { "exact", "prompt" };
const char *const profile_words[2] = { "full", "fam15h" };

int word_index(const char *const words[2], const char *word)
{
	for (int i = 0; i < 2; i++)
		if (!strcmp(words[i], word))
			return i;
	return -1;
}

u32 feature_bit(const struct feature_word *word, u32 rev)
{
	u32 event_id = lwp_rev_get(rev)->event_id[word->kind];

	if (word->kind != LWP_KIND_NONE)
		return event_id ? LWP_BIT(event_id) : 0;
	return rev == LWP_REV_43724 || word->bit == LWP_F_INT ? word->bit : 0;
}

const struct feature_word *feature_by_name(const char *name)
{
	for (unsigned int i = 0; i < nr_feature_words; i++)
		if (!strcmp(feature_words[i].name, name))
			return &feature_words[i];
	return NULL;
}

const struct filter_word *filter_by_name(const char *name)
{
	for (unsigned int i = 0; i < nr_filter_words; i++)
		if (!strcmp(filter_words[i].name, name))
			return &filter_words[i];
	return NULL;
}
