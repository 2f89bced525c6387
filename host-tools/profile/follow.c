// SPDX-License-Identifier: GPL-2.0-or-later
/* A profile that grows. The file is mapped once, with room for what comes, so that what was read stays where it is. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "follow.h"
#include "lwpctl.h"
#include "memory.h"

#define ROOM (1ull << 40) /* of addresses */
#define SUFFIX 6 /* characters that mkstemp() draws */

/* ---- Which file ----------------------------------------------------------------------------- */

static bool newer(const struct stat *a, const struct stat *b)
{
	const struct timespec *x = &a->st_mtim, *y = &b->st_mtim;

	return (ORDER(x->tv_sec, y->tv_sec) ?: ORDER(x->tv_nsec, y->tv_nsec)) > 0;
}

/* Is it the temporary name of a file: NAME.XXXXXX? */
static bool is_temporary(const char *entry, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(entry, name, length) && entry[length] == '.' &&
	       strlen(entry + length + 1) == SUFFIX;
}

/* The newest of `path` and the temporary files beside it; NULL if there is none. */
static char *newest(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? copy_string(path, (size_t)(slash - path) + 1) : copy_string("./", 2);
	char *best = stat(path, &(struct stat){ 0 }) ? NULL : copy_string(path, strlen(path));
	DIR *dir = opendir(folder);
	struct stat st, best_st;

	while (dir) {
		struct dirent *entry = readdir(dir);
		char *file;

		if (!entry)
			break;
		if (!is_temporary(entry->d_name, slash ? slash + 1 : path))
			continue;
		file = formatted("%s%s", folder, entry->d_name);
		if (stat(file, &st) || !S_ISREG(st.st_mode) ||
		    (best && !stat(best, &best_st) && !newer(&st, &best_st))) {
			free(file);
			continue;
		}
		free(best);
		best = file;
	}
	if (dir)
		closedir(dir);
	free(folder);
	return best;
}

int follow_open(struct follow *f, const char *path)
{
	struct profile *p = &f->profile;
	struct stat st;

	*f = (struct follow){ .fd = -1, .path = newest(path), .profile = { .path = path } };
	if (!f->path)
		return 0;
	f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0 && errno == ENOENT)
		return 0; /* it has got its name, or was dropped */
	if (f->fd < 0 || fstat(f->fd, &st) < 0) {
		complain("%s: %s", f->path, strerror(errno));
		return -1;
	}
	if (!S_ISREG(st.st_mode)) {
		complain("%s: not a regular file", f->path);
		return -1;
	}
	p->file = mmap(NULL, ROOM, PROT_READ, MAP_SHARED | MAP_NORESERVE, f->fd, 0);
	if (p->file == MAP_FAILED) {
		p->file = NULL;
		complain("%s: %s", f->path, strerror(errno));
		return -1;
	}
	p->size = ROOM;
	return 1;
}

/* ---- What has come -------------------------------------------------------------------------- */

static int bad(const struct follow *f, const struct lwpdata_error *error)
{
	complain("%s: offset %" PRIu64 ": %s", f->path, error->offset, error->text);
	return -1;
}

/* The present size. False after one line: it is not the file any more that it was. */
static bool look(struct follow *f, uint64_t *size)
{
	struct stat st;

	if (fstat(f->fd, &st) < 0)
		return refuse("%s: %s", f->path, strerror(errno));
	*size = (uint64_t)st.st_size;
	if (*size < f->reader.size || *size > ROOM)
		return refuse("%s: the file was cut off", f->path);
	return true;
}

/* lwprun removes what it cannot write to its end. */
static bool dropped(const struct follow *f)
{
	struct stat st;

	if (f->complete || fstat(f->fd, &st) || st.st_nlink)
		return false;
	complain("%s: lwprun has dropped the file", f->path);
	return true;
}

/* Does what there is begin as a profile does? */
static bool may_become(const struct follow *f, uint64_t size)
{
	const size_t length = size < LWPDATA_MAGIC_SIZE ? (size_t)size : LWPDATA_MAGIC_SIZE;

	return !memcmp(f->profile.file, LWPDATA_MAGIC, length);
}

int follow_more(struct follow *f)
{
	struct lwpdata_section section;
	struct lwpdata_error error;
	uint64_t size;
	int nr = 0;

	if (!look(f, &size))
		return -1;
	if (!f->begun && size && (size >= LWPDATA_PREAMBLE_SIZE || !may_become(f, size))) {
		if (!lwpdata_open(&f->reader, f->profile.file, size, &error))
			return bad(f, &error);
		f->begun = true;
	}
	if (!f->begun)
		return dropped(f) ? -1 : 0;
	f->reader.size = size;
	for (; !f->reader.ended && lwpdata_whole(&f->reader); nr++) {
		if (lwpdata_next(&f->reader, &section, &error) < 0)
			return bad(f, &error);
		profile_add(&f->profile, &section, f->reader.sections);
	}
	f->complete = f->reader.ended;
	if (nr)
		profile_sort(&f->profile);
	return dropped(f) ? -1 : nr;
}

void follow_close(struct follow *f)
{
	profile_free(&f->profile);
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
}
