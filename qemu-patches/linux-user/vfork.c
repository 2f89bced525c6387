/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vfork(): the parent waits until the child runs another program or ends, by a
 * pipe that execve() and the end of the process close.
 */
#include "qemu/osdep.h"
#include "qemu.h"
#include "user-internals.h"
#include "vfork.h"

static VFork *child_of;     /* in the child: what its parent waits for */

VFork *vfork_new(CPUArchState *env)
{
    VFork *v = g_new0(VFork, 1);
    void *frame;

    v->sp = get_sp_from_cpustate(env);
    for (v->size = VFORK_FRAME; v->size; v->size /= 2) {
        frame = lock_user(VERIFY_WRITE, v->sp, v->size, true);
        if (frame) {
            memcpy(v->frame, frame, v->size);
            unlock_user(frame, v->sp, 0);
            break;
        }
    }
    return v;
}

/* The program gets low numbers, as if there were no pipe. */
static int high(int fd)
{
    int other = fcntl(fd, F_DUPFD_CLOEXEC, 1000);

    if (other < 0) {
        return fd;
    }
    close(fd);
    return other;
}

bool vfork_pipe(VFork *v)
{
    if (pipe2(v->fds, O_CLOEXEC)) {
        return false;
    }
    v->fds[0] = high(v->fds[0]);
    v->fds[1] = high(v->fds[1]);
    return true;
}

void vfork_child(VFork *v)
{
    if (child_of) {
        close(child_of->fds[1]); /* that is for the parent alone */
        g_clear_pointer(&child_of, g_free);
    }
    if (v) {
        close(v->fds[0]);
        child_of = g_memdup2(v, sizeof(*v));
    }
}

/* What differs from before is the child's store. */
static void take_stores(VFork *v, const uint8_t *now)
{
    uint8_t *frame = lock_user(VERIFY_WRITE, v->sp, v->size, true);
    uint32_t i;

    if (!frame) {
        return;
    }
    for (i = 0; i < v->size; i++) {
        if (now[i] != v->frame[i]) {
            frame[i] = now[i];
        }
    }
    unlock_user(frame, v->sp, v->size);
}

void vfork_parent(VFork *v)
{
    close(v->fds[1]);
}

void vfork_wait(VFork *v)
{
    uint8_t now[VFORK_FRAME];
    ssize_t n = 0, more;

    do {
        more = RETRY_ON_EINTR(read(v->fds[0], now + n, sizeof(now) - n));
        n += more;
    } while (more > 0);
    close(v->fds[0]);
    if (n && n == v->size) {
        take_stores(v, now);
    }
}

void vfork_exit(void)
{
    void *frame;
    ssize_t n;

    if (!child_of) {
        return;
    }
    frame = lock_user(VERIFY_READ, child_of->sp, child_of->size, true);
    if (frame) {
        /* The parent takes the whole frame, or nothing. */
        n = qemu_write_full(child_of->fds[1], frame, child_of->size);
        (void)n;
        unlock_user(frame, child_of->sp, 0);
    }
}
