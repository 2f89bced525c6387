// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * profile.proto of pprof, gzipped. Two values a sample: samples/count, which go build -pgo wants, and the events
 * that they stand for.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "lwpctl_report.h"
#include "export.h"
#include "lwpctl.h"
#include "memory.h"
#include "profile.pb-c.h"
#include "stacks.h"

#define NEW(type, init)                                \
	({                                             \
		type *m_ = must(malloc(sizeof(type))); \
		init(m_);                              \
		m_;                                    \
	})

/* ---- Numbers for strings, functions and locations -------------------------------------------- */

/* The number of (a, b, key), from 1; `*added`: it is new. */
static size_t number_of(struct keys *keys, const char *a, const char *b, uint64_t key, bool *added)
{
	size_t nr = keys->nr, number = keys_number_of(keys, (uintptr_t)a, (uintptr_t)b, key);

	*added = number == nr;
	return number + 1;
}

struct writer {
	struct export *e;
	Profile *profile;
	size_t string_room, function_room, location_room, sample_room;
	struct keys strings, functions, locations;
};

/* Its index in the string table, which begins with "". Strings are known by their pointers. */
static int64_t string(struct writer *w, const char *text)
{
	Profile *p = w->profile;
	bool added;
	size_t number;

	if (!*text && p->n_string_table)
		return 0;
	number = *text ? number_of(&w->strings, text, NULL, 0, &added) : 0;
	if (number == p->n_string_table)
		*APPEND(p->string_table, p->n_string_table, w->string_room) =
			copy_string(text, strlen(text));
	return (int64_t)number;
}

static ValueType *value_type(struct writer *w, const char *type, const char *unit)
{
	ValueType *v = NEW(ValueType, value_type__init);

	v->type = string(w, type);
	v->unit = string(w, unit);
	return v;
}

static Mapping *mapping(struct writer *w, const struct profile_map *map)
{
	const struct profile *p = &w->e->view->profile;
	Mapping *m = NEW(Mapping, mapping__init);

	m->memory_start = map->start;
	m->memory_limit = map->end;
	m->file_offset = map->offset;
	m->has_functions = true;
	if (map->object != LWPDATA_NONE) {
		struct lwpdata_bytes id = p->objects[map->object].build_id;
		char hex[2 * LWPDATA_MAX_BUILD_ID + 1] = "";

		for (size_t k = 0; k < id.size && k < LWPDATA_MAX_BUILD_ID; k++)
			sprintf(hex + 2 * k, "%02x", id.data[k]);
		m->filename = string(w, p->objects[map->object].name);
		m->build_id = string(w, intern(&w->e->view->resolver.strings, hex));
	}
	return m;
}

/* Mappings in the order of the profile, from 1. */
static void put_mappings(struct writer *w)
{
	const struct profile *p = &w->e->view->profile;

	w->profile->mapping = must(calloc(p->nr_maps + 1, sizeof(Mapping *)));
	for (size_t i = 0; i < p->nr_maps; i++) {
		w->profile->mapping[i] = mapping(w, &p->maps[i]);
		w->profile->mapping[i]->id = ++w->profile->n_mapping;
	}
}

static size_t function(struct writer *w, const char *name, const struct place *place)
{
	const char *file = place->file ?: "";
	bool added;
	size_t number = number_of(&w->functions, name, file, 0, &added);
	int line = 0;
	Function *f;

	if (!added)
		return number;
	if (place->object_id != LWPDATA_NONE)
		symbols_first_line(resolver_object(&w->e->view->resolver, place->object_id),
				   place->address, &line);
	f = *APPEND(w->profile->function, w->profile->n_function, w->function_room) =
		NEW(Function, function__init);
	f->id = number;
	f->name = f->system_name = string(w, name);
	f->filename = string(w, file);
	f->start_line = line;
	return number;
}

static Location *add_location(struct writer *w, size_t number, size_t nr_lines)
{
	Location *l = NEW(Location, location__init);

	*APPEND(w->profile->location, w->profile->n_location, w->location_room) = l;
	l->id = number;
	l->line = must(calloc(nr_lines, sizeof(Line *)));
	return l;
}

static void add_line(struct writer *w, Location *l, const char *name, const struct place *place,
		     int line)
{
	Line *added = l->line[l->n_line++] = NEW(Line, line__init);

	added->function_id = function(w, name, place);
	added->line = line;
}

