// SPDX-License-Identifier: GPL-2.0-or-later
/* Writing an lwpdata file: sections are built in memory, appended through one buffer, renamed last. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "lwpdata_fields.h"
#include "lwpdata_wire.h"

#define BUFFER_SIZE (256 * 1024)

struct lwpdata_writer {
	int fd;
	int error; /* -errno, sticks */
	char *path, *temporary;
	uint64_t sections, records;
	uint32_t chain, nr_events;
	size_t used;
	uint8_t *payload; /* of the section under construction */
	size_t payload_used, payload_room;
	void *ended; /* the file, in memory */
	size_t ended_size;
	uint8_t buffer[BUFFER_SIZE];
};

void lwpdata_fail(struct lwpdata_writer *w, int error)
{
	if (!w->error)
		w->error = error;
}

static void write_all(struct lwpdata_writer *w, const uint8_t *data, size_t size)
{
	while (size && !w->error) {
		ssize_t n = write(w->fd, data, size);

		if (n >= 0) {
			data += n;
			size -= (size_t)n;
		} else if (errno != EINTR) {
			lwpdata_fail(w, -errno);
			/* A full disk: a part of a profile is useless, so make room at once. */
			if (ftruncate(w->fd, 0) < 0)
				return;
		}
	}
}

static void flush(struct lwpdata_writer *w)
{
	write_all(w, w->buffer, w->used);
	w->used = 0;
}

static void append(struct lwpdata_writer *w, const void *data, size_t size)
{
	if (w->used + size > BUFFER_SIZE)
		flush(w);
	if (size > BUFFER_SIZE) {
		write_all(w, data, size);
	} else if (size) {
		memcpy(w->buffer + w->used, data, size);
		w->used += size;
	}
}

struct lwpdata_writer *lwpdata_create(const char *path)
{
	struct lwpdata_writer *w = calloc(1, sizeof(*w));
	uint8_t preamble[LWPDATA_PREAMBLE_SIZE] = LWPDATA_MAGIC;
	struct stat st;
	mode_t mask;

	if (!w)
		return NULL;
	w->path = strdup(path);
	if (!w->path || asprintf(&w->temporary, "%s.XXXXXX", path) < 0)
		goto no_memory;
	/* Only a regular file can be replaced by renaming. */
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
		goto no_file;
	}
	w->fd = mkostemp(w->temporary, O_CLOEXEC);
	if (w->fd < 0)
		goto no_file;
	mask = umask(0);
	umask(mask);
	if (fchmod(w->fd, 0666 & ~mask) < 0)
		lwpdata_fail(w, -errno);
	lwp_put16(preamble + LWPDATA_PREAMBLE_MAJOR, LWPDATA_MAJOR);
	lwp_put16(preamble + LWPDATA_PREAMBLE_MINOR, LWPDATA_MINOR);
	append(w, preamble, sizeof(preamble));
	return w;

no_memory:
	errno = ENOMEM;
no_file:
	free(w->temporary);
	free(w->path);
	free(w);
	return NULL;
}

/* Building a payload */

static void *grow(struct lwpdata_writer *w, size_t size)
{
	if (w->payload_used + size > w->payload_room) {
		size_t room = 2 * (w->payload_used + size);
		uint8_t *bigger = realloc(w->payload, room);

		if (!bigger) {
			lwpdata_fail(w, -ENOMEM);
			return NULL;
		}
		w->payload = bigger;
		w->payload_room = room;
	}
	w->payload_used += size;
	return w->payload + w->payload_used - size;
}

static void put32(struct lwpdata_writer *w, uint32_t value)
{
	uint8_t *p = grow(w, sizeof(value));

	if (p)
		lwp_put32(p, value);
}

static void put64(struct lwpdata_writer *w, uint64_t value)
{
	uint8_t *p = grow(w, sizeof(value));

	if (p)
		lwp_put64(p, value);
}

static void put_bytes(struct lwpdata_writer *w, const void *data, size_t size)
{
	uint8_t *p = grow(w, size);

	if (p && size)
		memcpy(p, data, size);
}

static void put_string(struct lwpdata_writer *w, struct lwpdata_bytes text)
{
	size_t size = text.size < LWPDATA_MAX_STRING ? text.size : LWPDATA_MAX_STRING;
	uint8_t *p = grow(w, sizeof(uint16_t));

	if (p)
		lwp_put16(p, (uint16_t)size);
	put_bytes(w, text.data, size);
}

/* Sections */

/* What was built with the put functions, and two pieces behind it. */
static int write_section(struct lwpdata_writer *w, uint32_t type, const void *first,
			 size_t first_size, const void *second, size_t second_size)
{
	static const uint8_t zero[LWPDATA_ALIGN];
	const struct {
		const void *data;
		size_t size;
	} pieces[] = { { w->payload, w->payload_used },
		       { first, first_size },
		       { second, second_size } };
	uint8_t header[LWPDATA_SECTION_HEADER_SIZE], link[sizeof(uint32_t)];
	uint64_t size = w->payload_used + first_size + second_size;
	uint32_t crc;

	w->payload_used = 0;
	if (w->error)
		return w->error;
	lwp_put32(header + LWPDATA_HEADER_TYPE, type);
	lwp_put64(header + LWPDATA_HEADER_SIZE, size);
	crc = lwpdata_header_crc(header);
	for (size_t i = 0; i < 3; i++)
		if (pieces[i].size)
			crc = (uint32_t)crc32_z(crc, pieces[i].data, pieces[i].size);
	lwp_put32(header + LWPDATA_HEADER_CRC, crc);
	lwp_put32(link, crc);
	w->chain = (uint32_t)crc32_z(w->chain, link, sizeof(link));
	w->sections++;

	append(w, header, sizeof(header));
	for (size_t i = 0; i < 3; i++)
		append(w, pieces[i].data, pieces[i].size);
	append(w, zero, lwpdata_padding(size));
	return w->error;
}

