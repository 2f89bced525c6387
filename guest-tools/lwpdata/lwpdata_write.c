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

#include "lwpdata.h"
#include "lwpdata_wire.h"

#define BUFFER_SIZE (256 * 1024)

struct lwpdata_writer {
	int fd;
	int error; /* -errno, sticks */
	char *path, *temporary;
	uint64_t sections, records;
	uint32_t chain;
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
	lwpdata_put16(preamble + LWPDATA_PREAMBLE_MAJOR, LWPDATA_MAJOR);
	lwpdata_put16(preamble + LWPDATA_PREAMBLE_MINOR, LWPDATA_MINOR);
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
		lwpdata_put32(p, value);
}

static void put64(struct lwpdata_writer *w, uint64_t value)
{
	uint8_t *p = grow(w, sizeof(value));

	if (p)
		lwpdata_put64(p, value);
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
		lwpdata_put16(p, (uint16_t)size);
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
	lwpdata_put32(header + LWPDATA_HEADER_TYPE, type);
	lwpdata_put64(header + LWPDATA_HEADER_SIZE, size);
	crc = lwpdata_header_crc(header);
	for (size_t i = 0; i < 3; i++)
		if (pieces[i].size)
			crc = (uint32_t)crc32_z(crc, pieces[i].data, pieces[i].size);
	lwpdata_put32(header + LWPDATA_HEADER_CRC, crc);
	lwpdata_put32(link, crc);
	w->chain = (uint32_t)crc32_z(w->chain, link, sizeof(link));
	w->sections++;

	append(w, header, sizeof(header));
	for (size_t i = 0; i < 3; i++)
		append(w, pieces[i].data, pieces[i].size);
	append(w, zero, lwpdata_padding(size));
	return w->error;
}

static int write_built(struct lwpdata_writer *w, uint32_t type)
{
	return write_section(w, type, NULL, 0, NULL, 0);
}

int lwpdata_write_config(struct lwpdata_writer *w, const struct lwpdata_config *config)
{
	put32(w, config->revision);
	put32(w, config->nr_events);
	put32(w, config->leaf_eax);
	put32(w, config->leaf_ebx);
	put32(w, config->leaf_ecx);
	put32(w, config->leaf_edx);
	put32(w, config->flags);
	put32(w, config->filters);
	put32(w, config->ring_size);
	put32(w, config->random);
	put64(w, config->start_realtime);
	put64(w, config->start_monotonic);
	for (uint32_t i = 0; i < config->nr_events; i++) {
		put32(w, config->events[i].event_id);
		put32(w, config->events[i].interval);
	}
	put_string(w, config->tool);
	put_string(w, config->kernel);
	put32(w, config->nr_args);
	for (uint32_t i = 0; i < config->nr_args; i++)
		put_string(w, config->args[i]);
	return write_built(w, LWPDATA_CONFIG);
}

int lwpdata_write_object(struct lwpdata_writer *w, const struct lwpdata_object *object)
{
	put32(w, object->id);
	put32(w, object->flags);
	put64(w, object->size);
	put_string(w, object->path);
	put_string(w, object->build_id);
	return write_built(w, LWPDATA_OBJECT);
}

int lwpdata_write_process(struct lwpdata_writer *w, const struct lwpdata_process *process)
{
	put32(w, process->id);
	put32(w, process->parent);
	put32(w, process->pid);
	put32(w, process->origin);
	put64(w, process->time);
	put_string(w, process->comm);
	put_string(w, process->exe);
	return write_built(w, LWPDATA_PROCESS);
}

static void put_map(struct lwpdata_writer *w, const struct lwpdata_map *map)
{
	put32(w, map->process);
	put32(w, map->object);
	put64(w, map->time);
	put64(w, map->start);
	put64(w, map->end);
	put64(w, map->offset);
}

static void put_unmap(struct lwpdata_writer *w, const struct lwpdata_unmap *unmap)
{
	put32(w, unmap->process);
	put32(w, 0);
	put64(w, unmap->time);
	put64(w, unmap->start);
	put64(w, unmap->end);
}

int lwpdata_write_map(struct lwpdata_writer *w, const struct lwpdata_map *map)
{
	put_map(w, map);
	return write_built(w, LWPDATA_MAP);
}

int lwpdata_write_unmap(struct lwpdata_writer *w, const struct lwpdata_unmap *unmap)
{
	put_unmap(w, unmap);
	return write_built(w, LWPDATA_UNMAP);
}

