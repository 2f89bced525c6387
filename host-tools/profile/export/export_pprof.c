// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * profile.proto of pprof, gzipped. Two values a sample: samples/count, which go build -pgo wants, and the events
 * that they stand for.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "export.h"
#include "memory.h"
#include "stacks.h"

#define GZIP_WINDOW (15 + 16) /* zlib's largest window, with gzip's head */

/* Numbers of fields in profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING_TABLE,
	PROFILE_TIME_NANOS = 9,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD,
};
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE };
enum {
	MAPPING_ID = 1,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_OFFSET,
	MAPPING_FILE,
	MAPPING_BUILD_ID,
	MAPPING_FUNCTIONS
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE, FUNCTION_START };

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

/* A message is bytes. */
static void put_varint(struct bytes *m, uint64_t value)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[n++] = (uint8_t)(value | 0x80);
	bytes[n++] = (uint8_t)value;
	add_bytes(m, bytes, n);
}

static void put_field(struct bytes *m, unsigned int field, uint64_t value)
{
	put_varint(m, field << 3 | WIRE_VARINT);
	put_varint(m, value);
}

static void put_text(struct bytes *m, unsigned int field, const void *bytes, size_t size)
{
	put_varint(m, field << 3 | WIRE_BYTES);
	put_varint(m, size);
	add_bytes(m, bytes, size);
}

/* A message within another; it is empty again afterwards. */
static void put_message(struct bytes *m, unsigned int field, struct bytes *inner)
{
	put_text(m, field, inner->data, inner->size);
	inner->size = 0;
}

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
	struct bytes profile, one, two;
	struct keys strings, functions, locations;
};

/* Its index in the string table, which begins with "". Strings are known by their pointers. */
static size_t string(struct writer *w, const char *text)
{
	bool added;
	size_t number;

	if (!*text)
		return 0;
	number = number_of(&w->strings, text, NULL, 0, &added);
	if (added)
		put_text(&w->profile, PROFILE_STRING_TABLE, text, strlen(text));
	return number;
}

static void put_value_type(struct writer *w, unsigned int field, const char *type, const char *unit)
{
	put_field(&w->one, VALUE_TYPE, string(w, type));
	put_field(&w->one, VALUE_UNIT, string(w, unit));
	put_message(&w->profile, field, &w->one);
}

/* Mappings in the order of the profile, from 1. */
static void put_mappings(struct writer *w)
{
	const struct profile *p = &w->e->view->profile;

	for (size_t i = 0; i < p->nr_maps; i++) {
		const struct profile_map *map = &p->maps[i];

		put_field(&w->one, MAPPING_ID, i + 1);
		put_field(&w->one, MAPPING_START, map->start);
		put_field(&w->one, MAPPING_LIMIT, map->end);
		put_field(&w->one, MAPPING_OFFSET, map->offset);
		if (map->object != LWPDATA_NONE) {
			struct lwpdata_bytes id = p->objects[map->object].build_id;
			char hex[2 * LWPDATA_MAX_BUILD_ID + 1] = "";

			for (size_t k = 0; k < id.size && k < LWPDATA_MAX_BUILD_ID; k++)
				sprintf(hex + 2 * k, "%02x", id.data[k]);
			put_field(&w->one, MAPPING_FILE, string(w, p->objects[map->object].name));
			if (*hex)
				put_field(&w->one, MAPPING_BUILD_ID,
					  string(w, intern(&w->e->view->resolver.strings, hex)));
		}
		put_field(&w->one, MAPPING_FUNCTIONS, 1);
		put_message(&w->profile, PROFILE_MAPPING, &w->one);
	}
}

static size_t function(struct writer *w, const char *name, const struct place *place)
{
	const char *file = place->file ?: "";
	bool added;
	size_t number = number_of(&w->functions, name, file, 0, &added);
	int line = 0;

	if (!added)
		return number;
	if (place->object_id != LWPDATA_NONE)
		symbols_first_line(resolver_object(&w->e->view->resolver, place->object_id),
				   place->address, &line);
	put_field(&w->one, FUNCTION_ID, number);
	put_field(&w->one, FUNCTION_NAME, string(w, name));
	put_field(&w->one, FUNCTION_SYSTEM_NAME, string(w, name));
	put_field(&w->one, FUNCTION_FILE, string(w, file));
	put_field(&w->one, FUNCTION_START, (uint64_t)line);
	put_message(&w->profile, PROFILE_FUNCTION, &w->one);
	return number;
}

