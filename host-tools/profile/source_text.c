// SPDX-License-Identifier: GPL-2.0-or-later
/* The text of source files. Paths come from debugging information: only regular files are opened. */
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "memory.h"
#include "printable.h"
#include "source_text.h"

#define FILE_MAX (64u * 1024 * 1024) /* a longer one is no source */
#define TAB 8

struct source_file {
	char *path;
	char *text; /* NULL: not to be had */
	size_t *lines; /* where each begins, and where the text ends */
	size_t nr;
};

/* ---- Files ---------------------------------------------------------------------------------- */

/* Closes the file. */
static char *read_all(int fd, size_t size)
{
	char *text = must(malloc(size + 1));
	FILE *file = must(fdopen(fd, "r"));
	bool whole = fread(text, 1, size, file) == size;

	fclose(file);
	if (whole)
		return text;
	free(text);
	return NULL;
}

static void split(struct source_file *file, size_t size)
{
	size_t room = 0;

	for (size_t at = 0; at < size;) {
		const char *end = memchr(file->text + at, '\n', size - at);

		*APPEND(file->lines, file->nr, room) = at;
		at = end ? (size_t)(end - file->text) + 1 : size;
	}
	file->lines = grow(file->lines, file->nr, &room, sizeof(*file->lines));
	file->lines[file->nr] = size;
}

static void load(struct source_file *file, const char *sysroot)
{
	struct stat st;
	char *path;
	int fd = -1;

	/* What a compiler called by a relative name is nothing here. */
	if (file->path[0] != '/')
		return;
	path = formatted("%s%s", sysroot, file->path);
	if (!stat(path, &st) && S_ISREG(st.st_mode) && st.st_size < FILE_MAX)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	free(path);
	if (fd < 0)
		return;
	file->text = read_all(fd, (size_t)st.st_size);
	if (file->text)
		split(file, (size_t)st.st_size);
}

static struct source_file *find(struct sources *s, const char *path)
{
	struct source_file *file;

	for (size_t i = 0; i < s->nr; i++)
		if (!strcmp(s->files[i].path, path))
			return &s->files[i];
	file = APPEND(s->files, s->nr, s->room);
	*file = (struct source_file){ .path = copy_string(path, strlen(path)) };
	load(file, s->sysroot);
	return file;
}

/* ---- Lines ---------------------------------------------------------------------------------- */

/* Tabs reach up to the next multiple of 8 bytes. */
static char *without_tabs(const char *text, size_t size)
{
	char *spaces = must(malloc(size * TAB + 1));
	size_t n = 0;

	for (size_t i = 0; i < size; i++) {
		size_t end = text[i] == '\t' ? (n / TAB + 1) * TAB : n + 1;

		while (n < end)
			spaces[n++] = text[i] == '\t' ? ' ' : text[i];
	}
	spaces[n] = '\0';
	return spaces;
}

char *sources_line(struct sources *s, const char *path, int line, size_t most)
{
	const struct source_file *file = find(s, path);
	char *spaces, *shown;
	const char *text;
	size_t size;

	if (line < 1 || (size_t)line > file->nr)
		return NULL;
	text = file->text + file->lines[line - 1];
	size = file->lines[line] - file->lines[line - 1];
	while (size && (text[size - 1] == '\n' || text[size - 1] == '\r'))
		size--;
	spaces = without_tabs(text, size < most ? size : most);
	shown = printable_string(spaces);
	free(spaces);
	return shown;
}

void sources_free(struct sources *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		free(s->files[i].path);
		free(s->files[i].text);
		free(s->files[i].lines);
	}
	free(s->files);
}
