// SPDX-License-Identifier: GPL-2.0-or-later
/* The mappings of a process, as /proc tells them, and the files behind them. */
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mappings.h"

#define VDSO "[vdso]"
/* Every program has it, above all that it maps. */
#define STACK "[stack]"

struct object {
	char *path;
	unsigned long inode;
	unsigned int major, minor;
};

/* One line of /proc/PID/maps. */
struct line {
	uint64_t start, end, offset;
	unsigned long inode;
	unsigned int major, minor;
	char perms[5];
	char *path; /* "" for anonymous memory */
};

static bool parse_line(char *text, struct line *line)
{
	int path_at = 0;

	text[strcspn(text, "\n")] = '\0';
	if (sscanf(text, "%lx-%lx %4s %lx %x:%x %lu %n", &line->start, &line->end, line->perms,
		   &line->offset, &line->major, &line->minor, &line->inode, &path_at) < 7)
		return false;
	line->path = text + path_at;
	return line->start < line->end;
}

/* ---- Objects -------------------------------------------------------------------------------- */

/* A device may not even be opened: that may do something. */
static int open_file(const char *name)
{
	struct stat st;

	if (stat(name, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	return open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* The mapped file itself where the kernel lets us, else what now has its name. */
static int open_object(pid_t pid, const struct line *line)
{
	char name[PATH_MAX + 64];
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/map_files/%lx-%lx", pid, line->start, line->end);
	fd = open_file(name);
	if (fd >= 0)
		return fd;
	snprintf(name, sizeof(name), "/proc/%d/root%s", pid, line->path);
	return open_file(name);
}

/* Copies a file's build-id to `id`; returns its length, 0 if it has none. */
static size_t read_build_id(int fd, uint8_t id[LWPDATA_MAX_BUILD_ID])
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	const void *bytes;
	ssize_t n = elf ? dwelf_elf_gnu_build_id(elf, &bytes) : 0;

	if (n > LWPDATA_MAX_BUILD_ID)
		n = 0;
	if (n > 0)
		memcpy(id, bytes, (size_t)n);
	elf_end(elf);
	return n > 0 ? (size_t)n : 0;
}

static void write_object(uint32_t id, pid_t pid, const struct line *line, bool profiler,
			 struct lwpdata_writer *writer)
{
	uint8_t build_id[LWPDATA_MAX_BUILD_ID];
	struct lwpdata_object object = {
		.id = id,
		.flags = profiler ? LWPDATA_OBJECT_PROFILER : 0,
		.path = lwpdata_text(line->path),
		.build_id = { build_id, 0 },
	};
	struct stat st;
	int fd;

	if (!line->inode) {
		lwpdata_write_object(writer, &object);
		return;
	}
	fd = open_object(pid, line);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		object.size = (uint64_t)st.st_size;
		object.build_id.size = read_build_id(fd, build_id);
	} else {
		object.flags |= LWPDATA_OBJECT_UNREADABLE;
	}
	if (fd >= 0)
		close(fd);
	lwpdata_write_object(writer, &object);
}

/* The vDSO is no file; every process of this kernel has the one that we have. */
static void write_vdso(uint32_t id, const struct line *line, struct lwpdata_writer *writer)
{
	const struct lwpdata_image image = {
		.object = id,
		.bytes = { (const uint8_t *)getauxval(AT_SYSINFO_EHDR),
			   (size_t)(line->end - line->start) },
	};

	if (image.bytes.data)
		lwpdata_write_image(writer, &image);
}

/* NULL without memory: then the profile fails, and the program runs on. */
static void *make_room(void *list, size_t nr, size_t *room, size_t item,
		       struct lwpdata_writer *writer)
{
	void *bigger;

	if (nr < *room)
		return list;
	bigger = reallocarray(list, 2 * nr + 64, item);
	if (bigger)
		*room = 2 * nr + 64;
	else
		lwpdata_fail(writer, -ENOMEM);
	return bigger;
}

static uint32_t find_object(struct objects *objects, pid_t pid, const struct line *line,
			    struct lwpdata_writer *writer)
{
	struct object *object;
	uint32_t id;

	/* The newest first: a file that was replaced has a new inode and maybe the same name. */
	for (size_t i = objects->nr; i-- > 0;) {
		object = &objects->list[i];
		if (object->inode == line->inode && object->major == line->major &&
		    object->minor == line->minor && !strcmp(object->path, line->path))
			return (uint32_t)i;
	}
	object = make_room(objects->list, objects->nr, &objects->room, sizeof(*object), writer);
	if (!object)
		return LWPDATA_NONE;
	objects->list = object;
	object += objects->nr;
	object->path = strdup(line->path);
	if (!object->path)
		return LWPDATA_NONE;
	object->inode = line->inode;
	object->major = line->major;
	object->minor = line->minor;
	id = (uint32_t)objects->nr++;
	write_object(id, pid, line, !strcmp(line->path, objects->profiler), writer);
	if (!strcmp(line->path, VDSO))
		write_vdso(id, line, writer);
	return id;
}

void objects_free(struct objects *objects)
{
	for (size_t i = 0; i < objects->nr; i++)
		free(objects->list[i].path);
	for (size_t i = 0; i < objects->nr_names; i++)
		free(objects->names[i]);
	free(objects->names);
	free(objects->list);
}

/* ---- Mappings ------------------------------------------------------------------------------- */

/* Files and the vDSO are objects; [heap], [stack] and nameless memory are anonymous. */
static bool is_object(const struct line *line)
{
	return line->inode || !strcmp(line->path, VDSO);
}

static const char *keep_name(struct objects *objects, const char *name,
			     struct lwpdata_writer *writer)
{
	char **names, *copy;

	if (!*name)
		return NULL;
	for (size_t i = 0; i < objects->nr_names; i++)
		if (!strcmp(objects->names[i], name))
			return objects->names[i];
	names = make_room(objects->names, objects->nr_names, &objects->names_room, sizeof(*names),
			  writer);
	if (!names)
		return NULL;
	objects->names = names;
	copy = strdup(name);
	if (copy)
		names[objects->nr_names++] = copy;
	return copy;
}

static void add_mapping(struct mappings *into, pid_t pid, const struct line *line,
			struct objects *objects, struct lwpdata_writer *writer)
{
	struct mapping *mapping;

	mapping = make_room(into->list, into->nr, &into->room, sizeof(*mapping), writer);
	if (!mapping)
		return;
	into->list = mapping;
	mapping += into->nr++;
	mapping->start = line->start;
	mapping->end = line->end;
	mapping->offset = line->offset;
	mapping->object = is_object(line) ? find_object(objects, pid, line, writer) : LWPDATA_NONE;
	mapping->data = !strchr(line->perms, 'x');
	mapping->name = mapping->data && !is_object(line) ? keep_name(objects, line->path, writer) :
							    NULL;
}

/* Without data, code only. What cannot be read or written holds no data: guard pages, reserved memory. */
static bool is_wanted(const struct line *line, const struct objects *objects)
{
	return strchr(line->perms, 'x') || (objects->with_data && strpbrk(line->perms, "rw"));
}

enum mappings_owner mappings_read(struct mappings *into, pid_t pid, pid_t tid, ino_t pool_inode,
				  struct objects *objects, struct lwpdata_writer *writer)
{
	bool has_pool = false, complete = false;
	struct line line;
	size_t room = 0;
	char *text = NULL;
	char path[64];
	FILE *file;

	into->nr = 0;
	/* Not /proc/PID/maps: that of a first thread that has ended is empty. */
	snprintf(path, sizeof(path), "/proc/%d/task/%d/maps", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return MAPPINGS_UNREADABLE;
	while (getline(&text, &room, file) > 0) {
		if (!parse_line(text, &line))
			continue;
		has_pool |= line.inode == pool_inode && !strncmp(line.path, "/memfd:", 7);
		complete |= !strcmp(line.path, STACK);
		if (is_wanted(&line, objects))
			add_mapping(into, pid, &line, objects, writer);
	}
	free(text);
	fclose(file);
	/* If the process ends or execs while we read, the list just stops. */
	if (!complete)
		return MAPPINGS_UNREADABLE;
	return has_pool ? MAPPINGS_OURS : MAPPINGS_FOREIGN;
}

void mappings_free(struct mappings *mappings)
{
	free(mappings->list);
}

static bool same(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->object == b->object && a->data == b->data && a->name == b->name;
}

/* Is `mapping` in `all`? Both lists are walked in order: *from keeps the place. */
static bool contains(const struct mappings *all, size_t *from, const struct mapping *mapping)
{
	while (*from < all->nr && all->list[*from].start < mapping->start)
		(*from)++;
	return *from < all->nr && same(&all->list[*from], mapping);
}

static void write_map(const struct mapping *m, uint32_t process, uint64_t time,
		      struct lwpdata_writer *writer)
{
	const struct lwpdata_data_map data = {
		.map = {
			.process = process,
			.object = m->object,
			.time = time,
			.start = m->start,
			.end = m->end,
			.offset = m->offset,
		},
		.name = lwpdata_text(m->name ?: ""),
	};

	if (m->data)
		lwpdata_write_data_map(writer, &data);
	else
		lwpdata_write_map(writer, &data.map);
}

static void write_unmap(const struct mapping *m, uint32_t process, uint64_t time,
			struct lwpdata_writer *writer)
{
	const struct lwpdata_unmap unmap = {
		.process = process,
		.time = time,
		.start = m->start,
		.end = m->end,
	};

	if (m->data)
		lwpdata_write_data_unmap(writer, &unmap);
	else
		lwpdata_write_unmap(writer, &unmap);
}

void mappings_write_changes(const struct mappings *old, const struct mappings *now,
			    uint32_t process, uint64_t time, struct lwpdata_writer *writer)
{
	size_t from = 0;

	for (size_t i = 0; i < old->nr; i++)
		if (!contains(now, &from, &old->list[i]))
			write_unmap(&old->list[i], process, time, writer);
	from = 0;
	for (size_t i = 0; i < now->nr; i++)
		if (!contains(old, &from, &now->list[i]))
			write_map(&now->list[i], process, time, writer);
}