int lwpdata_write_data_map(struct lwpdata_writer *w, const struct lwpdata_data_map *map)
{
	put_map(w, &map->map);
	put_string(w, map->name);
	return write_built(w, LWPDATA_DATA_MAP);
}

int lwpdata_write_data_unmap(struct lwpdata_writer *w, const struct lwpdata_unmap *unmap)
{
	put_unmap(w, unmap);
	return write_built(w, LWPDATA_DATA_UNMAP);
}

static void put_counters(struct lwpdata_writer *w, const uint32_t *counters, uint32_t nr)
{
	put32(w, nr);
	for (uint32_t i = 0; i < nr; i++)
		put32(w, counters[i]);
}

int lwpdata_write_thread(struct lwpdata_writer *w, const struct lwpdata_thread *thread,
			 uint32_t nr_events)
{
	put32(w, thread->id);
	put32(w, thread->process);
	put64(w, thread->time);
	put32(w, thread->tid);
	put_counters(w, thread->initial, nr_events);
	put_string(w, thread->comm);
	return write_built(w, LWPDATA_THREAD);
}

int lwpdata_write_thread_end(struct lwpdata_writer *w, const struct lwpdata_thread_end *end,
			     uint32_t nr_events)
{
	put32(w, end->thread);
	put32(w, end->flags);
	put64(w, end->time);
	put64(w, end->records);
	put64(w, end->missed);
	put_counters(w, end->final, nr_events);
	put_string(w, end->comm);
	return write_built(w, LWPDATA_THREAD_END);
}

int lwpdata_write_process_end(struct lwpdata_writer *w, const struct lwpdata_process_end *end)
{
	put32(w, end->process);
	put32(w, end->how);
	put64(w, end->time);
	return write_built(w, LWPDATA_PROCESS_END);
}

int lwpdata_write_perf_map(struct lwpdata_writer *w, const struct lwpdata_perf_map *map)
{
	put32(w, map->process);
	put32(w, map->flags);
	put_bytes(w, map->text.data, map->text.size);
	return write_built(w, LWPDATA_PERF_MAP);
}

int lwpdata_write_image(struct lwpdata_writer *w, const struct lwpdata_image *image)
{
	put32(w, image->object);
	put32(w, 0);
	put_bytes(w, image->bytes.data, image->bytes.size);
	return write_built(w, LWPDATA_IMAGE);
}

int lwpdata_write_stats(struct lwpdata_writer *w, const struct lwpdata_stats *stats)
{
	for (size_t i = 0; i < sizeof(*stats) / sizeof(uint64_t); i++)
		put64(w, ((const uint64_t *)stats)[i]);
	return write_built(w, LWPDATA_STATS);
}

int lwpdata_write_kept(struct lwpdata_writer *w, const struct lwpdata_kept *kept)
{
	put32(w, kept->event_id);
	put32(w, kept->bits);
	return write_built(w, LWPDATA_KEPT);
}

int lwpdata_write_copy(struct lwpdata_writer *w, const uint8_t *section)
{
	return write_section(w, lwpdata_get32(section + LWPDATA_HEADER_TYPE),
			     section + LWPDATA_SECTION_HEADER_SIZE,
			     lwpdata_get64(section + LWPDATA_HEADER_SIZE), NULL, 0);
}

int lwpdata_write_records(struct lwpdata_writer *w, uint32_t thread, uint64_t time,
			  const void *first, size_t first_size, const void *second,
			  size_t second_size)
{
	uint64_t count = (first_size + second_size) / LWPDATA_RECORD_SIZE;

	put32(w, thread);
	put32(w, (uint32_t)count);
	put64(w, time);
	w->records += count;
	return write_section(w, LWPDATA_RECORDS, first, first_size, second, second_size);
}

int lwpdata_write_window(struct lwpdata_writer *w, const struct lwpdata_window *window,
			 const void *first, size_t first_size, const void *second,
			 size_t second_size)
{
	put32(w, window->thread);
	put32(w, (uint32_t)((first_size + second_size) / LWPDATA_RECORD_SIZE));
	put64(w, window->time);
	put64(w, window->weight);
	put32(w, window->flags);
	put32(w, 0);
	return write_section(w, LWPDATA_WINDOW, first, first_size, second, second_size);
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
	write_built(w, LWPDATA_END);
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