static size_t location(struct writer *w, const struct located *l)
{
	const struct place *place = &l->place;
	const struct inlined *inlined = place->inlined;
	unsigned int nr = inlined ? inlined->nr : 0;
	size_t functions[EXPORT_STACK_MAX], number;
	bool added;

	number = number_of(&w->locations, place->symbol, place->object,
			   l->count->address ^ l->count->map << 48, &added);
	if (!added)
		return number;
	for (unsigned int i = 0; i < nr; i++)
		functions[i] = function(w, inlined->names[i], place);
	functions[nr] = function(w, place->symbol, place);
	put_field(&w->two, LOCATION_ID, number);
	if (l->count->map != SIZE_MAX)
		put_field(&w->two, LOCATION_MAPPING, l->count->map + 1);
	put_field(&w->two, LOCATION_ADDRESS, l->count->address);
	for (unsigned int i = 0; i <= nr; i++) {
		put_field(&w->one, LINE_FUNCTION, functions[i]);
		put_field(&w->one, LINE_LINE, i ? 0 : (uint64_t)place->line);
		put_message(&w->two, LOCATION_LINE, &w->one);
	}
	put_message(&w->profile, PROFILE_LOCATION, &w->two);
	return number;
}

static void put_sample(struct writer *w, const struct located *l)
{
	uint64_t period = export_period(&w->e->view->profile, l->count->event_id);

	put_varint(&w->one, location(w, l));
	put_message(&w->two, SAMPLE_LOCATION, &w->one);
	put_varint(&w->one, l->count->samples);
	put_varint(&w->one, l->count->samples * period);
	put_message(&w->two, SAMPLE_VALUE, &w->one);
	put_message(&w->profile, PROFILE_SAMPLE, &w->two);
}

/* ---- Windows -------------------------------------------------------------------------------- */

/* A function of a stack: no address tells it apart. */
static size_t stack_location(struct writer *w, const struct stack *stack)
{
	const struct place nowhere = { .file = stack->file, .object_id = LWPDATA_NONE };
	size_t number, called;
	bool added;

	number = number_of(&w->locations, stack->name, stack->object, 0, &added);
	if (!added)
		return number;
	called = function(w, stack->name, &nowhere);
	put_field(&w->two, LOCATION_ID, number);
	put_field(&w->one, LINE_FUNCTION, called);
	put_message(&w->two, LOCATION_LINE, &w->one);
	put_message(&w->profile, PROFILE_LOCATION, &w->two);
	return number;
}

/* The innermost first, without the process. */
static void put_stack(struct writer *w, const struct stacks *s, size_t i)
{
	struct bytes locations = { 0 };

	for (size_t at = i; s->list[at].parent; at = s->list[at].parent)
		put_varint(&locations, stack_location(w, &s->list[at]));
	put_message(&w->two, SAMPLE_LOCATION, &locations);
	put_varint(&w->one, s->list[i].samples);
	put_varint(&w->one, s->list[i].samples);
	put_message(&w->two, SAMPLE_VALUE, &w->one);
	put_message(&w->profile, PROFILE_SAMPLE, &w->two);
	free(locations.data);
}

static void put_stacks(struct writer *w, const struct stacks *s)
{
	for (size_t i = 1; i < s->nr; i++)
		if (s->list[i].samples)
			put_stack(w, s, i);
}

static bool put_gzipped(FILE *to, const struct bytes *m)
{
	z_stream z = { .next_in = m->data, .avail_in = (uInt)m->size };
	uint8_t out[16384];
	int status;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY))
		must(NULL);
	do {
		z.next_out = out;
		z.avail_out = sizeof(out);
		status = deflate(&z, Z_FINISH);
		fwrite(out, 1, sizeof(out) - z.avail_out, to);
	} while (status == Z_OK);
	deflateEnd(&z);
	return status == Z_STREAM_END;
}

static void put_samples(struct writer *w)
{
	const struct samples *samples = &w->e->view->samples;

	for (size_t i = 0; i < samples->nr; i++)
		if (samples->list[i].count->event_id == w->e->event_id)
			put_sample(w, &samples->list[i]);
}

bool export_pprof(struct export *e)
{
	const struct profile *p = &e->view->profile;
	static const char samples_type[] = "samples", count[] = "count";
	struct writer w = { .e = e };
	struct stacks s;
	const char *unit;
	bool good;

	stacks_make(&s, e);
	unit = intern(&e->view->resolver.strings, s.unit);
	put_text(&w.profile, PROFILE_STRING_TABLE, "", 0);
	put_value_type(&w, PROFILE_SAMPLE_TYPE, samples_type, count);
	put_value_type(&w, PROFILE_SAMPLE_TYPE, unit, count);
	put_value_type(&w, PROFILE_PERIOD_TYPE, unit, count);
	put_field(&w.profile, PROFILE_PERIOD, s.period);
	put_field(&w.profile, PROFILE_TIME_NANOS, p->config.start_realtime);
	put_mappings(&w);
	if (stacks_of_windows(e))
		put_stacks(&w, &s);
	else
		put_samples(&w);
	good = put_gzipped(e->out, &w.profile);
	stacks_free(&s);
	free(w.profile.data);
	free(w.one.data);
	free(w.two.data);
	keys_free(&w.strings);
	keys_free(&w.functions);
	keys_free(&w.locations);
	return good;
}
