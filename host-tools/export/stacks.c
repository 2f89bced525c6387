// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stacks of samples as a tree.
 */
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "memory.h"
#include "stacks.h"

static size_t *find(const struct stacks *s, const struct stack *key)
{
	size_t i = hash_mix(hash_mix((uintptr_t)key->name, (uintptr_t)key->object), key->parent) &
		   (s->size - 1);

	while (s->table[i]) {
		const struct stack *stack = &s->list[s->table[i]];

		/* Names are the same pointers if they are the same. */
		if (stack->name == key->name && stack->object == key->object &&
		    stack->parent == key->parent)
			break;
		i = (i + 1) & (s->size - 1);
	}
	return &s->table[i];
}

static void enlarge(struct stacks *s)
{
	free(s->table);
	s->size = s->size ? 2 * s->size : 1024;
	s->table = must(calloc(s->size, sizeof(*s->table)));
	for (size_t i = 1; i < s->nr; i++)
		*find(s, &s->list[i]) = i;
}

static size_t add(struct stacks *s, const struct stack *key)
{
	size_t *place;

	if (2 * s->nr >= s->size)
		enlarge(s);
	place = find(s, key);
	if (!*place) {
		s->list = grow(s->list, s->nr, &s->room, sizeof(*s->list));
		s->list[s->nr] = *key;
		*place = s->nr++;
	}
	return *place;
}

static size_t add_located(struct stacks *s, const struct located *l)
{
	const char *names[EXPORT_STACK_MAX];
	unsigned int n = export_stack(s->e, l, names, EXPORT_STACK_MAX);
	size_t at = 0;

	for (unsigned int i = 0; i < n; i++)
		at = add(s, &(struct stack){ .name = names[i],
					     .object = i ? l->place.object : "",
					     .file = i + 1 == n ? l->place.file : NULL,
					     .line = l->place.line,
					     .parent = at });
	s->list[at].samples += l->count->samples;
	return at;
}

void stacks_make(struct stacks *s, const struct export *e)
{
	const struct samples *samples = &e->view->samples;

	*s = (struct stacks){ .e = e };
	s->of = must(calloc(samples->nr + 1, sizeof(*s->of)));
	s->list = grow(s->list, 0, &s->room, sizeof(*s->list));
	s->list[s->nr++] = (struct stack){ .name = "", .object = "" };
	for (size_t i = 0; i < samples->nr; i++)
		if (samples->list[i].count->event_id == e->event_id)
			s->of[i] = add_located(s, &samples->list[i]);
}

size_t stacks_of(const struct stacks *s, const struct located *located)
{
	return s->of[located - s->e->view->samples.list];
}

void stacks_free(struct stacks *s)
{
	free(s->list);
	free(s->table);
	free(s->of);
}

void put_json_string(FILE *to, const char *text)
{
	fputc('"', to);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(to, "\\%c", c);
		else if (c < 0x20 || c == '<' || c == '>' || c == '&')
			fprintf(to, "\\u%04x", c);
		else
			fputc(c, to);
	}
	fputc('"', to);
}
