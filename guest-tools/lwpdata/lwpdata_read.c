// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading an lwpdata file, section by section. Every length, count and reference is checked. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "lwpdata.h"
#include "lwpdata_wire.h"

/* A payload while it is taken apart; offset is that of its next byte in the file. */
struct cursor {
	const uint8_t *p;
	uint64_t left;
	uint64_t offset;
	const char *section;
	struct lwpdata_error *error;
	bool bad;
};

/* Returns false. */
static bool __attribute__((format(printf, 3, 4)))
set_error(struct lwpdata_error *error, uint64_t offset, const char *format, ...)
{
	va_list args;

	error->offset = offset;
	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return false;
}

/* Each section but END: its type, what reads it, and where that puts it. */
#define SECTIONS(S)                                   \
	S(CONFIG, read_config, config)                \
	S(OBJECT, read_object, object)                \
	S(PROCESS, read_process, process)             \
	S(MAP, read_map, map)                         \
	S(DATA_MAP, read_data_map, data_map)          \
	S(UNMAP, read_unmap, unmap)                   \
	S(DATA_UNMAP, read_unmap, unmap)              \
	S(THREAD, read_thread, thread)                \
	S(RECORDS, read_records, records)             \
	S(WINDOW, read_window, window)                \
	S(THREAD_END, read_thread_end, thread_end)    \
	S(PROCESS_END, read_process_end, process_end) \
	S(PERF_MAP, read_perf_map, perf_map)          \
	S(IMAGE, read_image, image)                   \
	S(STATS, read_stats, stats)                   \
	S(KEPT, read_kept, kept)

static const char *section_name(uint32_t type)
{
	switch (type) {
#define NAME(type, read, part) \
	case LWPDATA_##type:   \
		return #type;
		SECTIONS(NAME)
	case LWPDATA_END:
		return "END";
	default:
		return "unknown";
	}
}

/* ---- Taking a payload apart ----------------------------------------------------------------- */

static void bad(struct cursor *c, const char *what)
{
	if (!c->bad)
		set_error(c->error, c->offset, "%s: %s", c->section, what);
	c->bad = true;
}

static const uint8_t *take(struct cursor *c, uint64_t size)
{
	const uint8_t *p = c->p;

	if (c->bad)
		return NULL;
	if (size > c->left) {
		bad(c, "the section is too short for its contents");
		return NULL;
	}
	c->p += size;
	c->left -= size;
	c->offset += size;
	return p;
}

static uint32_t take32(struct cursor *c)
{
	const uint8_t *p = take(c, sizeof(uint32_t));

	return p ? lwpdata_get32(p) : 0;
}

static uint64_t take64(struct cursor *c)
{
	const uint8_t *p = take(c, sizeof(uint64_t));

	return p ? lwpdata_get64(p) : 0;
}

static uint32_t take32_below(struct cursor *c, uint32_t limit, const char *what)
{
	uint32_t value = take32(c);

	if (!c->bad && value >= limit)
		bad(c, what);
	return value;
}

static struct lwpdata_bytes take_bytes(struct cursor *c, uint64_t size)
{
	struct lwpdata_bytes bytes = { take(c, size), 0 };

	if (bytes.data)
		bytes.size = (size_t)size;
	return bytes;
}

static struct lwpdata_bytes take_blob(struct cursor *c)
{
	const uint8_t *p = take(c, sizeof(uint16_t));

	return take_bytes(c, p ? lwpdata_get16(p) : 0);
}

static struct lwpdata_bytes take_text(struct cursor *c)
{
	struct lwpdata_bytes text = take_blob(c);

	if (text.size && memchr(text.data, 0, text.size))
		bad(c, "a NUL in a text");
	return text;
}

static void take_zero(struct cursor *c)
{
	if (take32(c))
		bad(c, "a reserved field is not zero");
}

/* ---- The sections --------------------------------------------------------------------------- */

