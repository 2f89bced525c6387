// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading an lwpdata file, section by section. Every length, count and reference is checked. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "lwpdata_fields.h"
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

static const char *section_name(uint32_t type)
{
	return lwpdata_fields(type)[-1].text;
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

	return p ? lwp_get32(p) : 0;
}

static uint64_t take64(struct cursor *c)
{
	const uint8_t *p = take(c, sizeof(uint64_t));

	return p ? lwp_get64(p) : 0;
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

	return take_bytes(c, p ? lwp_get16(p) : 0);
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

/* ---- Numbers -------------------------------------------------------------------------------- */

static bool has_event(const struct lwpdata_reader *r, uint32_t event_id)
{
	for (uint32_t i = 0; i < r->nr_events; i++)
		if (r->event_ids[i] == event_id)
			return true;
	return false;
}

static bool fits(const struct lwpdata_reader *r, const struct lwpdata_field *f, uint32_t number)
{
	switch (f->kind) {
	case FIELD_ID:
		return number == r->nr[f->more] && number != LWPDATA_NONE;
	case FIELD_OR_NONE:
		return number == LWPDATA_NONE || number < r->nr[f->more];
	case FIELD_REFERENCE:
		return number < r->nr[f->more];
	case FIELD_EVENT:
		return has_event(r, number);
	case FIELD_COUNT:
		return number;
	default:
		return !f->more || number < f->more;
	}
}

static bool wide_fits(const struct lwpdata_field *f, const uint64_t *numbers, const void *part)
{
	if (f->kind == FIELD_RANGE)
		return numbers[0] < numbers[1];
	return f->kind != FIELD_WEIGHT || *numbers >= ((const struct lwpdata_window *)part)->count;
}

/* ---- The sections --------------------------------------------------------------------------- */

static void take_config_events(struct lwpdata_reader *r, struct cursor *c,
			       struct lwpdata_config *config)
{
	for (uint32_t i = 0; i < config->nr_events && !c->bad; i++) {
		config->events[i].event_id = take32(c);
		if (!config->events[i].event_id || config->events[i].event_id > 255)
			bad(c, "an EventId is 1 to 255");
		r->event_ids[i] = (uint8_t)config->events[i].event_id;
		config->events[i].interval = take32(c);
		if (config->events[i].interval >= 1u << 25)
			bad(c, "an interval has 25 bits");
	}
	r->nr_events = config->nr_events;
}

static void take_args(struct cursor *c, struct lwpdata_config *config)
{
	config->raw_args.data = c->p;
	for (uint32_t i = 0; i < config->nr_args && !c->bad; i++)
		take_text(c);
	config->raw_args.size = (size_t)(c->p - config->raw_args.data);
}

static void take_counters(const struct lwpdata_reader *r, struct cursor *c, uint32_t *counters)
{
	uint32_t nr = take32(c);

	if (nr != r->nr_events)
		bad(c, "another number of counters than of events");
	for (uint32_t i = 0; i < nr && !c->bad; i++)
		counters[i] = take32(c);
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

static void take_field(struct lwpdata_reader *r, struct cursor *c, const struct lwpdata_field *f,
		       void *part)
{
	void *to = (char *)part + f->at;
	struct lwpdata_bytes *bytes = to;
	uint32_t *number = to;
	uint64_t *wide = to;

	switch (f->kind) {
	case FIELD_U32 ... FIELD_COUNT:
		*number = take32(c);
		if (!fits(r, f, *number))
			bad(c, f->text);
		break;
	case FIELD_ZERO:
		take_zero(c);
		break;
	case FIELD_U64 ... FIELD_RANGE:
		for (size_t i = 0; i < (f->more ?: 1); i++)
			wide[i] = take64(c);
		if (!wide_fits(f, wide, part))
			bad(c, f->text);
		break;
	case FIELD_EVENTS:
		take_config_events(r, c, part);
		break;
	case FIELD_ARGS:
		take_args(c, part);
		break;
	case FIELD_COUNTERS:
		take_counters(r, c, number);
		break;
	case FIELD_TEXT:
		*bytes = take_text(c);
		break;
	case FIELD_BUILD_ID:
		*bytes = take_blob(c);
		if (bytes->size > LWPDATA_MAX_BUILD_ID)
			bad(c, "a build-id is too long");
		break;
	case FIELD_REST:
		*bytes = take_bytes(c, c->left);
		break;
	case FIELD_RECORDS:
		number = (void *)((char *)part + f->more);
		*(const uint8_t **)to = take(c, (uint64_t)*number * LWPDATA_RECORD_SIZE);
		break;
	case FIELD_SECTION:
		break;
	}
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
	const struct lwpdata_field *first = lwpdata_fields(s->type), *f = first;

	if (!f[-1].more) {
		if (!(s->type & LWPDATA_OPTIONAL))
			bad(c, "this reader is too old for the file");
		take(c, c->left);
	}
	for (; f->kind != FIELD_SECTION; f++)
		take_field(r, c, f, &s->config);
	if (first->kind == FIELD_ID)
		r->nr[first->more]++;
	if (s->type == LWPDATA_RECORDS)
		r->records += s->records.count;
	else if (s->type == LWPDATA_WINDOW && !c->bad)
		check_window_records(r, c, &s->window);
	else if (s->type == LWPDATA_STACK &&
		 (!s->stack.addresses.size || s->stack.addresses.size % 8))
		bad(c, "a stack that is no addresses");
	else if (s->type == LWPDATA_END)
		read_end(r, c, chain);
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
	major = lwp_get16(r->data + LWPDATA_PREAMBLE_MAJOR);
	if (major != LWPDATA_MAJOR)
		return set_error(error, LWPDATA_PREAMBLE_MAJOR,
				 "version %" PRIu32 " of the format, this reader knows %d", major,
				 LWPDATA_MAJOR);
	if (lwp_get32(r->data + LWPDATA_PREAMBLE_ZERO))
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
	*size = lwp_get64(header + LWPDATA_HEADER_SIZE);
	if (*size > left || lwpdata_padding(*size) > left - *size)
		return set_error(error, r->offset,
				 "%s: the section says %" PRIu64 " bytes, the file has %" PRIu64,
				 section_name(lwp_get32(header)), *size, left);
	*crc = lwpdata_header_crc(header);
	if (*size)
		*crc = (uint32_t)crc32_z(*crc, header + LWPDATA_SECTION_HEADER_SIZE, *size);
	if (*crc != lwp_get32(header + LWPDATA_HEADER_CRC))
		return set_error(error, r->offset, "%s: damaged, its checksum does not match",
				 section_name(lwp_get32(header)));
	for (unsigned int i = 0; i < lwpdata_padding(*size); i++) {
		if (header[LWPDATA_SECTION_HEADER_SIZE + *size + i])
			return set_error(error, r->offset, "%s: padding is not zero",
					 section_name(lwp_get32(header)));
	}
	return true;
}

bool lwpdata_whole(const struct lwpdata_reader *r)
{
	uint64_t left = r->size - r->offset, size;

	if (left < LWPDATA_SECTION_HEADER_SIZE)
		return false;
	left -= LWPDATA_SECTION_HEADER_SIZE;
	size = lwp_get64(r->data + r->offset + LWPDATA_HEADER_SIZE);
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
	s->type = lwp_get32(r->data + r->offset + LWPDATA_HEADER_TYPE);
	c.offset = r->offset + LWPDATA_SECTION_HEADER_SIZE;
	c.p = r->data + c.offset;
	c.left = size;
	c.section = section_name(s->type);
	r->offset = c.offset + size + lwpdata_padding(size);
	lwp_put32(link, crc);
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
		arg.size = lwp_get16(arg.data);
		arg.data += sizeof(uint16_t);
		if (i == 0)
			return arg;
		arg.data += arg.size;
	}
}
