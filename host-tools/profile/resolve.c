// SPDX-License-Identifier: GPL-2.0-or-later
/* From an address in a process to names. */
#include <inttypes.h>
#include <string.h>

#include "demangle.h"
#include "memory.h"
#include "printable.h"
#include "resolve.h"

#define PROFILER "[lwprun]"
#define INLINED_MAX 32 /* functions in one another */
#define DELETED " (deleted)"

void resolver_init(struct resolver *r, const struct profile *profile, const char *sysroot,
		   bool lines)
{
	*r = (struct resolver){ .profile = profile, .sysroot = sysroot, .lines = lines };
	resolver_update(r);
}

/* `nr` + 1 items, so that there is one; those from `had` on are zero. */
static void *enlarge(void *list, size_t had, size_t nr, size_t item)
{
	char *bytes = must(reallocarray(list, nr + 1, item));

	memset(bytes + had * item, 0, (nr + 1 - had) * item);
	return bytes;
}

void resolver_update(struct resolver *r)
{
	const struct profile *p = r->profile;

	r->objects = enlarge(r->objects, r->nr_objects, p->nr_objects, sizeof(*r->objects));
	r->has_code = enlarge(r->has_code, r->nr_objects, p->nr_objects, sizeof(*r->has_code));
	r->perf_maps =
		enlarge(r->perf_maps, r->nr_processes, p->nr_processes, sizeof(*r->perf_maps));
	r->nr_objects = p->nr_objects;
	r->nr_processes = p->nr_processes;
}

struct symbols *resolver_object(struct resolver *r, uint32_t id)
{
	const struct profile_object *object = &r->profile->objects[id];
	size_t length = strlen(object->path), tail = strlen(DELETED);
	char *path;

	if (!r->objects[id]) {
		/* What has its name now is used if it is the same, by build-id. */
		if (length > tail && !strcmp(object->path + length - tail, DELETED))
			length -= tail;
		path = copy_string(object->path, length);
		r->objects[id] = symbols_open(r->sysroot, path, object->size, object->build_id,
					      object->image);
		free(path);
	}
	return r->objects[id];
}

struct symbols *resolver_perf_map(struct resolver *r, uint32_t process)
{
	const struct profile_process *p = &r->profile->processes[process];

	if (p->perf_map.size && !r->perf_maps[process])
		r->perf_maps[process] = symbols_open_perf_map(p->perf_map);
	return r->perf_maps[process];
}

static const char *name_in_perf_map(struct resolver *r, uint32_t process, uint64_t address)
{
	const struct symbols *symbols = resolver_perf_map(r, process);

	return symbols ? symbols_name(symbols, address) : NULL;
}

/* ---- Names ---------------------------------------------------------------------------------- */

/* The one printable copy. Names come from files and from programs of the guest. */
static const char *keep(struct resolver *r, const char *text)
{
	char *shown = printable_string(text);
	const char *kept = intern(&r->strings, shown);

	free(shown);
	return kept;
}

/* "NAME@plt" is the stub of a function whose name may be mangled. */
static const char *keep_name(struct resolver *r, const char *name)
{
	const char *at = strchr(name, '@'), *kept;
	char *function = copy_string(name, at ? (size_t)(at - name) : strlen(name)), *text;
	char *source = r->mangled ? NULL : demangle(function);

	text = formatted("%s%s", source ?: function, at ?: "");
	kept = keep(r, text);
	free(text);
	free(source);
	free(function);
	return kept;
}

const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *object_and_address(struct resolver *r, const char *object, uint64_t address)
{
	char *text = formatted("%s+%#" PRIx64, last_part(object), address);
	const char *kept = intern(&r->strings, text);

	free(text);
	return kept;
}

static void add_inlined(struct resolver *r, const struct symbols *symbols, uint64_t offset,
			struct place *place)
{
	const char *names[INLINED_MAX];
	unsigned int nr = symbols_inlined(symbols, offset, names, INLINED_MAX);
	struct inlined *inlined;

	if (!nr)
		return;
	inlined = must(malloc(sizeof(*inlined) + nr * sizeof(inlined->names[0])));
	inlined->nr = nr;
	for (unsigned int i = 0; i < nr; i++)
		inlined->names[i] = keep_name(r, names[i]);
	*APPEND(r->all_inlined, r->nr_inlined, r->inlined_room) = inlined;
	place->inlined = inlined;
}

/* A path without the parts "." and "..", in place. */
static void shorten(char *path)
{
	char *to = path;

	for (const char *from = path; *from;) {
		size_t length = strcspn(from + 1, "/") + 1; /* with the slash before it */

		if (length == 3 && !strncmp(from, "/..", length)) {
			while (to > path && *--to != '/')
				;
		} else if (length > 1 && (length != 2 || from[1] != '.')) {
			memmove(to, from, length);
			to += length;
		}
		from += length;
	}
	*to = '\0';
}

/* The path of a source file, absolute if the compiler's folder is known. */
static const char *keep_path(struct resolver *r, const char *folder, const char *file)
{
	const char *kept;
	char *path;

	if (file[0] == '/' || !folder || folder[0] != '/')
		return keep(r, file);
	path = formatted("%s/%s", folder, file);
	shorten(path);
	kept = keep(r, path);
	free(path);
	return kept;
}

/* ---- Places --------------------------------------------------------------------------------- */

