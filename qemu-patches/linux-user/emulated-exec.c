/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -exec: programs that execve() starts run under the emulator, too, with its
 * options.  After the host's execve() nobody could return an error to the
 * program, so all that the kernel refuses is refused before.
 */
#include "qemu/osdep.h"
#include <sys/prctl.h>
#include "elf.h"
#include "qemu.h"
#include "qemu/error-report.h"
#include "user-internals.h"
#include "user/tswap-target.h"
#include "emulated-exec.h"

#define MAX_SCRIPTS 5       /* scripts that start scripts, as in Linux */
#define HEAD_SIZE   256     /* what Linux reads of a file: BINPRM_BUF_SIZE */

/* The start of a file, with a zero behind it */
typedef struct Head {
    char text[HEAD_SIZE + 1];
    int size;
} Head;

static GPtrArray *options;  /* the emulator's name and options */

void emulated_exec_init(int argc, char **argv)
{
    g_autofree char *name = g_path_get_basename(exec_path);
    int i;

    options = g_ptr_array_new();
    g_ptr_array_add(options, argv[0]);
    for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
        if (!strcmp(argv[i], "-0") || !strcmp(argv[i], "-E") ||
            !strcmp(argv[i], "-U")) {
            i++; /* of the first program alone */
        } else {
            g_ptr_array_add(options, argv[i]);
        }
    }
    prctl(PR_SET_NAME, name);
}

bool emulated_exec_wanted(void)
{
    return options;
}

/* Would the program get rights that its caller has not? */
static bool gains_rights(const struct stat *st)
{
    return ((st->st_mode & S_ISUID) && st->st_uid != geteuid()) ||
           ((st->st_mode & S_ISGID) && (st->st_mode & S_IXGRP) &&
            st->st_gid != getegid());
}

/* Read the start of a file that may be executed.  Returns 0 or -errno. */
static int read_head(const char *path, Head *head)
{
    struct stat st;
    int fd;

    if (stat(path, &st)) {
        return -errno;
    }
    if (!S_ISREG(st.st_mode)) {
        return -EACCES;
    }
    if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS)) {
        return -errno;
    }
    if (gains_rights(&st)) {
        error_report("%s: a program that changes its user or group is not "
                     "emulated", path);
        return -EPERM;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    head->size = read(fd, head->text, HEAD_SIZE);
    close(fd);
    if (head->size < 0) {
        return -EIO;
    }
    head->text[head->size] = 0;
    return 0;
}

/* Is it a program for the machine of the one that runs, if one does? */
static bool is_ours(const Head *head)
{
    /* Up to e_machine both classes are the same. */
    const Elf32_Ehdr *h = (const void *)head->text;
    Head mine;
    const Elf32_Ehdr *m = (const void *)mine.text;
    uint16_t type = tswap16(h->e_type);

    if (head->size < sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG)) {
        return false;
    }
    if (!*real_exec_path) {
        return true; /* the loader looks at it */
    }
    return !read_head(real_exec_path, &mine) &&
           h->e_ident[EI_CLASS] == m->e_ident[EI_CLASS] &&
           h->e_machine == m->e_machine &&
           (type == ET_EXEC || type == ET_DYN);
}

/*
 * "#! interpreter argument": both, as Linux reads them.  False: there is none, or
 * its name is cut off.
 */
static bool read_script(Head *head, char **interpreter, char **argument)
{
    char *text = head->text + 2 + strspn(head->text + 2, " \t");
    char *end = strchr(text, '\n');

    if (!end && head->size == HEAD_SIZE && !strpbrk(text, " \t")) {
        return false;
    }
    if (end) {
        *end = 0;
    }
    g_strchomp(text);
    *interpreter = text;
    text += strcspn(text, " \t");
    *argument = NULL;
    if (*text) {
        *text++ = 0;
        *argument = text + strspn(text, " \t");
    }
    return **interpreter;
}

/*
 * The name of a file in a directory, or of an open file.  That of a file that has
 * none any more is its descriptor, which then stays open.
 */
