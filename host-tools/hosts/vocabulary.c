// SPDX-License-Identifier: GPL-2.0-or-later
/* Properties with two values. */
#include <string.h>

#include "vocabulary.h"

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
