// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lwpctl merge: several profiles as one. Sections are copied as they are read, with new ids and times; what stays in
 * memory is one file's ids, and one entry for each object.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "keys.h"
#include "lwp_cpuid.h"
#include "lwp_record.h"
#include "lwpctl.h"
#include "lwpdata_fields.h"
#include "memory.h"
#include "profile.h"
#include "thin.h"

struct arguments {
	const char *output;
	char **files;
	size_t nr;
};

/* An object that is in the output: files of one path, build-id and size are one. */
struct object {
	char *bytes; /* path, zero byte, build-id, size */
	size_t size;
};

struct merger {
	struct lwpdata_writer *writer;
	struct lwpdata_config config; /* of the first file, whose mapping stays */
	struct lwpdata_stats stats;
	struct thin thin; /* as much as the thinnest file is */
	bool first_pass; /* which looks how thin the files are */
	struct keys objects; /* by id */
	uint32_t nr[LWPDATA_LISTS]; /* processes and threads in the output */
	/* The file at hand: */
	const char *path;
	uint32_t *object_ids; /* new ids */
	size_t nr_ids, id_room;
	uint32_t first[LWPDATA_LISTS];
	uint64_t start; /* its start_monotonic */
	bool stamped; /* its records have time stamps */
};

/* ---- Objects -------------------------------------------------------------------------------- */

static struct object key_of(const struct lwpdata_object *object)
{
	struct object key = { .size = object->path.size + 1 + object->build_id.size + 8 };
	char *at = key.bytes = must(malloc(key.size));

	memcpy(at, object->path.data, object->path.size);
	at += object->path.size;
	*at++ = '\0';
	if (object->build_id.size)
		memcpy(at, object->build_id.data, object->build_id.size);
	memcpy(at + object->build_id.size, &object->size, 8);
	return key;
}

static int add_object(struct merger *m, struct lwpdata_object *object)
{
	struct object key = key_of(object);
	size_t nr = m->objects.nr, id = keys_number(&m->objects, key.bytes, key.size);
	int status = 0;

	free(key.bytes);
	if (id == nr) {
		object->id = (uint32_t)id;
		status = lwpdata_write_object(m->writer, object);
	}
	*APPEND(m->object_ids, m->nr_ids, m->id_room) = (uint32_t)id;
	return status;
}

/* ---- Sections ------------------------------------------------------------------------------- */

/* All files begin together, at the start of the first. */
static uint64_t moved(const struct merger *m, uint64_t time)
{
	return time - m->start + m->config.start_monotonic;
}

/* What thin_records() writes, with time stamps that are those of the output. */
static int copy_records(struct merger *m, const struct lwpdata_records *records)
{
	size_t size = (size_t)records->count * LWPDATA_RECORD_SIZE;
	uint8_t *bytes = must(malloc(size + 1));
	int status;

	memcpy(bytes, records->data, size);
	for (size_t at = LWP_RECORD_TIMESTAMP; at < size; at += LWPDATA_RECORD_SIZE)
		if (m->stamped && lwp_get64(bytes + at))
			lwp_put64(bytes + at, moved(m, lwp_get64(bytes + at)));
	status = thin_records(&m->thin, m->writer, records->thread, records->time, bytes, size,
			      NULL, 0);
	free(bytes);
	return status;
}

static void add_stats(struct lwpdata_stats *to, const struct lwpdata_stats *more)
{
	for (size_t i = 0; i < sizeof(*to) / sizeof(uint64_t); i++)
		((uint64_t *)to)[i] += ((const uint64_t *)more)[i];
}

/* Its ids, references and times are those of the output. */
static void move(struct merger *m, struct lwpdata_section *s)
{
	for (const struct lwpdata_field *f = lwpdata_fields(s->type); f->kind != FIELD_SECTION;
	     f++) {
		void *at = (char *)&s->config + f->at;
		uint32_t *number = at;
		uint64_t *time = at;

		if (f->kind == FIELD_TIME)
			*time = moved(m, *time);
		else if (f->kind == FIELD_ID)
			*number = m->nr[f->more]++;
		else if (f->kind != FIELD_REFERENCE &&
			 (f->kind != FIELD_OR_NONE || *number == LWPDATA_NONE))
			continue;
		else if (f->more == LIST_OBJECTS)
			*number = m->object_ids[*number];
		else
			*number += m->first[f->more];
	}
}

static int copy(struct merger *m, struct lwpdata_section *s)
{
	if (s->type == LWPDATA_OBJECT)
		return add_object(m, &s->object);
	move(m, s);
	switch (s->type) {
	case LWPDATA_RECORDS:
		return copy_records(m, &s->records);
	case LWPDATA_WINDOW:
		return lwpdata_write_window(m->writer, &s->window, s->window.data,
					    (size_t)s->window.count * LWPDATA_RECORD_SIZE, NULL, 0);
	case LWPDATA_STATS:
		add_stats(&m->stats, &s->stats);
		return 0;
	case LWPDATA_END:
		return 0;
	default:
		/* What this version does not know is left out. */
		return lwpdata_fields(s->type)[-1].more ?
			       lwpdata_write(m->writer, s->type, &s->config) :
			       0;
	}
}