/* Memory that no ELF file backs: only a perf map can have names for it. */
static void resolve_anonymous(struct resolver *r, uint32_t process, const char *object,
			      uint64_t address, struct place *place)
{
	const char *name = name_in_perf_map(r, process, address);

	place->named = name;
	place->symbol = keep(r, name ?: NO_SYMBOL);
	place->object = intern(&r->strings, name ? "[jit]" : object);
	place->address = address;
}

static void resolve_symbol(struct resolver *r, const struct symbols *symbols, uint64_t offset,
			   struct place *place)
{
	const char *name = symbols_name(symbols, offset);
	uint64_t start, end;

	place->named = name;
	if (name)
		place->symbol = keep_name(r, name);
	else if (symbols_unnamed(symbols, offset, &start, &end))
		place->symbol = object_and_address(r, place->object, start);
	else
		place->symbol = intern(&r->strings, NO_SYMBOL);
}

void resolve(struct resolver *r, uint32_t process, size_t map_index, uint64_t address,
	     struct place *place)
{
	const struct profile_map *map;
	struct symbols *symbols;
	const char *folder, *file;
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
	r->has_code[map->object] = true;
	symbols = resolver_object(r, map->object);
	offset = address - map->start + map->offset;
	/* Code that a compiler put into a mapped file of its own. */
	if (symbols_problem(symbols) && name_in_perf_map(r, process, address)) {
		resolve_anonymous(r, process, "[jit]", address, place);
		return;
	}
	place->object_id = map->object;
	place->object = intern(&r->strings, r->profile->objects[map->object].name);
	if (!symbols_address(symbols, offset, &place->address))
		place->address = offset;
	/* What little of lwprun's own library was counted is not the program's. */
	if (r->profile->objects[map->object].flags & LWPDATA_OBJECT_PROFILER) {
		place->symbol = intern(&r->strings, PROFILER);
		place->named = true;
		return;
	}
	resolve_symbol(r, symbols, offset, place);
	if (r->lines && symbols_line(symbols, offset, &folder, &file, &place->line))
		place->file = keep_path(r, folder, file);
	if (r->inlines)
		add_inlined(r, symbols, offset, place);
}

/* ---- Data ----------------------------------------------------------------------------------- */

/* "OBJECT SECTION"; the object alone if its file does not say which section. */
static const char *object_and_section(struct resolver *r, uint32_t object, const char *section)
{
	const char *name = r->profile->objects[object].name, *kept;
	char *text;

	if (!section)
		return intern(&r->strings, name);
	text = formatted("%s %s", name, section);
	kept = keep(r, text);
	free(text);
	return kept;
}

/* `offset` is in the object's file, or after it in its .bss: false if there it is not. */
static bool resolve_object_data(struct resolver *r, uint32_t object, uint64_t offset,
				struct data_place *place)
{
	struct symbols *symbols = resolver_object(r, object);
	uint64_t address, start;
	const char *variable;

	if (!symbols_data_address(symbols, offset, &address))
		return false;
	place->name = object_and_section(r, object, symbols_section(symbols, address));
	variable = symbols_variable(symbols, address, &start);
	if (variable) {
		place->variable = keep_name(r, variable);
		place->offset = address - start;
	}
	return true;
}

/* Nameless memory right after an object may be the rest of its .bss. */
static bool resolve_bss(struct resolver *r, uint32_t process, uint64_t section,
			const struct profile_map *map, uint64_t address, struct data_place *place)
{
	size_t before = profile_find_data(r->profile, process, section, map->start - 1);
	const struct profile_map *file;

	if (before == SIZE_MAX)
		return false;
	file = &r->profile->maps[before];
	return file->object != LWPDATA_NONE && file->end == map->start &&
	       resolve_object_data(r, file->object, address - file->start + file->offset, place);
}

void resolve_data(struct resolver *r, uint32_t process, uint64_t section, uint64_t address,
		  struct data_place *place)
{
	size_t index = profile_find_data(r->profile, process, section, address);
	const struct profile_map *map;

	*place = (struct data_place){ .variable = intern(&r->strings, NO_VARIABLE) };
	if (index == SIZE_MAX) {
		place->name = intern(&r->strings, "[unmapped]");
		place->offset = address;
		return;
	}
	map = &r->profile->maps[index];
	place->offset = address - map->start;
	if (map->object != LWPDATA_NONE) {
		if (!resolve_object_data(r, map->object, place->offset + map->offset, place))
			place->name = object_and_section(r, map->object, NULL);
	} else if (map->name) {
		place->name = intern(&r->strings, map->name);
	} else if (!resolve_bss(r, process, section, map, address, place)) {
		place->name = intern(&r->strings, "[anon]");
	}
}

const char *resolver_problem(const struct resolver *r, uint32_t object)
{
	return r->objects[object] && r->has_code[object] ? symbols_problem(r->objects[object]) :
							   NULL;
}

void resolver_free(struct resolver *r)
{
	for (size_t i = 0; i < r->nr_objects; i++)
		if (r->objects[i])
			symbols_free(r->objects[i]);
	for (size_t i = 0; i < r->nr_processes; i++)
		if (r->perf_maps[i])
			symbols_free(r->perf_maps[i]);
	for (size_t i = 0; i < r->nr_inlined; i++)
		free(r->all_inlined[i]);
	free(r->all_inlined);
	free(r->objects);
	free(r->has_code);
	data_places_free(&r->data);
	free(r->perf_maps);
	keys_free(&r->strings);
}