static char *name_of(int dirfd, const char *name)
{
    g_autofree char *fd = g_strdup_printf("/proc/self/fd/%d", dirfd);
    g_autofree char *real = NULL;

    if (*name == '/' || (dirfd == AT_FDCWD && *name)) {
        return g_strdup(name);
    }
    if (*name) {
        return g_strdup_printf("%s/%s", fd, name);
    }
    real = g_file_read_link(fd, NULL);
    if (real && !access(real, F_OK)) {
        return g_steal_pointer(&real);
    }
    fcntl(dirfd, F_SETFD, 0);
    return g_steal_pointer(&fd);
}

/*
 * Follow scripts to the program that runs them.  @path is that, and @args its
 * arguments, after this.  Returns 0 or -errno.
 */
static int follow_scripts(char **path, GPtrArray *args)
{
    char *interpreter, *argument;
    Head head;
    int depth, err;

    for (depth = 0; ; depth++) {
        err = read_head(*path, &head);
        if (err) {
            return err;
        }
        if (memcmp(head.text, "#!", 2)) {
            return is_ours(&head) ? 0 : -ENOEXEC;
        }
        if (depth == MAX_SCRIPTS) {
            return -ELOOP;
        }
        if (!read_script(&head, &interpreter, &argument)) {
            return -ENOEXEC;
        }
        g_free(args->pdata[0]);
        args->pdata[0] = *path;
        if (argument) {
            g_ptr_array_insert(args, 0, g_strdup(argument));
        }
        g_ptr_array_insert(args, 0, g_strdup(interpreter));
        *path = g_strdup(interpreter);
    }
}

char **emulated_exec_first(int *argc, char **argv, int at,
                           const char **argv0)
{
    GPtrArray *args = g_ptr_array_new_with_free_func(g_free);
    char *path = g_strdup(argv[at]);
    char **all;
    int i, err;

    for (i = at; i < *argc; i++) {
        g_ptr_array_add(args, g_strdup(argv[i]));
    }
    err = follow_scripts(&path, args);
    if (err) {
        error_report("%s: %s", argv[at], strerror(-err));
        exit(err == -ENOENT ? 127 : 126);
    }
    if (!strcmp(path, argv[at])) {
        return argv; /* no script */
    }
    *argc = at + args->len;
    *argv0 = g_strdup(args->pdata[0]);
    all = g_new0(char *, *argc + 1);
    memcpy(all, argv, at * sizeof(*all));
    all[at] = path;
    for (i = 1; i < args->len; i++) {
        all[at + i] = g_strdup(args->pdata[i]);
    }
    return all;
}

int emulated_exec(int dirfd, const char *name, char **argv, int flags,
                  char ***result)
{
    g_autoptr(GPtrArray) args = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *path = NULL;
    GPtrArray *all;
    int i, err;

    if (!*name && !(flags & AT_EMPTY_PATH)) {
        return -ENOENT;
    }
    for (i = 0; argv[i]; i++) {
        g_ptr_array_add(args, g_strdup(argv[i]));
    }
    if (!i) {
        g_ptr_array_add(args, g_strdup(""));
    }
    path = name_of(dirfd, name);
    err = follow_scripts(&path, args);
    if (err) {
        return err;
    }
    all = g_ptr_array_new();
    for (i = 0; i < options->len; i++) {
        g_ptr_array_add(all, g_strdup(options->pdata[i]));
    }
    g_ptr_array_add(all, g_strdup("-0"));
    g_ptr_array_add(all, g_strdup(args->pdata[0]));
    g_ptr_array_add(all, g_strdup("--"));
    g_ptr_array_add(all, g_strdup(path));
    for (i = 1; i < args->len; i++) {
        g_ptr_array_add(all, g_strdup(args->pdata[i]));
    }
    g_ptr_array_add(all, NULL);
    *result = (char **)g_ptr_array_free(all, false);
    return 0;
}