static void read_config(struct lwpdata_reader *r, struct cursor *c, struct lwpdata_config *config)
{
	const uint8_t *args;

	config->revision = take32_below(c, 2, "unknown LWP revision");
	config->nr_events = take32_below(c, LWPDATA_MAX_EVENTS + 1, "too many events");
	config->leaf_eax = take32(c);
	config->leaf_ebx = take32(c);
	config->leaf_ecx = take32(c);
	config->leaf_edx = take32(c);
	config->flags = take32(c);
	config->filters = take32(c);
	config->ring_size = take32(c);
	config->random = take32_below(c, 16, "Random is 0 to 15");
	config->start_realtime = take64(c);
	config->start_monotonic = take64(c);
	for (uint32_t i = 0; i < config->nr_events && !c->bad; i++) {
		config->events[i].event_id = take32(c);
		if (!config->events[i].event_id || config->events[i].event_id > 255)
			bad(c, "an EventId is 1 to 255");
		r->event_ids[i] = (uint8_t)config->events[i].event_id;
		config->events[i].interval = take32_below(c, 1u << 25, "an interval has 25 bits");
	}
	config->tool = take_text(c);
	config->kernel = take_text(c);
	config->nr_args = take32_below(c, LWPDATA_MAX_ARGS + 1, "too many arguments");
	args = c->p;
	for (uint32_t i = 0; i < config->nr_args && !c->bad; i++)
		take_text(c);
	config->raw_args.data = args;
	config->raw_args.size = (size_t)(c->p - args);
	r->nr_events = config->nr_events;
}

static void read_object(struct lwpdata_reader *r, struct cursor *c, struct lwpdata_object *object)
{
	object->id = take32(c);
	if (object->id != r->nr_objects || object->id == LWPDATA_NONE)
		bad(c, "objects are not numbered in order");
	object->flags = take32(c);
	object->size = take64(c);
	object->path = take_text(c);
	object->build_id = take_blob(c);
	if (object->build_id.size > LWPDATA_MAX_BUILD_ID)
		bad(c, "a build-id is too long");
	r->nr_objects++;
}

static void read_process(struct lwpdata_reader *r, struct cursor *c,
			 struct lwpdata_process *process)
{
	process->id = take32(c);
	if (process->id != r->nr_processes || process->id == LWPDATA_NONE)
		bad(c, "processes are not numbered in order");
	process->parent = take32(c);
	if (process->parent != LWPDATA_NONE && process->parent >= r->nr_processes)
		bad(c, "a process has a parent that was not introduced");
	process->pid = take32(c);
	process->origin = take32(c);
	process->time = take64(c);
	process->comm = take_text(c);
	process->exe = take_text(c);
	r->nr_processes++;
}

static uint32_t take_process(struct lwpdata_reader *r, struct cursor *c)
{
	return take32_below(c, r->nr_processes, "refers to a process that was not introduced");
}

static uint32_t take_thread(struct lwpdata_reader *r, struct cursor *c)
{
	return take32_below(c, r->nr_threads, "refers to a thread that was not introduced");
}

static uint32_t take_object(struct lwpdata_reader *r, struct cursor *c)
{
	return take32_below(c, r->nr_objects, "refers to an object that was not introduced");
}

static void take_range(struct cursor *c, uint64_t *start, uint64_t *end)
{
	*start = take64(c);
	*end = take64(c);
	if (*start >= *end)
		bad(c, "a range ends before it starts");
}

static void read_map(struct lwpdata_reader *r, struct cursor *c, struct lwpdata_map *map)
{
	map->process = take_process(r, c);
	map->object = take32(c);
	if (map->object != LWPDATA_NONE && map->object >= r->nr_objects)
		bad(c, "refers to an object that was not introduced");
	map->time = take64(c);
	take_range(c, &map->start, &map->end);
	map->offset = take64(c);
}

static void read_data_map(struct lwpdata_reader *r, struct cursor *c, struct lwpdata_data_map *map)
{
	read_map(r, c, &map->map);
	map->name = take_text(c);
}

static void read_unmap(struct lwpdata_reader *r, struct cursor *c, struct lwpdata_unmap *unmap)
{
	unmap->process = take_process(r, c);
	take_zero(c);
	unmap->time = take64(c);
	take_range(c, &unmap->start, &unmap->end);
}

static void take_counters(struct lwpdata_reader *r, struct cursor *c, uint32_t *counters)
{
	uint32_t nr = take32(c);

	if (!c->bad && nr != r->nr_events)
		bad(c, "another number of counters than of events");
	for (uint32_t i = 0; i < nr && !c->bad; i++)
		counters[i] = take32(c);
}

static void read_thread(struct lwpdata_reader *r, struct cursor *c, struct lwpdata_thread *thread)
{
	thread->id = take32(c);
	if (thread->id != r->nr_threads || thread->id == LWPDATA_NONE)
		bad(c, "threads are not numbered in order");
	thread->process = take_process(r, c);
	thread->time = take64(c);
	thread->tid = take32(c);
	take_counters(r, c, thread->initial);
	thread->comm = take_text(c);
	r->nr_threads++;
}

