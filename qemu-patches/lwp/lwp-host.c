/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP: the file with this host's defaults.  Guests that say no more than lwp=on
 * have the same LWP on all hosts with the same file.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/string-input-visitor.h"
#include "qapi/visitor.h"
#include "qemu/error-report.h"
#include "cpu.h"

#define LWP_HOST_FILE "/etc/vlwp/host.conf"
#define LWP_HOST_MAX 65536
#define LWP_HOST_MAX_LINE 255

/* Read the text; result: what is wrong, NULL if nothing. */
static const char *lwp_host_text(FILE *file, char *text)
{
    struct stat st;
    size_t size;

    if (fstat(fileno(file), &st) || !S_ISREG(st.st_mode)) {
        return "is not a regular file";
    }
    if (st.st_uid != 0 && st.st_uid != geteuid()) {
        return "must belong to root, or to the user who runs QEMU";
    }
    if (st.st_mode & (S_IWGRP | S_IWOTH)) {
        return "can be written by others than its owner: chmod go-w";
    }
    size = fread(text, 1, LWP_HOST_MAX + 1, file);
    if (ferror(file)) {
        return "cannot be read";
    }
    if (size > LWP_HOST_MAX) {
        return "has more than " stringify(LWP_HOST_MAX) " bytes";
    }
    return memchr(text, 0, size) ? "has bytes that are zero: no text" : NULL;
}

/* NAME=VALUE.  Nothing of it is printed that is not plain text. */
static bool lwp_host_line(char *line, GHashTable *names, Error **errp)
{
    char *value = strchr(line, '='), *c = line;
    Visitor *v;
    bool done;

    if (strlen(line) > LWP_HOST_MAX_LINE) {
        error_setg(errp, "more than %d characters", LWP_HOST_MAX_LINE);
        return false;
    }
    if (!*line || *line == '#') {
        return true;
    }
    while (g_ascii_isprint(*c)) {
        c++;
    }
    if (*c) {
        error_setg(errp, "byte %02xh is no plain text", (uint8_t)*c);
        return false;
    }
    if (!value) {
        error_setg(errp, "NAME=VALUE is wanted, not '%s'", line);
        return false;
    }
    *value++ = 0;
    if (!g_hash_table_add(names, line)) {
        error_setg(errp, "'%s' is there twice", line);
        return false;
    }
    v = string_input_visitor_new(value);
    done = x86_lwp_host_set(v, line, errp);
    visit_free(v);
    return done;
}

void x86_lwp_host_read(void)
{
    g_autofree char *text = g_malloc0(LWP_HOST_MAX + 2);
    /* It does not wait for the other end of a FIFO. */
    int fd = qemu_open_old(LWP_HOST_FILE, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    int error = errno;
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    const char *wrong = file ? lwp_host_text(file, text) : strerror(error);
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    Error *err = NULL;
    struct stat st;
    int i;

    /* A link to nothing is a mistake. */
    if (!file && error == ENOENT && lstat(LWP_HOST_FILE, &st)) {
        return;
    }
    if (wrong) {
        error_setg(&err, "%s", wrong);
    }
    for (i = 0; !err && lines[i]; i++) {
        if (!lwp_host_line(lines[i], names, &err)) {
            error_prepend(&err, "line %d: ", i + 1);
        }
    }
    if (err || !x86_lwp_host_check(&err)) {
        loc_set_none();
        error_reportf_err(err, LWP_HOST_FILE ": ");
        exit(1);
    }
    fclose(file);
}
