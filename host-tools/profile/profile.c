// SPDX-License-Identifier: GPL-2.0-or-later
/* An lwpdata file as a whole: who ran, what was mapped where and when, which records there are. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lwp_cpuid.h"
#include "lwpctl.h"
#include "memory.h"
#include "printable.h"
#include "profile.h"

#define NEVER UINT64_MAX

static char *text(struct lwpdata_bytes bytes)
{
	return printable(bytes.data, bytes.size);
}

/* ---- Sections ------------------------------------------------------------------------------- */

static void add_object(struct profile *p, const struct lwpdata_object *object)
{
	*APPEND(p->objects, p->nr_objects, p->object_room) = (struct profile_object){
		.path = copy_string(object->path.data, object->path.size),
		.name = text(object->path),
		.size = object->size,
		.flags = object->flags,
		.build_id = object->build_id,
	};
}

static void add_process(struct profile *p, const struct lwpdata_process *process)
{
	*APPEND(p->processes, p->nr_processes, p->process_room) = (struct profile_process){
		.pid = process->pid,
		.time = process->time,
		.parent = process->parent,
		.comm = text(process->comm),
		.exe = text(process->exe),
	};
}

static void new_map(struct profile *p, const struct lwpdata_map *map, uint64_t section)
{
	*APPEND(p->maps, p->nr_maps, p->map_room) = (struct profile_map){
		.object = map->object,
		.process = map->process,
		.start = map->start,
		.end = map->end,
		.offset = map->offset,
		.from = section,
		.to = NEVER,
		.time = map->time,
	};
	ranges_add(&p->processes[map->process].all_maps, map->start, map->end, p->nr_maps - 1);
}

static void add_map(struct profile *p, const struct lwpdata_map *map, uint64_t section)
{
	new_map(p, map, section);
	ranges_add(&p->processes[map->process].maps, map->start, map->end, p->nr_maps - 1);
}

static void add_data_map(struct profile *p, const struct lwpdata_data_map *data, uint64_t section)
{
	new_map(p, &data->map, section);
	if (data->map.object == LWPDATA_NONE && data->name.size)
		p->maps[p->nr_maps - 1].name = text(data->name);
	p->maps[p->nr_maps - 1].data = true;
	p->has_data = true;
}

static void end_map(struct profile *p, const struct lwpdata_unmap *unmap, uint64_t section,
		    bool data)
{
	const struct ranges *maps = &p->processes[unmap->process].all_maps;

	for (size_t i = maps->nr; i-- > 0;) {
		struct profile_map *map = &p->maps[maps->list[i].item];

		if (map->start == unmap->start && map->end == unmap->end && map->to == NEVER &&
		    map->data == data) {
			map->to = section;
			return;
		}
	}
}

static void add_thread(struct profile *p, const struct lwpdata_thread *thread)
{
	struct profile_thread *new;

	new = APPEND(p->threads, p->nr_threads, p->thread_room);
	*new = (struct profile_thread){
		.process = thread->process,
		.tid = thread->tid,
		.time = thread->time,
		.comm = text(thread->comm),
	};
	memcpy(new->initial, thread->initial, sizeof(new->initial));
}

static void end_thread(struct profile *p, const struct lwpdata_thread_end *end)
{
	struct profile_thread *thread = &p->threads[end->thread];

	thread->ended = true;
	thread->flags = end->flags;
	thread->missed = end->missed;
	memcpy(thread->final, end->final, sizeof(thread->final));
	if (end->comm.size) {
		free(thread->comm);
		thread->comm = text(end->comm);
	}
}

static void count_events(const struct profile *p, struct profile_thread *thread,
			 const uint8_t *data, uint32_t count)
{
	uint8_t index[256];

	memset(index, LWPDATA_MAX_EVENTS, sizeof(index));
	for (uint32_t e = p->config.nr_events; e-- > 0;)
		index[p->config.events[e].event_id] = (uint8_t)e;
	for (uint32_t i = 0; i < count; i++) {
		/* EventId is the first byte. */
		uint8_t e = index[data[(size_t)i * LWPDATA_RECORD_SIZE]];

		if (e < LWPDATA_MAX_EVENTS)
			thread->per_event[e]++;
		thread->records += e < LWPDATA_MAX_EVENTS ? 1ull << p->kept[e] : 1;
	}
}