static void read_thread_end(struct lwpdata_reader *r, struct cursor *c,
			    struct lwpdata_thread_end *end)
{
	end->thread = take_thread(r, c);
	end->flags = take32(c);
	end->time = take64(c);
	end->records = take64(c);
	end->missed = take64(c);
	take_counters(r, c, end->final);
	end->comm = take_text(c);
}

static void read_records(struct lwpdata_reader *r, struct cursor *c,
			 struct lwpdata_records *records)
{
	records->thread = take_thread(r, c);
	records->count = take32(c);
	records->time = take64(c);
	records->data = take(c, (uint64_t)records->count * LWPDATA_RECORD_SIZE);
	r->records += records->count;
}

static bool has_event(const struct lwpdata_reader *r, uint32_t event_id)
{
	for (uint32_t i = 0; i < r->nr_events; i++)
		if (r->event_ids[i] == event_id)
			return true;
	return false;
}

static void read_kept(struct lwpdata_reader *r, struct cursor *c, struct lwpdata_kept *kept)
{
	kept->event_id = take32(c);
	if (!c->bad && !has_event(r, kept->event_id))
		bad(c, "records kept of an event that the file does not have");
	kept->bits = take32_below(c, LWPDATA_MAX_KEPT + 1, "too few records are kept");
}

/* The records of a window are of one event, which is one of CONFIG's. */
static void check_window_records(struct lwpdata_reader *r, struct cursor *c,
				 const struct lwpdata_window *window)
{
	if (!has_event(r, window->data[0]))
		bad(c, "a window of an event that the file does not have");
	for (uint32_t i = 1; i < window->count && !c->bad; i++)
		if (window->data[(size_t)i * LWPDATA_RECORD_SIZE] != window->data[0])
			bad(c, "a window with records of two events");
}

static void read_window(struct lwpdata_reader *r, struct cursor *c, struct lwpdata_window *window)
{
	window->thread = take_thread(r, c);
	window->count = take32(c);
	if (!c->bad && !window->count)
		bad(c, "a window without records");
	window->time = take64(c);
	window->weight = take64(c);
	if (!c->bad && window->weight < window->count)
		bad(c, "a window that stands for less than its records");
	window->flags = take32(c);
	take_zero(c);
	window->data = take(c, (uint64_t)window->count * LWPDATA_RECORD_SIZE);
	if (!c->bad)
		check_window_records(r, c, window);
}

static void read_process_end(struct lwpdata_reader *r, struct cursor *c,
			     struct lwpdata_process_end *end)
{
	end->process = take_process(r, c);
	end->how = take32_below(c, LWPDATA_END_UNFOLLOWED + 1, "unknown way for a process to end");
	end->time = take64(c);
}

static void read_perf_map(struct lwpdata_reader *r, struct cursor *c, struct lwpdata_perf_map *map)
{
	map->process = take_process(r, c);
	map->flags = take32(c);
	map->text = take_bytes(c, c->left);
}

static void read_image(struct lwpdata_reader *r, struct cursor *c, struct lwpdata_image *image)
{
	image->object = take_object(r, c);
	take_zero(c);
	image->bytes = take_bytes(c, c->left);
}

static void read_stats(struct lwpdata_reader *r, struct cursor *c, struct lwpdata_stats *stats)
{
	for (size_t i = 0; i < sizeof(*stats) / sizeof(uint64_t); i++)
		((uint64_t *)stats)[i] = take64(c);
}

/* END: what the file says of itself must be what was read. */
static void read_end(struct lwpdata_reader *r, struct cursor *c, uint32_t chain)
{
	if (take64(c) != r->sections - 1)
		bad(c, "the file holds another number of sections");
	if (take64(c) != r->records)
		bad(c, "the file holds another number of records");
	if (take32(c) != chain)
		bad(c, "the sections are not those that were written");
	take_zero(c);
	r->ended = true;
}

static void read_payload(struct lwpdata_reader *r, struct cursor *c, struct lwpdata_section *s,
			 uint32_t chain)
{
	switch (s->type) {
#define READ(type, read, part)        \
	case LWPDATA_##type:          \
		read(r, c, &s->part); \
		break;
		SECTIONS(READ)
	case LWPDATA_END:
		read_end(r, c, chain);
		break;
	default:
		if (!(s->type & LWPDATA_OPTIONAL))
			bad(c, "this reader is too old for the file");
		take(c, c->left);
	}
	if (!c->bad && c->left)
		bad(c, "the section is longer than its contents");
}

/* ---- The file ------------------------------------------------------------------------------- */

bool lwpdata_open(struct lwpdata_reader *r, const void *data, uint64_t size,
		  struct lwpdata_error *error)
{
	uint32_t major;

