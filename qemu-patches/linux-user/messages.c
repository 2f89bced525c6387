/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -messages FILE: what the emulator itself says goes into a file, not to the
 * program's standard error, which the program may have closed.  The file is
 * opened for each message: the program sees no descriptor, and cannot close it.
 */
#include "qemu/osdep.h"
#include "messages.h"

static ssize_t write_message(void *file, const char *text, size_t size)
{
    int saved = errno;
    int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (fd >= 0) {
        if (write(fd, text, size) < 0) {
            size = 0;
        }
        close(fd);
    }
    errno = saved;
    return size;
}

void messages_init(const char *file)
{
    cookie_io_functions_t io = { .write = write_message };
    FILE *messages = fopencookie((void *)file, "a", io);

    setvbuf(messages, NULL, _IOLBF, 0);
    stderr = messages;
}
