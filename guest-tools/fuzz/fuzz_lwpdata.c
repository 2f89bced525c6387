// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader of data files on arbitrary bytes. The first byte says whether checksums and the END section are
 * made right before reading, so that what lies after them is reached; the rest is the file.
 *
 * Every byte range in a section lies in the file; ids are in range; records have the counts that the
 * file's end says; reading ends.
 */
#include <string.h>

#include "fuzz.h"
#include "lwpdata_fields.h"
#include "sign.h"

static void check_bytes(const struct lwpdata_reader *r, struct lwpdata_bytes bytes)
{
	if (bytes.size)
		CHECK(bytes.data >= r->data && bytes.data + bytes.size <= r->data + r->size);
}

static void check_config(const struct lwpdata_reader *r, const struct lwpdata_config *config)
{
	CHECK(config->nr_events <= LWPDATA_MAX_EVENTS && config->random < 16);
	for (uint32_t i = 0; i < config->nr_args && i < 100; i++)
		check_bytes(r, lwpdata_arg(config, i));
}

static void check_window(const struct lwpdata_window *window)
{
	CHECK(window->count && window->weight >= window->count);
	for (uint32_t i = 0; i < window->count; i++)
		CHECK(window->data[(size_t)i * 32] == window->data[0]);
}

static void check_field(const struct lwpdata_reader *r, const struct lwpdata_field *f,
			const char *part)
{
	const void *at = part + f->at;
	const uint32_t *number = at;
	const uint64_t *range = at;

	switch (f->kind) {
	case FIELD_ID:
	case FIELD_REFERENCE:
		CHECK(*number < r->nr[f->more]);
		break;
	case FIELD_OR_NONE:
		CHECK(*number < r->nr[f->more] || *number == LWPDATA_NONE);
		break;
	case FIELD_RANGE:
		CHECK(range[0] < range[1]);
		break;
	case FIELD_TEXT:
	case FIELD_BUILD_ID:
	case FIELD_REST:
		check_bytes(r, *(const struct lwpdata_bytes *)at);
		break;
	case FIELD_RECORDS:
		number = (const void *)(part + f->more);
		check_bytes(r, (struct lwpdata_bytes){ *(const uint8_t *const *)at,
						       (size_t)*number * 32 });
		break;
	default:
		break;
	}
}

static void check_section(const struct lwpdata_reader *r, const struct lwpdata_section *s)
{
	for (const struct lwpdata_field *f = lwpdata_fields(s->type); f->kind != FIELD_SECTION; f++)
		check_field(r, f, (const char *)&s->config);
	if (s->type == LWPDATA_CONFIG)
		check_config(r, &s->config);
	else if (s->type == LWPDATA_WINDOW)
		check_window(&s->window);
}

static void read_all(const uint8_t *file, size_t size)
{
	struct lwpdata_error error = { 0 };
	struct lwpdata_section section;
	struct lwpdata_reader reader;
	uint64_t records = 0, offset = 0;
	int more = -1;

	if (lwpdata_open(&reader, file, size, &error)) {
		while ((more = lwpdata_next(&reader, &section, &error)) > 0) {
			CHECK(reader.offset > offset && reader.offset <= size);
			offset = reader.offset;
			if (section.type == LWPDATA_RECORDS)
				records += section.records.count;
			check_section(&reader, &section);
		}
	}
	if (more < 0)
		CHECK(error.text[0] && error.offset <= size);
	else
		CHECK(reader.ended && reader.offset == size && reader.records == records);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *file;

	if (!size)
		return 0;
	/* A copy of its own, so that one byte too far is noticed. */
	file = malloc(size - 1 ? size - 1 : 1);
	if (!file)
		return 0;
	memcpy(file, data + 1, size - 1);
	if (data[0] & 1)
		make_right(file, size - 1);
	read_all(file, size - 1);
	free(file);
	return 0;
}