static void add_batch(struct profile *p, const struct lwpdata_records *records, uint64_t section)
{
	struct profile_thread *thread = &p->threads[records->thread];

	*APPEND(p->batches, p->nr_batches, p->batch_room) = (struct profile_batch){
		.thread = records->thread,
		.count = records->count,
		.section = section,
		.time = records->time,
		.data = records->data,
	};
	memcpy(p->batches[p->nr_batches - 1].kept, p->kept, sizeof(p->kept));
	count_events(p, thread, records->data, records->count);
}

uint64_t profile_stamp(const struct profile *p, const struct lwp_record *record, uint64_t taken)
{
	uint64_t stamp = record->timestamp;

	return p->config.flags & LWP_F_PTSC && stamp >= p->config.start_monotonic &&
			       stamp <= taken ?
		       stamp :
		       0;
}

static void add_window(struct profile *p, const struct lwpdata_window *window, uint64_t section)
{
	struct profile_thread *thread = &p->threads[window->thread];

	*APPEND(p->windows, p->nr_windows, p->window_room) = (struct profile_window){
		.thread = window->thread,
		.count = window->count,
		.flags = window->flags,
		.section = section,
		.time = window->time,
		.weight = window->weight,
		.data = window->data,
	};
	thread->windows++;
	count_events(p, thread, window->data, window->count);
}

static void add_stack(struct profile *p, const struct lwpdata_stack *stack, uint64_t section)
{
	*APPEND(p->stacks, p->nr_stacks, p->stack_room) = (struct profile_stack){
		.thread = stack->thread,
		.weight = stack->weight,
		.nr = (uint32_t)(stack->addresses.size / sizeof(uint64_t)),
		.section = section,
		.time = stack->time,
		.addresses = stack->addresses.data,
	};
}

void profile_add(struct profile *p, const struct lwpdata_section *s, uint64_t number)
{
	switch (s->type) {
	case LWPDATA_CONFIG:
		p->config = s->config;
		break;
	case LWPDATA_OBJECT:
		add_object(p, &s->object);
		break;
	case LWPDATA_PROCESS:
		add_process(p, &s->process);
		break;
	case LWPDATA_MAP:
		add_map(p, &s->map, number);
		break;
	case LWPDATA_DATA_MAP:
		add_data_map(p, &s->data_map, number);
		break;
	case LWPDATA_UNMAP:
	case LWPDATA_DATA_UNMAP:
		end_map(p, &s->unmap, number, s->type == LWPDATA_DATA_UNMAP);
		break;
	case LWPDATA_THREAD:
		add_thread(p, &s->thread);
		break;
	case LWPDATA_RECORDS:
		add_batch(p, &s->records, number);
		break;
	case LWPDATA_WINDOW:
		add_window(p, &s->window, number);
		break;
	case LWPDATA_STACK:
		add_stack(p, &s->stack, number);
		break;
	case LWPDATA_THREAD_END:
		end_thread(p, &s->thread_end);
		break;
	case LWPDATA_PROCESS_END:
		p->processes[s->process_end.process].ended = true;
		p->processes[s->process_end.process].how = s->process_end.how;
		break;
	case LWPDATA_PERF_MAP:
		p->processes[s->perf_map.process].perf_map = s->perf_map.text;
		p->processes[s->perf_map.process].perf_map_cut = s->perf_map.flags &
								 LWPDATA_PERF_MAP_CUT;
		break;
	case LWPDATA_IMAGE:
		p->objects[s->image.object].image = s->image.bytes;
		break;
	case LWPDATA_STATS:
		p->stats = s->stats;
		break;
	case LWPDATA_KEPT:
		for (uint32_t e = 0; e < p->config.nr_events; e++)
			if (p->config.events[e].event_id == s->kept.event_id)
				p->kept[e] = (uint8_t)s->kept.bits;
		break;
	default:
		break;
	}
}

void profile_sort(struct profile *p)
{
	for (size_t i = 0; i < p->nr_processes; i++) {
		ranges_sort(&p->processes[i].maps);
		ranges_sort(&p->processes[i].all_maps);
	}
}

/* ---- The file ------------------------------------------------------------------------------- */

void *profile_map_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	void *file = MAP_FAILED;
	struct stat st = { 0 };

	if (fd >= 0 && !fstat(fd, &st)) {
		*size = (size_t)st.st_size;
		if (S_ISREG(st.st_mode) && *size)
			file = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
		else
			errno = 0;
	}
	if (file == MAP_FAILED)
		complain("%s: %s", path,
			 errno		     ? strerror(errno) :
			 S_ISREG(st.st_mode) ? "empty" :
					       "not a regular file");
	if (fd >= 0)
		close(fd);
	return file == MAP_FAILED ? NULL : file;
}

