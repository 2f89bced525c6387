// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader of data files on arbitrary bytes. The first byte says whether checksums and the END section are
 * made right before reading, so that what lies after them is reached; the rest is the file.
 *
 * Every byte range in a section lies in the file; ids are in range; records have the counts that the
 * file's end says; reading ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lwpdata_wire.h"
#include "sign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(cond)                                                                              \
	do {                                                                                     \
		if (!(cond)) {                                                                   \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond); \
			abort();                                                                 \
		}                                                                                \
	} while (0)

static void check_bytes(const struct lwpdata_reader *r, struct lwpdata_bytes bytes)
{
	if (bytes.size)
		CHECK(bytes.data >= r->data && bytes.data + bytes.size <= r->data + r->size);
}

static void check_config(const struct lwpdata_reader *r, const struct lwpdata_config *config)
{
	CHECK(config->nr_events <= LWPDATA_MAX_EVENTS && config->random < 16);
	check_bytes(r, config->tool);
	check_bytes(r, config->kernel);
	for (uint32_t i = 0; i < config->nr_args && i < 100; i++)
		check_bytes(r, lwpdata_arg(config, i));
}

static void check_section(const struct lwpdata_reader *r, const struct lwpdata_section *s)
{
	switch (s->type) {
	case LWPDATA_CONFIG:
		check_config(r, &s->config);
		break;
	case LWPDATA_OBJECT:
		check_bytes(r, s->object.path);
		check_bytes(r, s->object.build_id);
		CHECK(s->object.id < r->nr[LIST_OBJECTS]);
		break;
	case LWPDATA_PROCESS:
		check_bytes(r, s->process.comm);
		check_bytes(r, s->process.exe);
		CHECK(s->process.id < r->nr[LIST_PROCESSES]);
		break;
	case LWPDATA_MAP:
		CHECK(s->map.process < r->nr[LIST_PROCESSES] && s->map.start < s->map.end);
		CHECK(s->map.object < r->nr[LIST_OBJECTS] || s->map.object == LWPDATA_NONE);
		break;
	case LWPDATA_DATA_MAP:
		CHECK(s->data_map.map.process < r->nr[LIST_PROCESSES]);
		CHECK(s->data_map.map.start < s->data_map.map.end);
		CHECK(s->data_map.map.object < r->nr[LIST_OBJECTS] ||
		      s->data_map.map.object == LWPDATA_NONE);
		check_bytes(r, s->data_map.name);
		break;
	case LWPDATA_DATA_UNMAP:
		CHECK(s->unmap.process < r->nr[LIST_PROCESSES] && s->unmap.start < s->unmap.end);
		break;
	case LWPDATA_RECORDS:
		CHECK(s->records.thread < r->nr[LIST_THREADS]);
		check_bytes(r, (struct lwpdata_bytes){ s->records.data,
						       (size_t)s->records.count * 32 });
		break;
	case LWPDATA_WINDOW:
		CHECK(s->window.thread < r->nr[LIST_THREADS] && s->window.count);
		CHECK(s->window.weight >= s->window.count);
		check_bytes(r,
			    (struct lwpdata_bytes){ s->window.data, (size_t)s->window.count * 32 });
		for (uint32_t i = 0; i < s->window.count; i++)
			CHECK(s->window.data[(size_t)i * 32] == s->window.data[0]);
		break;
	case LWPDATA_THREAD:
		CHECK(s->thread.process < r->nr[LIST_PROCESSES]);
		check_bytes(r, s->thread.comm);
		break;
	case LWPDATA_THREAD_END:
		CHECK(s->thread_end.thread < r->nr[LIST_THREADS]);
		check_bytes(r, s->thread_end.comm);
		break;
	case LWPDATA_PERF_MAP:
		check_bytes(r, s->perf_map.text);
		break;
	case LWPDATA_IMAGE:
		check_bytes(r, s->image.bytes);
		break;
	default:
		break;
	}
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