/* Of the file at hand, or in the first pass of the output. */
static void set_kept(struct merger *m, const struct lwpdata_kept *kept)
{
	struct thin_event *e = m->thin.events;
	uint32_t i = 0;

	while (i < m->thin.nr_events && e[i].event_id != kept->event_id)
		i++;
	if (i == LWPDATA_MAX_EVENTS || (i == m->thin.nr_events && !m->first_pass))
		return; /* the files have other events, which is refused */
	if (i == m->thin.nr_events)
		e[m->thin.nr_events++].event_id = kept->event_id;
	if (!m->first_pass)
		e[i].from = kept->bits;
	else if (kept->bits > e[i].bits)
		e[i].bits = kept->bits;
}

/* Records of two files count together only if they stand for the same. */
static bool same_events(const struct merger *m, const struct lwpdata_config *config)
{
	const struct lwpdata_config *first = &m->config;
	bool same = config->revision == first->revision && config->random == first->random &&
		    config->nr_events == first->nr_events;

	for (uint32_t e = 0; same && e < config->nr_events; e++)
		same = config->events[e].event_id == first->events[e].event_id &&
		       config->events[e].interval == first->events[e].interval;
	if (!same)
		complain("%s: other events or intervals than in the first file", m->path);
	return same;
}

static bool begin_output(struct merger *m, const char *output, const struct lwpdata_config *config)
{
	static struct lwpdata_bytes args[LWPDATA_MAX_ARGS];
	int status;

	m->config = *config;
	for (uint32_t i = 0; i < config->nr_args; i++)
		args[i] = lwpdata_arg(config, i);
	m->config.args = args;
	m->writer = lwpdata_create(output);
	if (!m->writer)
		return refuse("%s: %s", output, strerror(errno));
	status = lwpdata_write_config(m->writer, &m->config);
	thin_write_kept(&m->thin, m->writer);
	if (status)
		complain("%s: %s", output, strerror(-status));
	return !status;
}

/* ---- Files ---------------------------------------------------------------------------------- */

static bool copy_sections(struct merger *m, const char *output, const void *data, size_t size)
{
	struct lwpdata_section section;
	struct lwpdata_reader reader;
	struct lwpdata_error error;
	int more = lwpdata_open(&reader, data, size, &error) ? 1 : -1, status;

	m->nr_ids = 0;
	memcpy(m->first, m->nr, sizeof(m->first));
	for (uint32_t i = 0; i < m->thin.nr_events; i++)
		m->thin.events[i].from = 0;
	while (more > 0 && (more = lwpdata_next(&reader, &section, &error)) > 0) {
		if (section.type == LWPDATA_KEPT) {
			set_kept(m, &section.kept);
			continue;
		}
		if (m->first_pass && section.type != LWPDATA_CONFIG)
			return true;
		if (m->first_pass)
			continue;
		if (section.type == LWPDATA_CONFIG) {
			m->start = section.config.start_monotonic;
			m->stamped = section.config.flags & LWP_F_PTSC;
			if (m->writer ? !same_events(m, &section.config) :
					!begin_output(m, output, &section.config))
				return false;
			continue;
		}
		status = copy(m, &section);
		if (status)
			return refuse("%s: %s", output, strerror(-status));
	}
	if (more < 0)
		complain("%s: offset %" PRIu64 ": %s", m->path, error.offset, error.text);
	return more == 0;
}

/* The first file's mapping stays: its CONFIG has pointers into it. */
static bool merge_file(struct merger *m, const char *output, const char *path)
{
	bool good, first = !m->writer && !m->first_pass;
	size_t size;
	void *data = profile_map_file(path, &size);

	m->path = path;
	if (!data)
		return false;
	madvise(data, size, MADV_SEQUENTIAL);
	good = copy_sections(m, output, data, size);
	if (first)
		madvise(data, size, MADV_DONTNEED);
	else
		munmap(data, size);
	return good;
}

static int merge(const struct arguments *a)
{
	struct merger m = { 0 };
	bool good = true;
	int status;

	for (int pass = 1; pass <= 2; pass++) {
		m.first_pass = pass == 1;
		for (size_t i = 0; good && i < a->nr; i++)
			good = merge_file(&m, a->output, a->files[i]);
	}
	if (good) {
		lwpdata_write_stats(m.writer, &m.stats);
		status = lwpdata_finish(m.writer);
		if (status)
			complain("%s: %s", a->output, strerror(-status));
		good = !status;
	} else if (m.writer) {
		lwpdata_abandon(m.writer);
	}
	keys_free(&m.objects);
	free(m.object_ids);
	thin_free(&m.thin);
	return good ? LWPCTL_OK : LWPCTL_FAILED;
}

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "write to FILE (default: lwp.data)", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'o':
		a->output = arg;
		return 0;
	case ARGP_KEY_ARGS:
		a->files = state->argv + state->next;
		a->nr = (size_t)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		bad_usage(state, "it needs the files to put together");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int run(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "FILE...",
		"Put profiles of the same events together, as of many guests.\vFILE is what lwprun "
		"wrote. The command and the date are those of the first."
	};
	struct arguments a = { .output = "lwp.data" };

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	return merge(&a);
}

const struct command cmd_merge = { "merge", run, "put profiles of many guests together" };