bool profile_load(struct profile *p, const char *path)
{
	struct lwpdata_error error;
	struct lwpdata_section section;
	struct lwpdata_reader reader;
	int more;

	*p = (struct profile){ .path = path };
	p->file = profile_map_file(path, &p->size);
	if (!p->file)
		return false;
	more = lwpdata_open(&reader, p->file, p->size, &error) ? 1 : -1;
	while (more > 0) {
		more = lwpdata_next(&reader, &section, &error);
		if (more > 0)
			profile_add(p, &section, reader.sections);
	}
	if (more < 0)
		return refuse("%s: offset %" PRIu64 ": %s", path, error.offset, error.text);
	profile_sort(p);
	return true;
}

void profile_free(struct profile *p)
{
	for (size_t i = 0; i < p->nr_objects; i++) {
		free(p->objects[i].path);
		free(p->objects[i].name);
	}
	for (size_t i = 0; i < p->nr_processes; i++) {
		free(p->processes[i].comm);
		free(p->processes[i].exe);
		ranges_free(&p->processes[i].maps);
		ranges_free(&p->processes[i].all_maps);
	}
	for (size_t i = 0; i < p->nr_maps; i++)
		free(p->maps[i].name);
	for (size_t i = 0; i < p->nr_threads; i++)
		free(p->threads[i].comm);
	free(p->objects);
	free(p->processes);
	free(p->threads);
	free(p->maps);
	free(p->batches);
	free(p->windows);
	free(p->stacks);
	if (p->file)
		munmap(p->file, p->size);
}

/* ---- Questions ------------------------------------------------------------------------------ */

static size_t find(const struct profile *p, const struct ranges *maps, uint64_t section,
		   uint64_t address)
{
	size_t later = SIZE_MAX, earlier = SIZE_MAX, place = SIZE_MAX;
	const struct range *range;

	while ((range = ranges_next(maps, address, &place))) {
		const struct profile_map *map = &p->maps[range->item];

		if (map->from <= section && section < map->to)
			return range->item;
		if (map->from > section && (later == SIZE_MAX || map->from < p->maps[later].from))
			later = range->item;
		if (map->to <= section && (earlier == SIZE_MAX || map->to > p->maps[earlier].to))
			earlier = range->item;
	}
	return later != SIZE_MAX ? later : earlier;
}

size_t profile_find_map(const struct profile *p, uint32_t process, uint64_t section,
			uint64_t address)
{
	return find(p, &p->processes[process].maps, section, address);
}

size_t profile_find_data(const struct profile *p, uint32_t process, uint64_t section,
			 uint64_t address)
{
	return find(p, &p->processes[process].all_maps, section, address);
}

char *profile_command(const struct profile *p)
{
	char *command = NULL, *shown;
	size_t size;
	FILE *to = must(open_memstream(&command, &size));

	for (uint32_t i = 0; i < p->config.nr_args; i++) {
		struct lwpdata_bytes arg = lwpdata_arg(&p->config, i);

		fprintf(to, "%s%.*s", i ? " " : "", (int)arg.size, (const char *)arg.data);
	}
	if (fclose(to))
		must(NULL);
	shown = printable(command, size);
	free(command);
	return shown;
}

uint32_t kind_by_rev(const struct lwp_rev *rev, uint32_t event_id)
{
	if (event_id == LWP_EVENT_ID_INS)
		return LWP_EVENT_ID_INS;
	return event_id <= LWP_MAX_EVENT_ID ? rev->kind[event_id] : LWP_KIND_NONE;
}

uint32_t profile_kind(const struct profile *p, uint32_t event_id)
{
	return kind_by_rev(lwp_rev_get(p->config.revision), event_id);
}

uint32_t profile_event(const struct profile *p, uint32_t kind)
{
	for (uint32_t e = 0; e < p->config.nr_events; e++)
		if (!kind || profile_kind(p, p->config.events[e].event_id) == kind)
			return p->config.events[e].event_id;
	return 0;
}

uint32_t profile_event_index(const struct profile *p, uint32_t event_id)
{
	uint32_t e = 0;

	while (e < p->config.nr_events && p->config.events[e].event_id != event_id)
		e++;
	return e;
}

const char *profile_event_name(const struct profile *p, uint32_t event_id)
{
	static char unknown[16];
	const char *name = lwpdata_event_name(profile_kind(p, event_id));

	if (name)
		return name;
	snprintf(unknown, sizeof(unknown), "event %" PRIu32, event_id);
	return unknown;
}
