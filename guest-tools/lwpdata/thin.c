// SPDX-License-Identifier: GPL-2.0-or-later
/* Keeping one of 2^bits records of an event. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "splitmix64.h"
#include "thin.h"

/* Each thread begins at a place of its own, so that a record has the same chance whatever its number in the thread is. */
static bool has_room(struct thin *t, uint32_t thread, size_t size)
{
	if (thread >= t->nr_threads) {
		size_t nr = 2 * (size_t)thread + 1;
		uint64_t *more = realloc(t->at, nr * t->nr_events * sizeof(*more));

		if (!more)
			return false;
		for (size_t i = t->nr_threads * t->nr_events; i < nr * t->nr_events; i++)
			more[i] = splitmix64(t->seed ^ splitmix64(i));
		t->at = more;
		t->nr_threads = nr;
	}
	if (size > t->room) {
		uint8_t *larger = realloc(t->copy, size);

		if (!larger)
			return false;
		t->copy = larger;
		t->room = size;
	}
	return true;
}

/* Is this record kept? Those of 2^(n + 1) are among those of 2^n. */
static bool keep(struct thin *t, uint32_t thread, const uint8_t *record)
{
	for (uint32_t i = 0; i < t->nr_events; i++) {
		struct thin_event *e = &t->events[i];
		uint64_t *at = &t->at[(size_t)thread * t->nr_events + i], before = *at;
		bool kept;

		/* EventId is the first byte. */
		if (e->event_id != record[0])
			continue;
		*at += 1ull << e->from;
		kept = before >> e->bits != *at >> e->bits;
		e->held += kept;
		return kept;
	}
	return true;
}

static size_t take(struct thin *t, uint32_t thread, size_t used, const uint8_t *records,
		   size_t size)
{
	for (size_t i = 0; i < size; i += LWPDATA_RECORD_SIZE)
		if (keep(t, thread, records + i)) {
			memcpy(t->copy + used, records + i, LWPDATA_RECORD_SIZE);
			used += LWPDATA_RECORD_SIZE;
		}
	return used;
}

/* Events that have enough: what is held of them is thinned at the end, what comes from now on. */
static void grow(struct thin *t, struct lwpdata_writer *w)
{
	for (uint32_t i = 0; i < t->nr_events; i++) {
		struct thin_event *e = &t->events[i];
		uint32_t before = e->bits;

		for (; e->held > 2 * THIN_TARGET && e->bits < LWPDATA_MAX_KEPT; e->bits++)
			e->held /= 2;
		if (e->bits != before)
			lwpdata_write_kept(w, &(struct lwpdata_kept){ e->event_id, e->bits });
	}
}

int thin_records(struct thin *t, struct lwpdata_writer *w, uint32_t thread, uint64_t time,
		 const void *first, size_t first_size, const void *second, size_t second_size)
{
	size_t used;
	int error = 0;

	if (!t->nr_events)
		return lwpdata_write_records(w, thread, time, first, first_size, second,
					     second_size);
	if (!has_room(t, thread, first_size + second_size)) {
		lwpdata_fail(w, -ENOMEM);
		return -ENOMEM;
	}
	used = take(t, thread, 0, first, first_size);
	used = take(t, thread, used, second, second_size);
	if (used)
		error = lwpdata_write_records(w, thread, time, t->copy, used, NULL, 0);
	if (t->grows)
		grow(t, w);
	return error;
}

static bool is_thinned(const struct thin *t)
{
	for (uint32_t i = 0; i < t->nr_events; i++)
		if (t->events[i].bits)
			return true;
	return false;
}

void thin_write_kept(const struct thin *t, struct lwpdata_writer *w)
{
	for (uint32_t i = 0; i < t->nr_events; i++) {
		const struct thin_event *e = &t->events[i];

		if (e->bits)
			lwpdata_write_kept(w, &(struct lwpdata_kept){ e->event_id, e->bits });
	}
}

/* A section of the file that was thinned as it grew. */
static void rewrite(struct thin *t, struct lwpdata_writer *w, const struct lwpdata_section *s,
		    const uint8_t *file)
{
	switch (s->type) {
	case LWPDATA_CONFIG:
		lwpdata_write_copy(w, file + s->offset);
		thin_write_kept(t, w);
		break;
	case LWPDATA_RECORDS:
		thin_records(t, w, s->records.thread, s->records.time, s->records.data,
			     (size_t)s->records.count * LWPDATA_RECORD_SIZE, NULL, 0);
		break;
	case LWPDATA_KEPT:
		for (uint32_t i = 0; i < t->nr_events; i++)
			if (t->events[i].event_id == s->kept.event_id)
				t->events[i].from = s->kept.bits;
		break;
	case LWPDATA_END:
		break;
	default:
		lwpdata_write_copy(w, file + s->offset);
	}
}

static int rewrite_all(struct thin *t, const uint8_t *file, size_t size, const char *path,
		       uint64_t *records)
{
	struct lwpdata_writer *w = lwpdata_create(path);
	struct lwpdata_section section;
	struct lwpdata_reader reader;
	struct lwpdata_error error;
	int more;

	if (!w)
		return -errno;
	more = lwpdata_open(&reader, file, size, &error) ? 1 : -1;
	while (more > 0 && (more = lwpdata_next(&reader, &section, &error)) > 0)
		rewrite(t, w, &section, file);
	if (more < 0)
		lwpdata_fail(w, -EIO);
	*records = lwpdata_written_records(w);
	return lwpdata_finish(w);
}

int thin_finish(struct thin *t, struct lwpdata_writer *w, const char *path, uint64_t *records)
{
	struct thin last = *t;
	const void *file;
	size_t size = 0;
	int error;

	thin_free(t);
	*records = lwpdata_written_records(w);
	if (!is_thinned(t))
		return lwpdata_finish(w);
	last.at = NULL;
	last.copy = NULL;
	last.nr_threads = last.room = 0;
	last.grows = false;
	file = lwpdata_end(w, &size);
	error = file ? rewrite_all(&last, file, size, path, records) : lwpdata_flush(w);
	thin_free(&last);
	lwpdata_abandon(w);
	return error;
}

void thin_free(struct thin *t)
{
	free(t->at);
	free(t->copy);
}
