// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From an address in a process to names.
 */
#include <string.h>

#include "memory.h"
#include "resolve.h"

#define PROFILER "[lwprun]"
#define DELETED " (deleted)"

void resolver_init(struct resolver *r, const struct profile *profile, const char *sysroot,
		   bool lines)
{
	*r = (struct resolver){ .profile = profile, .sysroot = sysroot, .lines = lines };
	r->objects = must(calloc(profile->nr_objects + 1, sizeof(*r->objects)));
	r->perf_maps = must(calloc(profile->nr_processes + 1, sizeof(*r->perf_maps)));
}

static struct symbols *open_object(struct resolver *r, uint32_t id)
{
	const struct profile_object *object = &r->profile->objects[id];
	size_t length = strlen(object->path), tail = strlen(DELETED);
	char *path;

	if (!r->objects[id]) {
		/* What has its name now is used if it is the same, by build-id. */
		if (length > tail && !strcmp(object->path + length - tail, DELETED))
			length -= tail;
		path = copy_string(object->path, length);
		r->objects[id] = symbols_open(r->sysroot, path, object->build_id, object->image);
		free(path);
	}
	return r->objects[id];
}

static const char *name_in_perf_map(struct resolver *r, uint32_t process, uint64_t address)
{
	const struct profile_process *p = &r->profile->processes[process];

	if (!p->perf_map.size)
		return NULL;
	if (!r->perf_maps[process])
		r->perf_maps[process] = symbols_open_perf_map(p->perf_map);
	return symbols_name(r->perf_maps[process], address);
}

/* Memory that no ELF file is behind: only a perf map can have names for it. */
static void resolve_anonymous(struct resolver *r, uint32_t process, const char *object,
			      uint64_t address, struct place *place)
{
	const char *name = name_in_perf_map(r, process, address);

	place->symbol = intern(&r->strings, name ?: NO_SYMBOL);
	place->object = intern(&r->strings, name ? "[jit]" : object);
}

void resolve(struct resolver *r, uint32_t process, size_t map_index, uint64_t address,
	     struct place *place)
{
	const struct profile_map *map;
	struct symbols *symbols;
	const char *name, *file;
	uint64_t offset;

	*place = (struct place){ .object_id = LWPDATA_NONE };
	if (map_index == SIZE_MAX) {
		resolve_anonymous(r, process, "[unmapped]", address, place);
		return;
	}
	map = &r->profile->maps[map_index];
	if (map->object == LWPDATA_NONE) {
		resolve_anonymous(r, process, "[anon]", address, place);
		return;
	}
	symbols = open_object(r, map->object);
	offset = address - map->start + map->offset;
	name = symbols_name(symbols, offset);
	/* Code that a compiler put into a mapped file of its own. */
	if (symbols_problem(symbols) && (name = name_in_perf_map(r, process, address))) {
		resolve_anonymous(r, process, "[jit]", address, place);
		return;
	}
	place->object_id = map->object;
	place->object = intern(&r->strings, r->profile->objects[map->object].path);
	place->symbol = intern(&r->strings, name ?: NO_SYMBOL);
	/* What little of lwprun's own library was counted is not the program's. */
	if (r->profile->objects[map->object].flags & LWPDATA_OBJECT_PROFILER) {
		place->symbol = intern(&r->strings, PROFILER);
		return;
	}
	if (r->lines && symbols_line(symbols, offset, &file, &place->line))
		place->file = intern(&r->strings, file);
}

const char *resolver_problem(const struct resolver *r, uint32_t object)
{
	return r->objects[object] ? symbols_problem(r->objects[object]) : NULL;
}

void resolver_free(struct resolver *r)
{
	for (size_t i = 0; i < r->profile->nr_objects; i++)
		if (r->objects[i])
			symbols_free(r->objects[i]);
	for (size_t i = 0; i < r->profile->nr_processes; i++)
		if (r->perf_maps[i])
			symbols_free(r->perf_maps[i]);
	free(r->objects);
	free(r->perf_maps);
	intern_free(&r->strings);
}
