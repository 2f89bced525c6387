// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each string once: equal strings are the same pointer.
 */
#include <stdint.h>
#include <string.h>

#include "hash.h"
#include "intern.h"
#include "memory.h"

/* Where `string` is, or belongs. */
static char **find(char **table, size_t size, const char *string)
{
	size_t i = hash_bytes(string, strlen(string)) & (size - 1);

	while (table[i] && strcmp(table[i], string) != 0)
		i = (i + 1) & (size - 1);
	return &table[i];
}

static void enlarge(struct intern *in)
{
	size_t size = in->size ? 2 * in->size : 1024;
	char **table = must(calloc(size, sizeof(*table)));

	for (size_t i = 0; i < in->size; i++)
		if (in->table[i])
			*find(table, size, in->table[i]) = in->table[i];
	free(in->table);
	in->table = table;
	in->size = size;
}

const char *intern(struct intern *in, const char *string)
{
	char **place;

	if (2 * in->nr >= in->size)
		enlarge(in);
	place = find(in->table, in->size, string);
	if (!*place) {
		*place = copy_string(string, strlen(string));
		in->nr++;
	}
	return *place;
}

void intern_free(struct intern *in)
{
	for (size_t i = 0; i < in->size; i++)
		free(in->table[i]);
	free(in->table);
}