static void put_field(struct lwpdata_writer *w, const struct lwpdata_field *f, const void *part)
{
	const struct lwpdata_config *config = part;
	const void *from = (const char *)part + f->at;
	const struct lwpdata_bytes *bytes = from;

	switch (f->kind) {
	case FIELD_U32 ... FIELD_COUNT:
		put32(w, *(const uint32_t *)from);
		break;
	case FIELD_ZERO:
		put32(w, 0);
		break;
	case FIELD_U64 ... FIELD_RANGE:
		for (size_t i = 0; i < (f->more ?: 1); i++)
			put64(w, ((const uint64_t *)from)[i]);
		break;
	case FIELD_EVENTS:
		for (uint32_t i = 0; i < config->nr_events; i++) {
			put32(w, config->events[i].event_id);
			put32(w, config->events[i].interval);
		}
		break;
	case FIELD_ARGS:
		for (uint32_t i = 0; i < config->nr_args; i++)
			put_string(w, config->args[i]);
		break;
	case FIELD_COUNTERS:
		put32(w, w->nr_events);
		for (uint32_t i = 0; i < w->nr_events; i++)
			put32(w, ((const uint32_t *)from)[i]);
		break;
	case FIELD_TEXT:
	case FIELD_BUILD_ID:
		put_string(w, *bytes);
		break;
	case FIELD_REST:
		put_bytes(w, bytes->data, bytes->size);
		break;
	case FIELD_RECORDS: /* they are the pieces behind it */
	case FIELD_SECTION:
		break;
	}
}

/* A section of which the records are in two pieces. */
static int write_pieces(struct lwpdata_writer *w, enum lwpdata_type type, const void *section,
			const void *first, size_t first_size, const void *second,
			size_t second_size)
{
	for (const struct lwpdata_field *f = lwpdata_fields(type); f->kind != FIELD_SECTION; f++)
		put_field(w, f, section);
	return write_section(w, type, first, first_size, second, second_size);
}

int lwpdata_write(struct lwpdata_writer *w, enum lwpdata_type type, const void *section)
{
	if (type == LWPDATA_CONFIG)
		w->nr_events = ((const struct lwpdata_config *)section)->nr_events;
	return write_pieces(w, type, section, NULL, 0, NULL, 0);
}

int lwpdata_write_copy(struct lwpdata_writer *w, const uint8_t *section)
{
	return write_section(w, lwp_get32(section + LWPDATA_HEADER_TYPE),
			     section + LWPDATA_SECTION_HEADER_SIZE,
			     lwp_get64(section + LWPDATA_HEADER_SIZE), NULL, 0);
}

int lwpdata_write_records(struct lwpdata_writer *w, uint32_t thread, uint64_t time,
			  const void *first, size_t first_size, const void *second,
			  size_t second_size)
{
	const struct lwpdata_records records = {
		.thread = thread,
		.count = (uint32_t)((first_size + second_size) / LWPDATA_RECORD_SIZE),
		.time = time,
	};

	w->records += records.count;
	return write_pieces(w, LWPDATA_RECORDS, &records, first, first_size, second, second_size);
}

int lwpdata_write_window(struct lwpdata_writer *w, const struct lwpdata_window *window,
			 const void *first, size_t first_size, const void *second,
			 size_t second_size)
{
	struct lwpdata_window of_pieces = *window;

	of_pieces.count = (uint32_t)((first_size + second_size) / LWPDATA_RECORD_SIZE);
	return write_pieces(w, LWPDATA_WINDOW, &of_pieces, first, first_size, second, second_size);
}

int lwpdata_flush(struct lwpdata_writer *w)
{
	flush(w);
	return w->error;
}

uint64_t lwpdata_written_records(const struct lwpdata_writer *w)
{
	return w->records;
}

static void release(struct lwpdata_writer *w)
{
	if (w->ended)
		munmap(w->ended, w->ended_size);
	free(w->payload);
	free(w->temporary);
	free(w->path);
	free(w);
}

static void end(struct lwpdata_writer *w)
{
	put64(w, w->sections);
	put64(w, w->records);
	put32(w, w->chain);
	put32(w, 0);
	write_section(w, LWPDATA_END, NULL, 0, NULL, 0);
	flush(w);
}

const void *lwpdata_end(struct lwpdata_writer *w, size_t *size)
{
	struct stat st;
	void *file;

	end(w);
	if (fstat(w->fd, &st) < 0)
		lwpdata_fail(w, -errno);
	if (w->error)
		return NULL;
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, w->fd, 0);
	if (file == MAP_FAILED) {
		lwpdata_fail(w, -errno);
		return NULL;
	}
	w->ended = file;
	*size = w->ended_size = (size_t)st.st_size;
	return file;
}

int lwpdata_finish(struct lwpdata_writer *w)
{
	int error;

	end(w);
	/* Some file systems report a full disk only here. */
	if (close(w->fd) < 0)
		lwpdata_fail(w, -errno);
	if (!w->error && rename(w->temporary, w->path) < 0)
		lwpdata_fail(w, -errno);
	error = w->error;
	if (error)
		unlink(w->temporary);
	release(w);
	return error;
}

void lwpdata_abandon(struct lwpdata_writer *w)
{
	close(w->fd);
	unlink(w->temporary);
	release(w);
}