	memset(r, 0, sizeof(*r));
	r->data = data;
	r->size = size;
	if (size < LWPDATA_PREAMBLE_SIZE || memcmp(data, LWPDATA_MAGIC, LWPDATA_MAGIC_SIZE) != 0)
		return set_error(error, 0, "not an lwpdata file");
	major = lwpdata_get16(r->data + LWPDATA_PREAMBLE_MAJOR);
	if (major != LWPDATA_MAJOR)
		return set_error(error, LWPDATA_PREAMBLE_MAJOR,
				 "version %" PRIu32 " of the format, this reader knows %d", major,
				 LWPDATA_MAJOR);
	if (lwpdata_get32(r->data + LWPDATA_PREAMBLE_ZERO))
		return set_error(error, LWPDATA_PREAMBLE_ZERO, "a reserved field is not zero");
	r->offset = LWPDATA_PREAMBLE_SIZE;
	return true;
}

/* The header at r->offset: is the section there, whole and undamaged? */
static bool check_section(struct lwpdata_reader *r, uint64_t *size, uint32_t *crc,
			  struct lwpdata_error *error)
{
	const uint8_t *header = r->data + r->offset;
	uint64_t left = r->size - r->offset;

	if (left < LWPDATA_SECTION_HEADER_SIZE)
		return set_error(error, r->size, "the file is cut off: its END section is missing");
	left -= LWPDATA_SECTION_HEADER_SIZE;
	*size = lwpdata_get64(header + LWPDATA_HEADER_SIZE);
	if (*size > left || lwpdata_padding(*size) > left - *size)
		return set_error(error, r->offset,
				 "%s: the section says %" PRIu64 " bytes, the file has %" PRIu64,
				 section_name(lwpdata_get32(header)), *size, left);
	*crc = lwpdata_header_crc(header);
	if (*size)
		*crc = (uint32_t)crc32_z(*crc, header + LWPDATA_SECTION_HEADER_SIZE, *size);
	if (*crc != lwpdata_get32(header + LWPDATA_HEADER_CRC))
		return set_error(error, r->offset, "%s: damaged, its checksum does not match",
				 section_name(lwpdata_get32(header)));
	for (unsigned int i = 0; i < lwpdata_padding(*size); i++) {
		if (header[LWPDATA_SECTION_HEADER_SIZE + *size + i])
			return set_error(error, r->offset, "%s: padding is not zero",
					 section_name(lwpdata_get32(header)));
	}
	return true;
}

bool lwpdata_whole(const struct lwpdata_reader *r)
{
	uint64_t left = r->size - r->offset, size;

	if (left < LWPDATA_SECTION_HEADER_SIZE)
		return false;
	left -= LWPDATA_SECTION_HEADER_SIZE;
	size = lwpdata_get64(r->data + r->offset + LWPDATA_HEADER_SIZE);
	return size <= left && lwpdata_padding(size) <= left - size;
}

int lwpdata_next(struct lwpdata_reader *r, struct lwpdata_section *s, struct lwpdata_error *error)
{
	struct cursor c = { .error = error };
	uint32_t crc = 0, chain = r->chain;
	uint8_t link[sizeof(crc)];
	uint64_t size = 0;

	if (r->ended && r->offset == r->size)
		return 0;
	if (r->ended) {
		set_error(error, r->offset, "there is data after the END section");
		return -1;
	}
	if (!check_section(r, &size, &crc, error))
		return -1;
	memset(s, 0, sizeof(*s));
	s->offset = r->offset;
	s->type = lwpdata_get32(r->data + r->offset + LWPDATA_HEADER_TYPE);
	c.offset = r->offset + LWPDATA_SECTION_HEADER_SIZE;
	c.p = r->data + c.offset;
	c.left = size;
	c.section = section_name(s->type);
	r->offset = c.offset + size + lwpdata_padding(size);
	lwpdata_put32(link, crc);
	r->chain = (uint32_t)crc32_z(r->chain, link, sizeof(link));
	r->sections++;

	if ((s->type == LWPDATA_CONFIG) != (r->sections == 1))
		bad(&c, "CONFIG must be the first section, and only that");
	else
		read_payload(r, &c, s, chain);
	return c.bad ? -1 : 1;
}

struct lwpdata_bytes lwpdata_arg(const struct lwpdata_config *config, uint32_t i)
{
	struct lwpdata_bytes arg = { config->raw_args.data, 0 };

	for (;; i--) {
		arg.size = lwpdata_get16(arg.data);
		arg.data += sizeof(uint16_t);
		if (i == 0)
			return arg;
		arg.data += arg.size;
	}
}
