// SPDX-License-Identifier: GPL-2.0-or-later
/* Finding the program to run, and how it can be profiled. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "program.h"

/* As deep as Linux follows #! lines. */
#define MAX_SCRIPTS 5
/* As much of a #! line as Linux looks at. */
#define SCRIPT_LINE 256
#define GLIBC_LOADER "ld-linux-x86-64.so.2"

char *program_find(const char *name)
{
	const char *path = getenv("PATH") ?: "/usr/local/bin:/bin:/usr/bin";
	int worst = ENOENT;

	if (strchr(name, '/'))
		return access(name, X_OK) == 0 ? strdup(name) : NULL;
	for (const char *end; *name; path = end + 1) {
		struct stat st;
		char *full;

		end = strchrnul(path, ':');
		if (asprintf(&full, "%.*s%s%s", (int)(end - path), path, end > path ? "/" : "",
			     name) < 0)
			return NULL;
		if (stat(full, &st) == 0 && S_ISREG(st.st_mode)) {
			if (access(full, X_OK) == 0)
				return full;
			worst = errno;
		}
		free(full);
		if (!*end)
			break;
	}
	errno = worst;
	return NULL;
}

struct check {
	char *why;
	size_t size;
	bool preloads;
};

static bool __attribute__((format(printf, 2, 3))) refuse(struct check *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(c->why, c->size, format, args);
	va_end(args);
	return false;
}

/* The loader ignores LD_PRELOAD when a program gains rights over its caller. */
static bool check_rights(struct check *c, int fd, const char *path)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return refuse(c, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return refuse(c, "%s: not a regular file", path);
	if (st.st_mode & S_ISUID)
		return refuse(c, "%s: a set-user-ID program cannot be profiled from outside", path);
	if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
		return refuse(c, "%s: a set-group-ID program cannot be profiled from outside",
			      path);
	if (fgetxattr(fd, "security.capability", NULL, 0) > 0)
		return refuse(c,
			      "%s: a program with file capabilities cannot be profiled from "
			      "outside",
			      path);
	return true;
}

static bool check_interpreter(struct check *c, int fd, const char *path, const Elf64_Phdr *ph)
{
	char loader[PATH_MAX];
	const char *name;

	if (!ph->p_filesz || ph->p_filesz > sizeof(loader) ||
	    pread(fd, loader, ph->p_filesz, (off_t)ph->p_offset) != (ssize_t)ph->p_filesz ||
	    loader[ph->p_filesz - 1])
		return refuse(c, "%s: damaged ELF file (PT_INTERP)", path);
	name = strrchr(loader, '/');
	name = name ? name + 1 : loader;
	c->preloads = !strcmp(name, GLIBC_LOADER);
	return true;
}

static bool check_elf(struct check *c, int fd, const char *path, const Elf64_Ehdr *eh)
{
	if (eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_ident[EI_DATA] != ELFDATA2LSB ||
	    eh->e_machine != EM_X86_64)
		return refuse(c,
			      "%s: not a 64-bit x86 program; a 32-bit one can be linked against "
			      "liblwp (lwp(3)), with which it profiles itself",
			      path);
	if (eh->e_phentsize != sizeof(Elf64_Phdr))
		return refuse(c, "%s: damaged ELF file (e_phentsize)", path);
	for (unsigned int i = 0; i < eh->e_phnum; i++) {
		off_t at = (off_t)(eh->e_phoff + i * sizeof(Elf64_Phdr));
		Elf64_Phdr ph;

		if (pread(fd, &ph, sizeof(ph), at) != sizeof(ph))
			return refuse(c, "%s: damaged ELF file (program headers)", path);
		if (ph.p_type == PT_INTERP)
			return check_interpreter(c, fd, path, &ph);
	}
	return true;
}

static bool check_file(struct check *c, const char *path, int depth);

static bool check_script(struct check *c, const char *path, char *line, int depth)
{
	char *interpreter = line + strspn(line, " \t");

	interpreter[strcspn(interpreter, " \t\n")] = '\0';
	if (!*interpreter)
		return refuse(c, "%s: its #! line names no interpreter", path);
	if (depth >= MAX_SCRIPTS)
		return refuse(c, "%s: too many #! lines one after the other", path);
	return check_file(c, interpreter, depth + 1);
}

static bool check_open_file(struct check *c, int fd, const char *path, int depth)
{
	union {
		Elf64_Ehdr elf;
		char text[SCRIPT_LINE + 1];
	} head;
	ssize_t n = pread(fd, &head, SCRIPT_LINE, 0);

	if (n < 0)
		return refuse(c, "%s: %s", path, strerror(errno));
	head.text[n] = '\0';
	if (n >= 2 && !memcmp(head.text, "#!", 2))
		return check_script(c, path, head.text + 2, depth);
	if ((size_t)n < sizeof(head.elf) || memcmp(head.elf.e_ident, ELFMAG, SELFMAG) != 0)
		return refuse(c, "%s: neither an ELF program nor a script with a #! line", path);
	return check_rights(c, fd, path) && check_elf(c, fd, path, &head.elf);
}

static bool check_file(struct check *c, const char *path, int depth)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool good;

	if (fd < 0)
		return refuse(c, "%s: %s", path, strerror(errno));
	good = check_open_file(c, fd, path, depth);
	close(fd);
	return good;
}

bool program_check(const char *path, bool *preloads, char *why, size_t size)
{
	struct check c = { .why = why, .size = size };
	bool good = check_file(&c, path, 0);

	*preloads = c.preloads;
	return good;
}