static size_t location(struct writer *w, const struct located *located)
{
	const struct place *place = &located->place;
	const struct inlined *inlined = place->inlined;
	unsigned int nr = inlined ? inlined->nr : 0;
	bool added;
	size_t number = number_of(&w->locations, place->symbol, place->object,
				  located->count->address ^ located->count->map << 48, &added);
	Location *l;

	if (!added)
		return number;
	l = add_location(w, number, nr + 1);
	if (located->count->map != SIZE_MAX)
		l->mapping_id = located->count->map + 1;
	l->address = located->count->address;
	for (unsigned int i = 0; i < nr; i++)
		add_line(w, l, inlined->names[i], place, i ? 0 : place->line);
	add_line(w, l, place->symbol, place, nr ? 0 : place->line);
	return number;
}

/* Its locations, the innermost first, are appended to. */
static Sample *add_sample(struct writer *w, uint64_t samples, uint64_t events)
{
	Sample *s = NEW(Sample, sample__init);

	*APPEND(w->profile->sample, w->profile->n_sample, w->sample_room) = s;
	s->value = must(calloc(2, sizeof(*s->value)));
	s->n_value = 2;
	s->value[0] = (int64_t)samples;
	s->value[1] = (int64_t)events;
	return s;
}

static void put_samples(struct writer *w)
{
	const struct samples *samples = &w->e->view->samples;
	uint64_t period = report_stands_for(&w->e->view->profile, w->e->event_id);

	for (size_t i = 0; i < samples->nr; i++) {
		const struct located *l = &samples->list[i];
		size_t room = 0;
		Sample *s;

		if (l->count->event_id != w->e->event_id)
			continue;
		s = add_sample(w, l->count->samples, l->count->samples * period);
		*APPEND(s->location_id, s->n_location_id, room) = location(w, l);
	}
}

/* A function of a stack of windows: no address tells it apart. */
static size_t stack_location(struct writer *w, const struct stack *stack)
{
	const struct place nowhere = { .file = stack->file, .object_id = LWPDATA_NONE };
	bool added;
	size_t number = number_of(&w->locations, stack->name, stack->object, 0, &added);

	if (added)
		add_line(w, add_location(w, number, 1), stack->name, &nowhere, 0);
	return number;
}

/* Without the process. */
static void put_stacks(struct writer *w, const struct stacks *stacks)
{
	for (size_t i = 1; i < stacks->nr; i++) {
		const struct stack *list = stacks->list;
		size_t room = 0;
		Sample *s;

		if (!list[i].samples)
			continue;
		s = add_sample(w, list[i].samples, list[i].samples);
		for (size_t at = i; list[at].parent; at = list[at].parent)
			*APPEND(s->location_id, s->n_location_id, room) =
				stack_location(w, &list[at]);
	}
}

/* Frees the profile. */
static bool put_gzipped(const struct export *e, Profile *profile)
{
	size_t size = profile__get_packed_size(profile);
	uint8_t *bytes = must(malloc(size + 1));
	gzFile out = gzdopen(dup(fileno(e->out)), "wb");
	bool good;

	profile__pack(profile, bytes);
	profile__free_unpacked(profile, NULL);
	good = must(out) && gzwrite(out, bytes, (unsigned int)size) == (int)size;
	good = gzclose(out) == Z_OK && good;
	free(bytes);
	return good || refuse("%s: cannot write this file", e->output ?: "standard output");
}

bool export_pprof(struct export *e)
{
	static const char samples_type[] = "samples", count[] = "count";
	Profile *p = NEW(Profile, profile__init);
	struct writer w = { .e = e, .profile = p };
	struct stacks s;
	const char *unit;

	stacks_make(&s, e->view, e->options, e->event_id);
	unit = intern(&e->view->resolver.strings, s.unit);
	string(&w, "");
	p->sample_type = must(calloc(2, sizeof(*p->sample_type)));
	p->n_sample_type = 2;
	p->sample_type[0] = value_type(&w, samples_type, count);
	p->sample_type[1] = value_type(&w, unit, count);
	p->period_type = value_type(&w, unit, count);
	p->period = (int64_t)s.period;
	p->time_nanos = (int64_t)e->view->profile.config.start_realtime;
	put_mappings(&w);
	if (stacks_tell_callers(&e->view->profile, e->event_id))
		put_stacks(&w, &s);
	else
		put_samples(&w);
	stacks_free(&s);
	keys_free(&w.strings);
	keys_free(&w.functions);
	keys_free(&w.locations);
	return put_gzipped(e, p);
}
