/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP: the file with this host's defaults.  Guests that say no more than lwp=on
 * have the same LWP on all hosts with the same file.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "cpu.h"

#define LWP_HOST_FILE "/etc/vlwp/host.conf"
#define LWP_HOST_MAX (64 * 1024)
#define LWP_HOST_MAX_LINE 255

/* Those who may write it rule this QEMU anyway. */
static bool lwp_host_trusted(int fd, Error **errp)
{
    struct stat st;

    if (fstat(fd, &st)) {
        error_setg_errno(errp, errno, "cannot look at it");
        return false;
    }
    if (!S_ISREG(st.st_mode)) {
        error_setg(errp, "is not a regular file");
        return false;
    }
    if (st.st_uid != 0 && st.st_uid != geteuid()) {
        error_setg(errp, "belongs to user %u; it must be root's or that of "
                   "the user who runs QEMU", (unsigned)st.st_uid);
        return false;
    }
    if (st.st_mode & (S_IWGRP | S_IWOTH)) {
        error_setg(errp, "others than its owner may write it; say chmod go-w");
        return false;
    }
    return true;
}

/* Its text; NULL without an error if there is no file. */
static char *lwp_host_text(Error **errp)
{
    ERRP_GUARD();
    g_autofree char *text = g_malloc(LWP_HOST_MAX + 1);
    struct stat st;
    ssize_t n;
    size_t size = 0;
    /* Not to wait for the other end of a FIFO. */
    int fd = qemu_open_old(LWP_HOST_FILE, O_RDONLY | O_NONBLOCK | O_NOCTTY);

    if (fd < 0) {
        /* A link to nothing is a mistake. */
        if (errno != ENOENT || !lstat(LWP_HOST_FILE, &st)) {
            error_setg_errno(errp, errno, "cannot open it");
        }
        return NULL;
    }
    if (!lwp_host_trusted(fd, errp)) {
        close(fd);
        return NULL;
    }
    do {
        n = read(fd, text + size, LWP_HOST_MAX + 1 - size);
        size += MAX(n, 0);
    } while (n > 0 || (n < 0 && errno == EINTR));
    if (n < 0) {
        error_setg_errno(errp, errno, "cannot read it");
    } else if (size > LWP_HOST_MAX) {
        error_setg(errp, "has more than %d bytes", LWP_HOST_MAX);
    } else if (memchr(text, 0, size)) {
        error_setg(errp, "has bytes that are zero: it is no text");
    }
    close(fd);
    if (*errp) {
        return NULL;
    }
    text[size] = 0;
    return g_steal_pointer(&text);
}

/* NAME=VALUE.  Nothing of it is printed that is not plain text. */
static bool lwp_host_line(char *line, GHashTable *names, Error **errp)
{
    char *value = strchr(line, '='), *c;

    if (strlen(line) > LWP_HOST_MAX_LINE) {
        error_setg(errp, "has more than %d characters", LWP_HOST_MAX_LINE);
        return false;
    }
    if (!*line || *line == '#') {
        return true;
    }
    for (c = line; *c; c++) {
        if (!g_ascii_isprint(*c)) {
            error_setg(errp, "has a byte %02xh, which is no plain text",
                       (uint8_t)*c);
            return false;
        }
    }
    if (!value) {
        error_setg(errp, "wants NAME=VALUE, not '%s'", line);
        return false;
    }
    *value++ = 0;
    if (!g_hash_table_add(names, line)) {
        error_setg(errp, "%s is set twice", line);
        return false;
    }
    return x86_lwp_host_set(line, value, errp);
}

static void lwp_host_set_all(const char *text, Error **errp)
{
    ERRP_GUARD();
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    int i;

    for (i = 0; lines[i]; i++) {
        if (!lwp_host_line(lines[i], names, errp)) {
            error_prepend(errp, "line %d: ", i + 1);
            return;
        }
    }
    x86_lwp_host_check(errp);
}

void x86_lwp_host_read(void)
{
    Error *err = NULL;
    g_autofree char *text = lwp_host_text(&err);

    if (text) {
        lwp_host_set_all(text, &err);
    }
    if (err) {
        error_reportf_err(err, LWP_HOST_FILE ": ");
        exit(1);
    }
}
